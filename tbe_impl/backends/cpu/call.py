"""A program in memory: its library loaded, arrays handed over, results in new arrays."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl.backends.cpu.nest_function import MAX_THREADS
from tbe_impl.backends.cpu.open_library import open_library
from tbe_impl.backends.cpu.poly import Poly
from tbe_impl.backends.cpu.program import Program
from tbe_impl.errors import CompileError

ALIGNMENT = 64


class _Process:
    """Whether this process is a forked child: there the threads of OpenMP are gone, and starting them hangs."""

    is_forked = False


def _mark_child() -> None:
    _Process.is_forked = True


os.register_at_fork(after_in_child=_mark_child)


def aligned_empty(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """A new array that starts at a cache line."""
    count = math.prod(shape)
    raw = np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype).reshape(shape)


@dataclass(frozen=True)
class Loaded:
    """A program that can be called."""

    program: Program
    file: Path
    function: Any

    def __call__(
        self,
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        sizes: Sequence[int],
        threads: int,
    ) -> None:
        """Fills `results` from `arrays`, all of them dense and of the right dtype.

        Raises:
            CompileError: memory for what lies between its loops ran out.
        """
        pointers = [array.ctypes.data for array in (*arrays, *results)]
        buffers = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        numbers = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        if self.function(buffers, numbers, ctypes.c_int64(usable_threads(threads))):
            raise CompileError("a kernel ran out of memory", place=self.program.symbol)


def usable_threads(threads: int) -> int:
    """What a program is told: one thread where those of OpenMP are gone, never more than there is room for."""
    return 0 if _Process.is_forked else min(threads, MAX_THREADS)


def load(program: Program, library: Path) -> Loaded:
    """Loads a library that `tbe_impl.backends.cpu.compiler.build` made of a program.

    Raises:
        CompileError: it cannot be loaded, or is another's.
    """
    function = getattr(open_library(library, program.symbols), program.symbol)
    function.restype = ctypes.c_int
    return Loaded(program, library, function)


def new_results(program: Program, sizes: Mapping[int, int]) -> list[np.ndarray]:
    """Arrays for the outputs.

    Args:
        program: whose they are.
        sizes: serial number of a size of the program → its value.
    """
    known = {serial: Poly.of(value) for serial, value in sizes.items()}
    return [
        aligned_empty([_number(extent, known) for extent in shape], dtype)
        for shape, dtype in program.result_shapes
    ]


def _number(extent: Poly, known: Mapping[int, Poly]) -> int:
    found = extent.constant if not known else extent.substitute(known).constant
    assert found is not None
    return found
