"""Tuning: the options of a kernel chosen by measurement, beside the default and never against it.

A noisy machine must not choose. Every candidate is timed in the same rounds as the default, and only the ratio of
neighbours in time counts; in the end the best one meets the default alone, and is taken when the ratio's median lies
below one with 99 % confidence and a margin.
"""

from __future__ import annotations

import ctypes
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod, sqrt
from typing import Any

import msgspec
import numpy as np

from tbe_impl import environment, tuned
from tbe_impl.backends.cpu.backend import CpuKernel
from tbe_impl.backends.cpu.call import aligned_empty, usable_threads
from tbe_impl.backends.cpu.options import DEFAULT
from tbe_impl.backends.cpu.program import storable
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import stages_of, static_shape
from tbe_impl.errors import CompileError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.operator import Operator, load_operator
from tbe_impl.tuned import NEVER, Choice, Tuning

MARGIN = 0.02
"""Less than this is not worth another choice."""

BLOCK_S = 2e-3
"""How long one measurement lasts at least; short kernels are called several times in it."""

FINAL_ROUNDS, FINAL_WINDOWS, PAUSE_S = 8, 5, 0.2
"""The last comparison: its rounds are spread, so that one disturbance does not cover them all."""

STAGES_MAX = 12
SMALL = 8
"""What is so many times smaller than the largest output may be worth storing first."""

WAKE_S, LONG_S = 50e-6, 100e-6
"""What it costs at most to have other threads take part, and from which time on that is no matter."""

SEED = 20250101

KNOBS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("accumulators", (1, 2, 8)),
    ("unroll", (2, 4)),
    ("stream_bytes", (NEVER, 0)),
    ("keep_rows", (False,)),
    ("prefetch", (False,)),
    ("vector_bits", (256,)),
)
"""What is tried beside the default: fields of `Choice`; `stored` and what decides about threads have their own ways."""

Progress = Callable[[float, str], None]


