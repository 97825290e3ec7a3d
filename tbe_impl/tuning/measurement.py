"""Measuring against each other: all candidates in the same rounds as the default, and only ratios of neighbours count.

A noisy machine must not choose: what is taken in the end lies below the default with 99 % confidence and a margin.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import sqrt

import msgspec

from tbe_impl import environment
from tbe_impl.codegen.options import DEFAULT
from tbe_impl.cpu.prepared_kernel import CpuKernel
from tbe_impl.errors import CompileError
from tbe_impl.kernel import Kernel
from tbe_impl.tuning.measured_arrays import SEED, agree, caller, result_arrays, sample_arrays
from tbe_impl.tuning.progress_bar import Progress
from tbe_impl.tuning_store import NEVER, Choice

MARGIN = 0.02
"""Less than this is not worth another choice."""

BLOCK_S = 2e-3
"""How long one measurement lasts at least; short kernels are called several times in it."""

FINAL_ROUNDS, FINAL_WINDOWS, PAUSE_S = 8, 5, 0.2
"""The last comparison: its rounds are spread, so that one disturbance does not cover them all."""

WAKE_S, LONG_S = 50e-6, 100e-6
"""What it costs at most to have other threads take part, and from which time on that is no matter."""


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


class Bench:
    """One kernel on fixed arrays, with limits.

    Args:
        kernel: with the options of the default.
        steps: measurements at most.
        seconds: time at most; a compile that has begun is finished.
        show: told what is found so far.
    """

    def __init__(self, kernel: Kernel, steps: int, seconds: float, show: Progress):
        self.kernel, self.steps, self.show = kernel, steps, show
        self.begin = time.perf_counter()
        self.seconds, self.taken = seconds, 0
        self.random = random.Random(SEED)
        self.inputs = sample_arrays(kernel)
        self.results = result_arrays(kernel)
        self.sources: set[tuple[str, int]] = set()
        self.tried = {Choice()}
        default = self._candidate(Choice(), kernel.compiled)
        assert default is not None
        self.default = default
        self.expected = [item.copy() for item in self.results]
        self.calls = self._calls()

    def rounds(
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
            if self.is_over(reserve):
                return
            order = [reference, *items]
            self.random.shuffle(order)
            times = {id(item): self.timed(item) for item in order}
            own = times[id(reference)]
            for item in items:
                item.times.append(times[id(item)])
                item.ratios.append(times[id(item)] / own)
            best = min((item.score for item in items), default=1.0)
            self.show(self.elapsed(), f"best {min(best, 1.0):.2f} × the default's time")

    def halved(self, items: Sequence[Candidate], *, rounds: int, share: float) -> list[Candidate]:
        """The better half, then the better half of it, each measured for as long as those before it together.

        Args:
            rounds: of the first measurement.
            share: of the whole time after which it ends.
        """
        left = list(items)
        while left:
            self.rounds(left, rounds, reserve=share)
            if len(left) <= 3 or self.is_over(share):
                break
            left = sorted(left, key=lambda item: item.score)[: (len(left) + 1) // 2]
            rounds *= 2
        return left

    def beats(self, item: Candidate, other: Candidate) -> bool:
        """Whether it is clearly faster; what is measured stays with it.

        Fewer threads can gain no more than waking the others costs; if they seem to, something else kept a core busy.
        """
        item.ratios.clear()
        item.times.clear()
        for _ in range(FINAL_WINDOWS):
            self.rounds([item], FINAL_ROUNDS, reserve=1.0, other=other)
            time.sleep(max(0.0, min(PAUSE_S, self.seconds - self.elapsed())))
        if max(upper_bound(item.ratios), item.quiet_ratio) > 1.0 - MARGIN:
            return False
        fewer = item.choice.parallel_elements == NEVER or item.choice.threads
        rest = msgspec.structs.replace(
            item.choice, parallel_elements=DEFAULT.parallel_elements, threads=0
        )
        same = rest == other.choice
        least = min(item.times)
        return not (fewer and same and (least > LONG_S or min(item.others) - least > WAKE_S))

    def candidates(self, choices: Sequence[Choice], *, share: float = 0.95) -> list[Candidate]:
        """Those of them that are not tried yet, make other code than all before, and compute what the default does."""
        fresh = [item for item in dict.fromkeys(choices) if item not in self.tried]
        found, together = [], max(environment.threads(), 1)
        with ThreadPoolExecutor(together) as pool:
            for first in range(0, len(fresh), together):
                if self.is_over(share):
                    break
                batch = fresh[first : first + together]
                for choice, compiled in zip(batch, pool.map(self._compiled, batch), strict=True):
                    self.tried.add(choice)
                    made = None if compiled is None else self._candidate(choice, compiled)
                    if made is not None:
                        found.append(made)
                self.show(self.elapsed(), f"compiled: {batch[-1].text()}")
        return found

    def _compiled(self, choice: Choice) -> CpuKernel | None:
        try:
            return replace(self.kernel, options=choice.options(self.kernel.options)).compiled
        except CompileError:
            return None

    def _candidate(self, choice: Choice, compiled: CpuKernel) -> Candidate | None:
        threads = choice.threads or environment.threads()
        mark = (compiled.source, threads)
        if mark in self.sources:
            return None
        self.sources.add(mark)
        run = caller(compiled, self.inputs, self.results, threads)
        run()
        if choice != Choice() and not all(map(agree, self.results, self.expected)):
            return None
        return Candidate(choice, run)

    def timed(self, item: Candidate) -> float:
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

    def elapsed(self) -> float:
        return time.perf_counter() - self.begin

    def is_over(self, share: float) -> bool:
        return self.elapsed() >= self.seconds * share or self.taken >= self.steps * share


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
