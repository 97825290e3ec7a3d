"""Kernels that are written in C by hand, for what no loop over independent elements says: blocks, sorted lists, many tensors."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import Described
from custom_ops.core.kernel_sequence import InC
from tbe_impl import environment
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import CompileError, InputError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.buffers import aligned_empty, usable_threads
from tbe_impl.runtime.shared_library_loader import open_library

FOLDER = Path(__file__).parent.parent / "c_sources"


@dataclass(frozen=True, eq=False)
class Written:
    """A kernel in C for inputs of certain shapes and dtypes.

    Its function is ``int function(void **buffers, const int64_t *numbers, int64_t threads)``: inputs, then outputs, 0 when
    all is well. `custom_ops.core.kernel_interface.Computation` takes it like a generated one.

    Attributes:
        name: of the operator.
        file: in the folder ``c_sources``; may include the headers of the CPU back end.
        symbol: of its function.
        inputs, outputs: what the buffers are.
        numbers: what the function is told besides.
        options: for the compiler, such as ``-DNAME=value``.
        overwrites: whether it writes to inputs: they must be dense then.
    """

    name: str
    file: str
    symbol: str
    inputs: tuple[Described, ...]
    outputs: tuple[Described, ...]
    numbers: tuple[int, ...] = ()
    options: tuple[str, ...] = ()
    overwrites: bool = False

    @cached_property
    def function(self) -> Any:
        """The function, compiled or from the cache.

        Raises:
            MissingError: there is no C compiler.
        """
        text = _with_headers((FOLDER / self.file).read_text("utf-8"))
        library = compiler.build(text, options=self.options, symbols=(self.symbol,))
        function = getattr(open_library(library, (self.symbol,)), self.symbol)
        function.restype = ctypes.c_int
        return function

    @property
    def whole(self) -> InC:
        """The function as C calls it."""
        return InC(self.function, list(range(len(self.inputs) + len(self.outputs))), self.numbers)

    def __call__(self, *arrays: Any, out: Sequence[np.ndarray] | None = None) -> Any:
        """The output array, or a tuple of them.

        Raises:
            InputError: an array that is to be overwritten has gaps.
            CompileError: memory ran out.
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


def _with_headers(text: str) -> str:
    """The text with the headers of its own folder in it: the cache knows kernels by their text."""

    def content(found: re.Match[str]) -> str:
        header = FOLDER / found[1]
        return _with_headers(header.read_text("utf-8")) if header.exists() else found[0]

    return re.sub(r'^#include "([a-z_]+\.h)"$', content, text, flags=re.MULTILINE)
