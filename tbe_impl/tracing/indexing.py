"""Traces NumPy indexing: integers, slices, new axes, and integer-array (advanced) indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.expr import Const, Expr, as_expr, const
from tbe_impl.dsl.operations.ext_arrays import strided_slice
from tbe_impl.dsl.operations.indexing import gather
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name, shape_text
from tbe_impl.tracing.arrays import Size, TracedArray, tensor_of
from tbe_impl.tracing.dtypes import trace_error


def index_array(array: TracedArray, key: Any) -> TracedArray:
    """Traces ``array[key]``.

    Raises:
        InputError: `key` has a boolean mask, or arrays for several axes, or is out of range.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    axes = sum(not (item is None or item is Ellipsis) for item in keys)
    if axes > array.ndim or sum(item is Ellipsis for item in keys) > 1:
        raise trace_error("too many indices", expected=f"at most {array.ndim}", got=str(axes))
    missing = [slice(None)] * (array.ndim - axes)
    at = next((at for at, item in enumerate(keys) if item is Ellipsis), len(keys))
    keys[at : at + 1] = missing
    return _apply_keys(array, keys)


def _apply_keys(array: TracedArray, keys: Sequence[Any]) -> TracedArray:
    begins: list[Any] = []
    ends: list[Any] = []
    steps: list[Any] = []
    looked_up: list[tuple[int, Any]] = []
    kept: list[int | None] = []
    for key in keys:
        if key is None:
            kept.append(None)
            continue
        axis = len(begins)
        size = array.tensor.shape[axis]
        begin, end, step = None, None, None
        if isinstance(key, slice):
            begin, end, step = _slice_bound(key.start, size), _slice_bound(key.stop, size), key.step
            kept.append(axis)
        elif _is_integer(key):
            begin = _element_index(key, size)
            end = begin + 1
        else:
            looked_up.append((axis, _index_tensor(key)))
            kept.append(axis)
        begins.append(begin)
        ends.append(end)
        steps.append(step)
    if len(looked_up) > 1:
        raise trace_error(
            "looking up along several axes at once cannot be traced",
            expected="one array of integers",
        )
    plain = all(item is None for item in (*begins, *ends, *steps))
    found = array.tensor if plain else strided_slice(array.tensor, begins, ends, steps)
    if not looked_up:
        return array.view(rearrange_axes(found, kept))
    axis, numbers = looked_up[0]
    if len(kept) < len(keys) or None in kept:
        raise trace_error(
            "looking up beside single elements or new axes cannot be traced",
            remedy="Take them in two steps: x[i][:, 0]",
        )
    return TracedArray(gather(found, numbers, axis, 0, True))


def _is_integer(key: Any) -> bool:
    return isinstance(key, (int, np.integer, Size)) and not isinstance(key, (bool, np.bool_))


def _slice_bound(value: Any, size: Expr) -> Any:
    """Converts a bound of a Python slice to a bound for `strided_slice`.

    If the axis size is known only at run time, a negative bound is converted to an expression that
    counts from the front.
    """
    if value is None:
        return None
    if isinstance(value, Size):
        return value.expression
    if not hasattr(value, "__index__"):
        raise trace_error("slice bounds have to be integers", got=repr(value))
    number = int(value)
    return size + number if number < 0 and not isinstance(size, Const) else number


def _element_index(key: Any, size: Expr) -> Any:
    """Converts the index of one element to an index that counts from the front."""
    if isinstance(key, Size):
        return key.expression
    number = int(key)
    if isinstance(size, Const):
        if not -size.value <= number < size.value:
            raise trace_error(
                "no such element", expected=f"{-size.value} to {size.value - 1}", got=str(number)
            )
        return number % size.value
    return size + number if number < 0 else number


def _index_tensor(key: Any) -> Tensor:
    tensor = tensor_of(key if isinstance(key, (TracedArray, np.ndarray)) else np.asarray(key))
    if tensor.dtype == "bool":
        raise trace_error(
            "the shape of what truth values choose is not known before run time",
            expected="np.where",
            got="a bool index",
        )
    return tensor


def rearrange_axes(tensor: Tensor, axes: Sequence[int | None]) -> Tensor:
    """Builds a tensor whose axes are the given axes of `tensor`; None inserts an axis of size 1.

    Raises:
        InputError: `tensor` has an axis that is not among the given axes and whose size is not 1.
    """
    if list(axes) == list(range(tensor.ndim)):
        return tensor
    shape = [const(1) if axis is None else tensor.shape[axis] for axis in axes]

    def pick(*index: Expr) -> Expr:
        at: list[Any] = [const(0)] * tensor.ndim
        for axis, place in zip(axes, index, strict=True):
            if axis is not None:
                at[axis] = place
        return tensor(*at)

    left_out = [tensor.shape[axis] for axis in range(tensor.ndim) if axis not in axes]
    if not all(is_one(as_expr(size)) for size in left_out):
        raise trace_error(
            "an axis of several elements cannot be left out", got=shape_text(tensor.shape)
        )
    return compute(shape, pick, fresh_name("axes"))
