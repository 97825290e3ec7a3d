"""Calls a loaded program with NumPy arrays; results are new arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl.codegen.polynomials import Poly
from tbe_impl.codegen.program import Program
from tbe_impl.errors import CompileError
from tbe_impl.runtime.buffers import aligned_empty, usable_threads
from tbe_impl.runtime.shared_library_loader import open_library


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


def load(program: Program, library: Path) -> Loaded:
    """Loads a library that `tbe_impl.runtime.compiler.build` made of a program.

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
