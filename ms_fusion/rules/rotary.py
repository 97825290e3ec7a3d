"""Matches rotary embedding: x · cos + rotated(x) · sin.

rotated(x) swaps the two halves of x and negates one of them.
"""

from __future__ import annotations

from ms_fusion.rewrite import Op, Rule

_HALF = Op("Slice|Split|StridedSlice|Gather", "x")
_ROTATED_HALVES = Op("Concat", Op("Neg", _HALF), _HALF)

ROTARY = Rule(
    "RotaryEmbedding",
    "intra-operator",
    Op("Add", Op("Mul", "x", "cos"), Op("Mul", _ROTATED_HALVES, "sin")),
)
