"""Loads, builds and runs Ascend C kernels: `load_ascendc(path).build(...)` returns a kernel.

This module exceeds 500 lines because building a kernel and running it use the same roles of
parameters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl.ascendc.array_memory import allocate, allocate_copy, allocate_output
from tbe_impl.ascendc.findings import RunReport
from tbe_impl.ascendc.host_tiling import (
    HostTensor,
    TilingStructures,
    read_tiling_structures,
    run_host_tiling,
)
from tbe_impl.ascendc.kernel_source import KernelFunction, KernelSource, read_kernel_source
from tbe_impl.ascendc.launch import (
    INPUT,
    OUTPUT,
    SCALAR,
    TILING,
    WORKSPACE,
    KernelLibrary,
    LaunchArgument,
)
from tbe_impl.ascendc.native_build import build_library
from tbe_impl.ascendc.operator_project import read_operator_project
from tbe_impl.ascendc.translation_unit import instance_of, write_translation_unit
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import FusionError, InputError
from tbe_impl.soc import find_soc

BACKENDS = ("cpu",)
DEFAULT_SOC = "Ascend910B1"
DEFAULT_WORKSPACE_BYTES = 16 << 20


class KernelFault(FusionError):
    """Raised if the host model finds errors in a run; `report` contains all findings."""

    code = "kernel-fault"

    def __init__(self, report: RunReport, name: str):
        first = report.errors[0]
        more = len(report.errors) - 1
        super().__init__(
            f"{name}: {first.kind}: {first.message}" + (f" (and {more} more)" if more else ""),
            place=f"{first.file}:{first.line}" if first.file else None,
            remedy=f"{first.remedy[:1].upper()}{first.remedy[1:]}" if first.remedy else None,
        )
        self.report = report


@dataclass(frozen=True)
class ArrayType:
    """Shape of an input or output, and the name of its NumPy dtype."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return dtype_of(self.dtype).numpy


