"""Removes redundant signs, absolute values and maxima.

The pass uses these identities: relu(x) = |x| = x for x ≥ 0; −(−x) = x; |−x| = |x|; x + (−y) = x −
y; −(x − y) = y − x; max(x, x) = x. The pass preserves NaN, because the removed operators propagate
NaN.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import (
    bypass_node,
    is_op,
    replace_node,
    small_constant,
)
from ms_fusion.ops import operator_info, record_name
from ms_fusion.ops.op_info import Trait

FLOATS = frozenset(
    {ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE}
)


def remove_redundant_signs(model: ir.Model) -> None:
    """Removes redundant negations, absolute values and maxima in place."""
    positive: set[ir.Value] = set()
    for node in list(model.graph):
        if (
            not node.outputs
            or node.outputs[0].dtype not in FLOATS
            or node.domain not in ("", "ai.onnx")
        ):
            continue
        first = node.inputs[0] if node.inputs else None
        if _is_redundant(node, positive) and first is not None and bypass_node(model, node, first):
            continue
        if _is_non_negative(node, positive):
            positive.update(node.outputs)
        _absorb_sign(model, node)


def _is_redundant(node: ir.Node, positive: set[ir.Value]) -> bool:
    """Returns whether the node's result equals its first input.

    `positive` is the set of values that are known to be non-negative.
    """
    if is_op(node, "Max", "Min"):
        return len(set(node.inputs)) == 1
    return Trait.IDENTITY_ON_NON_NEGATIVE in _traits(node) and node.inputs[0] in positive


def _is_non_negative(node: ir.Node, positive: set[ir.Value]) -> bool:
    known = [
        one is not None and (one in positive or _is_non_negative_constant(one))
        for one in node.inputs
    ]
    traits = _traits(node)
    if Trait.NON_NEGATIVE in traits:
        return True
    if Trait.KEEPS_NON_NEGATIVE in traits:
        return bool(known) and known[0]
    if Trait.KEEPS_ALL_NON_NEGATIVE in traits:
        squared = node.op_type == "Mul" and node.inputs[0] is node.inputs[1]
        return squared or (bool(known) and all(known))
    return node.op_type == "Max" and any(known)


def _traits(node: ir.Node) -> Trait:
    return operator_info(record_name(node.op_type)).traits


def _is_non_negative_constant(value: ir.Value) -> bool:
    found = small_constant(value)
    return found is not None and found.dtype.kind == "f" and bool(np.all(found >= 0))


def _absorb_sign(model: ir.Model, node: ir.Node) -> None:
    """Rewrites an operator that reads a negated value −y, so that the operator reads y.

    For example, x + (−y) becomes x − y. A negated difference −(x − y) becomes y − x. A Neg
    whose result is no longer read is removed later as dead code.
    """
    first, last = (_negated_operand(one) for one in (*node.inputs[:2], None, None)[:2])
    if is_op(node, "Abs") and first is not None:
        node.replace_input_with(0, first)
    elif is_op(node, "Neg") and node.inputs[0] is not None:
        before = node.inputs[0].producer()
        if first is not None:
            bypass_node(model, node, first)
        elif before is not None and is_op(before, "Sub") and _has_single_use(before):
            replace_node(model, node, "Sub", [before.inputs[1], before.inputs[0]], {})
            model.graph.remove(before, safe=True)
    elif is_op(node, "Add", "Sub") and last is not None:
        replace_node(
            model, node, "Sub" if node.op_type == "Add" else "Add", [node.inputs[0], last], {}
        )
    elif is_op(node, "Add") and first is not None:
        replace_node(model, node, "Sub", [node.inputs[1], first], {})
    elif is_op(node, "Mul", "Div") and first is not None and last is not None:
        replace_node(model, node, node.op_type, [first, last], {})


def _negated_operand(value: ir.Value | None) -> ir.Value | None:
    """Returns the operand of the Neg that produces `value`.

    Returns None if no Neg produces `value`.
    """
    node = None if value is None else value.producer()
    return node.inputs[0] if node is not None and is_op(node, "Neg") else None


def _has_single_use(node: ir.Node) -> bool:
    made = node.outputs[0]
    return not made.is_graph_output() and len(made.uses()) == 1
