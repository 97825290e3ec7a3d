"""Builds, runs, checks and shows an operator for the command line."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl.backends import find_runnable, replacement_of
from tbe_impl.chip.schedule_checks import Finding
from tbe_impl.cli.arguments import UNKNOWN_SIZE, ArrayDescription, OperatorCall, bind_arguments
from tbe_impl.cli.formula import evaluate
from tbe_impl.cli.sample_arrays import NamedArray, make_inputs
from tbe_impl.comparing import Difference, coarsest_dtype, compare_arrays
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import CompileError, FusionError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.kernel_report import findings_of
from tbe_impl.loading.deferred_kernel import DeferredKernel
from tbe_impl.loading.operator import Operator, load_operator
from tbe_impl.loading.operator_reference import check_operator_file, split_target
from tbe_impl.loading.parameter_roles import strip_decorators

WARM_CALLS = 5
FIRST_VALUES = 4


@dataclass(frozen=True)
class Request:
    """An operator and its build arguments.

    Attributes:
        target: ``FILE.py:operator``, or ``FILE.py`` if the file defines one operator.
        inputs, outputs: array descriptions in parameter order.
        attributes: dict from the name of an attribute to its value as a string.
        soc: name of the chip.
        search_path: directories from which the operator imports its own packages. By default, the
            parent of the directory ``impl`` that contains the file.
        backend: ``cpu`` or ``numpy``.
        seed: seed of the random arrays.
    """

    target: str
    inputs: tuple[ArrayDescription, ...] = ()
    outputs: tuple[ArrayDescription, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    soc: str = "Ascend910A"
    search_path: tuple[str, ...] = ()
    backend: str = "cpu"
    seed: int = 0


@dataclass(frozen=True)
class BuiltOperator:
    """An operator and its kernel.

    Attributes:
        operator: the loaded operator.
        name: name of the operator's undecorated function.
        call: the arguments with which the kernel was built.
        kernel: the kernel that the operator built.
        inputs: an array for each input of the kernel.
        findings: findings about the kernel's schedule on the chip.
    """

    operator: Operator
    name: str
    call: OperatorCall
    kernel: Kernel
    inputs: tuple[NamedArray, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class ArrayFigures:
    """Statistics of an array.

    The minimum, maximum and mean ignore NaN. If every element is NaN, all three are None. `nan` is
    the number of NaNs, and `first` contains the first elements.
    """

    role: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    minimum: float | None
    maximum: float | None
    mean: float | None
    nan: int
    first: tuple[float, ...]


@dataclass(frozen=True)
class RunResult:
    """Result of running a kernel.

    Attributes:
        operator, file, kernel, soc: names of the operator, its file, its kernel and the chip.
        backend: the back end that was used. Without a compiler, ``numpy`` replaces ``cpu``.
        problem: the reason why the requested back end was not used. Empty if that back end was
            used.
        arrays: statistics of the inputs, then of the outputs.
        build_us: time to load and build the operator, in µs.
        first_us, warm_us: time of the first call, and median time of later calls, in µs.
        differences: comparisons of the outputs with expected values. Empty without a check.
        notes: remarks on assumed sizes, on outputs that differ from their descriptions, and on
            skipped checks.
        findings: findings about the kernel's schedule on the chip.
    """

    operator: str
    file: str
    kernel: str
    soc: str
    backend: str
    problem: str
    arrays: tuple[ArrayFigures, ...]
    build_us: float
    first_us: float
    warm_us: float
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code: 0 if every difference is within its tolerance, otherwise 1."""
        return 0 if all(item.is_within_tolerance for item in self.differences) else 1


def build(request: Request) -> BuiltOperator:
    """Loads and builds an operator.

    Raises:
        InputError: the file or operator does not exist, the operator rejects its arguments, or an
            on-chip buffer exceeds its capacity.
    """
    file, name = split_target(request.target)
    check_operator_file(file)
    find_runnable(request.backend)
    outside = user_location().file
    # prints of operator files go to standard error
    with contextlib.redirect_stdout(sys.stderr):
        operator = load_operator(file, name, search_path=request.search_path or _tree_of(file))
        call = bind_arguments(
            operator.function,
            request.inputs,
            request.outputs,
            request.attributes,
            place=f"{file}:{_line_of(operator)}",
        )
        try:
            kernel = operator.build(*call.positional, soc=request.soc, **call.keywords)
        except FusionError as error:
            # If a decorator rejects an argument, the operator's line helps more than the line of
            # the call.
            if (
                not error.place
                or error.place.startswith(f"{outside}:")
                or error.place == operator.name
            ):
                error.place = f"{file}:{_line_of(operator)}"
            raise

    name = strip_decorators(operator.function).__name__
    described = call.inputs
    if isinstance(kernel, DeferredKernel):
        described = tuple(_resolve_sizes(item) for item in described)
        kernel = kernel.for_arrays([_array_of(item) for item in described])
    arrays = make_inputs(kernel, described, seed=request.seed, operator=name)
    return BuiltOperator(operator, name, call, kernel, arrays, findings_of(kernel))


