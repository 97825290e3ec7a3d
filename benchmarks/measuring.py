"""Interleaved timing: medians with their spread, as JSON."""

from __future__ import annotations

import datetime
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl import environment
from tbe_impl.runtime import compiler, machine
from tbe_impl.tuning_store import processor

PLACE = Path("build/bench")


def is_quick() -> bool:
    """Whether ``QUICK=1`` selects the short form."""
    return os.environ.get("QUICK", "") not in ("", "0")


@dataclass
class Samples:
    """Seconds per call of one competitor, one entry per round; None where it paused."""

    times: list[float | None] = field(default_factory=list)

    @property
    def valid_samples(self) -> list[float]:
        """The samples without pauses."""
        return [item for item in self.times if item is not None]

    @property
    def median(self) -> float:
        """Median of the times."""
        return statistics.median(self.valid_samples)

    @property
    def least(self) -> float:
        """The shortest time, of an undisturbed moment."""
        return min(self.valid_samples)

    def record(self) -> dict[str, float]:
        """Median, quartiles and minimum, in microseconds."""
        low, middle, high = (
            float(item) for item in np.percentile(self.valid_samples, (25, 50, 75))
        )
        return {
            "median_us": round(middle * 1e6, 3),
            "quartile_low_us": round(low * 1e6, 3),
            "quartile_high_us": round(high * 1e6, 3),
            "least_us": round(self.least * 1e6, 3),
            "rounds": len(self.valid_samples),
        }


def ratio(one: Samples, other: Samples) -> float:
    """Median over rounds of `one` ÷ `other`, both from the same round."""
    pairs = zip(one.times, other.times, strict=True)
    return statistics.median(a / b for a, b in pairs if a is not None and b is not None)


def in_turns(
    competitors: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    block_s: float = 0.0,
    pause_s: float = 0.0,
    slow_s: float = 0.05,
    before: Mapping[str, Callable[[], object]] | None = None,
    seed: int = 20250101,
) -> dict[str, Samples]:
    """Times all competitors in every round, in a varying order.

    Args:
        competitors: name → call.
        rounds: number of rounds.
        block_s: short calls are repeated for about this time and averaged.
        pause_s: pause before each competitor, in which the previous one's threads fall asleep; an
            equal time of untimed calls follows, in which its own threads wake up and spread over
            the cores.
        slow_s: slower competitors take part in every third round only.
        before: name → untimed setup of a competitor.
    """
    calls, slow = {}, set()
    ready = before or {}
    for name, run in competitors.items():
        ready.get(name, _nothing)()
        run()
        begin = time.perf_counter()
        run()
        once = time.perf_counter() - begin
        calls[name] = max(1, int(block_s / max(once, 1e-7)))
        if once > slow_s:
            slow.add(name)
    found = {name: Samples() for name in competitors}
    generator, order = random.Random(seed), list(competitors)
    for number in range(rounds):
        generator.shuffle(order)
        for name in order:
            if name in slow and number % 3:
                found[name].times.append(None)
                continue
            run, count = competitors[name], calls[name]
            ready.get(name, _nothing)()
            if pause_s:
                time.sleep(pause_s)
                for _ in range(count):
                    run()
            begin = time.perf_counter()
            for _ in range(count):
                run()
            found[name].times.append((time.perf_counter() - begin) / count)
    return found


def settle(
    call: Callable[[], object], *, calls: int = 60, at_least_s: float = 0.0, at_most_s: float = 2.0
) -> None:
    """Calls a net until MindSpore has tuned its execution, or for the given time.

    In a net's first 30 calls its kernels try thread counts, and in the next 20 calls MindSpore
    tries to launch them from one thread. With our kernels, memory moves into large pages in the
    first seconds. Afterwards the speed is that of a long training run.
    """
    begin, made = time.perf_counter(), 0
    while (took := time.perf_counter() - begin) <= at_most_s and (
        made < calls or took < at_least_s
    ):
        call()
        made += 1


def _nothing() -> None:
    pass


def describe_machine() -> dict[str, Any]:
    """The machine and the versions, for the record."""
    vectors = ("avx", "asimd", "sve", "fma", "f16c")
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": environment.threads(),
        "kept_to_avx2": machine.is_kept_to_avx2(),
        "features": [item for item in machine.cpu_features() if item.startswith(vectors)],
        "caches": _caches(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "compiler": compiler.find_compiler().identity,
        "load_before": [round(item, 2) for item in os.getloadavg()],
        "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "quick": is_quick(),
    }


def _caches() -> dict[str, str]:
    found = {}
    for place in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = (
                (place / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        found[f"L{level} {kind}"] = size
    return found


def write(name: str, record: Mapping[str, Any]) -> Path:
    """Writes a record to ``build/bench/<name>.json`` and prints the path."""
    PLACE.mkdir(parents=True, exist_ok=True)
    path = PLACE / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(f"\nwritten: {path}")
    return path


def largest_error(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The largest |found − expected| ÷ (1 + |expected|)."""
    errors = [
        np.abs(a.astype(np.float64) - b) / (1 + np.abs(b))
        for a, b in zip(found, expected, strict=True)
    ]
    return max(float(item.max()) for item in errors)
