"""GELU in both forms, and SiLU."""

from __future__ import annotations

from ms_fusion.onnx_fusion.ort.equivalents import CONTRIB, Equivalent, Site
from ms_fusion.rewrite import Rule
from ms_fusion.rules.activation import silu
from ms_fusion.rules.gelu import GELU


def _gelu(site: Site) -> str:
    by_tanh = any(node.op == "Tanh" for node in site.match.nodes)
    site.in_float32("FastGelu" if by_tanh else "Gelu", site.match.bound["x"], domain=CONTRIB)
    return ""


def _silu(site: Site) -> str:
    site.in_float32("QuickGelu", site.match.bound["x"], domain=CONTRIB, alpha=1.0)
    return ""


HALVES = ("float32", "float16")
EQUIVALENTS = (
    Equivalent(
        GELU, (("Gelu or FastGelu", _gelu),), HALVES, "by erf and by tanh; float16 in float32"
    ),
    Equivalent(
        Rule("SiLU", "intra-operator", silu("x").patterns[1]),  # type: ignore[arg-type]
        (("QuickGelu", _silu),),
        HALVES,
        "float16 in float32",
    ),
)
