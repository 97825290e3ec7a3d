"""Defines prepared operators, which both NumPy code and C code can call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from custom_ops.onednn.statuses import describe
from tbe_impl.errors import CompileError, InputError
from tbe_impl.runtime.buffers import aligned_empty
from tbe_impl.runtime.sequence import CFunction

DTYPES = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}


@dataclass(frozen=True)
class TensorType:
    """Name, shape and dtype of a row-major buffer of an operator.

    Attributes:
        name: name of the argument.
        shape: sizes of the buffer.
        dtype: ``float32``, ``float16``, ``bfloat16`` or ``float64``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


@dataclass(frozen=True, eq=False)
class Prepared:
    """Operator prepared for given shapes, dtypes and attributes.

    C code calls the operator by
    ``int status = ((int (*)(void *, void **))function)(state, buffers)``. The status is 0 on
    success. `buffers` has the addresses of the inputs, then of the outputs. A call from C requires
    that this object still exists, and that no output shares memory with an input. Calls are
    thread-safe. Every call reads all inputs again, weights included.

    Attributes:
        operator: name of the operator in error messages.
        inputs, outputs: the buffers, in order.
        function, state: addresses for C code. Both are 0 if NumPy computes the operator.
        implementations: name of oneDNN's implementation of each primitive.
        scratch_bytes: bytes of scratch memory that a call needs. All operators share the scratch
            memory, which stays allocated for the next call.
        kept: objects that must exist as long as C code uses `state`.
        formula: NumPy function that computes the outputs, or None if oneDNN computes them.
    """

    operator: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    function: int = 0
    state: int = 0
    implementations: tuple[str, ...] = ()
    scratch_bytes: int = 0
    kept: Any = None
    formula: Callable[..., Sequence[np.ndarray]] | None = None

    @property
    def c_function(self) -> CFunction | None:
        """The C function of the operator, or None if NumPy computes the operator."""
        if not self.state:
            return None
        order = list(range(len(self.inputs) + len(self.outputs)))
        return CFunction(self.function, order, state=self.state, kept=self)

    def call(
        self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Runs the operator on arrays and returns its outputs.

        Args:
            arrays: one array for each of `inputs`.
            outs: dense arrays for the results; by default new arrays. `outs` may share memory with
                `arrays`.

        Raises:
            InputError: an array is invalid; the message names the operator, the argument, the
                expected and the actual value.
            CompileError: oneDNN failed, or memory ran out.
        """
        given = [np.ascontiguousarray(item) for item in self._check_arrays(self.inputs, arrays)]
        if outs is None:
            results = tuple(aligned_empty(kind.shape, DTYPES[kind.dtype]) for kind in self.outputs)
        else:
            results = tuple(self._check_arrays(self.outputs, outs))
            for kind, array in zip(self.outputs, results, strict=True):
                if not (array.flags.c_contiguous and array.flags.writeable):
                    raise InputError(
                        f"{self.operator}: the result {kind.name} cannot be written to",
                        expected="a dense array that can be written",
                        got=_describe_layout(array),
                    )
            given = [
                item.copy() if any(np.may_share_memory(item, out) for out in results) else item
                for item in given
            ]
        if self.formula is not None:
            with np.errstate(all="ignore"):
                for array, found in zip(results, self.formula(*given), strict=True):
                    array[...] = found
            return results
        buffers = [array.ctypes.data for array in (*given, *results)]
        status = _FUNCTION(self.function)(self.state, (ctypes.c_void_p * len(buffers))(*buffers))
        if status:
            raise CompileError(f"{self.operator} failed in oneDNN", got=describe(status))
        return results

    def _check_arrays(
        self, kinds: Sequence[TensorType], arrays: Sequence[np.ndarray]
    ) -> Sequence[np.ndarray]:
        if len(arrays) != len(kinds):
            raise InputError(
                f"{self.operator}: wrong number of arrays",
                expected=", ".join(kind.name for kind in kinds),
                got=str(len(arrays)),
            )
        for kind, array in zip(kinds, arrays, strict=True):
            if (
                not isinstance(array, np.ndarray)
                or array.shape != kind.shape
                or array.dtype != DTYPES[kind.dtype]
            ):
                got = (
                    f"{array.dtype} {list(array.shape)}"
                    if isinstance(array, np.ndarray)
                    else type(array).__name__
                )
                raise InputError(
                    f"{self.operator}: {kind.name} does not fit", expected=str(kind), got=got
                )
        return arrays


def _describe_layout(array: np.ndarray) -> str:
    return (
        "one that is read-only" if array.flags.c_contiguous else f"one with strides {array.strides}"
    )


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
