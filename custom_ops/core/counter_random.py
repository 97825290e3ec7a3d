"""Generates counter-based random numbers by hashing the position of each element with a key.

The same position and key always give the same bits. The backward pass can therefore recompute the
bits, so that the forward pass need not store them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from custom_ops.core.framework import ms, ops
from tbe_impl import dsl
from tbe_impl.dsl.expr import const
from tbe_impl.dsl.tensor import Tensor

NEXT_KEY = -1640531527
"""Increment of the key for the next draw: 2³² divided by the golden ratio, as int32."""
FACTORS = (0xED5AD4BB, 0xAC4C1B51, 0x31848BAB)
SHIFTS = (17, 11, 15, 14)


def random_bits(shape: Any, key: Tensor) -> Tensor:
    """Returns 32 random bits (uint32) per position of `shape`.

    The input of the hash is the row-major position modulo 2³². The hash multiplies the value three
    times. Before each multiplication and at the end, the value is xored with a shifted copy of
    itself. Before the second multiplication, the value is also xored with the key. Two keys
    therefore give different bits, not a permutation of the same bits.

    Args:
        shape: shape of the result.
        key: int32 of shape (1,).
    """

    def position(*index: Any) -> Any:
        found: Any = const(0, "int32")
        for i, size in zip(index, shape, strict=True):
            found = i if found is None else found * size + i
        return found.astype("uint32")

    def xor_shift(tensor: Tensor, shift: int) -> Any:
        return lambda *i: tensor(*i) ^ (tensor(*i) >> const(shift, "uint32"))

    # each step is a stage of its own, because an expression used twice would be computed twice
    found = dsl.compute(shape, position, "position")
    for number, shift in enumerate(SHIFTS):
        found = dsl.compute(shape, xor_shift(found, shift), "mixed")
        if number == 1:
            found = _mix_key(found, key)
        if number < len(FACTORS):
            found = _multiply(found, FACTORS[number])
    return found


def _mix_key(tensor: Tensor, key: Tensor) -> Tensor:
    return dsl.compute(tensor.shape, lambda *i: tensor(*i) ^ key(0).astype("uint32"), "keyed")


def _multiply(tensor: Tensor, factor: int) -> Tensor:
    return dsl.compute(tensor.shape, lambda *i: tensor(*i) * const(factor, "uint32"), "times")


def random_bits_in_numpy(shape: tuple[int, ...], key: Any) -> Any:
    """Returns the same bits as `random_bits`, computed in NumPy."""
    found = np.arange(math.prod(shape), dtype=np.uint64).astype(np.uint32).reshape(shape)
    for number, shift in enumerate(SHIFTS):
        found = found ^ (found >> np.uint32(shift))
        if number == 1:
            found = found ^ np.asarray(key, np.int32).view(np.uint32).reshape(())
        if number < len(FACTORS):
            found = found * np.uint32(FACTORS[number])
    return found


def random_bits_in_mindspore(like: Any, key: Any) -> Any:
    """Computes `random_bits` with MindSpore's basic operators.

    Returns the bits minus 2³¹ as int32, in the shape of `like`.
    """
    found = ops.cast(ops.reshape(ops.arange(like.size), like.shape), ms.int32)
    found = ops.mul(_xor_shift(found, 17, 0x7FFF), FACTORS_INT32[0])
    found = ops.mul(ops.bitwise_xor(_xor_shift(found, 11, 0x1FFFFF), key), FACTORS_INT32[1])
    found = ops.mul(_xor_shift(found, 15, 0x1FFFF), FACTORS_INT32[2])
    return ops.bitwise_xor(_xor_shift(found, 14, 0x3FFFF), INT32_MIN)


def _xor_shift(x: Any, shift: int, mask: int) -> Any:
    return ops.bitwise_xor(x, ops.bitwise_and(ops.bitwise_right_shift(x, shift), mask))


FACTORS_INT32 = tuple(factor - 2**32 if factor >= 2**31 else factor for factor in FACTORS)
INT32_MIN = -(2**31)
