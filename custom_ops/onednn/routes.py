"""Selects the library (oneDNN or NumPy) and the number of threads."""

from __future__ import annotations

from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.prepared_operator import DTYPES
from custom_ops.onednn.verified_library import library, why_missing
from tbe_impl import environment
from tbe_impl.errors import InputError

LOWERINGS = ("auto", "onednn", "im2col")


def check_dtype(operator: str, dtype: str) -> None:
    """Raises `InputError` for an unsupported dtype."""
    if dtype not in DTYPES:
        raise InputError(
            f"{operator}: dtype is not computed", expected=" or ".join(DTYPES), got=repr(dtype)
        )


OPERATIONS_PER_US, BYTES_PER_US = 2.6e5, 1e5
"""Operations and bytes that a thread processes per µs, for matrix products in cache on AVX-512."""
WAKING_US = 24
"""Minimum time in µs that several threads have to save, since waking threads takes time.

A 16×64 by 64×4 product takes 1.9 µs on one thread, but 9.3 µs if it wakes a second thread.
"""


def resolve_threads(operator: str, threads: int | None, *, operations: int, elements: int) -> int:
    """Returns the number of threads of an operator.

    If `threads` is given, the result is `threads`. Otherwise the result is the number from
    `tbe_impl.environment.threads`, or 1 if there is little work.

    Args:
        operations: number of additions and multiplications.
        elements: number of elements read and written.

    Raises:
        InputError: the number of threads is not an integer from 1 to 256.
    """
    found = environment.threads() if threads is None else threads
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= 256:
        raise InputError(
            f"{operator}: threads is wrong", expected="a number from 1 to 256", got=repr(threads)
        )
    alone_us = max(operations / OPERATIONS_PER_US, 4 * elements / BYTES_PER_US)
    return found if threads is not None or alone_us * (1 - 1 / found) > WAKING_US else 1


def choose_library(operator: str, lowering: str, dtype: str) -> Library | None:
    """Returns oneDNN, or None if NumPy computes the operator.

    Float64 is always computed in NumPy.

    Raises:
        InputError: `lowering` is unknown, or does not support `dtype`.
        MissingError, CompileError: oneDNN is requested but not available.
    """
    if lowering not in LOWERINGS:
        raise InputError(
            f"{operator}: lowering is unknown", expected=" or ".join(LOWERINGS), got=repr(lowering)
        )
    if lowering == "onednn" and dtype == "float64":
        raise InputError(
            f"{operator}: oneDNN does not compute this dtype",
            expected="float32, float16 or bfloat16",
            got=repr(dtype),
        )
    if lowering == "im2col" or dtype == "float64" or (lowering == "auto" and why_missing()):
        return None
    return library()
