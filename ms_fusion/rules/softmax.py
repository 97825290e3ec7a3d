"""Matches a softmax of scaled and masked scores."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule
from ms_fusion.rules.last_axes import is_over_last_axes

SOFTMAX_AXIS = is_over_last_axes("softmax")


def masked_softmax(scores: Pattern) -> Op:
    """Returns the pattern of softmax(scores · scale + mask), with a scale, a mask, or both.

    A boolean mask may also select between the scores and a fill value. The pattern binds a boolean
    mask to ``"kept"`` if true means that the score remains. The pattern binds a boolean mask to
    ``"left"`` if true means that the fill value replaces the score.
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
