"""Calls a loaded program on NumPy arrays, and allocates the arrays for the program's results."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl.codegen.planning.access_analysis import DerivedSize
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.codegen.program import Program
from tbe_impl.dsl.expr import Var
from tbe_impl.errors import CompileError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.buffers import aligned_empty, usable_threads
from tbe_impl.runtime.shared_library_loader import open_library


@dataclass(frozen=True)
class LoadedProgram:
    """A compiled program with its loaded entry function."""

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
        """Runs the program on `arrays` and fills `results`.

        All arrays must be dense (C-contiguous) and of the dtypes that the program declares.

        Raises:
            CompileError: the program could not allocate its intermediate buffers.
        """
        pointers = [array.ctypes.data for array in (*arrays, *results)]
        buffers = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        numbers = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        if self.function(buffers, numbers, ctypes.c_int64(usable_threads(threads))):
            raise CompileError("a kernel ran out of memory", place=self.program.symbol)


def load_program(program: Program, library: Path) -> LoadedProgram:
    """Loads the library that `tbe_impl.runtime.compiler.build` built from a program.

    Raises:
        CompileError: the library cannot be loaded, or was built from another program.
    """
    function = getattr(open_library(library, program.symbols), program.symbol)
    function.restype = ctypes.c_int
    return LoadedProgram(program, library, function)


def allocate_results(program: Program, sizes: Mapping[int, int]) -> list[np.ndarray]:
    """Allocates uninitialised arrays for the outputs of a program.

    Args:
        program: the generated program, which has the dtypes and shapes of the outputs.
        sizes: maps the serial number of each run-time size of the program to its value.
    """
    known = {serial: Poly.from_int(value) for serial, value in sizes.items()}
    return [
        aligned_empty([_extent_value(extent, known) for extent in shape], dtype)
        for shape, dtype in program.result_shapes
    ]


def _extent_value(extent: Poly, known: Mapping[int, Poly]) -> int:
    found = extent.constant if not known else extent.substitute(known).constant
    assert found is not None
    return found


def run_program(
    loaded: LoadedProgram,
    arrays: Sequence[np.ndarray],
    results: Sequence[np.ndarray | None],
    values: Mapping[int, int | float],
    threads: int,
) -> list[np.ndarray]:
    """Runs a program and returns its outputs.

    Args:
        loaded: the program with its loaded library.
        arrays: a dense array for each input.
        results: for each output a dense array to fill, or None to allocate a new array.
        values: maps the ``id`` of each size or scalar known only at run time to its value.
        threads: maximum number of threads.
    """
    program = loaded.program
    sizes = [_size_value(size, values) for size in program.sizes]
    made = [one for one in results if one is not None]
    if len(made) < len(results):
        serials = (size.serial for size in program.sizes)
        new = allocate_results(program, dict(zip(serials, sizes, strict=True)))
        made = [item if one is None else one for one, item in zip(results, new, strict=True)]
    if program.overwritten is not None:
        place = next(n for n, one in enumerate(program.inputs) if one is program.overwritten)
        made[0] = arrays[place]
    sizes += [_float64_bits(item, values) for item in program.scalars]
    loaded(arrays, made, sizes, threads)
    return made


def _size_value(size: Var, values: Mapping[int, int | float]) -> int:
    wanted = size.expression if isinstance(size, DerivedSize) else size
    return int(evaluate.evaluate_scalar(wanted, values))


def _float64_bits(item: Var, values: Mapping[int, int | float]) -> int:
    """Returns the bits of a float64 value as an int64."""
    return int(np.float64(evaluate.evaluate_scalar(item, values)).view(np.int64))