@dataclass
class Candidate:
    """One way to make the kernel.

    Attributes:
        choice: which.
        run: calls it once, on the same arrays as all others.
        ratios: its times ÷ those of the default in the same round.
        times: seconds for one call.
    """

    choice: Choice
    run: Callable[[], None]
    ratios: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Median of the ratios; infinite before the first."""
        return statistics.median(self.ratios) if self.ratios else float("inf")

    @property
    def quiet_ratio(self) -> float:
        """The same of undisturbed moments: its least time ÷ that of the default in the same rounds."""
        return min(self.times) / min(self.others) if self.times else float("inf")

    @property
    def others(self) -> list[float]:
        """Times of what it was measured against."""
        return [time / ratio for time, ratio in zip(self.times, self.ratios, strict=True)]

    @property
    def score(self) -> float:
        """The worse of both: what only gains while others disturb the default gains nothing."""
        return max(self.ratio, self.quiet_ratio)


def tune(
    op: Operator | Kernel | Callable[..., Any],
    *build_args: Any,
    steps: int = 1000,
    seconds: float = 60.0,
    soc: str = "Ascend910A",
    progress: bool = True,
    **kw: Any,
) -> Kernel:
    """A kernel with the options that are fastest on this machine; later builds of the same graph find them again.

    Args:
        op: an operator, an operator function, or a kernel that is built already.
        build_args, kw: what `Operator.build` takes.
        steps: measurements at most.
        seconds: time at most; a compile that has begun is finished.
        soc: the chip that the operator is written for.
        progress: show a bar when the error stream is a terminal.

    Returns:
        The kernel with the chosen options; they are the default's when nothing is clearly faster. Its `tuning` says what
        was measured.

    Raises:
        InputError: a size of the kernel is known at call time only, or a limit is no positive number.
        MissingError: there is no C compiler.
    """
    if steps < 1 or not seconds > 0:
        raise InputError("tuning takes positive limits", place="tune", got=f"steps={steps}, seconds={seconds}")  # fmt: skip
    if isinstance(op, Kernel):
        if build_args or kw:
            raise InputError("a kernel is built already", place=op.name, expected="no arguments to build it with")  # fmt: skip
        kernel = op
    else:
        operator = op if isinstance(op, Operator) else load_operator(op)
        kernel = operator.build(*build_args, soc=soc, **kw)
    asked = kernel.options
    base = replace(DEFAULT, rounding=asked.rounding, contract=asked.contract, march=asked.march)
    chosen = kernel.tuning.choice.stored if kernel.tuning else ()
    stored = tuple(number for number in asked.stored if number not in chosen)
    base = replace(base.with_loops_of(asked), stored=stored)
    plain = replace(kernel, options=base, threads=0, tuning=None)
    with _bar(plain.name, seconds, shown=progress) as show:
        record = _Search(plain, steps, seconds, show).record()
    tuned.store().save(record)
    return tuned.with_tuning(replace(plain, options=replace(base, inplace=asked.inplace)), record)


class _Search:
    """One run of the tuner."""

    def __init__(self, kernel: Kernel, steps: int, seconds: float, show: Progress):
        self.kernel, self.steps, self.show = kernel, steps, show
        self.begin = time.perf_counter()
        self.seconds, self.taken = seconds, 0
        self.random = random.Random(SEED)
        self.inputs = sample_arrays(kernel)
        self.results = result_arrays(kernel)
        self.sources: set[tuple[str, int]] = set()
        self.tried: set[Choice] = set()
        default = self._candidate(Choice())
        assert default is not None
        self.default = default
        self.expected = [item.copy() for item in self.results]
        self.calls = self._calls()

    def record(self) -> Tuning:
        """Searches and decides."""
        winner = self._decided(self._combined(self._one_at_a_time()))
        winner = self._shared(winner)
        default = winner.others if winner.times else [self._timed(self.default)]
        return Tuning(
            schema=1,
            key=tuned.key_of(self.kernel),
            name=self.kernel.name[:200],
            choice=winner.choice,
            default_us=statistics.median(default) * 1e6,
            tuned_us=statistics.median(winner.times or default) * 1e6,
            ratio=winner.ratio if winner.times else 1.0,
            bound=upper_bound(winner.ratios) if winner.times else 1.0,
            steps=self.taken,
            seconds=self._elapsed(),
        )

    def _one_at_a_time(self) -> list[Candidate]:
        """Every value of every knob alone, the better half measured longer, and again."""
        choices = [msgspec.structs.replace(Choice(), **{name: value}) for name, values in KNOBS for value in values]  # fmt: skip
        choices += [Choice(stored=(number,)) for number in worth_storing(self.kernel)]
        return self._halved(self._candidates(choices), rounds=8, share=0.35)

    def _combined(self, single: Sequence[Candidate]) -> list[Candidate]:
        """What gained alone, put together; from the best of these one more step to each side."""
        useful = [item for item in sorted(single, key=lambda item: item.score) if item.score < 1.01]
        found = list(single)
        for size in (2, 3, 4):
            if len(useful) >= size:
                found += self._candidates([_union([item.choice for item in useful[:size]])])
        pairs = [_union([a.choice, b.choice]) for n, a in enumerate(useful[:4]) for b in useful[n + 1 : 4]]  # fmt: skip
        found += self._candidates(pairs)
        found = self._halved(found, rounds=8, share=0.55)
        best = min(found, key=lambda item: item.score, default=None)
        if best is not None and best.score < 1.0:
            near = [
                msgspec.structs.replace(best.choice, **{name: value})
                for name, values in KNOBS
                for value in (*values, getattr(Choice(), name))
            ]
            near += [_union([best.choice, Choice(stored=(n,))]) for n in worth_storing(self.kernel)]
            found = self._halved([*found, *self._candidates(near)], rounds=8, share=0.55)
        return found

    def _decided(self, found: Sequence[Candidate]) -> Candidate:
        """The best of them against the default alone; the default unless it loses clearly."""
        for item in sorted(found, key=lambda item: item.score)[:3]:
            if item.score >= 1.0 - MARGIN:
                break
            if self._beats(item, self.default):
                return item
        return self.default

    def _shared(self, winner: Candidate) -> Candidate:
        """The winner shared among other numbers of threads, against itself and then against the default."""
        counts = [environment.threads()]
        while counts[-1] > 3:
            counts.append(counts[-1] // 2)
        changes: list[dict[str, int]] = [{"parallel_elements": NEVER}, {"parallel_elements": 0}]
        changes += [{"threads": count} for count in counts[1:]]
        for change in changes if environment.threads() > 1 else []:
            made = self._candidates([msgspec.structs.replace(winner.choice, **change)])
            for item in made:
                if self._beats(item, winner) and self._beats(item, self.default):
                    return item
        return winner

    def _beats(self, item: Candidate, other: Candidate) -> bool:
        """Whether it is clearly faster; what is measured stays with it.

        Fewer threads can gain no more than waking the others costs; if they seem to, something else kept a core busy.
        """
        item.ratios.clear()
        item.times.clear()
        for _ in range(FINAL_WINDOWS):
            self._rounds([item], FINAL_ROUNDS, reserve=1.0, other=other)
            time.sleep(max(0.0, min(PAUSE_S, self.seconds - self._elapsed())))
        if max(upper_bound(item.ratios), item.quiet_ratio) > 1.0 - MARGIN:
            return False
        fewer = item.choice.parallel_elements == NEVER or item.choice.threads
        rest = msgspec.structs.replace(item.choice, parallel_elements=DEFAULT.parallel_elements, threads=0)  # fmt: skip
        same = rest == other.choice
        least = min(item.times)
        return not (fewer and same and (least > LONG_S or min(item.others) - least > WAKE_S))

    def _halved(self, items: Sequence[Candidate], *, rounds: int, share: float) -> list[Candidate]:
        """The better half, then the better half of it, each measured for as long as those before it together.

        Args:
            rounds: of the first measurement.
            share: of the whole time after which it ends.
        """
        left = list(items)
        while left:
            self._rounds(left, rounds, reserve=share)
            if len(left) <= 3 or self._is_over(share):
                break
            left = sorted(left, key=lambda item: item.score)[: (len(left) + 1) // 2]
            rounds *= 2
        return left

    def _rounds(
        self,
        items: Sequence[Candidate],
        rounds: int,
        *,
        reserve: float,
        other: Candidate | None = None,
    ) -> None:
        """Each round times every candidate and the default, or another one, in another order each time."""
        reference = other or self.default
        for _ in range(rounds):
            if self._is_over(reserve):
                return
            order = [reference, *items]
            self.random.shuffle(order)
            times = {id(item): self._timed(item) for item in order}
            own = times[id(reference)]
            for item in items:
                item.times.append(times[id(item)])
                item.ratios.append(times[id(item)] / own)
            best = min((item.score for item in items), default=1.0)
            self.show(self._elapsed(), f"best {min(best, 1.0):.2f} × the default's time")

    def _timed(self, item: Candidate) -> float:
        self.taken += 1
        calls, run = self.calls, item.run
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        return (time.perf_counter() - begin) / calls

    def _calls(self) -> int:
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            self.default.run()
            times.append(time.perf_counter() - begin)
        return max(1, int(BLOCK_S / max(min(times), 1e-7)))

    def _candidates(self, choices: Sequence[Choice]) -> list[Candidate]:
        """Those of them that are not tried yet, make other code than all before, and compute what the default does."""
        found = []
        for choice in choices:
            if self._is_over(0.95):
                break
            made = self._candidate(choice)
            if made is not None:
                found.append(made)
            self.show(self._elapsed(), f"compiled: {choice.text()}")
        return found

    def _candidate(self, choice: Choice) -> Candidate | None:
        if choice in self.tried:
            return None
        self.tried.add(choice)
        threads = choice.threads or environment.threads()
        try:
            compiled = replace(self.kernel, options=choice.options(self.kernel.options)).compiled
        except CompileError:
            if choice == Choice():
                raise
            return None
        mark = (compiled.source, threads)
        if mark in self.sources:
            return None
        self.sources.add(mark)
        run = caller(compiled, self.inputs, self.results, threads)
        run()
        if choice != Choice() and not all(map(agree, self.results, self.expected)):
            return None
        return Candidate(choice, run)

    def _elapsed(self) -> float:
        return time.perf_counter() - self.begin

    def _is_over(self, share: float) -> bool:
        return self._elapsed() >= self.seconds * share or self.taken >= self.steps * share


def _union(choices: Sequence[Choice]) -> Choice:
    """What each of them changes; the first has the last word, and what any of them stores is stored."""
    default = msgspec.structs.asdict(Choice())
    found: dict[str, Any] = {}
    for choice in choices:
        for name, value in msgspec.structs.asdict(choice).items():
            if name == "stored":
                found[name] = tuple(sorted({*found.get(name, ()), *value}))
            elif value != default[name]:
                found.setdefault(name, value)
    return Choice(**found)


def worth_storing(kernel: Kernel) -> list[int]:
    """Numbers of stages that are much smaller than the largest output, those that most depends on first."""
    outputs = [item.tensor for item in kernel.outputs]
    if any(op.kind == "library" for op in stages_of(outputs)):
        return []  # the numbers count within one program, and there are several
    sizes = [prod(static_shape(item) or (0,)) for item in outputs]
    found = storable(outputs, [item.tensor for item in kernel.inputs])
    small = [n for n, item in enumerate(found) if 0 < prod(static_shape(item) or (0,)) * SMALL <= max(sizes)]  # fmt: skip
    return small[::-1][:STAGES_MAX]


def upper_bound(ratios: Sequence[float]) -> float:
    """What the median of the ratios stays below with 99 % confidence: an order statistic, so that outliers count for one.

    >>> upper_bound([0.9] * 30 + [5.0] * 2)
    0.9
    >>> upper_bound([0.5, 0.5])
    inf
    """
    count = len(ratios)
    place = int(count / 2 + 2.33 * sqrt(count) / 2) + 1
    return sorted(ratios)[place] if place < count else float("inf")


def sample_arrays(kernel: Kernel) -> list[np.ndarray]:
    """Arrays to measure with: seeded, of the declared shapes; floats between 0.1 and 1, small whole numbers.

    Raises:
        InputError: a size is known at call time only.
    """
    generator = np.random.default_rng(SEED)
    found = []
    for item in kernel.inputs:
        if any(size < 0 for size in item.shape):
            raise InputError(
                f"the sizes of {item.name} are known at call time only",
                place=kernel.name,
                expected="declared shapes in numbers",
                got=str(item.shape),
                remedy="Build the operator with the shape that matters most and tune that",
            )
        kind = dtype_of(item.tensor.dtype).kind
        shape = tuple(int(size.value) for size in item.tensor.shape)  # type: ignore[attr-defined]
        array = aligned_empty(shape, item.dtype)
        if kind == "float":
            array[...] = generator.random(shape, np.float32) * 0.9 + 0.1
        else:
            array[...] = generator.integers(0, 2 if kind == "bool" else 8, shape)
        found.append(array)
    return found


def result_arrays(kernel: Kernel) -> list[np.ndarray]:
    """Arrays for its results."""
    shapes = [tuple(int(size.value) for size in item.tensor.shape) for item in kernel.outputs]  # type: ignore[attr-defined]
    return [aligned_empty(shape, item.dtype) for shape, item in zip(shapes, kernel.outputs, strict=True)]  # fmt: skip


def caller(
    compiled: CpuKernel, inputs: Sequence[np.ndarray], results: Sequence[np.ndarray], threads: int
) -> Callable[[], None]:
    """Calls a kernel on fixed arrays, without what Python does around it where that is possible."""
    program = compiled.steps[0].program if len(compiled.steps) == 1 else None
    if program is None or program.program.sizes:
        return lambda: _fill(results, compiled.run(inputs, {}, threads, results))
    places = {id(tensor): array for tensor, array in zip(compiled.inputs, inputs, strict=True)}
    places |= {id(tensor): array for tensor, array in zip(compiled.outputs, results, strict=True)}
    given = [*program.program.inputs, *program.program.outputs]
    arrays = [places[id(tensor)] for tensor in given]
    buffers = (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])
    call = partial(
        program.function, buffers, (ctypes.c_int64 * 1)(), ctypes.c_int64(usable_threads(threads))
    )

    def run() -> None:
        if call():
            raise CompileError("a kernel ran out of memory", place=program.program.symbol)

    run.__dict__["arrays"] = arrays  # they live as long as what points to them
    return run


def _fill(results: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
    for target, array in zip(results, found, strict=True):
        if target is not array:
            target[...] = array


def agree(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two results differ by no more than another order of additions explains."""
    if dtype_of(found.dtype.name).kind != "float":
        return bool(np.array_equal(found, expected))
    step = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}.get(found.dtype.name, 2.0**-7)  # fmt: skip
    wide = np.float64
    a, b = found.astype(wide), expected.astype(wide)
    plain = np.isfinite(b)
    if not np.array_equal(np.nan_to_num(a[~plain], nan=7.0), np.nan_to_num(b[~plain], nan=7.0)):
        return False
    scale = np.abs(b[plain])
    limit = 64 * step * (scale + (scale.max() if scale.size else 0.0))
    return bool((np.abs(a[plain] - b[plain]) <= limit + np.finfo(np.float64).tiny).all())


@contextmanager
def _bar(name: str, seconds: float, *, shown: bool) -> Iterator[Progress]:
    """A progress bar on the error stream when that is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda elapsed, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("tuning {task.fields[kernel]}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[best]}"))  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=seconds, kernel=name, best="")
        yield lambda elapsed, text: bar.update(task, completed=elapsed, best=text)
