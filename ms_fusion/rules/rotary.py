"""Rotary embedding: x · cos + rotated(x) · sin, where rotated swaps the halves and negates one."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule

_HALVES = OneOf(
    Op("Concat", Op("Neg", Op("Slice|Split|StridedSlice|Gather", "x")), Op("Slice|Split|StridedSlice|Gather", "x"))
)  # fmt: skip

ROTARY = Rule(
    "RotaryEmbedding",
    "intra-operator",
    Op("Add", Op("Mul", "x", "cos"), Op("Mul", _HALVES, "sin")),
)