@dataclass(frozen=True)
class AscendcKernel:
    """A built Ascend C kernel, which is called with arrays of the declared shapes.

    Attributes:
        name: name of the kernel function.
        file: path of the kernel file.
        soc: name of the chip.
        inputs, outputs: the arrays, in the order of the kernel's parameters.
        shared_library: path of the compiled library.
        function: the kernel function in the file.
        blocks: number of cores that run the kernel.
        tiling: bytes of the tiling data.
        tiling_key: the tiling key, an integer that selects a variant of the kernel.
        workspace_bytes: size of the workspace in bytes.
        arguments: scalar parameter → its value as text.
        strict: whether warnings count as errors.
        vector_cores_per_block: 2 if the kernel uses a cube core with two vector cores per block.
        zero_outputs: whether the outputs are filled with zeros before the kernel runs.
        notes: differences between declared shapes and the shapes that the shape function infers;
            chips that the operator's definition lacks.
        aliases: pairs (output, input) that share memory: the kernel updates the input in place.
    """

    name: str
    file: str
    soc: str
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    shared_library: Path = field(repr=False)
    function: KernelFunction = field(repr=False)
    blocks: int = 1
    tiling: bytes = field(default=b"", repr=False)
    tiling_key: int = 0
    workspace_bytes: int = DEFAULT_WORKSPACE_BYTES
    arguments: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    vector_cores_per_block: int = 1
    zero_outputs: bool = False
    notes: tuple[str, ...] = ()
    aliases: tuple[tuple[int, int], ...] = ()
    _last: list[RunReport] = field(default_factory=list, repr=False, compare=False)

    def __call__(
        self,
        *arrays: Any,
        backend: str = "cpu",
        out: Sequence[np.ndarray] | np.ndarray | None = None,
    ) -> Any:
        """Runs the kernel; returns its output array, or a tuple of several output arrays.

        Args:
            arrays: one array per input, with the declared shape and dtype.
            backend: ``cpu``, the only back end.
            out: output arrays. The kernel may read their initial values, for example to add to
                these values.

        Raises:
            InputError: the number of arrays, a shape or a dtype is wrong.
            KernelFault: the host model found an error. The exception's `report` contains the
                findings.
        """
        results, report = self.run(*arrays, backend=backend, out=out)
        if report.errors:
            raise KernelFault(report, self.name)
        return results[0] if len(results) == 1 else results

    def run(
        self,
        *arrays: Any,
        backend: str = "cpu",
        out: Sequence[np.ndarray] | np.ndarray | None = None,
        isolated: bool = False,
    ) -> tuple[tuple[np.ndarray, ...], RunReport]:
        """Runs the kernel.

        Returns (all outputs, the report), even if the report contains errors.

        Args:
            arrays, backend, out: as for `__call__`.
            isolated: whether a child process runs the kernel. A crash of the kernel then raises
                `CrashError`.
        """
        if backend not in BACKENDS:
            raise InputError("unknown back end", place=self.name, expected="cpu", got=repr(backend))
        given = self._check_arrays(arrays)
        targets = [out] if isinstance(out, np.ndarray) else list(out or ())
        if targets and len(targets) != len(self.outputs):
            raise InputError(
                "wrong number of output arrays",
                place=self.name,
                expected=str(len(self.outputs)),
                got=str(len(targets)),
            )
        results = tuple(
            allocate_copy(one, shared=isolated)
            if one is not None
            else allocate_output(kind.shape, kind.numpy, shared=isolated)
            for one, kind in zip_longest(targets, self.outputs)
        )
        if self.zero_outputs and not targets:
            for result in results:
                result[...] = np.zeros((), result.dtype)
        launched = [allocate_copy(one, shared=isolated) for one in given]
        for output, place in self.aliases:
            results[output][...] = launched[place]
            launched[place] = results[output]
        defined = {output for output, _ in self.aliases}
        if targets or self.zero_outputs:
            defined.update(range(len(results)))
        report = self._library.run(
            self._launch_arguments(launched, results, defined),
            blocks=self.blocks,
            soc=find_soc(self.soc),
            tiling_key=self.tiling_key,
            sub_blocks=self.vector_cores_per_block,
            strict=self.strict,
            isolated=isolated,
        )
        for target, result in zip(targets, results, strict=False):
            target[...] = result
        names = [one.name for one in self.function.pointers]
        for name, array, copy in zip(names, given, launched, strict=False):
            if name in report.updated and array.flags.writeable:
                array[...] = copy
        self._last[:] = [report]
        return tuple(targets) or results, report

    def report(self) -> RunReport:
        """Returns the report of the last call.

        If the kernel was not called yet, this method runs the kernel on zeros.
        """
        if not self._last:
            self.run(*(np.zeros(one.shape, one.numpy) for one in self.inputs))
        return self._last[0]

    def with_options(self, **options: Any) -> AscendcKernel:
        """Returns a copy with other `blocks`, `strict`, `workspace_bytes` or `arguments`."""
        return replace(self, **options, _last=[])

    @cached_property
    def _library(self) -> KernelLibrary:
        return KernelLibrary(self.shared_library)

    def _check_arrays(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        if len(arrays) != len(self.inputs):
            raise InputError(
                "wrong number of inputs",
                place=self.name,
                expected=str(len(self.inputs)),
                got=str(len(arrays)),
            )
        found = []
        for number, (array, kind) in enumerate(zip(arrays, self.inputs, strict=True)):
            value = np.asarray(array)
            if value.shape != kind.shape or value.dtype != kind.numpy:
                raise InputError(
                    f"input {number} has a wrong shape or dtype",
                    place=self.name,
                    expected=f"{shape_text(kind.shape)} {kind.dtype}",
                    got=f"{shape_text(value.shape)} {value.dtype}",
                )
            found.append(np.ascontiguousarray(value))
        return found

    def _launch_arguments(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], defined: set[int]
    ) -> list[LaunchArgument]:
        tiling = allocate_copy(np.frombuffer(self.tiling, np.uint8))
        roles = pointer_roles(self.function, len(inputs), len(outputs), self.file)
        waiting = {INPUT: list(inputs), OUTPUT: list(outputs)}
        found = []
        for one in self.function.parameters:
            if not one.is_pointer:
                is_scalar = one.name in self.arguments
                found.append(
                    LaunchArgument(one.name, SCALAR, text=self.arguments[one.name])
                    if is_scalar
                    else LaunchArgument(one.name, TILING, tiling)
                )
                continue
            role = roles[one.name]
            is_defined = role == OUTPUT and len(outputs) - len(waiting[OUTPUT]) in defined
            if role in waiting:
                array = waiting[role].pop(0)
            elif role == WORKSPACE:
                array = allocate(max(self.workspace_bytes, 1))
            else:
                array = tiling
            found.append(LaunchArgument(one.name, role, array, is_defined))
        return found


