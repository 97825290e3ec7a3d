"""Writes a group as a readable operator file in the TBE DSL, for `tbe_impl` and for CANN."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ms_fusion import __version__
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.kernels.python_names import Names, identifier, quote_name
from ms_fusion.readers.onnx_graph import ONNX_OP
from tbe_impl.cann.graph_source import Assignment, emit_assignments
from tbe_impl.dsl.tensor import Operation

_RESERVED_NAMES = frozenset(
    (
        "dsl tvm kernel_name para_check shape_util api_check_support build_config "
        "for_cube data made schedule item name dtype"
    ).split()
)
"""Names that the fixed parts of a generated file use."""

_HEAD = '''"""{rule}: {count} ONNX operators as one kernel, written by ms_fusion {version}.

Takes the shapes that it is built for{sizes}. `tbe_impl` and CANN both run it:
``tbe_impl.load_operator("{name}.py").build(..., soc="Ascend910B")`` with one description for \
each input and output.
"""

'''
_CUBE_CAST_SOURCE = '''

def for_cube(x):
    """What the cube multiplies: x itself, or rounded to float16 on a chip that takes nothing \
else."""
    return x if api_check_support("tbe.dsl.matmul", x.dtype) else dsl.cast_to(x, "float16")
'''


@dataclass(frozen=True)
class Line:
    """A line number of generated code, and the operator that the line computes."""

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
    body, said = kernel.node.body, kernel.said
    assert body is not None
    names = Names(_RESERVED_NAMES)
    inputs = {
        id(one.tensor): names.new(value)
        for one, value in zip(said.inputs, body.inputs, strict=True)
    }
    results = [names.new(f"{value}_out") for value in body.outputs]
    sizes = {id(size): names.new(f"size_{symbol}") for symbol, size in said.sizes.items()}

    def name_of(op: Operation, is_whole: bool) -> str:
        key = id(op.outputs[0])
        value = said.values.get(key) if is_whole else None
        return (
            names.new(value)
            if value is not None
            else names.new_numbered(said.stages[key].outputs[0])
        )

    made, outputs = emit_assignments([one.tensor for one in said.outputs], inputs, sizes, name_of)
    writer = _File(kernel, body, list(inputs.values()), results, made)
    return writer.write(outputs, _size_lines(kernel, list(inputs.values()), sizes))


def _size_lines(kernel: GroupKernel, inputs: Sequence[str], sizes: Mapping[int, str]) -> list[str]:
    """Returns lines that assign dynamic sizes from the shapes of the inputs."""
    left, found = dict(sizes), []
    for name, argument in zip(inputs, kernel.said.inputs, strict=True):
        for axis, size in enumerate(argument.tensor.shape):
            if id(size) in left:
                found.append(
                    f"{left.pop(id(size))} = shape_util.shape_to_list({name}.shape)[{axis}]"
                )
    return found


class _File:
    def __init__(
        self,
        kernel: GroupKernel,
        body: Graph,
        inputs: list[str],
        results: list[str],
        made: Sequence[Assignment],
    ):
        self.kernel, self.body, self.inputs, self.results, self.made = (
            kernel,
            body,
            inputs,
            results,
            made,
        )
        self.has_product = any(one.is_product for one in made)
        self.has_late_sizes = any(
            value.is_dynamic for value in map(body.values.__getitem__, body.inputs)
        )
        self.is_raw = any(one.is_raw for one in made)
        self.lines: list[str] = []
        self.origins: list[Line] = []

    def write(self, outputs: Sequence[str], sizes: Sequence[str]) -> TbeSource:
        name = self.kernel.name
        told = ", whatever those are" if self.has_late_sizes else ""
        head = _HEAD.format(
            rule=identifier(self.kernel.node.op),
            count=len(self.body.nodes),
            version=__version__,
            sizes=told,
            name=name,
        )
        self.add(*head.splitlines(), *self._imports(bool(sizes)))
        if self.has_product:
            self.add(*_CUBE_CAST_SOURCE.splitlines())
        self.add(
            "",
            "",
            f"def {name}_compute({', '.join([*self.inputs, *self.results])}, "
            f"kernel_name={_text(name)}):",
            '    """The graph, from placeholders and descriptions of the results."""',
        )
        self.add(*(f"    {line}" for line in sizes))
        self._write_graph()
        self.add(f"    return [{', '.join(outputs)}]", "", "")
        self._write_build_function()
        return TbeSource("\n".join(self.lines) + "\n", tuple(self.origins), self.has_product)

    def add(self, *lines: str) -> None:
        self.lines += lines

    def _imports(self, has_sizes: bool) -> list[str]:
        tools = ["para_check", *(["shape_util"] if has_sizes else [])]
        found = ["from tbe import dsl, tvm"]
        if self.has_product:
            found.append("from tbe.common.platform import api_check_support")
        found.append(f"from tbe.common.utils import {', '.join(tools)}")
        if self.is_raw:
            found.append("from te.platform.cce_build import build_config")
        return found

    def _write_graph(self) -> None:
        before: Node | None = None
        for one in self.made:
            node = self.kernel.said.stages[id(one.origin.outputs[0])]
            if node is not before:
                self.add(
                    f"    # {node.attr(ONNX_OP)} {quote_name(node.name)} -> "
                    f"{', '.join(map(quote_name, node.outputs))}"
                )
            before = node
            self.add(f"    {one.name} = {one.value}")
            self.origins.append(Line(len(self.lines), node))

    def _write_build_function(self) -> None:
        name, count = self.kernel.name, len(self.inputs)
        self.add(
            "@para_check.check_op_params(",
            f"    *[para_check.REQUIRED_INPUT] * {count}, "
            f"*[para_check.REQUIRED_OUTPUT] * {len(self.results)}, para_check.KERNEL_NAME",
            ")",
            f"def {name}({', '.join([*self.inputs, *self.results])}, kernel_name={_text(name)}):",
            '    """Builds the kernel.',
            "",
        )
        for label, names, values in (
            ("Inputs", self.inputs, self.body.inputs),
            ("Results", self.results, self.body.outputs),
        ):
            self.add(f"    {label}:")
            self.add(
                *(
                    f"        {own}: {_describe_value(self.body.values[value])}"
                    for own, value in zip(names, values, strict=True)
                )
            )
        self.add('    """', "    data = []", "    for name, item, dtype in (")
        for own, value in zip(self.inputs, self.body.inputs, strict=True):
            self.add(f"        ({_text(own)}, {own}, {_text(self.body.values[value].dtype)}),")
        self.add(
            "    ):",
            '        para_check.check_dtype(item.get("dtype").lower(), (dtype,), param_name=name)',
            '        data.append(tvm.placeholder(list(item.get("shape")) or [1], '
            "name=name, dtype=dtype))",
            f"    made = {name}_compute(*data, {', '.join(self.results)}, kernel_name)",
            "    with tvm.target.cce():",
        )
        if self.is_raw:
            # `auto_schedule` does not support a stage that is no DSL operation.
            self.add(
                "        schedule = tvm.create_schedule([tensor.op for tensor in made])",
                "    with build_config:",
                '        tvm.build(schedule, [*data, *made], "cce", name=kernel_name)',
            )
        else:
            self.add(
                "        schedule = dsl.auto_schedule(made)",
                f"    dsl.build(schedule, {{{self._build_config_text()}}})",
            )

    def _build_config_text(self) -> str:
        read = {name for one in self.made for name in one.reads}
        unread = ', "dummy_placeholder": True' if not read.issuperset(self.inputs) else ""
        return f'"name": kernel_name, "tensor_list": [*data, *made]{unread}'


def _describe_value(value: Value) -> str:
    """Returns the dtype and shape of a value as a string for a docstring.

    An unknown size is written as ``?``, because its symbol is text from the model.
    """
    sizes = ", ".join(
        str(size) if isinstance(size, int) and size >= 0 else "?" for size in value.shape
    )
    return f"{value.dtype} ({sizes})"


def _text(name: str) -> str:
    return f'"{name}"'


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
