"""Compares candidates (sets of options) with the default options by time, round by round.

Each round times the candidates and the default once. For each candidate, a round gives the ratio
(time of the candidate) / (time of the default). To exclude noise, a candidate is chosen only if the
median of its ratios is below 1 − `MARGIN` with 99 % confidence.
"""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import sqrt

import msgspec

from tbe_impl import environment
from tbe_impl.codegen.options import DEFAULT_OPTIONS
from tbe_impl.cpu.prepared_kernel import CpuKernel
from tbe_impl.errors import CompileError
from tbe_impl.kernel import Kernel
from tbe_impl.tuning.measurement_arrays import SEED, caller, is_close, result_arrays, sample_arrays
from tbe_impl.tuning.progress_bar import Progress
from tbe_impl.tuning_store import UNREACHABLE_THRESHOLD, Choice

MARGIN = 0.02
"""Minimum relative gain for which a candidate is chosen."""

BLOCK_S = 2e-3
"""Minimum duration of a measurement in seconds, for which short kernels are called repeatedly."""

FINAL_ROUNDS, FINAL_WINDOWS, PAUSE_S = 8, 5, 0.2
"""Rounds per window, number of windows, and pause after a window (s), in the final comparison.

The pauses spread the rounds over time, so that a single disturbance affects few rounds.
"""

WAKE_S, LONG_S = 50e-6, 100e-6
"""Seconds: maximum time to wake threads, and kernel time beside which that time is negligible."""


