"""Defines prepared operators, called with NumPy arrays or from C by function and state."""

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

DTYPES = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}


@dataclass(frozen=True)
class TensorType:
    """Content of an operator's buffer, row-major.

    Attributes:
        name: name of the argument.
        shape: its sizes.
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

    From C: ``int status = ((int (*)(void *, void **))function)(state, buffers)``; 0 is success.
    `buffers` holds the addresses of the inputs, then of the outputs. There an output must not share
    memory with an input. The object must outlive the use of its state. Thread-safe. Every call
    reads all inputs again, weights included; none are cached.

    Attributes:
        operator: its name in errors.
        inputs, outputs: the buffers, in order.
        function, state: addresses for C; both 0 for NumPy's lowering.
        implementations: oneDNN's implementation of each primitive.
        scratch_bytes: further memory of a call, shared by all operators and cached for the next
            call.
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

    def call(
        self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Returns the outputs for arrays.

        Args:
            arrays: one for each of `inputs`.
            outs: dense result arrays; new ones by default. They may share memory with `arrays`.

        Raises:
            InputError: names operator, argument, expected and got.
            CompileError: oneDNN failed, or out of memory.
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
        status = _bind_function(self.function)(
            self.state, (ctypes.c_void_p * len(buffers))(*buffers)
        )
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


def _bind_function(address: int) -> Any:
    return _FUNCTION(address)
