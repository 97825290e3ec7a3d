"""Replaces `mindspore.ops.pad` in compiled nets, since MindSpore computes a wrong gradient of it.

The gradient of `mindspore.ops.pad` is the operator PadV3 with negative paddings. At each call,
MindSpore 2.10's CPU kernel for PadV3 removes more elements. For example, let x have 7 elements.
Then the gradient of ``ops.pad(x, (1, 2))`` has 4 elements in the second call, and 1 element in the
third call. This module uses the operator Pad instead, whose gradient is the operator Slice. Other
modules must import this module inside of functions, because this module imports MindSpore.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import ops
from mindspore.ops import functional as F
from mindspore.ops.function import nn_func

from ms_fusion.mindspore.patches.parser_table import replace_in_parser

FLOATS = (ms.float16, ms.float32, ms.float64)
_pad = nn_func.pad
# A copy of the original function under another name, which the parser does not replace.
_pad_of_mindspore = FunctionType(
    _pad.__code__, _pad.__globals__, "pad_of_mindspore", _pad.__defaults__
)


def pad_constant(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Any:
    """Replaces `mindspore.ops.pad`; pads float tensors by a constant value.

    The padding mode must be ``constant``. The shape and the padding must be known at compile time.
    In all other cases, the function calls MindSpore's original function.
    """
    if mode != "constant" or not isinstance(padding, (tuple, list)) or input_x.dtype not in FLOATS:
        return _pad_of_mindspore(input_x, padding, mode, value)
    if not F.isconstant(padding) or F.is_sequence_value_unknown(input_x.shape):
        return _pad_of_mindspore(input_x, padding, mode, value)
    if not can_pad(padding, input_x.shape):
        return _pad_of_mindspore(input_x, padding, mode, value)
    begin, size, around = slice_and_pad_amounts(padding, input_x.shape)
    y = ops.Pad(around)(ops.slice(input_x, begin, size))
    if value is None or (isinstance(value, (int, float)) and value == 0):
        return y
    filling = ops.cast(value, y.dtype)
    for inside in inside_masks(around, size):
        y = ops.select(ops.broadcast_to(inside, y.shape), y, ops.broadcast_to(filling, y.shape))
    return y


@ops.constexpr
def can_pad(padding: Sequence[int], shape: Sequence[int]) -> bool:
    """Returns whether MindSpore accepts the paddings and every axis keeps at least one element."""
    if len(padding) % 2 or len(padding) > 2 * len(shape) or not shape:
        return False
    if not all(type(size) is int for size in padding):
        return False
    pairs = zip(_pairs(padding, len(shape)), shape, strict=True)
    return all(min(before, 0) + min(behind, 0) + size > 0 for (before, behind), size in pairs)


@ops.constexpr
def slice_and_pad_amounts(padding: Sequence[int], shape: Sequence[int]) -> tuple[Any, Any, Any]:
    """Returns (begin, size, around), each with one item per axis.

    A negative padding crops the input. `begin` and `size` are the start and the extent of the slice
    that remains. `around` has a pair of paddings (before, behind) for each axis; 0 replaces each
    negative padding.
    """
    pairs = _pairs(padding, len(shape))
    begin = tuple(max(-before, 0) for before, _ in pairs)
    cut = (max(-before, 0) + max(-behind, 0) for before, behind in pairs)
    size = tuple(whole - less for whole, less in zip(shape, cut, strict=True))
    return begin, size, tuple((max(before, 0), max(behind, 0)) for before, behind in pairs)


@ops.constexpr
def inside_masks(around: Sequence[tuple[int, int]], size: Sequence[int]) -> tuple[Any, ...]:
    """Returns a boolean tensor for each padded axis: True for input elements, False for padding.

    Each tensor has the rank of the input. Its extent is 1 in all axes except the padded axis.
    """
    made = []
    for axis, ((before, behind), kept) in enumerate(zip(around, size, strict=True)):
        if before or behind:
            row = np.pad(np.ones(kept, bool), (before, behind))
            made.append(
                ms.Tensor(row.reshape([-1 if at == axis else 1 for at in range(len(size))]))
            )
    return tuple(made)


def _pairs(padding: Sequence[int], rank: int) -> tuple[tuple[int, int], ...]:
    """Returns the padding (before, behind) for each axis, beginning with axis 0.

    MindSpore's argument `padding` is a flat sequence, which begins with the last axis.
    """
    told = [(padding[at], padding[at + 1]) for at in range(0, len(padding), 2)]
    return (*[(0, 0)] * (rank - len(told)), *reversed(told))


def replace_pad() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that makes compilations replace `mindspore.ops.pad`.

    The replacement is `pad_constant`.
    """
    return replace_in_parser({_pad: pad_constant})
