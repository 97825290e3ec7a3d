"""Indices of NumPy on traced tensors: numbers, slices, new axes, and whole numbers that are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.expr import Const, Expr, as_expr, const
from tbe_impl.dsl.ext_arrays import strided_slice
from tbe_impl.dsl.indexing import gather
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name, shape_text
from tbe_impl.tracing.arrays import Size, Traced, tensor_of
from tbe_impl.tracing.dtypes import refused


def element(array: Traced, key: Any) -> Traced:
    """``array[key]``.

    Raises:
        InputError: the key chooses by truth values, or looks up along several axes at once.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    axes = sum(not (item is None or item is Ellipsis) for item in keys)
    if axes > array.ndim or sum(item is Ellipsis for item in keys) > 1:
        raise refused("too many indices", expected=f"at most {array.ndim}", got=str(axes))
    missing = [slice(None)] * (array.ndim - axes)
    at = next((at for at, item in enumerate(keys) if item is Ellipsis), len(keys))
    keys[at : at + 1] = missing
    return _parts(array, keys)


def _parts(array: Traced, keys: Sequence[Any]) -> Traced:
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
            begin, end, step = _bound(key.start, size), _bound(key.stop, size), key.step
            kept.append(axis)
        elif _is_whole(key):
            begin = _place(key, size)
            end = begin + 1
        else:
            looked_up.append((axis, _whole_numbers(key)))
            kept.append(axis)
        begins.append(begin)
        ends.append(end)
        steps.append(step)
    if len(looked_up) > 1:
        raise refused(
            "looking up along several axes at once cannot be traced",
            expected="one array of whole numbers",
        )
    plain = all(item is None for item in (*begins, *ends, *steps))
    found = array.tensor if plain else strided_slice(array.tensor, begins, ends, steps)
    if not looked_up:
        return array.view(rearranged(found, kept))
    axis, numbers = looked_up[0]
    if len(kept) < len(keys) or None in kept:
        raise refused(
            "looking up beside single elements or new axes cannot be traced",
            remedy="Take them in two steps: x[i][:, 0]",
        )
    return Traced(gather(found, numbers, axis, 0, True))


def _is_whole(key: Any) -> bool:
    return isinstance(key, (int, np.integer, Size)) and not isinstance(key, (bool, np.bool_))


def _bound(value: Any, size: Expr) -> Any:
    """A bound of a slice as strided_slice takes it; on an axis that is known late it counts from the front."""
    if value is None:
        return None
    if isinstance(value, Size):
        return value.expression
    if not hasattr(value, "__index__"):
        raise refused("slices have whole numbers", got=repr(value))
    number = int(value)
    return size + number if number < 0 and not isinstance(size, Const) else number


def _place(key: Any, size: Expr) -> Any:
    """The place of one element, counted from the front."""
    if isinstance(key, Size):
        return key.expression
    number = int(key)
    if isinstance(size, Const):
        if not -size.value <= number < size.value:
            raise refused(
                "no such element", expected=f"{-size.value} to {size.value - 1}", got=str(number)
            )
        return number % size.value
    return size + number if number < 0 else number


def _whole_numbers(key: Any) -> Tensor:
    tensor = tensor_of(key if isinstance(key, (Traced, np.ndarray)) else np.asarray(key))
    if tensor.dtype == "bool":
        raise refused(
            "the shape of what truth values choose is not known before run time",
            expected="np.where",
            got="a bool index",
        )
    return tensor


def rearranged(tensor: Tensor, axes: Sequence[int | None]) -> Tensor:
    """The tensor with the given axes, and one of a single element for each None; those that are left out have one element."""
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
        raise refused(
            "an axis of several elements cannot be left out", got=shape_text(tensor.shape)
        )
    made: Tensor = compute(shape, pick, fresh_name("axes"))
    return made
