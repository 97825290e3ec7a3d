"""Converts an ONNX model to a `Graph` for the fusion rules and the cost model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import onnx_ir as ir

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import record_name
from ms_fusion.ops.call import ONNX_OP, ONNX_VERSION
from ms_fusion.readers.onnx_attributes import check_attributes, default_attributes

INLINE_ELEMENTS_MAX = 64
"""Largest number of elements of an integer or boolean constant that the graph stores.

Integer and boolean constants are mostly axes and sizes. A constant with one element is stored
whatever its dtype.
"""
UNKNOWN_RANK = ("…",)
ABSENT_INPUT = ""
"""Name of an omitted optional input."""


@dataclass(frozen=True)
class OnnxProjection:
    """A graph, and maps from the names in the graph to the objects of the ONNX model.

    Attributes:
        graph: the main graph. The inputs of an operator include the outer values that its
            sub-graphs read.
        nodes: a dict from the name of a node of the graph to the model's `onnx_ir.Node`.
        values: a dict from the name of a value of the graph to the model's `onnx_ir.Value`.
        symbols: symbolic sizes, in order of first occurrence.
        bodies: for each node with sub-graphs, a dict from attribute name to sub-graph; the keys of
            `bodies` are node names. `bodies` is empty if `project` was called without `bodies`.
    """

    graph: Graph
    nodes: Mapping[str, ir.Node]
    values: Mapping[str, ir.Value]
    symbols: tuple[str, ...] = ()
    bodies: Mapping[str, Mapping[str, Graph]] = field(default_factory=dict)


def project(model: ir.Model, *, bodies: bool = False) -> OnnxProjection:
    """Converts the main graph of a model; the model's functions must be inlined.

    Args:
        model: the model.
        bodies: whether to convert the sub-graphs of operators, too. If True, the attribute `values`
            of the result includes the values of the sub-graphs.

    Raises:
        InputError: an operator has an attribute that its schema does not define, or an attribute
            with another type than in the schema.
    """
    return _Projector(model, bodies).run()


def substitute_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """Replaces symbolic sizes by numbers; a size that `sizes` does not contain becomes 1."""

    def with_known_sizes(value: Value) -> Value:
        if not value.is_dynamic or value.shape == UNKNOWN_RANK:
            return value
        shape = (
            size if isinstance(size, int) and size >= 0 else sizes.get(str(size), 1)
            for size in value.shape
        )
        return replace(value, shape=tuple(shape))

    return replace(
        graph, values={name: with_known_sizes(value) for name, value in graph.values.items()}
    )


class _Projector:
    def __init__(self, model: ir.Model, with_bodies: bool):
        self.model = model
        self.with_bodies = with_bodies
        self.nodes: dict[str, ir.Node] = {}
        self.bodies: dict[str, Mapping[str, Graph]] = {}
        self.values: dict[str, Value] = {}
        self.sources: dict[str, ir.Value] = {}
        self.names: dict[ir.Value, str] = {}
        self.symbols: dict[str, None] = {}

    def run(self) -> OnnxProjection:
        made = self.project(self.model.graph)
        return OnnxProjection(
            made,
            MappingProxyType(self.nodes),
            MappingProxyType(self.sources),
            tuple(self.symbols),
            MappingProxyType(self.bodies),
        )

    def project(self, graph: ir.Graph) -> Graph:
        for value in graph.inputs:
            self.add(value, "input")
        for value in graph.initializers.values():
            if value not in self.names:
                self.add(value, "parameter")
        nodes: list[Node] = []
        for number, node in enumerate(graph):
            for value in node.outputs:
                self.add(value, "result")
            name = node.name or f"{node.op_type}_{number}"
            while name in self.nodes:
                name = f"{name}_{number}"
            self.nodes[name] = node
            nodes.append(self.node(name, node))
            if self.with_bodies:
                # The bodies are converted after the node, so that the node's inputs include no
                # values of the bodies.
                inner = {
                    key: self.project(item.value)
                    for key, item in node.attributes.items()
                    if item.type == ir.AttributeType.GRAPH
                }
                self.bodies |= {name: inner} if inner else {}
        return Graph(
            graph.name or "graph",
            tuple(nodes),
            self.values,
            tuple(self.names[value] for value in (*graph.inputs, *graph.initializers.values())),
            tuple(self.names[value] for value in graph.outputs),
        )

    def add(self, value: ir.Value, kind: str) -> None:
        name = value.name or f"value_{len(self.values)}"
        while name in self.values:
            name = f"{name}'"
        tensor = value.const_value
        shape = tensor.shape if tensor is not None else value.shape
        dtype = tensor.dtype if tensor is not None else value.dtype
        listed = tensor is not None and _is_inlined(tensor)
        self.names[value] = name
        self.sources[name] = value
        self.values[name] = Value(
            name,
            UNKNOWN_RANK if shape is None else tuple(map(self.size, shape)),
            dtype_name(dtype),
            "constant" if listed else kind,
            _to_tuples(tensor.numpy()) if listed else None,  # type: ignore[union-attr]
            "",
        )

    def size(self, size: int | ir.SymbolicDimProtocol) -> int | str:
        if isinstance(size, int):
            return size
        if size.value is None:
            return -1
        self.symbols.setdefault(str(size.value))
        return str(size.value)

    def node(self, name: str, node: ir.Node) -> Node:
        outer = [value for value in _outer_values(node) if value in self.names]
        inputs = [
            ABSENT_INPUT if value is None else self.names[value] for value in (*node.inputs, *outer)
        ]
        if ABSENT_INPUT in inputs:
            self.values.setdefault(ABSENT_INPUT, Value(ABSENT_INPUT, (), "", "constant"))
        own = node.domain in ("", "ai.onnx")
        op = node.op_type if own else f"{node.domain}.{node.op_type}"
        version = node.version or self.model.opset_imports.get(node.domain, 0)
        check_attributes(node, version)
        attributes = dict(default_attributes(node.op_type, version)) if own else {}
        attributes |= {key: _attribute(item) for key, item in node.attributes.items()}
        if own and node.op_type == "Gemm":
            attributes |= {
                "transpose_a": bool(attributes.get("transA")),
                "transpose_b": bool(attributes.get("transB")),
            }
        attributes |= {ONNX_OP: op, ONNX_VERSION: version}
        return Node(
            name,
            record_name(op),
            tuple(inputs),
            tuple(self.names[value] for value in node.outputs),
            tuple(sorted(attributes.items())),
        )


def _is_inlined(tensor: ir.TensorProtocol) -> bool:
    if tensor.dtype == ir.DataType.STRING:
        return False
    return tensor.size <= (
        INLINE_ELEMENTS_MAX if tensor.dtype.is_integer() or tensor.dtype == ir.DataType.BOOL else 1
    )


def dtype_name(dtype: ir.DataType | None) -> str:
    """Returns NumPy's name of a dtype, or ONNX's name in lower case if NumPy has none.

    Returns an empty string for None.
    """
    if dtype is None:
        return ""
    name = dtype.name.lower()
    return {"float": "float32", "double": "float64"}.get(name, name)


def _attribute(item: ir.Attr) -> Any:
    """Returns an attribute as a Python value; a large tensor or a graph becomes a placeholder."""
    value = item.value
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)) and all(
        isinstance(one, (str, int, float)) for one in value
    ):
        return tuple(value)
    if (
        item.type == ir.AttributeType.TENSOR
        and value.size <= INLINE_ELEMENTS_MAX
        and value.dtype != ir.DataType.STRING
    ):
        return _to_tuples(value.numpy())
    return f"<{item.type.name.lower()}>"


def _to_tuples(array: Any) -> Any:
    def to_tuple(item: Any) -> Any:
        return tuple(map(to_tuple, item)) if isinstance(item, list) else item

    kind = array.dtype.kind
    return to_tuple((array if kind in "biufc" else array.astype("float32")).tolist())


def _outer_values(node: ir.Node) -> Iterator[ir.Value]:
    """Yields the values that a node's sub-graphs read or return, without duplicates.

    The result also contains values that the sub-graphs themselves define.
    """
    seen: set[ir.Value] = set()
    for attribute in node.attributes.values():
        if attribute.type not in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
            continue
        graphs = [attribute.value] if attribute.type == ir.AttributeType.GRAPH else attribute.value
        for graph in graphs:
            for inner in ir.traversal.RecursiveGraphIterator(graph):
                for value in (*inner.inputs, *(inner.graph.outputs if inner.graph else ())):
                    if value is not None and value not in seen:
                        seen.add(value)
                        yield value
