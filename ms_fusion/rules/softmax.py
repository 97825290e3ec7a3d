"""Softmax of scaled and masked scores."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule


def scaled(scores: Pattern) -> OneOf:
    """Scores times or through a number."""
    return OneOf(Op("Div|Mul", scores, "scale"))


def masked_softmax(scores: Pattern) -> OneOf:
    """softmax(scores · scale + mask), each part but the softmax optional."""
    inner = OneOf(Op("Add", scaled(scores), "mask"), Op("Select", "mask", scaled(scores), "fill"), scaled(scores), Op("Add", scores, "mask"), Op("Select", "mask", scores, "fill"))  # fmt: skip
    return OneOf(Op("Softmax", inner))


SCALE_MASK_SOFTMAX = Rule("ScaleMaskSoftmax", "intra-operator", masked_softmax("scores"))
