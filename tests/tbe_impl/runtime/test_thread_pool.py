"""The thread pool runs every part once, for concurrent callers, off the caller's core."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tbe_impl import dsl
from tbe_impl.codegen.program import write_program
from tbe_impl.runtime import compiler, thread_pool
from tbe_impl.runtime.shared_library_loader import open_library
from tbe_impl.runtime.thread_pool import start_workers
from tests.cases import cases

TEXT = """
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>
#include <sys/syscall.h>
#include "thread_pool.h"

struct work { int64_t *times, *threads, *processors; long wait_us; int deeper; };

static void part(void *given, int number, int count) {
  struct work *work = given;
  (void)count;
  __atomic_fetch_add(work->times + number, 1, __ATOMIC_RELAXED);
  if (work->deeper) {
    int64_t times[7] = {0};
    struct work inner = {.times = times};
    share(part, &inner, 4, 7);
    for (int i = 0; i < 7; i++) if (times[i] - 1) work->times[number] = -1;
  }
  if (work->wait_us) usleep(work->wait_us);
  if (work->threads) work->threads[number] = syscall(SYS_gettid);
  if (work->processors) work->processors[number] = sched_getcpu();
}

void run(int64_t *times, int64_t *threads, int64_t *processors, int64_t together, int64_t count,
         int64_t wait_us, int64_t deeper) {
  struct work work = {times, threads, processors, wait_us, (int)deeper};
  share(part, &work, together, count);
}

#if defined(__SSE__)
#include <xmmintrin.h>
static void subnormals(void *given, int number, int count) {
  (void)count;
  usleep(20000);
  ((int64_t *)given)[number] = (_mm_getcsr() & 0x8040) == 0;
}

void ways(int64_t *kept, int64_t count, int64_t keep) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(keep ? before & ~0x8040u : before | 0x8040);
  share(subnormals, kept, count, count);
  _mm_setcsr(before);
}
#else
void ways(int64_t *kept, int64_t count, int64_t keep) {
  for (int64_t i = 0; i < count; i++) kept[i] = keep;
}
#endif

static void steps(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  for (int64_t i = begin; i < end; i++) ((int64_t *)nest->b[0])[i]++;
  *(int64_t *)own += end - begin;
}

int64_t least(int64_t elements) { return shared_from(elements); }

