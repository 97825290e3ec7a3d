"""Which library computes, and with how many threads."""

from __future__ import annotations

from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.prepared_operator import DTYPES
from custom_ops.onednn.verified_library import library, why_missing
from tbe_impl import environment
from tbe_impl.errors import InputError

LOWERINGS = ("auto", "onednn", "im2col")


def check_dtype(operator: str, dtype: str) -> None:
    """Raises `InputError` for a dtype that is not computed here."""
    if dtype not in DTYPES:
        raise InputError(
            f"{operator}: dtype is not computed", expected=" or ".join(DTYPES), got=repr(dtype)
        )


OPERATIONS_PER_US, BYTES_PER_US = 2.6e5, 1e5
"""What one thread does of products in its caches; measured with AVX-512."""
WAKING_US = 24
"""Sharing has to save this much: a product of 16×64 and 64×4 takes 1.9 µs alone and 9.3 µs shared, when the other thread sleeps."""


def checked_threads(operator: str, threads: int | None, *, operations: int, elements: int) -> int:
    """How many threads share the work: unless they are given, those of the environment, or one where the work is small.

    Args:
        operations: additions and products.
        elements: that are read and written.

    Raises:
        InputError: no number from 1 to 256.
    """
    found = environment.threads() if threads is None else threads
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= 256:
        raise InputError(
            f"{operator}: threads is wrong", expected="a number from 1 to 256", got=repr(threads)
        )
    alone_us = max(operations / OPERATIONS_PER_US, 4 * elements / BYTES_PER_US)
    return found if threads is not None or alone_us * (1 - 1 / found) > WAKING_US else 1


def chosen(operator: str, lowering: str, dtype: str) -> Library | None:
    """oneDNN, or None for NumPy, which alone knows float64.

    Raises:
        InputError: there is no such lowering, or not for this dtype.
        MissingError, CompileError: oneDNN is asked for and cannot be had.
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
