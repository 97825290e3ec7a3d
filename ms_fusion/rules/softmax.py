"""Matches a softmax of scaled and masked scores."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule
from ms_fusion.rules.last_axes import is_over_last_axes

SOFTMAX_AXIS = is_over_last_axes("softmax")


def masked_softmax(scores: Pattern) -> Op:
    """Returns the pattern of softmax(scores · scale + mask), with a scale, a mask, or both.

    A boolean mask may also select between the scores and a fill value. If a boolean mask is true at
    the scores that remain, the pattern binds it to ``"kept"``. If it is true at the scores that the
    fill value replaces, the pattern binds it to ``"left"``.
    """
    scaled = Op("Div|Mul", scores, "scale")
    inner = OneOf(*_mask_patterns(scaled), scaled, *_mask_patterns(scores))
    return Op("Softmax", inner, check=SOFTMAX_AXIS)


def _mask_patterns(scores: Pattern) -> tuple[Op, ...]:
    return (
        Op("Add", scores, "mask"),
        Op("Select", "kept", scores, "fill"),
        Op("Select", "left", "fill", scores),
    )


SCALE_MASK_SOFTMAX = Rule("ScaleMaskSoftmax", "intra-operator", masked_softmax("scores"))
