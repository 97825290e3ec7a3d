"""Emits MindSpore code for ONNX ``Unique``: the distinct elements or slices of a tensor."""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx.cell.operator_use import OperatorUse

SORT_DTYPES = {
    "bool": "int32",
    "uint16": "int32",
    "uint32": "int64",
    "uint64": "int64",
    "bfloat16": "float32",
}
"""Maps a dtype that MindSpore cannot sort to the dtype in which its elements are sorted.

The highest bit of uint64 elements is flipped first, so that the order stays the same.
"""
HALF_RANGE = -(1 << 63)


def unique(use: OperatorUse) -> str:
    """Emits a call of `unique_parts` for ONNX ``Unique``."""
    dtype, count = use.value().dtype, len(use.node.outputs)
    if dtype not in SORT_DTYPES and not dtype.startswith(("int", "uint", "float")):
        raise use.refusal(f"MindSpore does not sort {dtype or 'this dtype'}")
    axis = use.axis(0) if use.attr("axis") is not None else None
    keys = use.dtype(SORT_DTYPES.get(dtype, dtype))
    made = f"distinct.unique_parts({use.text()}, {axis}, {keys}, {bool(use.attr('sorted', 1))})"
    return f"{made}[:{count}]" if count > 1 else f"{made}[0]"


def unique_parts(x: Any, axis: int | None, keys: Any, is_sorted: bool) -> tuple[Any, Any, Any, Any]:
    """Finds the distinct slices of `x` along `axis`, or the distinct elements if `axis` is None.

    The distinct slices or elements are sorted if `is_sorted` is true. Otherwise they are in the
    order of their first occurrence. `keys` is the dtype in which elements are compared.

    Returns:
        A tuple (distinct, first, inverse, counts) of tensors. ``distinct`` has the distinct slices.
        ``first`` has, for each distinct slice, the index of its first occurrence in `x`.
        ``inverse`` has, for each slice of `x`, the index of the equal distinct slice. ``counts``
        has the number of occurrences of each distinct slice.
    """
    dtype, x = x.dtype, ops.cast(x, keys)
    x = flip_sign_bit(x) if dtype == mindspore.uint64 else x
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    told = x
    if x.ndim > 1:
        told = row_ranks(ops.reshape(ops.swapaxes(x, 0, axis), (x.shape[axis], -1)))
    listed, order = ops.sort(told)
    order = ops.cast(order, mindspore.int64)
    is_first = ops.concat((ops.ones((1,), mindspore.bool_), ops.not_equal(listed[1:], listed[:-1])))
    begins = ops.reshape(ops.cast(ops.nonzero(is_first), mindspore.int64), (-1,))
    end = ops.full((1,), x.shape[axis], dtype=mindspore.int64)
    counts = ops.concat((begins[1:], end)) - begins
    firsts = ops.gather(order, begins, 0)  # first occurrences, as the sort is stable
    numbers = ops.cumsum(ops.cast(is_first, mindspore.int64), 0) - 1
    inverse = ops.gather(numbers, invert_permutation(order), 0)
    if not is_sorted:
        turned = ops.cast(ops.sort(firsts)[1], mindspore.int64)
        firsts, counts = ops.gather(firsts, turned, 0), ops.gather(counts, turned, 0)
        inverse = ops.gather(invert_permutation(turned), inverse, 0)
    found = ops.gather(x, firsts, axis)
    found = flip_sign_bit(found) if dtype == mindspore.uint64 else found
    return ops.cast(found, dtype), firsts, inverse, counts


def flip_sign_bit(x: Any) -> Any:
    """Flips the highest bit of 64-bit integers.

    The function maps uint64 values to int64 values in the same order. A second call restores the
    integers.
    """
    return ops.bitwise_xor(x, ops.full_like(x, HALF_RANGE))


def invert_permutation(order: Any) -> Any:
    """Returns the inverse of a permutation."""
    return ops.cast(ops.sort(order)[1], mindspore.int64)


def row_ranks(rows: Any) -> Any:
    """Returns the lexicographic rank of each row of a matrix.

    The rank is the number of rows that precede the row in lexicographic order.
    """
    count, width = rows.shape
    one = ops.broadcast_to(ops.expand_dims(rows, 1), (count, count, width))
    other = ops.broadcast_to(ops.expand_dims(rows, 0), (count, count, width))
    where = ops.argmax(ops.cast(ops.not_equal(one, other), mindspore.int32), 2, True)
    where = ops.cast(where, mindspore.int64)
    is_behind = ops.gather_elements(one, 2, where) > ops.gather_elements(other, 2, where)
    return ops.sum(ops.cast(is_behind, mindspore.int64), (1, 2))
