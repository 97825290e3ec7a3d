"""Defines `Value`, `Node` and `Graph`, the frozen data structure of all stages of ms_fusion.

A graph is independent of file formats. Names are unique inside one graph: a full name
(``Default/q-Dense/MatMul-op0``) identifies a node, and a value name identifies a value. Several
edges may connect the same two nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

DTYPE_BYTES: Mapping[str, int] = MappingProxyType(
    {
        "bool": 1,
        "int4": 1,
        "int8": 1,
        "uint8": 1,
        "int16": 2,
        "uint16": 2,
        "float16": 2,
        "bfloat16": 2,
        "int32": 4,
        "uint32": 4,
        "float32": 4,
        "int64": 8,
        "uint64": 8,
        "float64": 8,
        "complex64": 8,
        "complex128": 16,
    }
)
NOTEBOOK_CELL = re.compile(r".*[/\\]ipykernel_\d+[/\\]\d+\.py")
"""File name that Jupyter's kernel gives to a cell."""


@dataclass(frozen=True)
class Source:
    """A place in the user's code.

    Attributes:
        file: name of the file.
        line: line number from 1, or 0 if unknown.
        code: source text of the line, stripped; empty if unknown.
    """

    file: str
    line: int
    code: str = ""

    @property
    def display_file(self) -> str:
        """The file name for reports, or ``notebook cell`` for code in a Jupyter notebook.

        Jupyter's own file names of notebook cells are valid in one Jupyter session only.
        """
        return "notebook cell" if NOTEBOOK_CELL.fullmatch(self.file) else self.file

    def __str__(self) -> str:
        return f"{self.display_file}:{self.line}"


@dataclass(frozen=True)
class Value:
    """A tensor or scalar that flows along edges.

    Attributes:
        name: name, unique in the graph.
        shape: tuple of sizes. A size that is unknown before run time is a string or -1.
        dtype: NumPy's name of the dtype (``float32``, ``bfloat16``, ``bool`` …). If the value is
            not a tensor, `dtype` is another string, which depends on the file format.
        kind: ``input`` (an argument of each call), ``parameter`` (a weight), ``constant``, or
            ``result`` (of a node).
        data: value of a constant (number, string, or nested tuples) if the file contains it, else
            None.
        format: the framework's name of the memory layout.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    kind: str = "result"
    data: Any = None
    format: str = "DefaultFormat"

    @property
    def is_dynamic(self) -> bool:
        return any(not isinstance(size, int) or size < 0 for size in self.shape)

    @cached_property
    def elements(self) -> int:
        """Number of elements, if each unknown size is 1."""
        return prod(size if isinstance(size, int) and size >= 0 else 1 for size in self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory, bytes, or 0 if the value is not a tensor or has an unknown dtype."""
        return self.elements * DTYPE_BYTES.get(self.dtype, 0)


PROVIDER_ATTRIBUTE, OPERATORS_ATTRIBUTE, SOURCE_ATTRIBUTE = "brought_by", "made_of", "written_at"
"""Names of attributes of a custom operator: provider of its kernel, fused types, source."""


@dataclass(frozen=True)
class Node:
    """One operator, or one fused kernel.

    Attributes:
        name: full name with scope, unique in the graph.
        op: operator type (``Add``), or the framework's name of a fused kernel.
        inputs: names of the input values, in the operator's order.
        outputs: names of the output values, in the operator's order.
        attrs: attributes as a sorted tuple of pairs (name, value), so that the node is hashable;
            see `attr`.
        sources: places in the user's code. The last place is the nearest to the operator.
        expand_from: type of the operator that the framework expanded into this operator, or None if
            this operator did not result from an expansion.
        subgraph: name of the compiled sub-graph of the node. Operators of different sub-graphs are
            never fused.
        body: graph of the operators of a fused kernel, or None for an operator. The inputs and
            outputs of this graph have the same order as the inputs and outputs of the node.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: tuple[tuple[str, Any], ...] = ()
    sources: tuple[Source, ...] = ()
    expand_from: str | None = None
    subgraph: str = ""
    body: Graph | None = None

    @property
    def is_fused_kernel(self) -> bool:
        """Whether a kernel generator built the node.

        The result is also True for a kernel with a single operator.
        """
        return self.body is not None

    @property
    def fused_body(self) -> Graph:
        """Graph of the operators that a fused kernel consists of; only for fused kernels."""
        assert self.body is not None, self.name
        return self.body

    @property
    def kernel_provider(self) -> str:
        """Provider of a custom operator's kernel: ``custom_ops``, ``auto_fuse`` or ``user``.

        The result is empty for an operator of the framework.
        """
        custom = self.attr("func_type") is not None and self.attr("reg_op_name") is not None
        return str(self.attr(PROVIDER_ATTRIBUTE, "user")) if custom else ""

    @property
    def fused_operator_types(self) -> tuple[str, ...]:
        """Types of the operators that a custom operator fuses, or an empty tuple if unknown."""
        return (
            tuple(str(self.attr(OPERATORS_ATTRIBUTE, "")).split()) if self.kernel_provider else ()
        )

    @property
    def tbe_source(self) -> Source | None:
        """Source location of a user's TBE operator function, or None for other nodes."""
        file, _, line = str(self.attr(SOURCE_ATTRIBUTE, "")).rpartition(":")
        return Source(file, int(line)) if file else None

    def attr(self, name: str, default: Any = None) -> Any:
        return dict(self.attrs).get(name, default)


@dataclass(frozen=True)
class Edge:
    """A value that one node produces and another node reads.

    Attributes:
        producer: name of the node that produces the value.
        consumer: name of the node that reads the value.
        value: name of the value.
        index: index of the consumer's input, from 0.
    """

    producer: str
    consumer: str
    value: str
    index: int


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order, with their values.

    Attributes:
        name: name of the graph in the file.
        nodes: the nodes, in an order in which each value is produced before it is used.
        values: a dict from name to value, for inputs, parameters, constants and results.
        inputs: names of the input values, including parameters.
        outputs: names of the output values.
    """

    name: str
    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Supports pickling, although the read-only view of `values` cannot be pickled."""
        return Graph, (self.name, self.nodes, dict(self.values), self.inputs, self.outputs)

    @cached_property
    def _nodes_by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def producers(self) -> dict[str, Node]:
        """A dict from the name of a value to the node that produces it."""
        return {value: node for node in self.nodes for value in node.outputs}

    @cached_property
    def consumers(self) -> dict[str, tuple[Node, ...]]:
        """A dict from a value's name to the nodes that read it, once for each read."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for value in node.inputs:
                found.setdefault(value, []).append(node)
        return {value: tuple(nodes) for value, nodes in found.items()}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(
            Edge(self.producers[value].name, node.name, value, index)
            for node in self.nodes
            for index, value in enumerate(node.inputs)
            if value in self.producers
        )

    def node(self, name: str) -> Node:
        return self._nodes_by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._nodes_by_name

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def inputs_of(self, node: Node) -> tuple[Value, ...]:
        return tuple(self.values[name] for name in node.inputs)

    def outputs_of(self, node: Node) -> tuple[Value, ...]:
        return tuple(self.values[name] for name in node.outputs)
