"""Signs that change nothing: relu(x) = |x| = x where x ≥ 0; −(−x) = x; |−x| = |x|; x + (−y) = x − y; −(x − y) = y − x; max(x, x) = x.

A number that is no number stays one, since only operators that hand it on are taken out.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx_fusion.canonicalization.parts import is_op, put, skip, small_constant

FLOATS = frozenset(
    {ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE}
)
NEVER_BELOW = frozenset(
    {
        "Relu",
        "Abs",
        "Sigmoid",
        "HardSigmoid",
        "Softplus",
        "Softmax",
        "Exp",
        "ReduceL1",
        "ReduceL2",
        "ReduceSumSquare",
    }
)
"""Operators whose results are never below 0."""
KEEPING = frozenset(
    """Tanh Erf Sqrt HardSwish ReduceMean ReduceMax ReduceMin ReduceSum Reshape Transpose Split Slice Squeeze Unsqueeze Flatten
    Expand Tile MaxPool AveragePool GlobalAveragePool GlobalMaxPool Identity Elu LeakyRelu""".split()
)
"""Operators of one tensor that make nothing below 0 of what is not."""
TOGETHER = frozenset({"Add", "Mul", "Min", "Concat"})
"""Operators whose result is not below 0 if none of their inputs is."""
IDLE = frozenset({"Relu", "Abs", "Elu", "LeakyRelu", "PRelu", "Celu"})
"""Operators that leave alone what is not below 0."""


def without_signs(model: ir.Model) -> None:
    """Takes them out."""
    positive: set[ir.Value] = set()
    for node in list(model.graph):
        if (
            not node.outputs
            or node.outputs[0].dtype not in FLOATS
            or node.domain not in ("", "ai.onnx")
        ):
            continue
        first = node.inputs[0] if node.inputs else None
        if _is_idle(node, positive) and first is not None and skip(model, node, first):
            continue
        if _is_positive(node, positive):
            positive.update(node.outputs)
        _turned(model, node)


def _is_idle(node: ir.Node, positive: set[ir.Value]) -> bool:
    """Whether the result is the first input."""
    if is_op(node, "Max", "Min"):
        return len(set(node.inputs)) == 1
    return node.op_type in IDLE and node.inputs[0] in positive


def _is_positive(node: ir.Node, positive: set[ir.Value]) -> bool:
    known = [
        one is not None and (one in positive or _is_constant_above(one)) for one in node.inputs
    ]
    if node.op_type in NEVER_BELOW:
        return True
    if node.op_type in KEEPING:
        return bool(known) and known[0]
    if node.op_type in TOGETHER:
        squared = node.op_type == "Mul" and node.inputs[0] is node.inputs[1]
        return squared or (bool(known) and all(known))
    return node.op_type == "Max" and any(known)


def _is_constant_above(value: ir.Value) -> bool:
    found = small_constant(value)
    return found is not None and found.dtype.kind == "f" and bool(np.all(found >= 0))


def _turned(model: ir.Model, node: ir.Node) -> None:
    """Lets another operator do what a sign did; one that nobody reads any more goes as what is not needed."""
    first, last = (_without_sign(one) for one in (*node.inputs[:2], None, None)[:2])
    if is_op(node, "Abs") and first is not None:
        node.replace_input_with(0, first)
    elif is_op(node, "Neg") and node.inputs[0] is not None:
        before = node.inputs[0].producer()
        if first is not None:
            skip(model, node, first)
        elif before is not None and is_op(before, "Sub") and _is_alone(before):
            put(model, node, "Sub", [before.inputs[1], before.inputs[0]], {})
            model.graph.remove(before, safe=True)
    elif is_op(node, "Add", "Sub") and last is not None:
        put(model, node, "Sub" if node.op_type == "Add" else "Add", [node.inputs[0], last], {})
    elif is_op(node, "Add") and first is not None:
        put(model, node, "Sub", [node.inputs[1], first], {})
    elif is_op(node, "Mul", "Div") and first is not None and last is not None:
        put(model, node, node.op_type, [first, last], {})


def _without_sign(value: ir.Value | None) -> ir.Value | None:
    """What a value is the negative of; None unless its sign goes with it."""
    node = None if value is None else value.producer()
    return node.inputs[0] if node is not None and is_op(node, "Neg") else None


def _is_alone(node: ir.Node) -> bool:
    made = node.outputs[0]
    return not made.is_graph_output() and len(made.uses()) == 1
