"""Replaces rotary embedding, x · cos + rotated(x) · sin, by ONNX Runtime's operator.

The two halves of each table (cos and sin) must be equal, because ONNX Runtime's operator reads only
one half of a table.
"""

from __future__ import annotations

import numpy as np

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.ort.equivalents import CONTRIB, Equivalent, Site
from ms_fusion.rules.rotary import ROTARY

HALF_PRESERVING_OPERATORS = frozenset({"Cos", "Sin", "Cast", "ExpandDims", "Squeeze"})
"""Operators whose result has equal halves if their input has equal halves."""


def _write_rotary(site: Site) -> str:
    x, tables = site.match.bound["x"], [site.match.bound[name] for name in ("cos", "sin")]
    shape = site.value(x).shape
    if len(shape) != 4 or not isinstance(shape[-1], int) or shape[-1] < 2 or shape[-1] % 2:
        return "x does not have the axes (batch, heads, tokens, size)"
    if not _swaps_halves(site, shape[-1]):
        return "the rotation does not swap the halves of the last axis"
    if any(
        site.value(one).shape not in [(*(1,) * ones, *shape[-2:]) for ones in range(3)]
        for one in tables
    ):
        return "a table does not have the shape (tokens, size)"
    if not all(_has_equal_halves(site, one) for one in tables):
        return "the halves of a table are not known to be equal"
    site.halved.update(tables)
    place = site.constant(np.zeros(1, np.int64))
    size = site.constant(np.array([-1, shape[-1]], np.int64))
    bounds = [site.constant(np.array([number], np.int64)) for number in (0, shape[-1] // 2, 1)]
    halves = [site.call("Slice", site.call("Reshape", one, size), *bounds) for one in tables]
    site.call("RotaryEmbedding", x, place, *halves, to=site.result, domain=CONTRIB)
    return ""


def _swaps_halves(site: Site, size: int) -> bool:
    """Returns whether the rotation swaps the two halves and negates the new first half."""
    graph = site.match.graph
    joined = next(node for node in site.match.nodes if node.op == "Concat")
    turned, kept = (graph.producers[name] for name in joined.inputs)
    second = graph.producers[turned.inputs[0]]
    parts = (
        _last_axis_range(site, kept, joined.inputs[1]),
        _last_axis_range(site, second, turned.inputs[0]),
    )
    return joined.attr("axis") in (-1, 3) and parts == ((0, size // 2), (size // 2, size))


def _last_axis_range(site: Site, node: Node, value: str) -> tuple[int, int] | None:
    """Returns (start, end) of a slice along the last of four axes, or None for any other node."""
    size = site.value(node.inputs[0]).shape[-1]
    if not isinstance(size, int):
        return None
    if node.op == "Split" and node.attr("axis", 0) in (-1, 3) and len(node.outputs) == 2:
        own = site.value(value).shape[-1]
        return (
            ((0, size // 2), (size // 2, size))[node.outputs.index(value)]
            if own == size // 2
            else None
        )
    if node.op != "Slice" or len(node.inputs) < 4:
        return None
    start, end, axis, step = (
        site.integer(name) for name in (*node.inputs[1:], *("",) * (5 - len(node.inputs)))
    )
    if start is None or end is None or axis not in (-1, 3) or step not in (None, 1):
        return None
    first, last, _ = slice(start, end).indices(size)
    return first, last


def _has_equal_halves(site: Site, name: str) -> bool:
    """Returns whether both halves of a table (cos or sin) are known to be equal.

    The function compares the elements of a constant table. For a computed table, it examines the
    operators that produce the table.
    """
    graph, array = site.match.graph, site.array(name)
    if array is not None:
        first, second = np.split(array, 2, axis=-1)
        return np.array_equal(first, second)
    maker = graph.producers.get(name)
    while maker is not None and (
        maker.op in HALF_PRESERVING_OPERATORS
        or (maker.op == "Mul" and _has_scalar_operand(maker, graph))
    ):
        maker = graph.producers.get(_larger_operand(maker, graph))
    rank = len(graph.values[maker.outputs[0]].shape) if maker else 0
    return (
        maker is not None
        and maker.op == "Concat"
        and len(maker.inputs) == 2
        and maker.inputs[0] == maker.inputs[1]
        and maker.attr("axis") in (-1, rank - 1)
    )


def _has_scalar_operand(node: Node, graph: Graph) -> bool:
    """Returns whether an operand of the node is a scalar."""
    return min(len(value.shape) for value in graph.inputs_of(node)) == 0


def _larger_operand(node: Node, graph: Graph) -> str:
    """Returns the name of the input with the most axes."""
    return max(node.inputs, key=lambda name: len(graph.values[name].shape))


EQUIVALENTS = (
    Equivalent(
        ROTARY,
        (("RotaryEmbedding", _write_rotary),),
        ("float32", "float16"),
        "if both halves of each table are known to be equal: the table is a constant, or the "
        "operators that compute it show it",
    ),
)
