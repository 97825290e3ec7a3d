"""Operators that a library computes as a whole, with what can follow them inside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from custom_ops.onednn import (
    Prepared,
    prepare_conv2d,
    prepare_conv2d_backward,
    prepare_matmul,
    prepare_max_pool_gradient,
    why_missing,
)
from ms_fusion.accuracy.convolutions import spatial
from ms_fusion.accuracy.pooling import windows
from ms_fusion.graph import Graph, Node, Value


@dataclass(frozen=True)
class LibraryStep:
    """A call of the library.

    Attributes:
        covered: names of the nodes that it computes, the library's own first.
        reads: names of the values that it reads, in the order of the call.
        writes: name of the value that it makes.
    """

    covered: tuple[str, ...]
    reads: tuple[str, ...]
    writes: str
    prepare: Callable[[], Prepared]


def is_called(node: Node, graph: Graph) -> bool:
    """Whether a node is computed by the library."""
    if node.op == "MaxPoolGrad":
        # the language can say it too, ten times as slowly
        four, dtype = node.attr("format", "NCHW") == "NCHW", graph.outputs_of(node)[0].dtype
        return four and dtype != "float64" and not why_missing()
    return node.op in LIBRARY


def library_step(node: Node, graph: Graph) -> LibraryStep:
    """The call for a node of a type in `LIBRARY`, with the bias and the relu behind it where nobody else reads what lies between.

    Raises:
        InputError: as the library's; names operator, argument, expected and got.
    """
    reads, joins, call = LIBRARY[node.op](node, graph)
    covered, result = [node.name], node.outputs[0]
    more: dict[str, Any] = {}
    if joins:
        channels = 1 if node.op == "Conv2D" else -1
        found = _bias(result, channels, graph) if len(reads) == 2 else None
        if found is not None:
            covered += [found.reshape] if found.reshape else []
            covered.append(found.add.name)
            reads, result = (*reads, found.bias), found.add.outputs[0]
        more["bias"] = len(reads) == 3
        relu = _relu(result, graph)
        if relu is not None:
            covered.append(relu.name)
            result = relu.outputs[0]
            more["activation"] = "relu"
    return LibraryStep(tuple(covered), reads, result, lambda: call(**more))


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(int(size) for size in value.shape)


_Found = tuple[tuple[str, ...], bool, Callable[..., Prepared]]


def _product(node: Node, graph: Graph) -> _Found:
    given = graph.inputs_of(node)
    flags: dict[str, Any] = {
        name: bool(node.attr(name, False)) for name in ("transpose_a", "transpose_b")
    }

    def call(**more: Any) -> Prepared:
        return prepare_matmul(_shape(given[0]), _shape(given[1]), dtype=given[0].dtype, operator=node.op, **flags, **more)  # fmt: skip

    return tuple(node.inputs), True, call


def _convolution(node: Node, graph: Graph) -> _Found:
    x, weight = (graph.values[name] for name in node.inputs[:2])

    def call(**more: Any) -> Prepared:
        return prepare_conv2d(_shape(x), _shape(weight), dtype=x.dtype, operator=node.op, **spatial(node), **more)  # fmt: skip

    return tuple(node.inputs), True, call


def _convolution_gradient(node: Node, graph: Graph) -> _Found:
    """Of x: (gradient, weight, shape); of the weight: (gradient, x, shape)."""
    of_x = node.op == "Conv2DBackpropInput"
    result, other = graph.outputs_of(node)[0], graph.values[node.inputs[1]]
    x, weight = (result, other) if of_x else (other, result)

    def call() -> Prepared:
        return prepare_conv2d_backward(_shape(x), _shape(weight), dtype=x.dtype, operator=node.op, wanted=("x" if of_x else "weight",), **spatial(node))  # fmt: skip

    return tuple(node.inputs[:2]), False, call


def _pooling_gradient(node: Node, graph: Graph) -> _Found:
    """(x, y, gradient)."""
    x, y, _ = graph.inputs_of(node)
    where = windows(node, x.shape)

    def call() -> Prepared:
        return prepare_max_pool_gradient(_shape(x), _shape(y), window=where.spans, stride=where.strides, before=where.starts, dtype=x.dtype)  # fmt: skip

    return (node.inputs[0], node.inputs[2]), False, call


LIBRARY: Mapping[str, Callable[[Node, Graph], _Found]] = MappingProxyType(
    {
        "MatMul": _product,
        "BatchMatMul": _product,
        "Conv2D": _convolution,
        "Conv2DBackpropInput": _convolution_gradient,
        "Conv2DBackpropFilter": _convolution_gradient,
        "MaxPoolGrad": _pooling_gradient,
    }
)
"""Operator type → what it reads, whether something can be joined to it, and the call."""


@dataclass(frozen=True)
class _Bias:
    add: Node
    bias: str
    reshape: str


def _only_reader(value: str, graph: Graph) -> Node | None:
    readers = graph.consumers.get(value, ())
    return readers[0] if len(readers) == 1 and value not in graph.outputs else None


def _bias(value: str, axis: int, graph: Graph) -> _Bias | None:
    """The Add behind a value, of one number for each channel."""
    add = _only_reader(value, graph)
    if add is None or add.op != "Add" or len(set(add.inputs)) != 2:
        return None
    other = add.inputs[1 - add.inputs.index(value)]
    shape, given = _shape(graph.values[value]), graph.values[other]
    padded = (1,) * (len(shape) - len(given.shape)) + tuple(given.shape)
    wanted = tuple(size if at == axis % len(shape) else 1 for at, size in enumerate(shape))
    if given.kind == "constant" or padded != wanted or given.dtype != graph.values[value].dtype:
        return None
    if _shape(graph.values[add.outputs[0]]) != shape:
        return None
    if len(given.shape) == 1:
        return _Bias(add, other, "")
    made_by = graph.producers.get(other)
    if made_by is None or made_by.op != "Reshape" or _only_reader(other, graph) is None:
        return None
    source = graph.values[made_by.inputs[0]]
    return _Bias(add, source.name, made_by.name) if len(source.shape) == 1 else None


def _relu(value: str, graph: Graph) -> Node | None:
    """The Maximum with 0 behind a value."""
    node = _only_reader(value, graph)
    if node is None or node.op != "Maximum":
        return None
    other = graph.values[node.inputs[1 - node.inputs.index(value)]]
    return node if other.kind == "constant" and other.data in (0, 0.0) else None
