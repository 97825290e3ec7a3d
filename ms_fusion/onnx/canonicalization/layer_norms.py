"""Fuses a decomposed layer normalisation along the last axis into LayerNormalization.

The pattern is (x − mean(x)) / √(mean((x − mean(x))²) + ε) · scale [+ shift].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import (
    axes_of,
    has_only_readers,
    is_constant,
    is_op,
    opset_version,
    replace_node,
    scalar_constant,
    shape_of,
)

LAYER_NORM_OPSET = 17
DTYPES = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16})


@dataclass(frozen=True)
class _NormalisationMatch:
    """A match of the layer normalisation pattern; scale and shift are not part of the match.

    `x` is the normalised value, `epsilon` is ε, and `nodes` are all matched operators.
    """

    x: ir.Value
    epsilon: float
    nodes: tuple[ir.Node, ...]


def fuse_layer_norms(model: ir.Model) -> None:
    """Replaces each decomposed layer normalisation by one LayerNormalization, in place."""
    if opset_version(model) < LAYER_NORM_OPSET:
        return
    for node in list(model.graph):
        # `node.graph` is None for a node that an earlier match has removed.
        found = _match_normalisation(node) if node.graph is not None else None
        if found is None or found.x.dtype not in DTYPES:
            continue
        shape = shape_of(found.x)
        scaled = _single_reader(node, "Mul")
        scale = _constant_row_operand(scaled, node.outputs[0], shape)
        if (
            scaled is None
            or scale is None
            or not has_only_readers((one.outputs[0] for one in found.nodes), (*found.nodes, scaled))
        ):
            continue
        shifted = _single_reader(scaled, "Add")
        shift = _constant_row_operand(shifted, scaled.outputs[0], shape)
        old, rest = (
            (shifted, (*found.nodes, scaled))
            if shifted is not None and shift is not None
            else (scaled, found.nodes)
        )
        inputs = [found.x, scale, *([shift] if old is shifted else [])]
        replace_node(
            model, old, "LayerNormalization", inputs, {"axis": -1, "epsilon": found.epsilon}
        )
        model.graph.remove(rest, safe=True)


def _match_normalisation(node: ir.Node) -> _NormalisationMatch | None:
    """Matches c / √(v + ε) or c · (1 / √(v + ε)); `node` is the last operator of the expression.

    Here c = x − mean(x) and v = mean(c²). Returns None if `node` does not compute such an
    expression.
    """
    if not is_op(node, "Div", "Mul") or len(node.inputs) != 2:
        return None
    for centred, other in _operand_orders(node):
        root = _producer_of(other)
        between: tuple[ir.Node, ...] = ()
        if is_op(node, "Mul"):
            if root is None or not is_op(root, "Reciprocal"):
                continue
            between = (root,)
            root = _producer_of(root.inputs[0])
        if root is None or not is_op(root, "Sqrt"):
            continue
        total = _producer_of(root.inputs[0])
        if total is None or not is_op(total, "Add"):
            continue
        for spread, small in _operand_orders(total):
            epsilon, variance = scalar_constant(small), _producer_of(spread)
            centring = _producer_of(centred)
            if epsilon is None or not _is_mean(variance) or not is_op(centring, "Sub"):
                continue
            assert variance is not None
            assert centring is not None
            square, mean = _producer_of(variance.inputs[0]), _producer_of(centring.inputs[1])
            x = centring.inputs[0]
            if not _is_square(square, centred) or not _is_mean(mean) or x is None:
                continue
            assert square is not None
            assert mean is not None
            if mean.inputs[0] is x:
                return _NormalisationMatch(
                    x, epsilon, (mean, centring, square, variance, total, root, *between, node)
                )
    return None


def _operand_orders(node: ir.Node) -> Iterator[tuple[ir.Value | None, ir.Value | None]]:
    first, second = node.inputs[:2]
    yield first, second
    if node.op_type != "Div":
        yield second, first


def _producer_of(value: ir.Value | None) -> ir.Node | None:
    return None if value is None else value.producer()


def _is_square(node: ir.Node | None, of: ir.Value | None) -> bool:
    if is_op(node, "Mul"):
        return node is not None and node.inputs[0] is of and node.inputs[1] is of
    return (
        node is not None
        and is_op(node, "Pow")
        and node.inputs[0] is of
        and scalar_constant(node.inputs[1]) == 2.0
    )


def _is_mean(node: ir.Node | None) -> bool:
    """Returns whether the node is a mean along the last axis with ``keepdims``."""
    if node is None or not is_op(node, "ReduceMean") or node.attributes.get_int("keepdims", 1) != 1:
        return False
    shape = shape_of(node.inputs[0])
    return axes_of(node) in ((-1,), (len(shape) - 1,) if shape else (-1,))


def _single_reader(node: ir.Node, kind: str) -> ir.Node | None:
    """Returns the only operator that reads the node's result, if it has the type `kind`.

    Returns None otherwise.
    """
    readers = {use.node for use in node.outputs[0].uses()}
    found = readers.pop() if len(readers) == 1 else None
    if found is None or found.graph is not node.graph or node.outputs[0].is_graph_output():
        return None
    return found if is_op(found, kind) else None


def _constant_row_operand(
    node: ir.Node | None, beside: ir.Value, shape: tuple[object, ...] | None
) -> ir.Value | None:
    """Returns the operand of `node` other than `beside`.

    Returns None unless this operand is a constant vector with as many elements as the last axis of
    `shape`.
    """
    if node is None or not shape or not isinstance(shape[-1], int):
        return None
    rest = [one for one in node.inputs if one is not beside]
    if len(rest) != 1 or rest[0] is None or not is_constant(rest[0]):
        return None
    return rest[0] if shape_of(rest[0]) == (shape[-1],) else None
