"""Lowers a composite kernel, which MindSpore describes as a graph of operators, to a DSL graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import operator_info
from ms_fusion.ops.call import Call, numpy_dtype
from ms_fusion.readers.composite import CompositeKernel
from tbe_impl import dsl
from tbe_impl.dsl.dtypes import DTYPES, dtype_of
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.errors import FusionError, InputError, pluralize
from tbe_impl.tracing.arrays import TracedArray, tensor_of

IN_PLACE_OPERATORS = frozenset({"Assign", "AssignAdd"})
"""Operators that update their first input in place; their result is a tensor without data."""


@dataclass(frozen=True)
class LoweredGroup:
    """A fused kernel, lowered to the DSL.

    Attributes:
        name: name of the kernel.
        inputs: placeholders in the order of the kernel's inputs.
        results: the computed tensors without duplicates.
        places: for each result, the indices of the buffers to which the result is written. The
            kernel's inputs are numbered first, then its outputs.
        values: the DSL tensor of each value of the graph, by name.
    """

    name: str
    inputs: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    places: tuple[tuple[int, ...], ...]
    values: Mapping[str, Tensor]


def lower_composite(kernel: CompositeKernel) -> LoweredGroup:
    """Lowers a composite kernel to a DSL graph.

    Raises:
        InputError: an operator, a dtype or a shape is not supported; the error names the operator.
    """
    graph = kernel.graph
    tensors: dict[str, Tensor] = {}
    for name in graph.inputs:
        value = graph.values[name]
        if value.dtype not in DTYPES:
            reader = graph.consumers[name][0].op if graph.consumers.get(name) else ""
            raise InputError(f"{reader} of {value.dtype} is not built", place=reader)
        tensors[name] = dsl.placeholder(_shape(value), value.dtype, name)
    written: dict[str, Tensor] = {}
    for node in graph.nodes:
        made = _lower_node(node, graph, tensors)
        tensors[node.outputs[0]] = made
        if node.op in IN_PLACE_OPERATORS:
            written[node.inputs[0]] = made
    return _group(kernel.name, graph, tensors, written)


def _lower_node(node: Node, graph: Graph, tensors: Mapping[str, Tensor]) -> Tensor:
    rule = operator_info(node.op).lowering_rule
    if rule is None or len(node.outputs) != 1:
        raise InputError(
            "this operator is not supported",
            place=node.op,
            got=f"{node.op}, {pluralize(len(node.outputs), 'output')}",
        )
    output = graph.outputs_of(node)[0]
    inputs = tuple(_operand(graph.values[name], tensors) for name in node.inputs)
    call: Any = Call(node, inputs, output, numpy_dtype(output.dtype))
    try:
        made = tensor_of(rule(call))
        if any(
            op.kind == "library" for op in stages_of([made], {id(one) for one in tensors.values()})
        ):
            raise InputError("it cannot be lowered to a loop nest")
        if made.dtype != output.dtype and not _is_quotient_of_integers(node, graph):
            made = dsl.cast_to(made, output.dtype)
        wanted = made.shape if node.op in IN_PLACE_OPERATORS else _shape(output)
        return (
            made
            if tuple(map(known_size, made.shape)) == tuple(map(known_size, wanted))
            else dsl.ext.reshape(made, wanted)
        )
    except Exception as error:
        # A formula may raise any exception on symbolic tensors. Every exception becomes an
        # InputError, because MindSpore cannot undo the fusion of the group.
        why = error.what if isinstance(error, FusionError) else f"{type(error).__name__}: {error}"
        described = ", ".join(
            f"{value.dtype} {list(value.shape)}" for value in graph.inputs_of(node)
        )
        raise InputError(f"{node.op} of {described} is not built: {why}", place=node.op) from error


def _is_quotient_of_integers(node: Node, graph: Graph) -> bool:
    """Returns whether a Div divides integers and may have a float32 result.

    MindSpore declares the result of such a Div as an integer, although the result is float32. So
    the function looks at the readers, too: all of them must be Casts.
    """
    readers = graph.consumers.get(node.outputs[0], ())
    return (
        node.op == "Div"
        and node.outputs[0] not in graph.outputs
        and all(one.op == "Cast" for one in readers)
        and all(numpy_dtype(value.dtype).kind in "biu" for value in graph.inputs_of(node))
    )


def _operand(value: Value, tensors: Mapping[str, Tensor]) -> Any:
    """Returns an operand for a formula: a NumPy array for a constant, else a DSL tensor."""
    if value.kind != "constant":
        return TracedArray(tensors[value.name])
    found = np.asarray(value.data, numpy_dtype(value.dtype))
    # A constant of one element becomes a scalar if its rank is 0 or 1, and then broadcasts to any
    # rank.
    return (
        found.reshape(_shape(value) if len(value.shape) > 1 else ()) if found.size == 1 else found
    )


def _shape(value: Value) -> tuple[int, ...]:
    if value.is_dynamic:
        raise InputError("dynamic shapes are not supported", place=value.name, got=str(value.shape))
    return tuple(int(size) for size in value.shape)


def known_size(size: Any) -> int:
    """Returns the extent of an axis as an integer; all extents in composite kernels are static."""
    return int(getattr(size, "value", size))


def size_bytes(tensor: Tensor) -> int:
    """Returns the size of a tensor in memory, in bytes."""
    return math.prod(map(known_size, tensor.shape)) * dtype_of(tensor.dtype).bytes


def _group(
    name: str, graph: Graph, tensors: Mapping[str, Tensor], written: Mapping[str, Tensor]
) -> LoweredGroup:
    inputs = tuple(tensors[item] for item in graph.inputs)
    results: list[Tensor] = []
    places: list[list[int]] = []

    def put(tensor: Tensor, place: int) -> None:
        found = next((n for n, item in enumerate(results) if item is tensor), None)
        if found is None:
            own = any(tensor is item for item in inputs)
            results.append(
                dsl.compute(tensor.shape, lambda *i: tensor(*i), f"copy_{place}") if own else tensor
            )
            places.append([place])
        else:
            places[found].append(place)

    for number, item in enumerate(graph.inputs):
        if item in written:
            put(written[item], number)
    in_place = {node.outputs[0] for node in graph.nodes if node.op in IN_PLACE_OPERATORS}
    for number, item in enumerate(graph.outputs, len(inputs)):
        if item not in in_place:
            put(tensors[item], number)
    return LoweredGroup(
        name, inputs, tuple(results), tuple(map(tuple, places)), MappingProxyType(dict(tensors))
    )
