"""Workers leave the processor of their caller, and go nowhere that it may not go."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from tbe_impl.backends.cpu import compiler
from tbe_impl.backends.cpu.open_library import open_library

TEXT = """
#include "apart.h"
void leave(int processor, long thread) { stay_off((struct caller){processor, thread}); }
int here(void) { return caller_here().processor; }
long self(void) { return caller_here().thread; }
"""
SYMBOLS = ("leave", "here", "self")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs two processors of Linux"
)  # fmt: skip


def _allowed_after(processor_of_caller: int, may: set[int], stays: set[int]) -> set[int]:
    """Where a worker may run after it was on `stays`, called by this thread, which may run on `may`."""
    library = open_library(compiler.build(TEXT, symbols=SYMBOLS), SYMBOLS)
    before, caller, found = os.sched_getaffinity(0), threading.get_native_id(), []

    def work() -> None:
        os.sched_setaffinity(0, stays)
        library.leave(processor_of_caller, caller)
        found.append(os.sched_getaffinity(0))

    os.sched_setaffinity(0, may)
    try:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    finally:
        os.sched_setaffinity(0, before)
    return found[0]


def test_a_worker_beside_its_caller_goes_elsewhere() -> None:
    every = os.sched_getaffinity(0)
    one = min(every)
    assert _allowed_after(one, every, {one}) == every - {one}


def test_a_worker_elsewhere_stays() -> None:
    one, other = sorted(os.sched_getaffinity(0))[:2]
    assert _allowed_after(one, {one, other}, {other}) == {other}


def test_where_there_is_one_processor_both_stay() -> None:
    one = min(os.sched_getaffinity(0))
    assert _allowed_after(one, {one}, {one}) == {one}


def test_the_caller_is_this_thread() -> None:
    library = open_library(compiler.build(TEXT, symbols=SYMBOLS), SYMBOLS)
    assert library.here() in os.sched_getaffinity(0)
    assert library.self() == threading.get_native_id()
