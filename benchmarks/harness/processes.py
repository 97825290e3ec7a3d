"""Runs each contestant in its own process.

MindSpore caches kernels by name, and the threads of two contestants disturb each other.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.child_process import ChildProcess, tell
from benchmarks.harness.calls import as_array, contestant
from benchmarks.harness.lines import (
    COMPILED,
    IN_MINDSPORE,
    KEPT_TO_AVX2,
    REPAIR,
    REPAIRED,
    WITH_OURS,
    Line,
)
from benchmarks.harness.workloads import compared_part
from benchmarks.measuring import Samples, is_quick, settle
from tbe_impl.runtime import machine

ENVIRONMENT: Mapping[str, Mapping[str, str]] = {REPAIRED: REPAIR}
EVERYBODYS = KEPT_TO_AVX2 if machine.is_kept_to_avx2() else {}
MODULE = "benchmarks.harness.processes"
SLOW_S, VERY_SLOW_S = 2.0, 20.0
"""Slower contestants are called only once more, and very slow ones not again."""
SETTLED_S, QUICK_SETTLED_S, WARMED_S = 8.0, 2.0, 1.0
"""Time to the steady state: MindSpore tunes for 50 calls, and large pages for our kernels take
seconds; other contestants are warm.
"""
LEAST_ROUNDS, MOST_ROUNDS, QUICK_ROUNDS, ROUNDS_S = 9, 21, 7, 30.0
"""As many rounds as take about this long."""
BLOCK_S, PAUSE_S = 0.03, 0.02
"""Duration of a block of successive calls; pause for the previous contestant's threads to sleep."""


class Process(ChildProcess):
    """A contestant that makes calls on request.

    Several prepare concurrently; each warms up alone.

    Attributes:
        first: result of the first call.
        once_s: duration of a call before the rounds.
    """

    first: np.ndarray
    once_s: float

    def __init__(self, who: str, line: Line):
        told = json.dumps([who, line.workload, line.what])
        variables = {**os.environ, **EVERYBODYS, **ENVIRONMENT.get(who, {}), "GLOG_v": "4"}
        super().__init__(who, [sys.executable, "-m", MODULE, told], variables)

    def wait(self) -> None:
        """Waits until the contestant has imported and compiled."""
        self.answer()

    def warm_up(self) -> None:
        """Makes calls until the speed is steady."""
        found = self.ask("warm up")
        self.first, self.once_s = np.asarray(found["first"]), float(found["once_s"])

    def seconds(self) -> float:
        """Mean time of the calls that fill `BLOCK_S`, after an equal number of untimed calls."""
        return float(self.ask(str(max(1, int(BLOCK_S / max(self.once_s, 1e-7))))))

    def receipts(self) -> Mapping[str, int]:
        """Kernels that ran in one call."""
        return dict(self.ask("receipts"))

    def result(self) -> np.ndarray:
        """Result of one more call, made like the timed ones."""
        return np.asarray(self.ask("result"))


def in_turns(running: Mapping[str, Process]) -> dict[str, Samples]:
    """Times all contestants in every round, in a varying order.

    A slow contestant has one time for all rounds.
    """
    round_s = sum(
        PAUSE_S + 2 * max(BLOCK_S, one.once_s) for one in running.values() if one.once_s <= SLOW_S
    )
    rounds = (
        QUICK_ROUNDS if is_quick() else min(max(int(ROUNDS_S / round_s), LEAST_ROUNDS), MOST_ROUNDS)
    )
    found = {
        who: Samples([one.once_s] * rounds if one.once_s > SLOW_S else [])
        for who, one in running.items()
    }
    order, shuffled = (
        [who for who, one in running.items() if one.once_s <= SLOW_S],
        random.Random(20250101),
    )
    for _ in range(rounds):
        shuffled.shuffle(order)
        for who in order:
            time.sleep(PAUSE_S)
            found[who].times.append(running[who].seconds())
    return found


def _time_calls(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def child(who: str, workload: str, what: str) -> None:
    """Prepares the contestant, then serves each request line."""
    if who not in IN_MINDSPORE:
        # torch's warnings during export and compilation would bury the figures
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
    made = contestant(who, workload, what)
    tell("ready")
    for asked in map(str.strip, sys.stdin):
        if asked == "warm up":
            tell(_warmed_up(who, made.call))
        elif asked == "receipts":
            tell(made.receipts())
        elif asked == "result":
            tell(compared_part(as_array(made.call())))
        else:
            _time_calls(made.call, int(asked))
            tell(_time_calls(made.call, int(asked)))


def _warmed_up(who: str, call: Callable[[], object]) -> Mapping[str, Any]:
    """The first result and the steady time of a call, or the only time of a slow contestant."""
    start = time.perf_counter()
    first = compared_part(as_array(call()))
    once_s = time.perf_counter() - start
    # torch.compile compiles in the first call
    if once_s < VERY_SLOW_S or who == COMPILED:
        once_s = _time_calls(call, 1)
    if once_s < SLOW_S:
        moves_s = QUICK_SETTLED_S if is_quick() else SETTLED_S
        settle(
            call,
            at_least_s=moves_s if who in WITH_OURS else 0.0,
            at_most_s=SETTLED_S if who in IN_MINDSPORE else WARMED_S,
        )
        once_s = _time_calls(call, 1)
    return {"first": first, "once_s": once_s}


if __name__ == "__main__":
    child(*json.loads(sys.argv[1]))
