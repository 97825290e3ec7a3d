"""Threads of OpenMP sleep while they wait, whoever has loaded its runtime, and unless a user wants it otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tbe_impl.backends.cpu.waiting import CHOSEN, RUNTIME

CHILD = """
import ctypes, os, sys, time
from tbe_impl.backends.cpu.waiting import let_threads_sleep

if sys.argv[1] == "loaded":
    ctypes.CDLL("{runtime}")
before = len(os.listdir("/proc/self/task"))
let_threads_sleep()
wanted, more = len(os.sched_getaffinity(0)) + 1, 0
for _ in range(100 if sys.argv[2] == "wait" else 1):
    more = len(os.listdir("/proc/self/task")) - before
    if more >= wanted:
        break
    time.sleep(0.02)
print(os.environ.get("OMP_WAIT_POLICY", ""), more >= wanted)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="GCC's OpenMP on Linux")


def _told(loaded: str, wait: str, **chosen: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name not in CHOSEN}
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(runtime=RUNTIME), loaded, wait], env={**environment, **chosen},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout.strip("\n").split(" ")


def test_what_is_loaded_later_is_told() -> None:
    assert _told("not loaded", "") == ["passive", "False"]


def test_what_is_loaded_has_more_threads_than_processors() -> None:
    assert _told("loaded", "wait") == ["passive", "True"]


@pytest.mark.parametrize(("name", "value"), [("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "7")])  # fmt: skip
def test_a_user_chooses(name: str, value: str) -> None:
    policy = value if name == "OMP_WAIT_POLICY" else ""
    assert _told("loaded", "", **{name: value}) == [policy, "False"]
