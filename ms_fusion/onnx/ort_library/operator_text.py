"""Writes a kernel of a group as the C text of a custom operator of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from tbe_impl.codegen import emit_c
from tbe_impl.codegen.planning.access_analysis import DerivedSize
from tbe_impl.cpu.prepared_kernel import PlannedProgram
from tbe_impl.dsl.expr import Binary, Const, Expr, Var
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import InputError

ELEMENT_TYPES: Mapping[str, int] = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
}
"""Maps a dtype to ONNX's number of the element type."""
AXES_MAX, TENSORS_MAX, SIZES_MAX = 8, 64, 64
"""Limits that ``operator_kernel.h`` defines: number of axes, of tensors and of sizes."""
_OPERATIONS = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "floordiv": "quotient({}, {})",
    "floormod": "remainder_of({}, {})",
    "min": "smaller({}, {})",
    "max": "larger({}, {})",
}
"""Operations on sizes as C text. Their functions are defined in ``operator_kernel.h``."""


@dataclass(frozen=True)
class OperatorText:
    """The C text of a custom operator.

    Attributes:
        name: type of the operator in the domain ``ms_fusion``. `source` defines the symbol
            ``kernel_NAME``, where ``NAME`` is this name.
        source: the C text.
    """

    name: str
    source: str


def write_operator(kernel: GroupKernel) -> OperatorText:
    """Writes the kernel of a group as a custom operator.

    The operator has the inputs and outputs of the group. Its dynamic sizes are read from the shapes
    of its inputs in each call.

    Raises:
        InputError: the kernel needs a library call, or a size cannot be computed from the shapes of
            the inputs.
    """
    steps = kernel.kernel.planned.sequence.steps
    if len(steps) != 1 or not isinstance(steps[0].kernel, PlannedProgram):
        raise InputError("the kernel calls a library", place=kernel.name)
    if kernel.said.doubtful:
        raise InputError(
            "a symbol of the model denotes different sizes",
            place=kernel.name,
            got=", ".join(sorted(kernel.said.doubtful)),
        )
    program = steps[0].kernel.write()
    inputs, outputs = kernel.kernel.inputs, kernel.kernel.outputs
    if len(inputs) + len(outputs) > TENSORS_MAX or len(program.sizes) > SIZES_MAX:
        raise InputError("the group has too many inputs and outputs", place=kernel.name)
    if program.scalars:
        raise InputError("the kernel has a scalar argument", place=kernel.name)
    lines, names = _read_sizes([one.tensor for one in inputs])
    for number, size in enumerate(program.sizes):
        text = _size_text(size.expression if isinstance(size, DerivedSize) else size, names)
        lines.append(f"const int64_t s{number} = {text};")
        lines.append(f"sizes[{number}] = s{number};")
        names[size.serial] = f"s{number}"
    for number, (shape, _) in enumerate(program.result_shapes):
        for axis, extent in enumerate(shape):
            if not extent.variables <= names.keys():
                raise InputError("a size does not follow from the inputs", place=kernel.name)
            lines.append(
                f"made[{number} * AXES_MAX + {axis}] = {emit_c.text_of(extent.expr(names))};"
            )
    places = {id(one.tensor): number for number, one in enumerate((*inputs, *outputs))}
    order = [places[id(tensor)] for tensor in (*program.inputs, *program.outputs)]
    buffers = ", ".join(f"all[{number}]" for number in order)
    run = [
        f"void *buffers[] = {{{buffers or '0'}}};",
        f"return {program.symbol}(buffers, sizes, threads);",
    ]
    return OperatorText(
        kernel.name,
        program.source
        + describe_kernel(
            kernel.name,
            [(ELEMENT_TYPES[one.tensor.dtype], len(one.tensor.shape)) for one in inputs],
            [(ELEMENT_TYPES[one.tensor.dtype], len(one.tensor.shape)) for one in outputs],
            lines,
            run,
        ),
    )


def describe_kernel(
    name: str,
    inputs: Sequence[tuple[int, int]],
    outputs: Sequence[tuple[int, int]],
    sizes: Sequence[str],
    run: Sequence[str],
) -> str:
    """Returns the C text that describes a kernel to ``registration.c``.

    Args:
        name: name of the operator.
        inputs, outputs: element type and rank of each tensor.
        sizes: statements that read the C array ``given`` (the input shapes). They set the C array
            ``sizes``, which `run` reads, and the C array ``made`` (the output shapes).
        run: statements that compute the outputs. The statements can read the C variables ``all``,
            ``sizes`` and ``threads``.
    """
    for _, rank in (*inputs, *outputs):
        if rank > AXES_MAX:
            raise InputError(f"a tensor has more than {AXES_MAX} axes", place=name)

    def kinds(found: Sequence[tuple[int, int]]) -> str:
        return ", ".join(f"{{{dtype}, {rank}}}" for dtype, rank in found) or "{0, 0}"

    return "\n".join(
        [
            "",
            '#include "operator_kernel.h"',
            "static int sizes_of(const int64_t *given, int64_t *sizes, int64_t *made) {",
            "(void)given, (void)sizes, (void)made;",
            *sizes,
            "return -1;",
            "}",
            "static int run(void **all, const int64_t *sizes, int64_t threads) {",
            "(void)sizes, (void)threads;",
            *run,
            "}",
            f"static const struct tensor_kind inputs[] = {{{kinds(inputs)}}};",
            f"static const struct tensor_kind outputs[] = {{{kinds(outputs)}}};",
            f"const struct operator_kernel kernel_{name} = {{",
            f'"{name}", {len(inputs)}, {len(outputs)}, inputs, outputs, sizes_of, run}};',
            "",
        ]
    )


def _read_sizes(inputs: Sequence[Tensor]) -> tuple[list[str], dict[int, str]]:
    """Returns a pair: C statements that check the inputs' shapes, and the C name of each size."""
    lines: list[str] = []
    names: dict[int, str] = {}
    for number, tensor in enumerate(inputs):
        for axis, size in enumerate(tensor.shape):
            place = f"given[{number} * AXES_MAX + {axis}]"
            if isinstance(size, Var) and size.serial not in names:
                names[size.serial] = f"n{len(names)}"
                lines.append(f"const int64_t {names[size.serial]} = {place};")
            else:
                lines.append(f"if ({place} != {_size_text(size, names)}) return {number};")
    return lines, names


def _size_text(size: Expr, names: Mapping[int, str]) -> str:
    """Returns an integer expression of sizes as C text."""
    if isinstance(size, Const):
        return f"INT64_C({int(size.value)})"
    if isinstance(size, Var) and size.serial in names:
        return names[size.serial]
    if isinstance(size, Binary) and size.op in _OPERATIONS:
        return _OPERATIONS[size.op].format(_size_text(size.a, names), _size_text(size.b, names))
    raise InputError("a size cannot be computed from the shapes of the inputs", got=str(size))
