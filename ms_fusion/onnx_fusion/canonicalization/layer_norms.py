"""(x − mean(x)) / √(mean((x − mean(x))²) + ε) · scale [+ shift] along the last axis is LayerNormalization."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx_ir as ir

from ms_fusion.onnx_fusion.canonicalization.parts import (
    axes_of,
    is_constant,
    is_inside,
    is_op,
    number,
    put,
    shape_of,
    version,
)

SINCE = 17
DTYPES = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16})


@dataclass(frozen=True)
class _Normalised:
    """What stands before the scale: the value that is normalised, ε, and the operators between."""

    x: ir.Value
    epsilon: float
    nodes: tuple[ir.Node, ...]


def with_layer_norms(model: ir.Model) -> None:
    """Writes each as one operator."""
    if version(model) < SINCE:
        return
    for node in list(model.graph):
        # nodes of a norm that was found are gone
        found = _normalised(node) if node.graph is not None else None
        if found is None or found.x.dtype not in DTYPES:
            continue
        shape = shape_of(found.x)
        scaled = _reader(node, "Mul")
        scale = _row(scaled, node.outputs[0], shape)
        if (
            scaled is None
            or scale is None
            or not is_inside((one.outputs[0] for one in found.nodes), (*found.nodes, scaled))
        ):
            continue
        shifted = _reader(scaled, "Add")
        shift = _row(shifted, scaled.outputs[0], shape)
        old, rest = (
            (shifted, (*found.nodes, scaled))
            if shifted is not None and shift is not None
            else (scaled, found.nodes)
        )
        inputs = [found.x, scale, *([shift] if old is shifted else [])]
        put(model, old, "LayerNormalization", inputs, {"axis": -1, "epsilon": found.epsilon})
        model.graph.remove(rest, safe=True)


def _normalised(node: ir.Node) -> _Normalised | None:
    """centred / √(variance + ε), or centred · 1/√(variance + ε)."""
    if not is_op(node, "Div", "Mul") or len(node.inputs) != 2:
        return None
    for centred, other in _orders(node):
        root = _made(other)
        between: tuple[ir.Node, ...] = ()
        if is_op(node, "Mul"):
            if root is None or not is_op(root, "Reciprocal"):
                continue
            between = (root,)
            root = _made(root.inputs[0])
        if root is None or not is_op(root, "Sqrt"):
            continue
        total = _made(root.inputs[0])
        if total is None or not is_op(total, "Add"):
            continue
        for spread, small in _orders(total):
            epsilon, variance = number(small), _made(spread)
            centring = _made(centred)
            if epsilon is None or not _is_mean(variance) or not is_op(centring, "Sub"):
                continue
            assert variance is not None
            assert centring is not None
            square, mean = _made(variance.inputs[0]), _made(centring.inputs[1])
            x = centring.inputs[0]
            if not _is_square(square, centred) or not _is_mean(mean) or x is None:
                continue
            assert square is not None
            assert mean is not None
            if mean.inputs[0] is x:
                return _Normalised(
                    x, epsilon, (mean, centring, square, variance, total, root, *between, node)
                )
    return None


def _orders(node: ir.Node) -> Iterator[tuple[ir.Value | None, ir.Value | None]]:
    first, second = node.inputs[:2]
    yield first, second
    if node.op_type != "Div":
        yield second, first


def _made(value: ir.Value | None) -> ir.Node | None:
    return None if value is None else value.producer()


def _is_square(node: ir.Node | None, of: ir.Value | None) -> bool:
    if is_op(node, "Mul"):
        return node is not None and node.inputs[0] is of and node.inputs[1] is of
    return (
        node is not None
        and is_op(node, "Pow")
        and node.inputs[0] is of
        and number(node.inputs[1]) == 2.0
    )


def _is_mean(node: ir.Node | None) -> bool:
    """Along the last axis, which stays with size 1."""
    if node is None or not is_op(node, "ReduceMean") or node.attributes.get_int("keepdims", 1) != 1:
        return False
    shape = shape_of(node.inputs[0])
    return axes_of(node) in ((-1,), (len(shape) - 1,) if shape else (-1,))


def _reader(node: ir.Node, kind: str) -> ir.Node | None:
    """The one operator that reads the result, if it is of this kind."""
    readers = {use.node for use in node.outputs[0].uses()}
    found = readers.pop() if len(readers) == 1 else None
    if found is None or found.graph is not node.graph or node.outputs[0].is_graph_output():
        return None
    return found if is_op(found, kind) else None


def _row(
    node: ir.Node | None, beside: ir.Value, shape: tuple[object, ...] | None
) -> ir.Value | None:
    """The other operand, if it is a constant of one number for each place of the last axis."""
    if node is None or not shape or not isinstance(shape[-1], int):
        return None
    rest = [one for one in node.inputs if one is not beside]
    if len(rest) != 1 or rest[0] is None or not is_constant(rest[0]):
        return None
    return rest[0] if shape_of(rest[0]) == (shape[-1],) else None
