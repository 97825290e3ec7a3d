"""Reads MindSpore's composite-kernel JSON (``akg_kernel_meta/Fused_….info``) into `Graph`.

MindSpore writes this JSON as the input of a kernel generator.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec

from ms_fusion.graph import DTYPE_BYTES, Graph, Node, Value
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait
from ms_fusion.readers.refusal import refuse

REMEDY = "The file is damaged or is not a composite kernel: remove it and compile again"


class _Tensor(msgspec.Struct, frozen=True):
    tensor_name: str
    data_type: str
    shape: list[int | str] = []
    format: str = "DefaultFormat"
    value: Any = msgspec.UNSET
    symbolic_shape: list[int | str] | None = None


class _Attribute(msgspec.Struct, frozen=True):
    name: str
    value: Any = None


class _Operator(msgspec.Struct, frozen=True):
    name: str
    output_desc: list[_Tensor]
    input_desc: list[list[_Tensor]] | None = None
    attr: list[_Attribute] | None = None
    ptr_address: str = ""


class _Kernel(msgspec.Struct, frozen=True):
    op: str
    op_desc: list[_Operator]
    output_desc: list[_Tensor]
    input_desc: list[list[_Tensor]] | None = None
    composite_graph: str = ""
    node_name: str = ""
    platform: str = ""
    process: str = ""
    target_info: dict[str, Any] | None = None


@dataclass(frozen=True)
class CompositeKernel:
    """A composite kernel with its metadata.

    Attributes:
        name: name of the kernel, which is also the attribute ``info_name`` in MindSpore's IR.
        graph: graph of the kernel's operators. Scalars in the JSON are constants of the graph.
        composite_graph: name of the IR sub-graph that became the kernel.
        node_name: name of the cluster, or of the part of a cluster, that became the kernel; empty
            if the JSON does not contain this name.
        platform: kernel generator for which the JSON was written (``AKG``, ``AKG_V2``, ``DVM``).
        process: kind of processor: ``cpu``, ``cuda`` or ``aicore``.
        target: a dict with the architecture and the features of the target processor.
    """

    name: str
    graph: Graph
    composite_graph: str = ""
    node_name: str = ""
    platform: str = ""
    process: str = ""
    target: Mapping[str, Any] = field(default_factory=dict)


_DECODER = msgspec.json.Decoder(_Kernel)
_BYTE = re.compile(r"\(byte (\d+)\)")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]')
MAX_DEPTH = 100
"""Maximum nesting depth of brackets in the JSON text.

The limit is fixed, because the depth at which Python's recursion fails depends on the caller.
"""
_POINTER = re.compile(r"_\d+$")


def _depth(text: str) -> int:
    """Returns the maximum nesting depth of the brackets outside of strings in a JSON text."""
    depth = deepest = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        deepest = max(deepest, depth)
    return deepest


def parse_composite(text: str, *, file: str) -> Graph:
    """Parses the JSON text of a composite kernel into a graph.

    `file` is the file name in error messages.

    Raises:
        ParseError: the text is not JSON, the JSON does not describe a composite kernel, or an
            operator reads an undefined tensor.
    """
    return parse_kernel(text, file=file).graph


def parse_kernel(text: str, *, file: str) -> CompositeKernel:
    """Parses a composite kernel with its metadata; raises the same error as `parse_composite`."""
    data = text.encode("utf-8", errors="replace")
    if _depth(text) > MAX_DEPTH:
        refuse("brackets are nested too deeply", file=file, line=1, remedy=REMEDY)
    try:
        kernel = _DECODER.decode(data)
        graph = _Builder(kernel, file).build()
    except msgspec.DecodeError as error:
        _fail(str(error), data, file)
    return CompositeKernel(
        kernel.op,
        graph,
        kernel.composite_graph,
        kernel.node_name,
        kernel.platform,
        kernel.process,
        MappingProxyType(dict(kernel.target_info or {})),
    )


def _fail(message: str, data: bytes, file: str) -> NoReturn:
    found = _BYTE.search(message)
    at = min(int(found[1]), len(data)) if found else 0
    start = data.rfind(b"\n", 0, at) + 1
    around = data[max(start, at - 60) : at + 60].split(b"\n")[0].decode("utf-8", errors="replace")
    line = data.count(b"\n", 0, at) + 1
    what = f"this is not a composite kernel: {message}"
    refuse(what, file=file, line=line, column=at - start + 1, text=around, remedy=REMEDY)


@dataclass
class _Builder:
    kernel: _Kernel
    file: str
    values: dict[str, Value] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    repeats: dict[str, int] = field(default_factory=dict)

    def build(self) -> Graph:
        inputs = [tensor for group in self.kernel.input_desc or () for tensor in group]
        for tensor in inputs:
            if tensor.tensor_name in self.values:
                self.fail(f"input {tensor.tensor_name!r} is listed twice")
            self.values[tensor.tensor_name] = _value(tensor, "input")
        nodes = tuple(
            self.node(operator, number) for number, operator in enumerate(self.kernel.op_desc)
        )
        for tensor in self.kernel.output_desc:
            if tensor.tensor_name not in self.values:
                self.fail(f"output {tensor.tensor_name!r} is not computed by any operator")
        return Graph(
            self.kernel.op,
            nodes,
            self.values,
            tuple(tensor.tensor_name for tensor in inputs),
            tuple(tensor.tensor_name for tensor in self.kernel.output_desc),
        )

    def fail(self, what: str) -> NoReturn:
        refuse(what, file=self.file, line=1, remedy=REMEDY)

    def node(self, operator: _Operator, number: int) -> Node:
        name = self.unique_name(
            _POINTER.sub("", operator.ptr_address) or f"{self.kernel.op}/{operator.name}-op{number}"
        )
        inputs = tuple(
            self.read(tensor, operator) for group in operator.input_desc or () for tensor in group
        )
        for tensor in operator.output_desc:
            if tensor.tensor_name in self.values:
                self.fail(f"{tensor.tensor_name!r} is computed twice")
            self.values[tensor.tensor_name] = _value(tensor, "result")
        attributes = {attribute.name: _freeze(attribute.value) for attribute in operator.attr or ()}
        return Node(
            name,
            operator.name,
            inputs,
            tuple(tensor.tensor_name for tensor in operator.output_desc),
            tuple(sorted(attributes.items(), key=lambda pair: pair[0])),
            subgraph=self.kernel.composite_graph,
        )

    def read(self, tensor: _Tensor, operator: _Operator) -> str:
        """Returns the name of the value that an input of `operator` refers to.

        `tensor` is the description of this input in the JSON. If the value is a constant that is
        not in the graph yet, the function adds the constant.
        """
        name = tensor.tensor_name
        if tensor.value is msgspec.UNSET:
            if name in self.values:
                return name
            data = _omitted_value(tensor, operator)
            if data is None:
                self.fail(f"{operator.name} reads {name!r}, which no earlier operator computes")
        else:
            # As the value of an empty list, MindSpore writes arbitrary memory contents.
            data = () if tensor.shape == [0] else _freeze(tensor.value)
        if self.values.get(name) == _value(tensor, "constant", data):
            return name
        name = self.unique_name(name)
        self.values[name] = _value(tensor, "constant", data, name)
        return name

    def unique_name(self, name: str) -> str:
        """Returns `name`, with ``#2``, ``#3`` … appended if the kernel already uses this name."""
        own = name
        while own in self.names or own in self.values:
            self.repeats[name] = self.repeats.get(name, 1) + 1
            own = f"{name}#{self.repeats[name]}"
        self.names.add(own)
        return own


