"""A group as an operator file in the TBE DSL: readable, and the same under `tbe_impl` and under CANN."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ms_fusion import __version__
from ms_fusion.formats.onnx_graph import ONNX_OP
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx_fusion.kernels import GroupKernel
from ms_fusion.onnx_fusion.python_names import Names, identifier, quoted
from tbe_impl.cann.graph_source import Statement, statements
from tbe_impl.dsl.tensor import Operation

_TAKEN = frozenset(
    "dsl tvm kernel_name para_check shape_util api_check_support build_config for_cube data made schedule item name dtype".split()
)
"""Names that something else has in the file."""

_HEAD = '''"""{rule}: {count} ONNX operators as one kernel, written by ms_fusion {version}.

Takes the shapes that it is built for{sizes}. `tbe_impl` and CANN both run it:
``tbe_impl.load_operator("{name}.py").build(..., soc="Ascend910B")`` with one description for each input and output.
"""

'''
_FOR_CUBE = '''

def for_cube(x):
    """What the cube multiplies: x itself, or rounded to float16 on a chip that takes nothing else."""
    return x if api_check_support("tbe.dsl.matmul", x.dtype) else dsl.cast_to(x, "float16")
'''


@dataclass(frozen=True)
class Line:
    """A line of generated code and the operator that it came from."""

    line: int
    node: Node


@dataclass(frozen=True)
class TbeSource:
    """An operator file.

    Attributes:
        text: what stands in it.
        lines: those that compute something, with where they came from.
        has_product: whether a matrix product is in it, which most chips compute of float16 only.
    """

    text: str
    lines: tuple[Line, ...]
    has_product: bool


def tbe_source(kernel: GroupKernel) -> TbeSource:
    """The operator file of a group.

    Raises:
        InputError: something in it cannot be said in words of CANN.
    """
    body, said = kernel.node.body, kernel.said
    assert body is not None
    names = Names(_TAKEN)
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
            names.new(value) if value is not None else names.numbered(said.stages[key].outputs[0])
        )

    made, outputs = statements([one.tensor for one in said.outputs], inputs, sizes, name_of)
    writer = _File(kernel, body, list(inputs.values()), results, made)
    return writer.written(outputs, _sizes_of(kernel, list(inputs.values()), sizes))


def _sizes_of(kernel: GroupKernel, inputs: Sequence[str], sizes: Mapping[int, str]) -> list[str]:
    """Lines that take unknown sizes from the inputs that have them."""
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
        made: Sequence[Statement],
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

    def written(self, outputs: Sequence[str], sizes: Sequence[str]) -> TbeSource:
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
            self.add(*_FOR_CUBE.splitlines())
        self.add(
            "",
            "",
            f"def {name}_compute({', '.join([*self.inputs, *self.results])}, kernel_name={_text(name)}):",
            '    """The graph, from placeholders and descriptions of the results."""',
        )
        self.add(*(f"    {line}" for line in sizes))
        self._graph()
        self.add(f"    return [{', '.join(outputs)}]", "", "")
        self._building()
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

    def _graph(self) -> None:
        before: Node | None = None
        for one in self.made:
            node = self.kernel.said.stages[id(one.origin.outputs[0])]
            if node is not before:
                self.add(
                    f"    # {node.attr(ONNX_OP)} {quoted(node.name)} -> {', '.join(map(quoted, node.outputs))}"
                )
            before = node
            self.add(f"    {one.name} = {one.value}")
            self.origins.append(Line(len(self.lines), node))

    def _building(self) -> None:
        name, count = self.kernel.name, len(self.inputs)
        self.add(
            "@para_check.check_op_params(",
            f"    *[para_check.REQUIRED_INPUT] * {count}, *[para_check.REQUIRED_OUTPUT] * {len(self.results)}, para_check.KERNEL_NAME",
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
                    f"        {own}: {_described(self.body.values[value])}"
                    for own, value in zip(names, values, strict=True)
                )
            )
        self.add('    """', "    data = []", "    for name, item, dtype in (")
        for own, value in zip(self.inputs, self.body.inputs, strict=True):
            self.add(f"        ({_text(own)}, {own}, {_text(self.body.values[value].dtype)}),")
        self.add(
            "    ):",
            '        para_check.check_dtype(item.get("dtype").lower(), (dtype,), param_name=name)',
            '        data.append(tvm.placeholder(list(item.get("shape")) or [1], name=name, dtype=dtype))',
            f"    made = {name}_compute(*data, {', '.join(self.results)}, kernel_name)",
            "    with tvm.target.cce():",
        )
        if self.is_raw:
            # a stage that is no word has no place in an automatic schedule
            self.add(
                "        schedule = tvm.create_schedule([tensor.op for tensor in made])",
                "    with build_config:",
                '        tvm.build(schedule, [*data, *made], "cce", name=kernel_name)',
            )
        else:
            self.add(
                "        schedule = dsl.auto_schedule(made)",
                f"    dsl.build(schedule, {{{self._config()}}})",
            )

    def _config(self) -> str:
        read = {name for one in self.made for name in one.reads}
        unread = ', "dummy_placeholder": True' if not read.issuperset(self.inputs) else ""
        return f'"name": kernel_name, "tensor_list": [*data, *made]{unread}'


def _described(value: Value) -> str:
    """Dtype and shape for a docstring; names of sizes are the model's, so they are left out of it."""
    sizes = ", ".join(
        str(size) if isinstance(size, int) and size >= 0 else "?" for size in value.shape
    )
    return f"{value.dtype} ({sizes})"


def _text(name: str) -> str:
    return f'"{name}"'


def descriptions(values: Iterable[Value], size_of: Callable[[Any], int]) -> list[dict[str, object]]:
    """What an operator is built with: one for each input and output, sizes in numbers."""
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
