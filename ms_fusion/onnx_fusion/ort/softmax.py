"""Softmax in float16, which ONNX Runtime has no kernel for: it writes it out in five operators, with casts around each."""

from __future__ import annotations

from ms_fusion.formats.onnx_graph import ONNX_VERSION
from ms_fusion.onnx_fusion.ort.equivalents import Equivalent, Site
from ms_fusion.rewrite import Op, Rule


def _softmax(site: Site) -> str:
    node = site.match.nodes[-1]
    axis = node.attr("axis", -1 if int(node.attr(ONNX_VERSION, 0)) >= 13 else 1)
    site.in_float32("Softmax", site.match.bound["x"], axis=axis)
    return ""


EQUIVALENTS = (
    Equivalent(
        Rule("Softmax", "intra-operator", Op("Softmax", "x")),
        (("Softmax", _softmax),),
        ("float16",),
        "as one, in float32",
    ),
)
