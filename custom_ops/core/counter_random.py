"""Random numbers of a position and a key: the same wherever and whenever they are computed, so nobody has to keep them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from custom_ops.core.framework import ms, ops
from tbe_impl import dsl
from tbe_impl.dsl.expr import const
from tbe_impl.dsl.tensor import Tensor

NEXT_KEY = -1640531527
"""What is added to a key for the next draw: 2³² divided by the golden ratio, as int32."""
FACTORS = (0xED5AD4BB, 0xAC4C1B51, 0x31848BAB)
SHIFTS = (17, 11, 15, 14)


def bits(shape: Any, key: Tensor) -> Tensor:
    """32 random bits for each position of `shape`, uint32; key: int32 of shape (1,).

    Positions are counted in the order of memory, modulo 2³². Three multiplications, each after a shifted copy is mixed in;
    the key comes in after the first, so that other keys give other numbers and not the same ones elsewhere.
    """

    def position(*index: Any) -> Any:
        found: Any = const(0, "int32")
        for i, size in zip(index, shape, strict=True):
            found = i if found is None else found * size + i
        return found.astype("uint32")

    def mixed(tensor: Tensor, shift: int) -> Any:
        return lambda *i: tensor(*i) ^ (tensor(*i) >> const(shift, "uint32"))

    # a stage for each step, since an expression that is used twice is computed twice
    found = dsl.compute(shape, position, "position")
    for number, shift in enumerate(SHIFTS):
        found = dsl.compute(shape, mixed(found, shift), "mixed")
        if number == 1:
            found = _with_key(found, key)
        if number < len(FACTORS):
            found = _times(found, FACTORS[number])
    return found


def _with_key(tensor: Tensor, key: Tensor) -> Tensor:
    made: Tensor = dsl.compute(
        tensor.shape, lambda *i: tensor(*i) ^ key(0).astype("uint32"), "keyed"
    )
    return made


def _times(tensor: Tensor, factor: int) -> Tensor:
    made: Tensor = dsl.compute(
        tensor.shape, lambda *i: tensor(*i) * const(factor, "uint32"), "times"
    )
    return made


def bits_in_numpy(shape: tuple[int, ...], key: Any) -> Any:
    """As `bits`."""
    found = np.arange(math.prod(shape), dtype=np.uint64).astype(np.uint32).reshape(shape)
    for number, shift in enumerate(SHIFTS):
        found = found ^ (found >> np.uint32(shift))
        if number == 1:
            found = found ^ np.asarray(key, np.int32).view(np.uint32).reshape(())
        if number < len(FACTORS):
            found = found * np.uint32(FACTORS[number])
    return found


def bits_of_mindspore(like: Any, key: Any) -> Any:
    """As `bits`, from basic operators; as int32, less 2³¹, in the shape of a tensor."""
    found = ops.cast(ops.reshape(ops.arange(like.size), like.shape), ms.int32)
    found = ops.mul(_mixed_by(found, 17, 0x7FFF), FACTORS_32[0])
    found = ops.mul(ops.bitwise_xor(_mixed_by(found, 11, 0x1FFFFF), key), FACTORS_32[1])
    found = ops.mul(_mixed_by(found, 15, 0x1FFFF), FACTORS_32[2])
    return ops.bitwise_xor(_mixed_by(found, 14, 0x3FFFF), LEAST)


def _mixed_by(x: Any, shift: int, mask: int) -> Any:
    return ops.bitwise_xor(x, ops.bitwise_and(ops.bitwise_right_shift(x, shift), mask))


FACTORS_32 = tuple(factor - 2**32 if factor >= 2**31 else factor for factor in FACTORS)
LEAST = -(2**31)
