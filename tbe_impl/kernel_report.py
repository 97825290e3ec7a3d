"""What a kernel does, as numbers and as text: its arrays, its code for this processor, its schedule on the chip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tbe_impl import environment
from tbe_impl.chip.report import ScheduleReport
from tbe_impl.chip.report import report as schedule_report
from tbe_impl.chip.schedule_checks import Finding
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.schedule_compliance import Outcome, outcome_text, outcomes
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import CompileError, FusionError, MissingError
from tbe_impl.kernel import Argument, Kernel
from tbe_impl.scheduling.schedule import Schedule
from tbe_impl.soc import soc

UNEXPECTED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What an analysis may end with where a schedule is like none seen before; the kernel runs all the same."""


@dataclass(frozen=True)
class ArrayUse:
    """An array that a kernel reads or writes; `bytes` is None when a size is known at call time only."""

    role: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int | None


@dataclass(frozen=True)
class CodeUse:
    """The code for this processor.

    Attributes:
        symbols: names of its C functions, in the order in which they run.
        libraries: the files that they were loaded from.
        words: what a library computes as a whole in between, by word.
        problem: why there is no code, so that the NumPy back end runs; else empty.
    """

    symbols: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class KernelReport:
    """What a kernel does.

    Attributes:
        name: of the kernel.
        chip: that it was built for.
        arrays: inputs, then outputs.
        bytes_moved: every input read once and every output written once; None when known at call time only.
        options: how code is made for this processor.
        threads: how many run where that pays.
        tuned: what `tbe_impl.tune` chose, with its gain; empty when it never saw the kernel.
        code: what was made.
        schedules: of the operator, on its chip: tiles, bytes on the chip for each stage, alignment, bytes moved.
        problem: why nothing can be said about its schedule; else empty.
        outcomes: what became of each request of a schedule by hand on this processor.
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
        """What the chip would refuse."""
        return tuple(finding for one in self.schedules for finding in one.errors)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What would cost time on the chip."""
        return tuple(finding for one in self.schedules for finding in one.warnings)

    def __str__(self) -> str:
        return "\n".join(_text(self))


def report_of(kernel: Kernel) -> KernelReport:
    """The report of a kernel; makes its code when that was not done yet."""
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
    """The schedules that an operator handed over: one, a list of them for dynamic shapes, or none."""
    found: list[Any] = [kernel.schedule]
    while any(isinstance(item, (list, tuple)) for item in found):
        found = [
            part for item in found for part in (item if isinstance(item, (list, tuple)) else [item])
        ]
    return tuple(item for item in found if isinstance(item, Schedule))


def outcomes_of(kernel: Kernel) -> tuple[Outcome, ...]:
    """What became of a schedule by hand on this processor; nothing of an automatic one, which leaves the loops to us."""
    known = schedules_of(kernel)
    if len(known) != 1 or known[0].is_automatic:
        return ()
    try:
        layout = kernel.layout
        if layout is None:
            return ()
        has_memories = not soc(kernel.soc).unlimited
        return outcomes(known[0].record(), layout, kernel.options, has_memories=has_memories)
    except (CompileError, *UNEXPECTED):
        return ()


def findings_of(kernel: Kernel) -> tuple[Finding, ...]:
    """Errors and warnings of its schedules; quicker than the whole report."""
    from tbe_impl.chip.schedule_checks import check

    try:
        return tuple(finding for one in schedules_of(kernel) for finding in check(one, kernel.soc))
    except UNEXPECTED:
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
        return tuple(schedule_report(one, soc(kernel.soc)) for one in known), ""
    except FusionError as error:
        return (), str(error)
    except UNEXPECTED as error:
        return (), f"its schedule cannot be analysed: {type(error).__name__}: {error}"


def _code(kernel: Kernel) -> CodeUse:
    try:
        steps = kernel.compiled.steps
    except (MissingError, CompileError) as error:
        return CodeUse(problem=str(error))
    return CodeUse(
        tuple(step.program.program.symbol for step in steps if step.program),
        tuple(str(step.program.file) for step in steps if step.program),
        tuple(step.stage.word.name for step in steps if step.stage and step.stage.word),
    )


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
        del options[name]  # told by the outcomes
    yield f"  options: {', '.join(f'{name} {value}' for name, value in options.items())}"
    yield f"  tuned: {found.tuned or 'no'}"
    for library in found.code.libraries:
        yield f"  library: {library}"
    if found.outcomes:
        yield "  loops that the schedule asks for:"
        yield from (f"  {line}" for line in outcome_text(found.outcomes))
