"""Fuses a decomposed layer normalisation along the last axis into LayerNormalization.

The pattern is (x − mean(x)) / √(mean((x − mean(x))²) + ε) · scale [+ shift].
"""

from __future__ import annotations

import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import is_op, opset_version, replace_node
from ms_fusion.readers.onnx_graph import project
from ms_fusion.rewrite import Match, Op, Rule, find_matches
from ms_fusion.rules.last_axes import check_last_axis
from ms_fusion.rules.layer_norm import scaled_norm

LAYER_NORM_OPSET = 17
DTYPES = frozenset({"float32", "float16"})
PATTERNS = (Op("Add", scaled_norm("x"), "shift"), scaled_norm("x"))
"""The patterns of a normalisation with a shift and without a shift, in this order.

The pattern without a shift also matches a part of a normalisation with a shift.
"""


def fuse_layer_norms(model: ir.Model) -> None:
    """Replaces each decomposed layer normalisation by one LayerNormalization, in place."""
    if opset_version(model) < LAYER_NORM_OPSET or not any(
        is_op(node, "ReduceMean") for node in model.graph
    ):
        return
    for pattern in PATTERNS:
        found = project(model)
        rule = Rule("LayerNorm", "intra-operator", pattern, _check)
        order = {node.name: number for number, node in enumerate(found.graph.nodes)}
        renewed: dict[ir.Value, ir.Value] = {}
        for match in list(find_matches(rule, found.graph, order)):
            *rest, last = (found.nodes[node.name] for node in match.nodes)
            values = [
                found.values[match.bound[name]]
                for name in ("x", "scale", "shift")
                if name in match.bound
            ]
            made = replace_node(
                model,
                last,
                "LayerNormalization",
                [renewed.get(value, value) for value in values],
                {"axis": -1, "epsilon": match.number("epsilon")},
            )
            renewed[last.outputs[0]] = made.outputs[0]
            model.graph.remove(rest, safe=True)


def _check(match: Match) -> str:
    """Returns the reason why a match is not replaced, or "" if the match is replaced."""
    *rest, _ = match.nodes
    if match.value("x").dtype not in DTYPES:
        return "its dtype has no operator"
    if any(
        match.value(name).kind not in ("constant", "parameter")
        for name in ("scale", "shift")
        if name in match.bound
    ):
        return "scale and shift are computed"
    inner = {name for node in rest for name in node.outputs}
    readers = {reader.name for name in inner for reader in match.graph.consumers.get(name, ())} - {
        node.name for node in match.nodes
    }
    if readers or inner & {*match.graph.outputs}:
        return "an intermediate value is read elsewhere"
    return check_last_axis(match)
