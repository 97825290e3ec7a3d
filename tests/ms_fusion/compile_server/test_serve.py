"""Kernels build in isolation: a crash, a hang or an error affects only that kernel."""

import os
import signal
import time
from pathlib import Path

from ms_fusion.compile_server.build_processes import build_in_processes
from tbe_impl.errors import InputError
from tests.cases import cases


def build(kernel):
    if kernel == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if kernel == "hangs":
        time.sleep(600)
    if kernel == "raises":
        raise ValueError("no such operator")
    if kernel == "refuses":
        raise InputError("Fold is not built", place="Fold")
    Path(kernel).touch()


@cases("workers", [1, 3])
def test_what_fails_costs_only_itself(workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kernels = ["one", "dies", "two", "hangs", "raises", "refuses", "three"]
    failed = build_in_processes(kernels, build, workers=workers, seconds=4)
    assert failed == {
        "dies": ("it died of SIGKILL", ""),
        "hangs": ("it did not end", ""),
        "raises": ("ValueError: no such operator", ""),
        "refuses": ("Fold is not built.", "Fold"),
    }
    assert sorted(os.listdir()) == ["one", "three", "two"]


def test_nothing_to_build_is_done_at_once():
    assert build_in_processes([], build, workers=2, seconds=1) == {}
