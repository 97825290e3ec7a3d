"""Builds, runs and checks an Ascend C kernel for the command line."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl.ascendc.findings import BufferUse, Finding
from tbe_impl.ascendc.kernel import DEFAULT_SOC, ArrayType, AscendcKernel, load_ascendc
from tbe_impl.cli.arguments import ArrayDescription
from tbe_impl.cli.commands import ArrayFigures, summarize_array
from tbe_impl.cli.formula import evaluate
from tbe_impl.cli.sample_arrays import NamedArray, make_random_array
from tbe_impl.comparing import Difference, compare_arrays
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.errors import InputError


@dataclass(frozen=True)
class AscendcRequest:
    """A kernel file and its build arguments.

    Attributes:
        file: path of the kernel file.
        function: name of the kernel function, or None if the file has only one kernel function.
        inputs, outputs: array descriptions in the order of the kernel's parameters.
        tiling: dict from each field of the tiling structure to its value as text.
        arguments: dict from each scalar parameter of the kernel to its value as text.
        attributes: dict from each attribute of the operator to its value as text.
        host: the file with the tiling function, or None if there is no such file.
        tiling_key: the tiling key, an integer that selects a variant of the kernel.
        blocks: number of cores, or None for the default.
        workspace: size of the workspace in bytes, or None for the default.
        defines, include: preprocessor definitions and include directories for the compiler.
        soc: name of the chip.
        strict: whether warnings count as errors.
        seed: seed of the random arrays.
    """

    file: Path
    function: str | None = None
    inputs: tuple[ArrayDescription, ...] = ()
    outputs: tuple[ArrayDescription, ...] = ()
    tiling: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    host: Path | None = None
    tiling_key: int = 0
    blocks: int | None = None
    workspace: int | None = None
    defines: tuple[str, ...] = ()
    include: tuple[Path, ...] = ()
    soc: str = DEFAULT_SOC
    strict: bool = False
    seed: int = 0


@dataclass(frozen=True)
class AscendcRun:
    """Result of running a kernel.

    Attributes:
        kernel, file, soc: names of the kernel function, its file and the chip.
        blocks: number of cores.
        arrays: statistics of the inputs, then of the outputs.
        build_us, run_us: time to build and to run the kernel, in µs.
        findings: findings of the host model, with the errors first.
        differences: comparisons of the outputs with the formula.
        buffers: on-chip buffers of core 0.
        instructions: number of instructions of each pipe.
        bytes_read, bytes_written: bytes of global memory that the kernel moved.
        printed: text of the kernel's ``printf``.
        notes: differences between the declared output shapes and the inferred ones; chips that
            the operator's definition lacks.
    """

    kernel: str
    file: str
    soc: str
    blocks: int
    arrays: tuple[ArrayFigures, ...]
    build_us: float
    run_us: float
    findings: tuple[Finding, ...]
    differences: tuple[Difference, ...]
    buffers: tuple[BufferUse, ...]
    instructions: Mapping[str, int]
    bytes_read: int
    bytes_written: int
    printed: str
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if there is an error or an output differs from the formula, otherwise 0."""
        wrong = any(one.severity == "error" for one in self.findings)
        return int(wrong or not all(one.is_within_tolerance for one in self.differences))