@dataclass
class Candidate:
    """A candidate for the options of a kernel.

    Attributes:
        choice: the options of the candidate.
        run: function that calls the kernel once. All candidates run on the same arrays.
        ratios: one ratio for each round: the time of the candidate divided by the time of the
            reference. The reference is the default, or another candidate that is passed to
            `Bench.run_rounds`.
        times: one time for each round: seconds per call of the candidate.
    """

    choice: Choice
    run: Callable[[], None]
    ratios: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Median of `ratios`; infinite before the first measurement."""
        return statistics.median(self.ratios) if self.ratios else float("inf")

    @property
    def quiet_ratio(self) -> float:
        """The minimum of `times` divided by the minimum of `reference_times`.

        Minima exclude disturbances.
        """
        return min(self.times) / min(self.reference_times) if self.times else float("inf")

    @property
    def reference_times(self) -> list[float]:
        """Seconds per call of the reference (see `run_rounds`), in the same rounds as `times`."""
        return [time / ratio for time, ratio in zip(self.times, self.ratios, strict=True)]

    @property
    def score(self) -> float:
        """The larger of `ratio` and `quiet_ratio`.

        Both values are times of the candidate divided by times of the reference. Another process
        may slow down some calls of the reference. `ratio` may then be too small, but `quiet_ratio`
        is not. Because the score is the larger value, such a disturbance cannot make the candidate
        look faster.
        """
        return max(self.ratio, self.quiet_ratio)


class Bench:
    """Measures candidates of one kernel on fixed arrays, until a step or time limit is reached.

    Args:
        kernel: the kernel with its default options.
        steps: maximum number of measurements.
        seconds: maximum time in seconds. A compilation that has started is not interrupted.
        show: callback that receives the progress.
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

    def run_rounds(
        self,
        items: Sequence[Candidate],
        rounds: int,
        *,
        reserve: float,
        other: Candidate | None = None,
    ) -> None:
        """Times every candidate and the reference once per round, in random order.

        The reference is `other` if it is given, otherwise the default. `reserve` is a fraction of
        the two limits of `Bench` (number of measurements, time). No further round starts when this
        fraction of either limit is used up.
        """
        reference = other or self.default
        for _ in range(rounds):
            if self.is_over(reserve):
                return
            order = [reference, *items]
            self.random.shuffle(order)
            times = {id(item): self.measure_call(item) for item in order}
            own = times[id(reference)]
            for item in items:
                item.times.append(times[id(item)])
                item.ratios.append(times[id(item)] / own)
            best = min((item.score for item in items), default=1.0)
            self.show(self.elapsed_s(), f"best {min(best, 1.0):.2f} × the default's time")

    def run_successive_halving(
        self, items: Sequence[Candidate], *, rounds: int, share: float
    ) -> list[Candidate]:
        """Measures candidates by successive halving and returns the remaining candidates.

        After each measurement, the better half is kept and the number of rounds is doubled, until
        at most three candidates are left.

        Args:
            items: the candidates (sets of options) to compare.
            rounds: number of rounds of the first measurement.
            share: fraction of the two limits of `Bench` (number of measurements, time). The halving
                ends when this fraction of either limit is used up.
        """
        left = list(items)
        while left:
            self.run_rounds(left, rounds, reserve=share)
            if len(left) <= 3 or self.is_over(share):
                break
            left = sorted(left, key=lambda item: item.score)[: (len(left) + 1) // 2]
            rounds *= 2
        return left

    def is_faster(self, item: Candidate, other: Candidate) -> bool:
        """Measures `item` and `other`; returns whether `item` is clearly faster.

        The measurements are stored in `item`. If `item` differs from `other` only by fewer threads,
        `item` can save at most the time to wake threads. A larger gain is then attributed to a
        disturbance.
        """
        item.ratios.clear()
        item.times.clear()
        for _ in range(FINAL_WINDOWS):
            self.run_rounds([item], FINAL_ROUNDS, reserve=1.0, other=other)
            time.sleep(max(0.0, min(PAUSE_S, self.seconds - self.elapsed_s())))
        if max(upper_bound(item.ratios), item.quiet_ratio) > 1.0 - MARGIN:
            return False
        fewer = item.choice.parallel_elements == UNREACHABLE_THRESHOLD or item.choice.threads
        rest = msgspec.structs.replace(
            item.choice, parallel_elements=DEFAULT_OPTIONS.parallel_elements, threads=0
        )
        same = rest == other.choice
        least = min(item.times)
        return not (
            fewer and same and (least > LONG_S or min(item.reference_times) - least > WAKE_S)
        )

    def make_candidates(self, choices: Sequence[Choice], *, share: float = 0.95) -> list[Candidate]:
        """Compiles the choices (sets of options) that were not tried yet; returns the candidates.

        A choice is dropped if it cannot be compiled, if its code and number of threads equal those
        of an earlier choice, or if its results are wrong. `share` is a fraction of the two limits
        of `Bench` (number of measurements, time). No further compilation starts when this fraction
        of either limit is used up.
        """
        fresh = [item for item in dict.fromkeys(choices) if item not in self.tried]
        found, together = [], max(environment.threads(), 1)
        with ThreadPoolExecutor(together) as pool:
            for first in range(0, len(fresh), together):
                if self.is_over(share):
                    break
                batch = fresh[first : first + together]
                for choice, compiled in zip(
                    batch, pool.map(self._compile_choice, batch), strict=True
                ):
                    self.tried.add(choice)
                    made = None if compiled is None else self._candidate(choice, compiled)
                    if made is not None:
                        found.append(made)
                self.show(self.elapsed_s(), f"compiled: {batch[-1].text()}")
        return found

    def _compile_choice(self, choice: Choice) -> CpuKernel | None:
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
        if choice != Choice() and not all(map(is_close, self.results, self.expected)):
            return None
        return Candidate(choice, run)

    def measure_call(self, item: Candidate) -> float:
        self.taken += 1
        return timeit.timeit(item.run, number=self.calls) / self.calls

    def _calls(self) -> int:
        times = timeit.repeat(self.default.run, repeat=3, number=1)
        return max(1, int(BLOCK_S / max(min(times), 1e-7)))

    def elapsed_s(self) -> float:
        return time.perf_counter() - self.begin

    def is_over(self, share: float) -> bool:
        return self.elapsed_s() >= self.seconds * share or self.taken >= self.steps * share


def upper_bound(ratios: Sequence[float]) -> float:
    """Returns the 99 % upper confidence bound of the median of `ratios`, as an order statistic.

    Returns infinity if there are too few ratios.

    >>> upper_bound([0.9] * 30 + [5.0] * 2)
    0.9
    >>> upper_bound([0.5, 0.5])
    inf
    """
    count = len(ratios)
    place = int(count / 2 + 2.33 * sqrt(count) / 2) + 1
    return sorted(ratios)[place] if place < count else float("inf")
