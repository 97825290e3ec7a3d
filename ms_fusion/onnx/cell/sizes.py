"""Emits shape arithmetic on Python integers and tuples, so that the compiler knows all sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ms_fusion.graph import Graph, Node
from ms_fusion.ops.call import ONNX_OP

_ARITHMETIC = {
    "Add": "({} + {})",
    "Sub": "({} - {})",
    "Mul": "({} * {})",
    "Div": "functions.quotient({}, {})",
    "Neg": "(-{})",
    "Mod": "({} % {})",
    "Max": "({0} if {0} > {1} else {1})",
    "Min": "({0} if {0} < {1} else {1})",
    "Equal": "({} == {})",
    "Where": "({1} if {0} else {2})",
}
_INPUTS = {"Neg": 1, "Where": 3}
SLICE_BOUND_MAX = 1 << 31
_WRITTEN_SIZES_MAX = 16
"""Maximum number of elements of a vector of sizes that is written out element by element."""
_LAYOUT_OPERATORS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Slice"})
SIZE_OPERATORS = frozenset(
    {"Gather", "Concat", "Cast", "Identity", *_ARITHMETIC, *_LAYOUT_OPERATORS}
)


def is_size(node: Node, graph: Graph) -> bool:
    """Returns whether the result of an operator depends only on shapes and constants."""
    seen, waiting = set[str](), [node]
    while waiting:
        one = waiting.pop()
        op = one.attr(ONNX_OP)
        if op in ("Shape", "Size"):
            continue
        dtype = graph.outputs_of(one)[0].dtype
        if op not in SIZE_OPERATORS or not (
            dtype.startswith("int") or (op == "Equal" and dtype == "bool")
        ):
            return False
        made = {name for name in one.inputs if graph.values[name].kind != "constant"}
        if not made or not made <= graph.producers.keys():
            return False
        waiting += [graph.producers[name] for name in made - seen]
        seen |= made
    return True


def size_text(
    node: Node, graph: Graph, sizes: Mapping[str, str], texts: Mapping[str, str]
) -> str | None:
    """Returns the Python expression for the result of an operator that `is_size` accepts.

    Returns None if the result must be computed as a tensor.

    Args:
        node: the operator.
        graph: the graph of the operator.
        sizes: maps names to the expressions of the sizes that are already computed.
        texts: maps names to the expressions of the tensors that are already computed.
    """
    op, first = node.attr(ONNX_OP), node.inputs[0]
    if op == "Mod" and node.attr("fmod", 0):
        return None
    if op == "Shape":
        begin, end = node.attr("start", 0), node.attr("end")
        cut = f"[{begin or ''}:{'' if end is None else end}]" if begin or end is not None else ""
        return f"{texts[first]}.shape{cut}" if first in texts else None
    if op == "Size":
        return f"{texts[first]}.size" if first in texts else None
    given = [sizes.get(name) or _literal(graph, name) for name in node.inputs]
    rank = len(graph.values[first].shape)
    shapes = [graph.values[name].shape for name in node.inputs]
    if op in _ARITHMETIC:
        return _arithmetic_text(str(op), given, shapes)
    if op == "Concat" and None not in given and rank == 1:
        return " + ".join(str(one) for one in given)
    if given[0] is None:
        return None
    if op in ("Cast", "Identity"):
        return given[0]
    if op == "Unsqueeze" and rank == 0:
        return f"({given[0]},)"
    if op == "Squeeze" and rank == 1:
        return f"{given[0]}[0]"
    places = graph.values[node.inputs[-1]].data
    if op == "Gather" and places is not None and rank == 1:
        return (
            f"{given[0]}[{places}]"
            if isinstance(places, int)
            else f"({''.join(f'{given[0]}[{place}], ' for place in places)})"
        )
    if op == "Slice" and rank == 1:
        bounds = _slice_bounds(node, graph)
        # Graph mode cannot parse −2⁶³, because it negates 2⁶³, which overflows.
        return (
            None
            if bounds is None or len(bounds) != 1
            else f"""{given[0]}[{
                ":".join(
                    str(min(max(one, -SLICE_BOUND_MAX), SLICE_BOUND_MAX)) for one in bounds[0][1:]
                )
            }]"""
        )
    return _rearrange_text(node, given[0], graph) if op in _LAYOUT_OPERATORS else None


def _rearrange_text(node: Node, text: str, graph: Graph) -> str | None:
    """Returns the expression of a permuted, reshaped or sliced tensor of sizes.

    A matrix becomes a tuple of tuples. Returns None if a shape is not static, or if the tensor is
    too large to be written as a tuple.
    """
    (result,) = graph.outputs_of(node)
    old, new = graph.values[node.inputs[0]].shape, result.shape
    sizes = [size for size in (*old, *new) if isinstance(size, int) and size > 0]
    if len(sizes) < len(old) + len(new) or math.prod(sizes[: len(old)]) > _WRITTEN_SIZES_MAX:
        return None
    elements = np.empty(sizes[: len(old)], object)
    for place in np.ndindex(elements.shape):
        elements[place] = text + "".join(f"[{number}]" for number in place)
    if node.attr(ONNX_OP) == "Transpose":
        return _tuple_text(elements.transpose(node.attr("perm")))
    if node.attr(ONNX_OP) != "Slice":
        is_told = elements.size == math.prod(sizes[len(old) :])
        return _tuple_text(elements.reshape(sizes[len(old) :])) if is_told else None
    at = [slice(None)] * elements.ndim
    cut = _slice_bounds(node, graph)
    for axis, *bounds in cut or ():
        at[axis % elements.ndim] = slice(*bounds)
    return _tuple_text(elements[tuple(at)]) if cut else None


def _slice_bounds(node: Node, graph: Graph) -> list[tuple[int, int, int, int]] | None:
    """Returns (axis, start, end, step) for each axis of a ``Slice``.

    Returns None if a bound is not constant.
    """
    data = [graph.values[name].data for name in node.inputs[1:]] or [
        node.attr(name) for name in ("starts", "ends", "axes") if node.attr(name)
    ]
    if not all(isinstance(one, tuple) for one in data):
        return None
    starts, ends, *rest = data
    axes = rest[0] if rest else range(len(starts))
    steps = rest[1] if len(rest) > 1 else (1,) * len(starts)
    is_whole = len(starts) == len(ends) == len(axes) == len(steps) and 0 not in steps
    return list(zip(axes, starts, ends, steps, strict=True)) if is_whole else None


def _tuple_text(elements: np.ndarray | str) -> str:
    """Joins the expressions of sizes into the expression of a nested tuple.

    >>> _tuple_text(np.array([["a", "b"], ["c", "d"]], object).transpose())
    '((a, c,), (b, d,),)'
    """
    if not isinstance(elements, np.ndarray) or not elements.ndim:
        return str(elements)
    return f"({' '.join(f'{_tuple_text(one)},' for one in elements)})"


def _arithmetic_text(
    op: str, given: Sequence[Any], shapes: Sequence[tuple[Any, ...]]
) -> str | None:
    """Returns the expression of an elementwise integer operation on sizes or vectors of sizes.

    Returns None if the operation cannot be written on Python integers.
    """
    counts = {shape[0] for shape in shapes if len(shape) == 1}
    is_row = bool(counts)
    if None in given or len(given) != _INPUTS.get(op, 2) or max(map(len, shapes)) > 1:
        return None
    if len(counts - {1}) > 1 or not all(
        isinstance(one, int) and 0 < one <= _WRITTEN_SIZES_MAX for one in counts
    ):
        return None
    made = []
    for number in range(max(counts, default=1)):
        parts = (
            f"{text}[{min(number, shape[0] - 1)}]" if shape else text
            for text, shape in zip(given, shapes, strict=True)
        )
        made.append(_ARITHMETIC[op].format(*parts))
    return f"({', '.join(made)},)" if is_row else made[0]


def _literal(graph: Graph, name: str) -> Any:
    value = graph.values[name]
    return repr(value.data) if value.kind == "constant" else None