def _resolve_sizes(item: ArrayDescription) -> ArrayDescription:
    """Replaces the unknown sizes of a description by known sizes.

    An integer scalar or vector without given elements gets zeros as elements, because the operator
    may need the values of such an input at build time.
    """
    known = replace(item, shape=item.array_shape, sizes=())
    matters = item.array is None and item.dtype in ("int32", "int64") and len(known.shape) <= 1
    return replace(known, array=np.zeros(known.shape, item.dtype)) if matters else known


def _array_of(item: ArrayDescription) -> np.ndarray:
    """Returns the array of a description.

    Without an array, returns a read-only array of zeros.
    """
    return (
        item.array
        if item.array is not None
        else np.broadcast_to(np.zeros((), dtype_of(item.dtype).numpy), item.shape)
    )


def unknown_size_notes(built: BuiltOperator) -> tuple[str, ...]:
    """Returns a 1-tuple with a note on the sizes assumed for unknown sizes, or an empty tuple."""
    open_ones = [
        item
        for item in built.call.inputs
        if not item.is_known and not item.sizes and item.array is None
    ]
    if not open_ones:
        return ()
    names = ", ".join(
        f"{item.name} {shape_text(item.shape)} is {shape_text(item.array_shape)}"
        for item in open_ones
    )
    return (f"sizes of -1 are {UNKNOWN_SIZE} in the arrays: {names}; SHAPE@SIZES says others",)


def _output_notes(request: Request, outputs: Sequence[NamedArray]) -> tuple[str, ...]:
    """Returns one note for each output that differs from its description in the request."""
    return tuple(
        f"{made.name} is {shape_text(made.array.shape)} {made.array.dtype}, "
        f"and was described as {shape_text(said.shape)} {said.dtype}"
        for said, made in zip(request.outputs, outputs, strict=False)
        if not _is_described(made.array, said)
    )


def _is_described(array: np.ndarray, said: ArrayDescription) -> bool:
    dtypes = (said.dtype, str(array.dtype))
    # booleans are int8 in the CANN toolkit and bool inside operators
    same_dtype = dtypes[0] == dtypes[1] or "bool" in dtypes
    same_rank = said.shape == (-2,) or len(said.shape) == array.ndim
    sizes = zip(said.shape, array.shape, strict=False)
    return same_dtype and same_rank and all(size < 0 or size == own for size, own in sizes)


def run(request: Request, *, check: bool = False, formula: str | None = None) -> RunResult:
    """Builds an operator and runs it on seeded random arrays.

    Args:
        request: the operator and its build arguments.
        check: whether to compare the outputs with the operator's definition, evaluated in float64.
            If a formula of the operator is known, the outputs are also compared with this formula.
        formula: a formula with which the outputs are compared; see `tbe_impl.cli.formula`.
    """
    start = time.perf_counter()
    built = build(request)
    build_us = _elapsed_us(start)
    arrays = [item.array for item in built.inputs]
    start = time.perf_counter()
    results = as_tuple(built.kernel(*arrays, backend=request.backend))
    first_us = _elapsed_us(start)
    calls = WARM_CALLS if first_us < 2e5 else 1
    warm_us = float(
        np.median([_time_call(built.kernel, arrays, request.backend) for _ in range(calls)])
    )
    outputs = _name_outputs(built, results)
    differences, notes = _check_outputs(built, outputs, formula) if check or formula else ((), ())
    backend, problem = _resolve_backend(built.kernel, request.backend)
    return RunResult(
        built.name,
        str(split_target(request.target)[0]),
        built.kernel.name,
        built.kernel.soc,
        backend,
        problem,
        tuple(summarize_array(item) for item in (*built.inputs, *outputs)),
        build_us,
        first_us,
        warm_us,
        differences,
        (*unknown_size_notes(built), *_output_notes(request, outputs), *notes),
        built.findings,
    )


def summarize_array(item: NamedArray) -> ArrayFigures:
    """Returns statistics of an array."""
    values = item.array.astype(np.float64).reshape(-1)
    known = values[~np.isnan(values)]
    with np.errstate(all="ignore"):
        least, greatest, mean = (
            (float(known.min()), float(known.max()), float(known.mean()))
            if known.size
            else (None, None, None)
        )
    return ArrayFigures(
        item.role,
        item.name,
        item.array.shape,
        str(item.array.dtype),
        least,
        greatest,
        mean,
        int(values.size - known.size),
        tuple(values[:FIRST_VALUES].tolist()),
    )


