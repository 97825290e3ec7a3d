"""Matches the gated linear unit with SiLU or GELU: gate(a) · b."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.activation import silu
from ms_fusion.rules.gelu import gelu

SWIGLU = Rule(
    "SwiGLU",
    "intra-operator",
    OneOf(*(Op("Mul", one, "b") for one in (*silu("a").patterns, *gelu("a").patterns))),
)
