"""Threads, forked children, and interpreter exit.

The results are equal; nothing crashes or hangs.
"""

from __future__ import annotations

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from custom_ops.core import dispatch
from custom_ops.core.computation import KERNEL_CACHE_SIZE, Computation
from custom_ops.core.operator_spec import OpSpec
from tbe_impl import dsl
from tests.fork_server import ROOT, run_program

DOUBLED = OpSpec(
    "ThreadsDoubled",
    ("x",),
    ("y",),
    procedure=lambda x, y: np.multiply(x, 2, out=y),
    infer_shape=lambda x: (x,),
    infer_dtype=lambda x: (x,),
)
PRODUCT = OpSpec("ThreadsProduct", ("x", "y"), ("z",), forward=lambda x, y: dsl.vmul(x, y))
THREADS = 4


def in_threads(work):
    """Runs `work(number)` in several threads that start together."""
    together = threading.Barrier(THREADS)

    def run(number):
        together.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def entry_called(entry, *arrays):
    """Calls an operator's entry point as MindSpore does."""
    function = getattr(ctypes.CDLL(str(entry.file)), entry.function)
    count = len(arrays)
    data = (ctypes.c_void_p * count)(*(one.ctypes.data for one in arrays))
    ranks = (ctypes.c_int * count)(*(one.ndim for one in arrays))
    sizes = [(ctypes.c_int64 * one.ndim)(*one.shape) for one in arrays]
    shapes = (ctypes.POINTER(ctypes.c_int64) * count)(*sizes)
    names = (ctypes.c_char_p * count)(*(str(one.dtype).encode() for one in arrays))
    return function(count, data, ranks, shapes, names, None, None)


def test_kernels_are_looked_up_and_given_back_by_several_threads():
    entry = dispatch.entry_of(Computation(DOUBLED, {}))

    def work(number):
        for turn in range(3 * KERNEL_CACHE_SIZE):
            x = np.full((2 + (turn * (number + 1)) % (2 * KERNEL_CACHE_SIZE), 2), turn, np.float32)
            y = np.zeros_like(x)
            assert entry_called(entry, x, y) == 0
            assert np.all(y == 2 * turn)
        return True

    assert all(in_threads(work))


def test_kernels_are_built_by_several_threads():
    op = Computation(PRODUCT, {})
    entry = dispatch.entry_of(op)

    def work(number):
        for rows in range(2 + number, 12):
            x = np.full((rows, 3), rows, np.float32)
            z = np.zeros_like(x)
            assert entry_called(entry, x, x, z) == 0
            assert np.all(z == rows * rows) and np.all(op(x, x) == z)
        return True

    assert all(in_threads(work))
    assert op.built <= 4


@pytest.mark.mindspore
def test_pynative_in_several_threads():
    ms = pytest.importorskip("mindspore")
    from custom_ops.core.cell import FusedCell

    before = ms.get_context("mode")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    op = FusedCell(PRODUCT, {})

    def work(number):
        for rows in range(2, 30):
            x = ms.Tensor(np.full((rows, 5), number + rows, np.float32))
            assert np.all(op(x, x).asnumpy() == (number + rows) ** 2)
        return True

    try:
        assert all(in_threads(work))
    finally:
        ms.set_context(mode=before)


def finished(program: str, folder: Path, *arguments: str, fresh: bool = False) -> str:
    """The output of a program that ends in time with exit code 0."""
    path = ROOT / "tests" / "programs" / "custom_ops" / program
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(
        path, *arguments, cwd=folder, environment=environment, timeout_s=120, fresh=fresh
    )
    assert done.returncode == 0, done.output[-2000:]
    return done.output


def test_forked_children_compute(tmp_path):
    """Forks like the workers of a data loader."""
    assert "well" in finished("forked_children.py", tmp_path).splitlines()


@pytest.mark.mindspore
def test_the_interpreter_ends_while_operators_run(tmp_path, full):
    """``make test`` compiles the kernels of one operator.

    Runs in a new interpreter: only its exit clears the program's globals.
    """
    arguments = [] if full else ["quick"]
    pytest.importorskip("mindspore")
    said = finished("ends_while_operators_run.py", tmp_path, *arguments, fresh=True)
    assert "well" in said.splitlines()