def _check_outputs(
    built: BuiltOperator, outputs: Sequence[NamedArray], formula: str | None
) -> tuple[tuple[Difference, ...], tuple[str, ...]]:
    kernel = built.kernel
    arrays = [item.array for item in built.inputs]
    tensors = [item.tensor for item in kernel.outputs]
    exact = as_tuple(kernel(*arrays, backend="numpy", rounding="float64"))
    rounded = as_tuple(kernel(*arrays, backend="numpy"))
    through = coarsest_dtype(tensors, kernel.options.rounding)
    wanted, notes = _formula_values(built, formula)
    found = []
    for against, values in (("definition", exact), ("formula", wanted)):
        for place, (item, value) in enumerate(zip(outputs, values, strict=False)):
            found.append(
                compare_arrays(
                    item.name,
                    against,
                    item.array,
                    value,
                    dtype=tensors[place].dtype,
                    through=through,
                    rounded=rounded[place],
                    meant=exact[place],
                )
            )
    return tuple(found), notes


def _formula_values(
    built: BuiltOperator, formula: str | None
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    wide = [_widen(item.array) for item in built.inputs]
    if formula is not None:
        names: dict[str, Any] = {
            name: _attribute(value) for name, value in built.call.attributes.items()
        }
        for item, argument, array in zip(built.inputs, built.kernel.inputs, wide, strict=True):
            names.setdefault(argument.name, array)
            names[item.name] = array
        return evaluate(formula, names), ()
    known = _find_formula(built)
    if known is None:
        return (), (f"no formula is known for {built.name}; --formula gives one",)
    if isinstance(known, str):
        return _formula_values(built, known)
    try:
        with np.errstate(all="ignore"):
            return as_tuple(known(*wide, **_select_attributes(known, built.call.attributes))), ()
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        return (), (f"the formula known for {built.name} does not take these arrays: {error}",)


def _find_formula(built: BuiltOperator) -> Any:
    try:
        known: Mapping[str, Any] = importlib.import_module("tbe_impl.ops.formulas").FORMULAS
    except ImportError:
        return None
    name = built.name.lower()
    plain = name.removeprefix("cus_").removesuffix("_impl")
    for candidate in (built.name, name, plain, plain.removesuffix("_d"), plain.replace("_", "")):
        if candidate in known:
            return known[candidate]
    return None


def _select_attributes(function: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes that are parameters of `function`, the formula of an operator."""
    parameters = inspect.signature(function).parameters
    if any(item.kind == item.VAR_KEYWORD for item in parameters.values()):
        names = set(attributes)
    else:
        names = set(parameters)
    return {
        name: value
        for name, value in attributes.items()
        if name in names and value is not inspect.Parameter.empty
    }


def _attribute(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _widen(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def _name_outputs(built: BuiltOperator, results: Sequence[np.ndarray]) -> list[NamedArray]:
    """Names the results after the output parameters, or by number if the counts differ."""
    names = [item.name for item in built.call.outputs]
    if len(names) != len(results):
        names = (
            [f"output{number}" for number in range(len(results))]
            if len(results) > 1
            else ["output"]
        )
    return [
        NamedArray("out", name, np.asarray(array))
        for name, array in zip(names, results, strict=True)
    ]


def _resolve_backend(kernel: Kernel, backend: str) -> tuple[str, str]:
    """Returns the back end that is used, and the reason if the requested back end is not used."""
    try:
        kernel.compiled_by(backend)
    except (MissingError, CompileError) as error:
        other = replacement_of(find_runnable(backend))
        return (other.name if other else backend), str(error)
    return backend, ""


def _line_of(operator: Operator) -> int | str:
    code = getattr(strip_decorators(operator.function), "__code__", None)
    return code.co_firstlineno if code is not None else operator.name


def _tree_of(file: Path) -> tuple[str, ...]:
    """Returns a 1-tuple with the parent of the directory ``impl`` above the file.

    If there is no directory ``impl``, the tuple is empty.
    """
    return tuple(str(place.parent) for place in file.absolute().parents if place.name == "impl")[:1]


def _time_call(kernel: Kernel, arrays: Sequence[np.ndarray], backend: str) -> float:
    start = time.perf_counter()
    kernel(*arrays, backend=backend)
    return _elapsed_us(start)


def _elapsed_us(start: float) -> float:
    return (time.perf_counter() - start) * 1e6


def as_tuple(found: Any) -> tuple[Any, ...]:
    """Returns a tuple unchanged, and any other value as a tuple of one element."""
    return found if isinstance(found, tuple) else (found,)
