"""Writes a graph as an operator file in CANN's layout; `tbe_impl` and CANN can both build it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tbe_impl.cann.graph_source import Assignment
from tbe_impl.dsl.tensor import Operation, Tensor

RESERVED_NAMES = frozenset(
    (
        "dsl tvm kernel_name para_check shape_util api_check_support build_config "
        "for_cube data made schedule item name dtype"
    ).split()
)
"""Names that the fixed parts of an operator file use."""

_CUBE_CAST_SOURCE = '''

def for_cube(x):
    """What the cube multiplies: x itself, or rounded to float16 on a chip that takes nothing \
else."""
    return x if api_check_support("tbe.dsl.matmul", x.dtype) else dsl.cast_to(x, "float16")
'''


@dataclass(frozen=True)
class SourceArgument:
    """An input or a result of an operator file.

    Attributes:
        name: Python name of the parameter.
        dtype: dtype of the tensor.
        description: dtype and shape for the docstring.
        shape: shape of the placeholder of an input. The shape may differ from the shape in the
            description that the operator gets, but must have as many elements. If `shape` is None,
            the placeholder has the shape from the description.
    """

    name: str
    dtype: str
    description: str
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class OperatorSource:
    """An operator file.

    Attributes:
        text: content of the file.
        stages: line number and stage of each line that computes a stage, or a part of it.
        has_product: whether the file contains a matrix product. Most chips compute matrix products
            only in float16.
    """

    text: str
    stages: tuple[tuple[int, Operation], ...]
    has_product: bool


def write_operator_source(
    name: str,
    head: str,
    inputs: Sequence[SourceArgument],
    results: Sequence[SourceArgument],
    assignments: Sequence[Assignment],
    outputs: Sequence[str],
    *,
    size_lines: Sequence[str] = (),
    comment_of: Callable[[Operation], str] = lambda stage: "",
) -> OperatorSource:
    """Writes an operator file with the functions ``NAME_compute`` and ``NAME``.

    Args:
        name: name of the operator function.
        head: content of the module's docstring.
        inputs, results: the `SourceArgument` of each input tensor and of each result tensor, in the
            order of the operator function's parameters.
        assignments, outputs: the graph, from `tbe_impl.cann.graph_source.emit_assignments`.
        size_lines: source lines that assign dynamic sizes from the shapes of the inputs. The
            function `size_lines` of this module returns such lines.
        comment_of: function from a stage to the comment above the lines of the stage; an empty
            string means no comment.
    """
    return _OperatorFile(name, inputs, results, assignments).write(
        head, outputs, size_lines, comment_of
    )


def size_lines(
    inputs: Sequence[Tensor], names: Sequence[str], sizes: Mapping[int, str]
) -> list[str]:
    """Returns the lines that assign dynamic sizes from the shapes of the inputs.

    Args:
        inputs, names: the input tensors and the names of their parameters.
        sizes: maps the ``id`` of a variable to its name. Only a variable that is the size of an
            input axis gets a line.
    """
    left, found = dict(sizes), []
    for name, tensor in zip(names, inputs, strict=True):
        for axis, size in enumerate(tensor.shape):
            if id(size) in left:
                found.append(
                    f"{left.pop(id(size))} = shape_util.shape_to_list({name}.shape)[{axis}]"
                )
    return found


class _OperatorFile:
    def __init__(
        self,
        name: str,
        inputs: Sequence[SourceArgument],
        results: Sequence[SourceArgument],
        assignments: Sequence[Assignment],
    ):
        self.name, self.inputs, self.results = name, inputs, results
        self.assignments = assignments
        self.parameters = ", ".join(one.name for one in (*inputs, *results))
        self.has_product = any(one.is_product for one in assignments)
        self.is_raw = any(one.is_raw for one in assignments)
        self.is_fixed = all(one.shape is not None for one in inputs)
        self.lines: list[str] = []
        self.stages: list[tuple[int, Operation]] = []

    def write(
        self,
        head: str,
        outputs: Sequence[str],
        size_lines: Sequence[str],
        comment_of: Callable[[Operation], str],
    ) -> OperatorSource:
        self.add(*f'"""{head}"""\n\n'.splitlines(), *self._imports(bool(size_lines)))
        if self.has_product:
            self.add(*_CUBE_CAST_SOURCE.splitlines())
        self.add(
            "",
            "",
            f'def {self.name}_compute({self.parameters}, kernel_name="{self.name}"):',
            '    """The graph, from placeholders and descriptions of the results."""',
        )
        self.add(*(f"    {line}" for line in size_lines))
        before = ""
        for one in self.assignments:
            comment = comment_of(one.origin)
            if comment != before:
                self.add(f"    # {comment}")
            before = comment
            self.add(f"    {one.name} = {one.value}")
            self.stages.append((len(self.lines), one.origin))
        self.add(f"    return [{', '.join(outputs)}]", "", "")
        self._write_build_function()
        return OperatorSource("\n".join(self.lines) + "\n", tuple(self.stages), self.has_product)

    def add(self, *lines: str) -> None:
        self.lines += lines

    def _imports(self, has_sizes: bool) -> list[str]:
        tools = ["para_check", *(["shape_util"] if has_sizes else [])]
        found = ["import math", ""] if self.is_fixed else []
        found.append("from tbe import dsl, tvm")
        if self.has_product:
            found.append("from tbe.common.platform import api_check_support")
        found.append(f"from tbe.common.utils import {', '.join(tools)}")
        if self.is_raw:
            found.append("from te.platform.cce_build import build_config")
        return found

    def _write_build_function(self) -> None:
        name = self.name
        self.add(
            "@para_check.check_op_params(",
            f"    *[para_check.REQUIRED_INPUT] * {len(self.inputs)}, "
            f"*[para_check.REQUIRED_OUTPUT] * {len(self.results)}, para_check.KERNEL_NAME",
            ")",
            f'def {name}({self.parameters}, kernel_name="{name}"):',
            '    """Builds the kernel.',
            "",
        )
        for label, arguments in (("Inputs", self.inputs), ("Results", self.results)):
            self.add(f"    {label}:")
            self.add(*(f"        {one.name}: {one.description}" for one in arguments))
        self.add('    """', "    data = []")
        self._write_placeholders()
        results = ", ".join(one.name for one in self.results)
        self.add(
            f"    made = {name}_compute(*data, {results}, kernel_name)",
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

    def _write_placeholders(self) -> None:
        shape = ", shape" if self.is_fixed else ""
        self.add(f"    for name, item{shape}, dtype in (")
        for one in self.inputs:
            own = f", {list(one.shape or ())}" if self.is_fixed else ""
            self.add(f'        ("{one.name}", {one.name}{own}, "{one.dtype}"),')
        self.add(
            "    ):",
            '        para_check.check_dtype(item.get("dtype").lower(), (dtype,), param_name=name)',
        )
        if self.is_fixed:
            self.add(
                '        if math.prod(item.get("shape")) != math.prod(shape):',
                '            raise RuntimeError(f"{name} is built for the shape {shape}, but has '
                """{item.get('shape')}")""",
                "        data.append(tvm.placeholder(shape, name=name, dtype=dtype))",
            )
        else:
            self.add(
                '        data.append(tvm.placeholder(list(item.get("shape")) or [1], '
                "name=name, dtype=dtype))"
            )

    def _build_config_text(self) -> str:
        read = {name for one in self.assignments for name in one.reads}
        is_unread = not read.issuperset(one.name for one in self.inputs)
        unread = ', "dummy_placeholder": True' if is_unread else ""
        return f'"name": kernel_name, "tensor_list": [*data, *made]{unread}'
