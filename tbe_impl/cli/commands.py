"""What the command line does with an operator: build, run, check, show, time. Every result is a record."""

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

from tbe_impl.chip.schedule_checks import Finding
from tbe_impl.cli.arguments import UNKNOWN_SIZE, Call, Description, call_of
from tbe_impl.cli.formula import evaluate
from tbe_impl.cli.sample_arrays import NamedArray, inputs_for
from tbe_impl.comparing import Difference, coarsest, difference
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.location import here
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import CompileError, FusionError, InputError, MissingError
from tbe_impl.kernel import BACKENDS, Kernel
from tbe_impl.kernel_report import UNEXPECTED, findings_of, report_of, schedules_of
from tbe_impl.loading.deferred_kernel import LateKernel
from tbe_impl.loading.operator import Operator, load_operator
from tbe_impl.loading.operator_reference import check_operator_file, split_target
from tbe_impl.loading.parameter_roles import plain_function

WARM_CALLS = 5
FIRST_VALUES = 4


@dataclass(frozen=True)
class Request:
    """An operator and what it is built with.

    Attributes:
        target: ``FILE.py:operator``, or ``FILE.py`` when it defines one.
        inputs, outputs: descriptions in order.
        attributes: texts by name.
        soc: the chip.
        search_path: where the operator's own packages lie; by default the parent of the ``impl`` that the file stands in.
        backend: ``cpu`` or ``numpy``.
        seed: of the random arrays.
    """

    target: str
    inputs: tuple[Description, ...] = ()
    outputs: tuple[Description, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    soc: str = "Ascend910A"
    search_path: tuple[str, ...] = ()
    backend: str = "cpu"
    seed: int = 0


@dataclass(frozen=True)
class Built:
    """An operator with the kernel that it built; `name` is that of the function below its decorators."""

    operator: Operator
    name: str
    call: Call
    kernel: Kernel
    inputs: tuple[NamedArray, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class ArrayFigures:
    """What an array holds; minimum, maximum and mean are of what is not NaN, None when there is nothing."""

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
    """A kernel that was run.

    Attributes:
        operator, file, kernel, soc: which.
        backend: what computed; ``numpy`` also when there is no compiler.
        problem: why it was not the back end that was asked for; else empty.
        arrays: inputs, then outputs.
        build_us: time to load and build the operator.
        first_us, warm_us: of the first call, and the median of later ones.
        differences: what a check found; empty when none was asked for.
        notes: sizes that nobody gave, outputs that were described otherwise, and what the check could not do.
        findings: what the chip would say to the schedule.
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
        """0 when everything is within its tolerance, else 1."""
        return 0 if all(item.within for item in self.differences) else 1


def build(request: Request) -> Built:
    """Loads and builds an operator.

    Raises:
        InputError: no such file or operator, it refuses its arguments, or a buffer on the chip is over its capacity.
    """
    file, name = split_target(request.target)
    check_operator_file(file)
    if request.backend not in BACKENDS:
        raise InputError(
            "unknown back end", expected=" or ".join(BACKENDS), got=repr(request.backend)
        )
    outside = here().file
    # what operator files print goes to standard error
    with contextlib.redirect_stdout(sys.stderr):
        operator = load_operator(file, name, search_path=request.search_path or _tree_of(file))
        call = call_of(
            operator.function,
            request.inputs,
            request.outputs,
            request.attributes,
            place=f"{file}:{_line_of(operator)}",
        )
        try:
            kernel = operator.build(*call.positional, soc=request.soc, **call.keywords)
        except FusionError as error:
            # a decorator refused an argument: the line that called it is ours, the operator's is what helps
            if (
                not error.place
                or error.place.startswith(f"{outside}:")
                or error.place == operator.name
            ):
                error.place = f"{file}:{_line_of(operator)}"
            raise

    name = plain_function(operator.function).__name__
    described = call.inputs
    if isinstance(kernel, LateKernel):
        described = tuple(_with_known_sizes(item) for item in described)
        kernel = kernel.for_arrays([_array_of(item) for item in described])
    arrays = inputs_for(kernel, described, seed=request.seed, operator=name)
    return Built(operator, name, call, kernel, arrays, findings_of(kernel))


def _with_known_sizes(item: Description) -> Description:
    """A description whose sizes are known, with zeros where its numbers could matter to the operator."""
    known = replace(item, shape=item.actual, sizes=())
    matters = item.array is None and item.dtype in ("int32", "int64") and len(known.shape) <= 1
    return replace(known, array=np.zeros(known.shape, item.dtype)) if matters else known


def _array_of(item: Description) -> np.ndarray:
    """The array, or one that says its shape and dtype alone."""
    return (
        item.array
        if item.array is not None
        else np.broadcast_to(np.zeros((), dtype_of(item.dtype).numpy), item.shape)
    )


def notes_on(built: Built) -> tuple[str, ...]:
    """What is worth saying about how an operator was built: sizes that nobody gave."""
    open_ones = [
        item
        for item in built.call.inputs
        if not item.is_known and not item.sizes and item.array is None
    ]
    if not open_ones:
        return ()
    names = ", ".join(
        f"{item.name} {shape_text(item.shape)} is {shape_text(item.actual)}" for item in open_ones
    )
    return (f"sizes of -1 are {UNKNOWN_SIZE} in the arrays: {names}; SHAPE@SIZES says others",)


def _notes_on_outputs(request: Request, outputs: Sequence[NamedArray]) -> tuple[str, ...]:
    """Outputs that are others than the request describes."""
    return tuple(
        f"{made.name} is {shape_text(made.array.shape)} {made.array.dtype}, and was described as {shape_text(said.shape)} {said.dtype}"
        for said, made in zip(request.outputs, outputs, strict=False)
        if not _is_described(made.array, said)
    )


def _is_described(array: np.ndarray, said: Description) -> bool:
    dtypes = (said.dtype, str(array.dtype))
    # truth values are int8 to the toolkit and bool inside operators
    same_dtype = dtypes[0] == dtypes[1] or "bool" in dtypes
    same_rank = said.shape == (-2,) or len(said.shape) == array.ndim
    sizes = zip(said.shape, array.shape, strict=False)
    return same_dtype and same_rank and all(size < 0 or size == own for size, own in sizes)


def run(request: Request, *, check: bool = False, formula: str | None = None) -> RunResult:
    """Builds an operator and runs it on seeded random arrays.

    Args:
        request: what to build.
        check: compare with the definition in float64 and with the operator's formula, if it is known.
        formula: one to compare with; see `tbe_impl.cli.formula`.
    """
    start = time.perf_counter()
    built = build(request)
    build_us = _since(start)
    arrays = [item.array for item in built.inputs]
    start = time.perf_counter()
    results = _tuple(built.kernel(*arrays, backend=request.backend))
    first_us = _since(start)
    calls = WARM_CALLS if first_us < 2e5 else 1
    warm_us = float(
        np.median([_timed(built.kernel, arrays, request.backend) for _ in range(calls)])
    )
    outputs = _named_outputs(built, results)
    differences, notes = _checked(built, outputs, formula) if check or formula else ((), ())
    backend, problem = _really(built.kernel, request.backend)
    return RunResult(
        built.name,
        str(split_target(request.target)[0]),
        built.kernel.name,
        built.kernel.soc,
        backend,
        problem,
        tuple(figures(item) for item in (*built.inputs, *outputs)),
        build_us,
        first_us,
        warm_us,
        differences,
        (*notes_on(built), *_notes_on_outputs(request, outputs), *notes),
        built.findings,
    )


def show(request: Request) -> str:
    """The graph, the loop nest, the C and the report of an operator, as sections of plain text."""
    from tbe_impl.dsl.graph_display import show as show_graph

    built = build(request)
    kernel = built.kernel
    sections = {
        "graph": show_graph([item.tensor for item in kernel.outputs]),
        "loops": _loops(kernel),
        "C": _source(kernel),
        "report": str(report_of(kernel)),
    }
    return "\n".join(f"==== {title} ====\n{text.rstrip()}\n" for title, text in sections.items())


def figures(item: NamedArray) -> ArrayFigures:
    """What an array holds."""
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


def _checked(
    built: Built, outputs: Sequence[NamedArray], formula: str | None
) -> tuple[tuple[Difference, ...], tuple[str, ...]]:
    kernel = built.kernel
    arrays = [item.array for item in built.inputs]
    tensors = [item.tensor for item in kernel.outputs]
    exact = _tuple(kernel(*arrays, backend="numpy", rounding="float64"))
    rounded = _tuple(kernel(*arrays, backend="numpy"))
    through = coarsest(tensors, kernel.options.rounding)
    wanted, notes = _formula_values(built, formula)
    found = []
    for against, values in (("definition", exact), ("formula", wanted)):
        for place, (item, value) in enumerate(zip(outputs, values, strict=False)):
            found.append(
                difference(
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


def _formula_values(built: Built, formula: str | None) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    wide = [_wide(item.array) for item in built.inputs]
    if formula is not None:
        names: dict[str, Any] = {
            name: _attribute(value) for name, value in built.call.attributes.items()
        }
        for item, argument, array in zip(built.inputs, built.kernel.inputs, wide, strict=True):
            names.setdefault(argument.name, array)
            names[item.name] = array
        return evaluate(formula, names), ()
    known = _known_formula(built)
    if known is None:
        return (), (f"no formula is known for {built.name}; --formula gives one",)
    if isinstance(known, str):
        return _formula_values(built, known)
    try:
        with np.errstate(all="ignore"):
            return _tuple(known(*wide, **_accepted(known, built.call.attributes))), ()
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        return (), (f"the formula known for {built.name} does not take these arrays: {error}",)


def _known_formula(built: Built) -> Any:
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


def _accepted(function: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that a formula takes."""
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


def _wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def _named_outputs(built: Built, results: Sequence[np.ndarray]) -> list[NamedArray]:
    """Results under the names of the operator's output parameters where there are as many."""
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


def _really(kernel: Kernel, backend: str) -> tuple[str, str]:
    """The back end that computes, and why it is not the one that was asked for."""
    if backend != "cpu":
        return backend, ""
    try:
        return ("cpu", "") if kernel.compiled is not None else ("numpy", "")
    except (MissingError, CompileError) as error:
        return "numpy", str(error)


def _loops(kernel: Kernel) -> str:
    from tbe_impl.chip.loop_text import show_loops

    found = []
    for schedule in schedules_of(kernel):
        try:
            found.append(show_loops(schedule))
        except FusionError as error:
            found.append(str(error))
        except UNEXPECTED as error:
            found.append(f"its loops cannot be shown: {type(error).__name__}: {error}")
    own = "\n".join(found) or "the operator handed over no schedule"
    return f"{own.rstrip()}\n\n-- on this processor --\n{_nests(kernel)}"


def _nests(kernel: Kernel) -> str:
    """The loops of the C."""
    from tbe_impl.codegen.nest_text import show_nests

    try:
        layout = kernel.layout
    except CompileError as error:
        return f"there is no C: {error}"
    return (
        "a library computes parts of it" if layout is None else show_nests(layout, kernel.options)
    )


def _source(kernel: Kernel) -> str:
    try:
        return kernel.source
    except (MissingError, CompileError) as error:
        return f"there is no C: {error}"


def _line_of(operator: Operator) -> int | str:
    code = getattr(plain_function(operator.function), "__code__", None)
    return code.co_firstlineno if code is not None else operator.name


def _tree_of(file: Path) -> tuple[str, ...]:
    """The directory from which a file in a tree of operators imports its neighbours as ``impl.…``."""
    return tuple(str(place.parent) for place in file.absolute().parents if place.name == "impl")[:1]


def _timed(kernel: Kernel, arrays: Sequence[np.ndarray], backend: str) -> float:
    start = time.perf_counter()
    kernel(*arrays, backend=backend)
    return _since(start)


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1e6


def _tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)
