"""Builds hand-written C kernels, for blocked algorithms, sorted lists and multi-tensor updates.

The TBE DSL cannot express these kernels, because the DSL has only loop nests over independent
elements.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import ArraySpec
from tbe_impl import environment
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import CompileError, InputError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.buffers import aligned_empty, usable_threads
from tbe_impl.runtime.sequence import CFunction
from tbe_impl.runtime.shared_library_loader import open_library

C_SOURCE_FOLDER = Path(__file__).parent.parent / "c_sources"


@dataclass(frozen=True, eq=False)
class CKernel:
    """Hand-written C kernel for given shapes and dtypes.

    The C signature is ``int function(void **buffers, const int64_t *numbers, int64_t threads)``.
    `buffers` has the addresses of the inputs, then of the outputs. The function returns 0 on
    success.
    `custom_ops.core.computation.Computation` handles a `CKernel` like a generated kernel.

    Attributes:
        name: name of the operator.
        file: C file in ``custom_ops/c_sources``. The file may include headers of the CPU back end.
        symbol: name of the C function.
        inputs, outputs: shapes and dtypes of the buffers.
        numbers: integers that the function gets as its argument `numbers`.
        options: compiler options, such as ``-DNAME=value``.
        overwrites: whether the kernel writes to its inputs. If so, the inputs must be dense.
    """

    name: str
    file: str
    symbol: str
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    numbers: tuple[int, ...] = ()
    options: tuple[str, ...] = ()
    overwrites: bool = False

    @cached_property
    def function(self) -> Any:
        """The C function, which is compiled or loaded from the compile cache at the first access.

        Raises:
            MissingError: there is no C compiler.
        """
        text = _inline_headers((C_SOURCE_FOLDER / self.file).read_text("utf-8"))
        library = compiler.build(text, options=self.options, symbols=(self.symbol,))
        function = getattr(open_library(library, (self.symbol,)), self.symbol)
        function.restype = ctypes.c_int
        return function

    @property
    def c_function(self) -> CFunction:
        """The C function, the order of its buffer arguments, and its integer arguments."""
        return CFunction(
            self.function, list(range(len(self.inputs) + len(self.outputs))), self.numbers
        )

    def __call__(self, *arrays: Any, out: Sequence[np.ndarray] | None = None) -> Any:
        """Returns the output array, or a tuple of arrays if there are several outputs.

        Raises:
            InputError: the kernel overwrites its inputs, and an input is not dense.
            CompileError: the kernel ran out of memory.
        """
        given = [np.asarray(array, order="C") for array in arrays]
        if self.overwrites and any(a is not b for a, b in zip(given, arrays, strict=True)):
            raise InputError(
                "an array that is written to has gaps", place=self.name, expected="dense arrays"
            )
        made = (
            list(out)
            if out is not None
            else [aligned_empty(one.shape, dtype_of(one.dtype).numpy) for one in self.outputs]
        )
        places = [array.ctypes.data for array in (*given, *made)]
        numbers = (ctypes.c_int64 * max(len(self.numbers), 1))(*self.numbers)
        threads = ctypes.c_int64(usable_threads(environment.threads()))
        if self.function((ctypes.c_void_p * len(places))(*places), numbers, threads):
            raise CompileError("a kernel ran out of memory", place=self.name)
        return made[0] if len(made) == 1 else tuple(made)


def _inline_headers(text: str) -> str:
    """Inlines the headers of `C_SOURCE_FOLDER`; the compile cache key then covers the headers."""

    def content(found: re.Match[str]) -> str:
        header = C_SOURCE_FOLDER / found[1]
        return _inline_headers(header.read_text("utf-8")) if header.exists() else found[0]

    return re.sub(r'^#include "([a-z_]+\.h)"$', content, text, flags=re.MULTILINE)