class AscendcOperator:
    """An Ascend C file; `build` compiles one of its kernel functions for given shapes."""

    def __init__(self, source: KernelSource):
        self.source = source
        self.file = source.path

    def build(
        self,
        *inputs: Any,
        outputs: Sequence[Any],
        function: str | None = None,
        tiling: Mapping[str, Any] | None = None,
        tiling_key: int = 0,
        host: str | os.PathLike[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        arguments: Mapping[str, Any] | None = None,
        blocks: int | None = None,
        workspace: int | None = None,
        defines: Sequence[str] = (),
        include: Sequence[str | os.PathLike[str]] = (),
        soc: str = DEFAULT_SOC,
        strict: bool = False,
    ) -> AscendcKernel:
        """Compiles a kernel function and returns it as a callable kernel.

        Args:
            inputs, outputs: one item for each array, in the order of the kernel's pointer
                parameters. An item is a dict with ``shape`` and ``dtype``, an array, or a pair
                (shape, dtype).
            function: name of the kernel function; by default, the only kernel function of the file.
            tiling: field of the kernel's tiling structure → its value.
            tiling_key: the tiling key. The kernel tests it with the macro TILING_KEY_IS.
            host: the operator's host file. The tiling function in this file computes the tiling
                data for these shapes. Fields in `tiling` then replace computed fields. `host` may
                also be the JSON file of an operator project. Such a file is only used to check
                names and dtypes.
            attributes: attribute of the operator → its value, for `host`.
            arguments: scalar parameter of the kernel → its value.
            blocks: number of cores; by default the number that the tiling function sets, or all
                vector cores of the chip.
            workspace: size of the workspace in bytes.
            defines: definitions for the compiler, ``NAME`` or ``NAME=VALUE``.
            include: include directories.
            soc: the chip.
            strict: whether warnings count as errors.

        Raises:
            InputError: the kernel does not compile, or an argument does not fit the kernel's
                parameters.
            MissingError: there is no C++ compiler.
        """
        kernel = self.source.function(function)
        chip = find_soc(soc)
        given, wanted = tuple(map(_array_type, inputs)), tuple(map(_array_type, outputs))
        scalars = {name: _value_text(value) for name, value in (arguments or {}).items()}
        roles = pointer_roles(kernel, len(given), len(wanted), str(self.file))
        _check_scalars(kernel, scalars, self.source, str(self.file))
        structure = self.source.tiling_type(kernel)
        if structure and TILING in roles.values() and not tiling and host is None:
            raise InputError(
                f"{kernel.name} reads the tiling structure {structure}",
                place=f"{self.file}:{kernel.line}",
                expected="values of its fields",
                remedy="Give them: --tiling NAME=VALUE,…, or the operator's host file: "
                "--host HOST.cpp",
            )
        fields = {name: _value_text(value) for name, value in (tiling or {}).items()}
        pointers = [one.name for one in kernel.pointers]
        dtypes = {name: kind.dtype for name, kind in zip(pointers, (*given, *wanted), strict=False)}
        directories = [Path(one) for one in include]
        structures, planned = TilingStructures("", None), None
        if host is not None and str(host).endswith(".json"):
            project = read_operator_project(Path(host), kernel.name)
            dtypes |= project.check(
                [one.dtype for one in given],
                [one.dtype for one in wanted],
                attributes or {},
                str(host),
            )
        elif host is not None:
            structures = read_tiling_structures(Path(host), directories, defines)
            directories.append(Path(host).resolve().parent)
            planned = run_host_tiling(
                Path(host),
                kernel=kernel.name,
                inputs=[HostTensor(*_describe(one)) for one in inputs],
                outputs=[HostTensor(one.shape, one.dtype) for one in wanted],
                attributes={name: _value_text(value) for name, value in (attributes or {}).items()},
                soc=chip,
                include=directories,
                defines=defines,
            )
        instance = function
        if planned and planned.template_values and (function is None or "<" not in function):
            instance = instance_of(kernel, planned.template_values)
        unit = write_translation_unit(
            self.source,
            kernel,
            instance=instance,
            tiling=fields,
            tiling_text=structures.text,
            default_tiling=structures.default,
            dtypes=dtypes,
            defines=defines,
        )
        library = build_library(unit, self.file, include=directories)
        data = planned.data if planned else bytes(4096)
        if fields:
            data = KernelLibrary(library).tiling_data(fields, data if planned else b"").tobytes()
        pair = self.source.vector_cores_per_block
        cores = (chip.vector_cores or chip.cores) // pair
        number = blocks or (planned.blocks if planned else 0) or cores
        if workspace is None:
            workspace = max(planned.workspace_bytes if planned else 0, DEFAULT_WORKSPACE_BYTES)
        return AscendcKernel(
            kernel.name,
            str(self.file),
            chip.name,
            given,
            wanted,
            library,
            kernel,
            blocks=number,
            tiling=data,
            tiling_key=tiling_key or (planned.key if planned else 0),
            workspace_bytes=workspace,
            arguments=scalars,
            strict=strict,
            vector_cores_per_block=pair,
            zero_outputs=planned.zero_outputs if planned else False,
            notes=planned.notes if planned else (),
            aliases=_checked_aliases(planned.aliases, given, wanted) if planned else (),
        )


def load_ascendc(path: str | os.PathLike[str]) -> AscendcOperator:
    """Reads an Ascend C file.

    Raises:
        InputError: the file is missing, unreadable or too large.
    """
    return AscendcOperator(read_kernel_source(Path(path)))


def pointer_roles(function: KernelFunction, inputs: int, outputs: int, file: str) -> dict[str, int]:
    """Returns the role of each pointer parameter: inputs, outputs, then workspace and tiling.

    Raises:
        InputError: the kernel has too few pointer parameters for the inputs and outputs, or more
            than two further pointer parameters.
    """
    pointers = [one.name for one in function.pointers]
    rest = pointers[inputs + outputs :]
    if len(pointers) < inputs + outputs or len(rest) > 2:
        raise InputError(
            f"{function.name} has {len(pointers)} pointer parameters",
            place=f"{file}:{function.line}",
            expected=f"{inputs} input{'s' * (inputs != 1)} and "
            f"{outputs} output{'s' * (outputs != 1)}, "
            "then workspace and tiling",
            got=", ".join(pointers) or "none",
            remedy="Give one --input for each tensor that the kernel reads, one --output for each "
            "that it writes",
        )
    roles = dict.fromkeys(pointers[:inputs], INPUT)
    roles |= dict.fromkeys(pointers[inputs : inputs + outputs], OUTPUT)
    for one in rest:
        is_tiling = "til" in one.lower() or (
            len(rest) == 2 and one == rest[1] and "work" not in one.lower()
        )
        roles[one] = TILING if is_tiling else WORKSPACE
    return roles


def _check_scalars(
    function: KernelFunction, scalars: Mapping[str, str], source: KernelSource, file: str
) -> None:
    values = [one for one in function.parameters if not one.is_pointer]
    structure = source.tiling_type(function)
    missing = [
        one.name
        for one in values
        if one.name not in scalars and one.type.split()[-1].split("::")[-1] != structure
    ]
    unknown = set(scalars) - {one.name for one in values}
    if missing or unknown:
        raise InputError(
            f"{function.name} needs the value of {missing[0]}"
            if missing
            else f"{function.name} has no scalar parameter {min(unknown)}",
            place=f"{file}:{function.line}",
            expected=", ".join(one.name for one in values) or "no scalar",
            got=", ".join(scalars) or "none",
            remedy=f"Give it: --arg {missing[0]}=VALUE" if missing else None,
        )
    for one in values:
        if one.name in scalars and not _can_hold(one.type, scalars[one.name]):
            raise InputError(
                f"the parameter {one.name} of {function.name} cannot hold a value",
                place=f"--arg {one.name}={scalars[one.name]}",
                expected=f"a number of type {one.type}",
            )


def _can_hold(cpp_type: str, text: str) -> bool:
    """Returns whether a parameter of this C++ type can represent the number."""
    name = cpp_type.split()[-1].split("::")[-1]
    if name == "bool":
        return text in ("0", "1", "true", "false", "True", "False")
    try:
        if name in ("float", "double", "half", "bfloat16_t"):
            float(text)
            return True
        value = int(text, 16 if "0x" in text else 10)
    except ValueError:
        return False
    found = re.fullmatch(r"(u?)int(\d+)_t", name)
    if not found:
        return True
    bits = int(found[2]) - (not found[1])
    return -(0 if found[1] else 1 << bits) <= value < 1 << bits


def _checked_aliases(
    aliases: Sequence[tuple[int, int]], inputs: Sequence[ArrayType], outputs: Sequence[ArrayType]
) -> tuple[tuple[int, int], ...]:
    """Returns the pairs (output, input) of aliases that exist and have the same shape and dtype."""
    return tuple(
        (output, place)
        for output, place in aliases
        if output < len(outputs) and place < len(inputs) and outputs[output] == inputs[place]
    )


def _array_type(value: Any) -> ArrayType:
    if isinstance(value, ArrayType):
        return value
    if isinstance(value, Mapping):
        shape, dtype = value.get("shape", ()), value.get("dtype", "float32")
    elif isinstance(value, np.ndarray):
        shape, dtype = value.shape, value.dtype
    else:
        shape, dtype = value
    return ArrayType(tuple(int(size) for size in shape), str(np.dtype(dtype_of(str(dtype)).numpy)))


def _describe(value: Any) -> tuple[tuple[int, ...], str, np.ndarray | None]:
    kind = _array_type(value)
    return kind.shape, kind.dtype, value if isinstance(value, np.ndarray) else None


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(map(_value_text, value))
    return repr(value.item()) if isinstance(value, np.generic) else repr(value)
