"""Writes a group as a readable operator file in the TBE DSL, for `tbe_impl` and for CANN."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ms_fusion import __version__
from ms_fusion.graph import Node, Value
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.ops.call import ONNX_OP
from tbe_impl.cann.graph_source import emit_assignments
from tbe_impl.cann.operator_source import (
    RESERVED_NAMES,
    SourceArgument,
    size_lines,
    write_operator_source,
)
from tbe_impl.cann.python_names import Names, identifier, quote_name
from tbe_impl.dsl.tensor import Operation

_HEAD = """{rule}: {count} ONNX operators as one kernel, written by ms_fusion {version}.

Takes the shapes that it is built for{sizes}. `tbe_impl` and CANN both run it:
``tbe_impl.load_operator("{name}.py").build(..., soc="Ascend910B")`` with one description for \
each input and output.
"""


@dataclass(frozen=True)
class Line:
    """The number of a line of generated code, and the operator that this line computes."""

    line: int
    node: Node


@dataclass(frozen=True)
class TbeSource:
    """An operator file.

    Attributes:
        text: content of the file.
        lines: the lines that compute operators.
        has_product: whether the file contains a matrix product, which most chips compute only in
            float16.
    """

    text: str
    lines: tuple[Line, ...]
    has_product: bool


def write_tbe_source(kernel: GroupKernel) -> TbeSource:
    """Writes the operator file of a group.

    Raises:
        InputError: an operation has no equivalent in CANN's DSL.
    """
    body, said = kernel.node.fused_body, kernel.said
    names = Names(RESERVED_NAMES)
    values = body.values
    inputs = [_argument(names.new(value), values[value]) for value in body.inputs]
    by_tensor = {id(one.tensor): own.name for one, own in zip(said.inputs, inputs, strict=True)}
    results = [_argument(names.new(f"{value}_out"), values[value]) for value in body.outputs]
    sizes = {id(size): names.new(f"size_{symbol}") for symbol, size in said.sizes.items()}

    def name_of(op: Operation, is_whole: bool) -> str:
        key = id(op.outputs[0])
        value = said.values.get(key) if is_whole else None
        return (
            names.new(value)
            if value is not None
            else names.new_numbered(said.stages[key].outputs[0])
        )

    def node_of(stage: Operation) -> Node:
        return said.stages[id(stage.outputs[0])]

    def comment_of(stage: Operation) -> str:
        node = node_of(stage)
        made = ", ".join(map(quote_name, node.outputs))
        return f"{node.attr(ONNX_OP)} {quote_name(node.name)} -> {made}"

    made, outputs = emit_assignments(
        [one.tensor for one in said.outputs], by_tensor, sizes, name_of
    )
    is_dynamic = any(values[value].is_dynamic for value in body.inputs)
    head = _HEAD.format(
        rule=identifier(kernel.node.op),
        count=len(body.nodes),
        version=__version__,
        sizes=", whatever those are" if is_dynamic else "",
        name=kernel.name,
    )
    source = write_operator_source(
        kernel.name,
        head,
        inputs,
        results,
        made,
        outputs,
        size_lines=size_lines([one.tensor for one in said.inputs], list(by_tensor.values()), sizes),
        comment_of=comment_of,
    )
    lines = tuple(Line(line, node_of(stage)) for line, stage in source.stages)
    return TbeSource(source.text, lines, source.has_product)


def _argument(name: str, value: Value) -> SourceArgument:
    return SourceArgument(name, value.dtype, _describe_value(value))


def _describe_value(value: Value) -> str:
    """Returns the dtype and shape of a value as a string for a docstring.

    An unknown size is written as ``?``, because its symbol is text from the model.
    """
    sizes = ", ".join(
        str(size) if isinstance(size, int) and size >= 0 else "?" for size in value.shape
    )
    return f"{value.dtype} ({sizes})"


def descriptions(values: Iterable[Value], size_of: Callable[[Any], int]) -> list[dict[str, object]]:
    """Returns the TBE descriptions (dicts with shape, format and dtype) of inputs and outputs.

    `size_of` converts a static or unknown size to an integer.
    """
    found: list[dict[str, object]] = []
    for value in values:
        shape = [size_of(size) for size in value.shape]
        found.append(
            {
                "shape": shape,
                "ori_shape": shape,
                "format": "ND",
                "ori_format": "ND",
                "dtype": value.dtype,
            }
        )
    return found
