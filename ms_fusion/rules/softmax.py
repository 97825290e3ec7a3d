"""Matches a softmax of scaled and masked scores."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule


def masked_softmax(scores: Pattern) -> Op:
    """Returns the pattern of softmax(scores · scale + mask), with a scale, a mask, or both.

    The mask may also be a select between the scores and a fill value.
    """
    scaled = Op("Div|Mul", scores, "scale")
    inner = OneOf(
        Op("Add", scaled, "mask"),
        Op("Select", "mask", scaled, "fill"),
        scaled,
        Op("Add", scores, "mask"),
        Op("Select", "mask", scores, "fill"),
    )
    return Op("Softmax", inner)


SCALE_MASK_SOFTMAX = Rule("ScaleMaskSoftmax", "intra-operator", masked_softmax("scores"))
