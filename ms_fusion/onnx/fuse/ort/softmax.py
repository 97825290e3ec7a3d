"""Replaces softmax in float16 by one float32 operator between two Casts.

ONNX Runtime has no float16 kernel for softmax. It decomposes a float16 softmax into five operators,
and adds Casts before and after each operator.
"""

from __future__ import annotations

from ms_fusion.onnx.fuse.ort.equivalents import Equivalent, Site
from ms_fusion.rewrite import Op, Rule


def _write_softmax(site: Site) -> str:
    node = site.match.nodes[-1]
    site.call_in_float32("Softmax", site.match.bound["x"], axis=node.attr("axis"))
    return ""


EQUIVALENTS = (
    Equivalent(
        Rule("Softmax", "intra-operator", Op("Softmax", "x")),
        (("Softmax", _write_softmax),),
        ("float16",),
        "as one operator, in float32",
    ),
)