def run_ascendc(
    request: AscendcRequest, *, check: str | None = None, save: Path | None = None
) -> AscendcRun:
    """Builds a kernel, runs it on given or seeded random arrays, and checks its outputs.

    Args:
        request: the kernel file and its build arguments.
        check: a formula for the first output, or several formulas separated by commas. A formula
            refers to the inputs as ``x0``, ``x1`` … or by their parameter names, and to scalar
            parameters and attributes by their names.
        save: directory that receives each output as a ``.npy`` file.

    Raises:
        InputError: an argument is wrong, the kernel does not compile, or the formula is wrong.
        CrashError: the kernel crashed.
    """
    start = time.perf_counter()
    kernel = build_ascendc(request)
    build_us = (time.perf_counter() - start) * 1e6
    names = [one.name for one in kernel.function.pointers]
    inputs = [
        NamedArray("in", name, _input_array(one, request.seed, number))
        for number, (name, one) in enumerate(zip(names, request.inputs, strict=False))
    ]
    given = [one.array for one in request.outputs]
    targets = [np.array(one) for one in given if one is not None]
    if targets and len(targets) < len(given):
        raise InputError(
            "some outputs are files and others are not",
            place="--output",
            expected="values from before for all outputs, or for none",
        )
    start = time.perf_counter()
    results, report = kernel.run(*(one.array for one in inputs), out=targets or None, isolated=True)
    run_us = (time.perf_counter() - start) * 1e6
    outputs = [
        NamedArray("out", name, array)
        for name, array in zip(names[len(inputs) :], results, strict=False)
    ]
    differences = _differences(check, request, inputs, outputs) if check else ()
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        for one in outputs:
            np.save(save / f"{one.name}.npy", one.array)
    return AscendcRun(
        kernel.name,
        str(request.file),
        kernel.soc,
        kernel.blocks,
        tuple(summarize_array(one) for one in (*inputs, *outputs)),
        build_us,
        run_us,
        report.findings,
        differences,
        report.buffers,
        report.instructions,
        report.bytes_read,
        report.bytes_written,
        report.printed,
        kernel.notes,
    )


def build_ascendc(request: AscendcRequest) -> AscendcKernel:
    """Builds the kernel of a request."""
    operator = load_ascendc(request.file)
    inputs = [
        ArrayType(one.array_shape, one.dtype) if one.array is None else one.array
        for one in _check_sizes(request.inputs)
    ]
    outputs = [ArrayType(one.array_shape, one.dtype) for one in _check_sizes(request.outputs)]
    return operator.build(
        *inputs,
        outputs=outputs,
        function=request.function,
        tiling=request.tiling,
        tiling_key=request.tiling_key,
        host=request.host,
        attributes=request.attributes,
        arguments=request.arguments,
        blocks=request.blocks,
        workspace=request.workspace,
        defines=request.defines,
        include=request.include,
        soc=request.soc,
        strict=request.strict,
    )


def _check_sizes(described: Sequence[ArrayDescription]) -> Sequence[ArrayDescription]:
    for one in described:
        if not one.is_known:
            raise InputError(
                "a size is not known", got="x".join(map(str, one.shape)), remedy="Give all sizes"
            )
    return described


def _input_array(one: ArrayDescription, seed: int, number: int) -> np.ndarray:
    if one.array is not None:
        return np.ascontiguousarray(one.array)
    return make_random_array(np.random.default_rng((seed, number)), one.dtype, one.shape)


def _differences(
    formula: str,
    request: AscendcRequest,
    inputs: Sequence[NamedArray],
    outputs: Sequence[NamedArray],
) -> tuple[Difference, ...]:
    names: dict[str, Any] = {
        name: _number(value)
        for name, value in (*request.attributes.items(), *request.arguments.items())
    }
    for number, one in enumerate(inputs):
        wide = one.array if one.array.dtype.kind in "iub" else one.array.astype(np.float64)
        names[one.name] = names[f"x{number}"] = wide
    values = evaluate(formula, names)
    if len(values) > len(outputs):
        raise InputError(
            "more formulas than outputs",
            place="--check",
            expected=f"at most {len(outputs)}",
            got=str(len(values)),
        )
    found = []
    for one, value in zip(outputs, values, strict=False):
        dtype = str(one.array.dtype)
        found.append(
            compare_arrays(
                one.name,
                "formula",
                one.array,
                value,
                dtype=dtype,
                through=dtype if is_float(dtype) else "float32",
            )
        )
    return tuple(found)


def _number(text: str) -> Any:
    try:
        return float(text) if any(one in text for one in ".eEni") else int(text, 0)
    except ValueError:
        return text