_OPERATORS_WITH_FLAG_INPUT = operators_with(Trait.FLAG_INPUT)
_OPERATORS_WITH_SHAPE_INPUT = frozenset({"Conv2DBackpropFilter", "Conv2DBackpropInput"})
_RESIZE_OPERATORS = frozenset({"ResizeNearestNeighbor", "ResizeNearestNeighborGrad"})


def _omitted_value(tensor: _Tensor, operator: _Operator) -> Any:
    """Returns the value of an input that MindSpore does not write to the JSON.

    The value is derived from the operator type and the shapes. The result is None if the value
    cannot be derived.
    """
    groups = operator.input_desc or []
    if not all(len(group) == 1 for group in groups) or not operator.output_desc:
        return None
    given, result = [group[0] for group in groups], operator.output_desc[0].shape
    place = next((number for number, item in enumerate(given) if item is tensor), 0)
    like = tensor.data_type, tensor.shape
    if operator.name in _OPERATORS_WITH_FLAG_INPUT and place == 2 and like == ("bool", [1]):
        return len(given[0].shape) == len(result)
    if (
        operator.name in _OPERATORS_WITH_SHAPE_INPUT
        and place == 2
        and like == ("int64", [len(result)])
    ):
        return _freeze(result)
    if operator.name == "Elu" and place == 1:
        return 1.0  # MindSpore accepts no other value
    if operator.name in _RESIZE_OPERATORS and len(given) == 4 and len(result) == 4:
        if place == 1 and like == ("int64", [2]):
            return _freeze(
                (result if operator.name == "ResizeNearestNeighbor" else given[0].shape)[2:]
            )
        # These inputs are two flags that cannot both be true. If they have the same name, they are
        # equal, so both are false.
        if place > 1 and given[2].tensor_name == given[3].tensor_name:
            return False
    return None


def _value(tensor: _Tensor, kind: str, data: Any = None, name: str | None = None) -> Value:
    symbols = tensor.symbolic_shape or ()
    named = symbols if len(symbols) == len(tensor.shape) else tensor.shape
    shape = tuple(
        _size(symbol) if isinstance(size, int) and size < 0 else _size(size)
        for size, symbol in zip(tensor.shape, named, strict=True)
    )
    lowered = tensor.data_type.lower()
    dtype = lowered if lowered in DTYPE_BYTES else tensor.data_type
    return Value(
        name or tensor.tensor_name, shape, dtype, kind=kind, data=data, format=tensor.format
    )


def _size(size: int | str) -> int | str:
    return int(size) if isinstance(size, str) and size.isdecimal() and len(size) < 20 else size


def _freeze(value: Any) -> Any:
    """Makes a JSON value hashable: lists become tuples, objects become sorted pairs."""
    if isinstance(value, list):
        return tuple(_freeze(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((str(key), _freeze(item)) for key, item in value.items()))
    return value
