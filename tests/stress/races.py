"""Rows 1 and 2: many processes that request one kernel, and processes killed during a build."""

from __future__ import annotations

import multiprocessing
import time
from itertools import count

from tbe_impl.runtime.store import WORK
from tests.stress.kernels import check_swish
from tests.stress.parts import (
    Child,
    Row,
    Stress,
    calls_of,
    counting_compiler,
    files_below,
    in_child,
    kernel_cache,
    kernel_entries,
    real_compiler,
    remembering_compiler,
    using_compiler,
)


def race(stress: Stress) -> str:
    """Processes synchronise and request the same kernel at once."""
    processes, rounds = stress.times(32, 6), stress.times(50, 2)
    barrier = multiprocessing.get_context("fork").Barrier(processes)
    cc = counting_compiler(stress.place / "cc")

    def work() -> int:
        for number in range(rounds):
            barrier.wait(120)
            check_swish(number)
        return rounds

    with using_compiler(cc):
        children = [Child(work) for _ in range(processes)]
        errors = []
        for child in children:
            try:
                child.end(600)
            except AssertionError as error:
                errors.append(str(error))
                barrier.abort()
        entries = len(kernel_entries())
    assert not errors, f"{len(errors)} of {processes} processes failed; the first: {errors[0]}"
    compiled = calls_of(cc) - 1  # minus the thread library
    assert kernel_cache().verify() == (), "a bad entry"
    assert entries == rounds, f"{entries} entries after {rounds} rounds"
    assert compiled == rounds, f"{rounds} kernels were compiled {compiled} times"
    return (
        f"{processes} processes × {rounds} rounds: 0 errors, {compiled} compiled, {entries} entries"
    )


def kill(stress: Stress) -> str:
    """Kills a process that compiles kernels in sequence; the next one continues."""
    turns, chance, cache = stress.times(200, 10), stress.chance, kernel_cache()
    numbers = stress.place / "numbers"
    numbers.write_text("0\n")
    # half of the time the compiler is fast, so the kill is more likely to hit the publishing
    slow, quick = real_compiler(), remembering_compiler(stress.place / "cc")
    with using_compiler(quick):
        in_child(lambda: check_swish(-1))
    unfinished = 0

    def work() -> None:
        with numbers.open("a") as file:
            for number in count(int(numbers.read_text().split()[-1])):
                file.write(f"{number}\n")
                file.flush()
                check_swish(number)

    def same() -> None:
        for _ in count():
            check_swish(-1)
            cache.clear()

    for turn in range(turns):
        with using_compiler(quick if turn % 2 else slow):
            child = Child(same if turn % 2 else work)
            time.sleep(chance.uniform(0, 0.1 if turn % 2 else 0.4))
            child.kill()
        bad = cache.verify()
        assert bad == (), f"turn {turn}: {bad[0][1]}"
        staged = [name for name in files_below(cache.root / WORK) if not name.endswith(".lock")]
        unfinished += staged != []
    finished = int(numbers.read_text().split()[-1]) + 1
    for number in range(max(0, finished - stress.times(20, 2)), finished):
        check_swish(number)
    assert cache.verify() == ()
    cache.clear()
    left = files_below(cache.root)
    assert left == [], f"left over: {left[:3]}"
    return (
        f"{turns} kills, {unfinished} with something half made on disk: 0 bad entries, {finished} "
        f"kernels right"
    )


ROWS = (
    Row(1, "processes compile the same kernel at once", "0 errors, compiled once, one entry", race),
    Row(
        2,
        "kill -9 while a kernel is compiled or published",
        "0 bad entries, the next run right",
        kill,
    ),
)