int nest(void **b, int64_t count, int64_t grain, int64_t portions, int64_t *sums, int64_t threads) {
  return share_nest(&(struct shared_nest){.run = steps, .b = b, .steps = count, .grain = grain,
    .portions = portions, .own = (char *)sums, .own_bytes = sizeof *sums}, threads);
}
"""
SYMBOLS = ("run", "nest", "ways", "least")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processors as Linux numbers them")


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = open_library(compiler.build(TEXT, symbols=SYMBOLS), SYMBOLS)
    found.nest.restype = ctypes.c_int
    return found


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def times(
    library: ctypes.CDLL, threads: int, count: int, *, wait_us: int = 0, deeper: bool = False
) -> np.ndarray:
    found = np.zeros(count, np.int64)
    library.run(pointer(found), None, None, *map(ctypes.c_int64, (threads, count, wait_us, deeper)))
    return found


def test_workers_start() -> None:
    assert start_workers()


def test_missing_workers_give_one_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "workers.c"
    source.write_text("#error no threads here\n")
    monkeypatch.setattr(thread_pool, "_libraries", [])
    monkeypatch.setattr(thread_pool, "SOURCE", source)
    with pytest.warns(RuntimeWarning, match="one thread each.*no threads here") as told:
        assert not start_workers()
        assert not start_workers()
    assert len(told) == 1


@cases("threads", [1, 2, 3, 16, 300])
@cases("count", [0, 1, 2, 5, 1000])
def test_each_part_is_done_once(library: ctypes.CDLL, threads: int, count: int) -> None:
    for _ in range(20):
        assert (times(library, threads, count) == 1).all()


def test_parts_within_parts(library: ctypes.CDLL) -> None:
    assert (times(library, 3, 50, deeper=True) == 1).all()


@cases("keep", [1, 0, 1])
def test_all_have_their_caller_s_way_with_subnormal_numbers(
    library: ctypes.CDLL, keep: int
) -> None:
    kept = np.full(4, 2, np.int64)
    library.ways(ctypes.c_void_p(kept.ctypes.data), ctypes.c_int64(4), ctypes.c_int64(keep))
    np.testing.assert_array_equal(kept, keep)


def test_sleeping_workers_wake_up_for_new_parts(library: ctypes.CDLL) -> None:
    for _ in range(5):
        time.sleep(0.005)
        assert (times(library, 2, 2) == 1).all()


def test_the_caller_sleeps_while_others_work(library: ctypes.CDLL) -> None:
    assert (times(library, 2, 9, wait_us=2000) == 1).all()


def test_several_callers(library: ctypes.CDLL) -> None:
    wrong: list[int] = []

    def call(seed: int) -> None:
        chance = np.random.default_rng(seed)
        for _ in range(2000):
            count = int(chance.integers(1, 9))
            if (times(library, int(chance.integers(1, 5)), count) != 1).any():
                wrong.append(seed)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for one in callers:
        one.start()
    for one in callers:
        one.join(60)
    assert not wrong
    assert not any(one.is_alive() for one in callers)


@cases("steps, grain", [(1, 1), (10, 16), (1000, 7), (4096, 64)])
@cases("portions", [0, 1, 16])
@cases("threads", [1, 2, 5])
def test_steps_of_a_nest(
    library: ctypes.CDLL, steps: int, grain: int, portions: int, threads: int
) -> None:
    for _ in range(10):
        counts, sums = np.zeros(steps, np.int64), np.zeros(64, np.int64)
        buffers = (ctypes.c_void_p * 1)(counts.ctypes.data)
        parts = library.nest(
            buffers,
            *map(ctypes.c_int64, (steps, grain, portions)),
            pointer(sums),
            ctypes.c_int64(threads),
        )
        assert (counts == 1).all()
        assert sums[:parts].sum() == steps
        assert not sums[parts:].any()
        assert parts <= (portions or threads)


def test_workers_avoid_the_core_of_their_caller(library: ctypes.CDLL) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    before, here = os.sched_getaffinity(0), set()
    try:
        for one in sorted(before)[:2] * 2:
            # the caller moves to the worker's core
            os.sched_setaffinity(0, {one})
            time.sleep(0.002)
            os.sched_setaffinity(0, before)
            threads, processors = np.zeros(2, np.int64), np.zeros(2, np.int64)
            for _ in range(20):
                library.run(
                    pointer(np.zeros(2, np.int64)),
                    pointer(threads),
                    pointer(processors),
                    *map(ctypes.c_int64, (2, 2, 1000, 0)),
                )
                here.add((bool(threads[0] == threads[1]), bool(processors[0] == processors[1])))
    finally:
        os.sched_setaffinity(0, before)
    # two threads, two cores, unless the machine is busy
    assert (False, False) in here


def test_a_forked_child_has_its_own(library: ctypes.CDLL) -> None:
    assert (times(library, 2, 2) == 1).all()
    child = os.fork()
    if not child:
        os._exit(0 if (times(library, 2, 64, wait_us=100) == 1).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_less_is_shared_where_one_is_awake(library: ctypes.CDLL) -> None:
    library.least.restype = ctypes.c_int64
    found, end = set(), time.monotonic() + 10
    while found != {100, 400} and time.monotonic() < end:
        assert (times(library, 2, 2, wait_us=100) == 1).all()
        found.add(library.least(ctypes.c_int64(400)))
        time.sleep(0.01)
        found.add(library.least(ctypes.c_int64(400)))
    assert found == {100, 400}


@cases(
    "build, is_either",
    [
        (lambda x: dsl.vadds(x, 1.0), True),
        (lambda x: dsl.reduce_sum(x, 1), True),
        (lambda x: dsl.reduce_sum(x, 0), False),
        (lambda x: dsl.reduce_sum(x, [0, 1]), False),
    ],
)
def test_what_parts_make_is_shared_always_or_never(build, is_either: bool) -> None:
    """Its bits differ from those of partial results."""
    x = dsl.placeholder((512, 512), "float32")
    text = write_program([build(x)], [x]).source
    assert text.count(f">= {'shared_from(524288)' if is_either else '524288'})") == 1
    assert text.count("share_nest(") == 1


def test_without_workers_the_caller_runs_all_parts(tmp_path: Path) -> None:
    code = f"""
import ctypes, numpy as np, sys
library = ctypes.CDLL({str(compiler.build(TEXT, symbols=SYMBOLS))!r})
found, threads = np.zeros(9, np.int64), np.zeros(9, np.int64)
pointers = [ctypes.c_void_p(one.ctypes.data) for one in (found, threads)]
library.run(*pointers, None, *map(ctypes.c_int64, (4, 9, 0, 0)))
assert (found == 1).all() and len(set(threads)) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=60)
