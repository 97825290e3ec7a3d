"""Replaces GELU (by erf or by tanh) and SiLU by ONNX Runtime's operators."""

from __future__ import annotations

from ms_fusion.onnx.fuse.ort.equivalents import CONTRIB, Equivalent, Site
from ms_fusion.rewrite import Rule
from ms_fusion.rules.activation import silu
from ms_fusion.rules.gelu import GELU


def _write_gelu(site: Site) -> str:
    by_tanh = any(node.op == "Tanh" for node in site.match.nodes)
    site.call_in_float32("FastGelu" if by_tanh else "Gelu", site.match.bound["x"], domain=CONTRIB)
    return ""


def _write_silu(site: Site) -> str:
    site.call_in_float32("QuickGelu", site.match.bound["x"], domain=CONTRIB, alpha=1.0)
    return ""


FLOAT_DTYPES = ("float32", "float16")
EQUIVALENTS = (
    Equivalent(
        GELU,
        (("Gelu or FastGelu", _write_gelu),),
        FLOAT_DTYPES,
        "by erf and by tanh; float16 in float32",
    ),
    Equivalent(
        Rule("SiLU", "intra-operator", silu("x").patterns[1]),  # type: ignore[arg-type]
        (("QuickGelu", _write_silu),),
        FLOAT_DTYPES,
        "float16 in float32",
    ),
)
