"""Matches a softmax of scaled and masked scores."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule


def masked_softmax(scores: Pattern) -> Op:
    """Returns the pattern of softmax(scores · scale + mask), with a scale, a mask, or both.

    The mask may also select between the scores and a fill value: ``"kept"`` is true where scores
    are kept, and ``"left"`` where they are left out.
    """
    scaled = Op("Div|Mul", scores, "scale")
    return Op("Softmax", OneOf(*_mask_patterns(scaled), scaled, *_mask_patterns(scores)))


def _mask_patterns(scores: Pattern) -> tuple[Op, ...]:
    return (
        Op("Add", scores, "mask"),
        Op("Select", "kept", scores, "fill"),
        Op("Select", "left", "fill", scores),
    )


SCALE_MASK_SOFTMAX = Rule("ScaleMaskSoftmax", "intra-operator", masked_softmax("scores"))
