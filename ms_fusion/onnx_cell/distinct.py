"""What is there more than once: ``Unique``."""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx_cell.operator_use import Use

ORDERED_AS = {
    "bool": "int32",
    "uint16": "int32",
    "uint32": "int64",
    "uint64": "int64",
    "bfloat16": "float32",
}
"""Dtypes that MindSpore does not sort → one that holds their numbers; those of uint64 are moved by half of their range."""
HALF_RANGE = -(1 << 63)


def unique(use: Use) -> str:
    """``Unique``."""
    dtype, count = use.value().dtype, len(use.node.outputs)
    if dtype not in ORDERED_AS and not dtype.startswith(("int", "uint", "float")):
        raise use.refused(f"MindSpore does not sort {dtype or 'this dtype'}")
    axis = use.axis(0) if use.attr("axis") is not None else None
    keys = use.dtype(ORDERED_AS.get(dtype, dtype))
    made = f"distinct.parts({use.text()}, {axis}, {keys}, {bool(use.attr('sorted', 1))})"
    return f"{made}[:{count}]" if count > 1 else f"{made}[0]"


def parts(x: Any, axis: int | None, keys: Any, is_sorted: bool) -> tuple[Any, Any, Any, Any]:
    """Parts of x along an axis, or elements where none is named, each once: sorted, or as they come first.

    Returns:
        The parts; where each comes first; the number of the part at each place; how often each is there.
    """
    dtype, x = x.dtype, ops.cast(x, keys)
    x = moved(x) if dtype == mindspore.uint64 else x
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    told = x
    if x.ndim > 1:
        told = places_in_order(ops.reshape(ops.swapaxes(x, 0, axis), (x.shape[axis], -1)))
    listed, order = ops.sort(told)
    order = ops.cast(order, mindspore.int64)
    is_first = ops.concat((ops.ones((1,), mindspore.bool_), ops.not_equal(listed[1:], listed[:-1])))
    begins = ops.reshape(ops.cast(ops.nonzero(is_first), mindspore.int64), (-1,))
    end = ops.full((1,), x.shape[axis], dtype=mindspore.int64)
    counts = ops.concat((begins[1:], end)) - begins
    firsts = ops.gather(order, begins, 0)  # equal ones stay in their order
    numbers = ops.cumsum(ops.cast(is_first, mindspore.int64), 0) - 1
    inverse = ops.gather(numbers, inverted(order), 0)
    if not is_sorted:
        turned = ops.cast(ops.sort(firsts)[1], mindspore.int64)
        firsts, counts = ops.gather(firsts, turned, 0), ops.gather(counts, turned, 0)
        inverse = ops.gather(inverted(turned), inverse, 0)
    found = ops.gather(x, firsts, axis)
    found = moved(found) if dtype == mindspore.uint64 else found
    return ops.cast(found, dtype), firsts, inverse, counts


def moved(x: Any) -> Any:
    """Bits of numbers without a sign, as numbers with one that come in the same order; and back."""
    return ops.bitwise_xor(x, ops.full_like(x, HALF_RANGE))


def inverted(order: Any) -> Any:
    """The place of each number in an order of them."""
    return ops.cast(ops.sort(order)[1], mindspore.int64)


def places_in_order(rows: Any) -> Any:
    """How many rows of a matrix come before each one, the first difference deciding."""
    count, width = rows.shape
    one = ops.broadcast_to(ops.expand_dims(rows, 1), (count, count, width))
    other = ops.broadcast_to(ops.expand_dims(rows, 0), (count, count, width))
    where = ops.argmax(ops.cast(ops.not_equal(one, other), mindspore.int32), 2, True)
    where = ops.cast(where, mindspore.int64)
    is_behind = ops.gather_elements(one, 2, where) > ops.gather_elements(other, 2, where)
    return ops.sum(ops.cast(is_behind, mindspore.int64), (1, 2))
