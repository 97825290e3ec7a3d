"""Reports the arrays of a kernel, its code for this processor, and its schedule on the chip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tbe_impl import environment
from tbe_impl.arguments import Argument
from tbe_impl.chip.report import ScheduleReport
from tbe_impl.chip.report import report_schedule as schedule_report
from tbe_impl.chip.schedule_checks import Finding
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.schedule_compliance import Outcome, outcome_lines, outcomes
from tbe_impl.compiled import CodeUse
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import CompileError, FusionError, MissingError
from tbe_impl.scheduling.schedule import Schedule
from tbe_impl.soc import find_soc

if TYPE_CHECKING:
    from tbe_impl.kernel import Kernel

ANALYSIS_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that the analysis of an unusual schedule may raise. They do not affect the kernel."""


@dataclass(frozen=True)
class ArrayUse:
    """An array that a kernel reads or writes.

    `bytes` is None if the size of the array is known only at call time.
    """

    role: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int | None


@dataclass(frozen=True)
class KernelReport:
    """The report of a kernel.

    Attributes:
        name: name of the kernel.
        chip: target chip of the kernel.
        arrays: inputs, then outputs.
        bytes_moved: number of bytes that are moved if every input is read once and every output is
            written once. None if this number is known only at call time.
        options: code generation options with which `code` was generated for this machine's
            processor.
        threads: maximum number of threads.
        tuned: text with the tuned options and the gain in time; empty without tuning.
        code: the generated code.
        schedules: a report for each schedule of the operator on the chip. A report lists tiles,
            on-chip bytes, alignment and traffic.
        problem: the reason why the schedule cannot be analysed; empty if the schedule was analysed.
        outcomes: for each request of a manual schedule (a call such as ``split``), whether `code`
            follows the request.
    """

    name: str
    chip: str
    arrays: tuple[ArrayUse, ...]
    bytes_moved: int | None
    options: Options
    threads: int
    tuned: str
    code: CodeUse
    schedules: tuple[ScheduleReport, ...]
    problem: str = ""
    outcomes: tuple[Outcome, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that make the chip reject a schedule."""
        return tuple(finding for one in self.schedules for finding in one.errors)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that cost time on the chip."""
        return tuple(finding for one in self.schedules for finding in one.warnings)

    def __str__(self) -> str:
        return "\n".join(_text(self))


def report_of(kernel: Kernel) -> KernelReport:
    """Returns the report of a kernel; generates its code if necessary."""
    arrays = (*_uses("in", kernel.inputs), *_uses("out", kernel.outputs))
    sizes = [use.bytes for use in arrays]
    schedules, problem = _schedules(kernel)
    return KernelReport(
        kernel.name,
        kernel.soc,
        arrays,
        None if None in sizes else sum(size or 0 for size in sizes),
        kernel.options,
        kernel.threads or environment.threads(),
        f"{kernel.tuning.choice.text()}: {kernel.tuning.ratio:.2f} × the time"
        if kernel.tuning
        else "",
        _code(kernel),
        schedules,
        problem,
        outcomes_of(kernel),
    )


def schedules_of(kernel: Kernel) -> tuple[Schedule, ...]:
    """Returns the operator's schedules; with dynamic shapes there may be several."""
    found: list[Any] = [kernel.schedule]
    while any(isinstance(item, (list, tuple)) for item in found):
        found = [
            part for item in found for part in (item if isinstance(item, (list, tuple)) else [item])
        ]
    return tuple(item for item in found if isinstance(item, Schedule))


def outcomes_of(kernel: Kernel) -> tuple[Outcome, ...]:
    """Returns, for each request of a manual schedule, whether the code follows the request.

    A request is a call such as ``split``; the code is the C code for this processor. The result is
    empty for an automatic schedule, or if the requests cannot be compared with the code.
    """
    known = schedules_of(kernel)
    if len(known) != 1 or known[0].is_automatic:
        return ()
    try:
        layout = kernel.layout
        if layout is None:
            return ()
        has_memories = not find_soc(kernel.soc).is_unlimited
        return outcomes(known[0].record(), layout, kernel.options, has_memories=has_memories)
    except (CompileError, *ANALYSIS_ERRORS):
        return ()


def findings_of(kernel: Kernel) -> tuple[Finding, ...]:
    """Returns the errors and warnings of a kernel's schedules without the rest of the report."""
    from tbe_impl.chip.schedule_checks import check

    try:
        return tuple(finding for one in schedules_of(kernel) for finding in check(one, kernel.soc))
    except ANALYSIS_ERRORS:
        return ()


def _uses(role: str, arguments: Sequence[Argument]) -> Iterator[ArrayUse]:
    for item in arguments:
        size: int | None = dtype_of(item.tensor.dtype).bytes
        for extent in item.shape:
            size = None if size is None or extent < 0 else size * extent
        yield ArrayUse(role, item.name, item.shape, item.tensor.dtype, size)


def _schedules(kernel: Kernel) -> tuple[tuple[ScheduleReport, ...], str]:
    known = schedules_of(kernel)
    if not known:
        return (), "the operator handed over no schedule"
    try:
        return tuple(schedule_report(one, find_soc(kernel.soc)) for one in known), ""
    except FusionError as error:
        return (), str(error)
    except ANALYSIS_ERRORS as error:
        return (), f"its schedule cannot be analysed: {type(error).__name__}: {error}"


def _code(kernel: Kernel) -> CodeUse:
    try:
        return kernel.compiled.report()
    except (MissingError, CompileError) as error:
        return CodeUse(problem=str(error))


def _text(found: KernelReport) -> Iterator[str]:
    yield f"kernel {found.name}, built for {found.chip}"
    for use in found.arrays:
        size = "a size of call time" if use.bytes is None else f"{use.bytes} bytes"
        yield f"  {use.role:<3}  {use.name}  {shape_text(use.shape)} {use.dtype}, {size}"
    if found.bytes_moved is not None:
        yield f"  bytes moved at least: {found.bytes_moved}"
    yield ""
    yield from _code_text(found)
    if found.problem:
        yield ""
        yield f"schedule: {found.problem}"
    for one in found.schedules:
        yield ""
        yield str(one)


def _code_text(found: KernelReport) -> Iterator[str]:
    if found.code.problem:
        yield f"this processor: the NumPy back end, because {found.code.problem}"
        return
    yield f"this processor: C function {', '.join(found.code.symbols) or 'none'}"
    if found.code.words:
        yield f"  by a library: {', '.join(found.code.words)}"
    options = asdict(found.options)
    options["vector_bits"] = options["vector_bits"] or "the widest"
    options["march"] = options["march"] or "this one"
    options["threads"] = f"at most {found.threads}"
    for name in ("inlined", "rows", "orders"):
        del options[name]  # shown by the outcomes
    yield f"  options: {', '.join(f'{name} {value}' for name, value in options.items())}"
    yield f"  tuned: {found.tuned or 'no'}"
    for library in found.code.libraries:
        yield f"  library: {library}"
    if found.outcomes:
        yield "  loops that the schedule asks for:"
        yield from (f"  {line}" for line in outcome_lines(found.outcomes))
