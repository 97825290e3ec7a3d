"""Computes shapes for operators: broadcasting, axis normalization, merging of adjacent axes."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from tbe_impl.compat.operator_context import in_dynamic, variable_shape
from tbe_impl.compat.operator_errors import refusal
from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.expr import cast as cast_scalar
from tbe_impl.dsl.tensor import Tensor, compute

__all__ = ["variable_shape"]


def shape_to_list(shape: Any) -> list[Any]:
    """Returns the shape with constant sizes as Python integers; symbolic sizes are unchanged."""
    return [size.value if isinstance(size, Const) else size for size in shape]


def get_shape_size(shape: Sequence[int]) -> int:
    """Returns the number of elements of a shape."""
    return math.prod(shape)


def squeeze_shape(shape: Sequence[int]) -> list[int]:
    """Removes sizes of 1 from a shape, or returns ``[1]`` if no other size is left."""
    return [size for size in shape if not _is_one(size)] or [1]


def scalar2tensor_one(shape: Any) -> Any:
    """Returns ``[1]`` for an empty shape, and any other shape unchanged."""
    return [1] if isinstance(shape, (list, tuple)) and not shape else shape


def wrap_axes_to_positive(axes: Any, rank: int) -> list[int]:
    """Converts negative axes to non-negative axes.

    >>> wrap_axes_to_positive(-1, 3)
    [2]
    """
    listed = list(axes) if hasattr(axes, "__iter__") else [axes]
    return [_wrap_axis(int(axis), rank) for axis in listed]


def _wrap_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise refusal(
            "E90001",
            f"axis {axis} is outside of a shape with {rank} dimensions",
            detailed_cause=f"axis must be in range [{-rank}, {rank - 1}], but is {axis}",
        )
    return axis % rank


def axis_check(shape_len: int, axis: Any) -> Any:
    """Converts an axis to a non-negative axis; several axes are sorted and deduplicated.

    >>> axis_check(4, (-1, 0, 3))
    [0, 3]
    """
    if not hasattr(axis, "__iter__"):
        return _wrap_int_axis(axis, shape_len)
    return sorted({_wrap_int_axis(one, shape_len) for one in axis})


def _wrap_int_axis(axis: Any, rank: int) -> int:
    if type(axis) is not int:
        raise refusal(
            "E90001",
            f"an axis has to be an int, but is {type(axis).__name__}",
            detailed_cause="type of axis value should be int",
        )
    return _wrap_axis(axis, rank)


def axis_transform_5d(axis: int, data_format: str) -> int:
    """Maps an axis of NCHW or NHWC to the axis of NC1HWC0 that contains it.

    >>> axis_transform_5d(3, "NHWC"), axis_transform_5d(-1, "NCHW")
    (1, -2)
    """
    if data_format == "NCHW":
        return axis - 1 if axis < 0 else axis
    if data_format == "NHWC":
        return {-4: -5, -1: -4, 1: 2, 2: 3, 3: 1}.get(axis, axis)
    return axis


def _is_one(size: Any) -> bool:
    return (not isinstance(size, Expr) and size == 1) or (
        isinstance(size, Const) and size.value == 1
    )


def _is_same_size(one: Any, other: Any) -> bool:
    return one is other or (
        not isinstance(one, Expr) and not isinstance(other, Expr) and one == other
    )


def broadcast_shapes(
    shape1: Sequence[Any],
    shape2: Sequence[Any],
    op_name: str = "",
    param_name_input1: str = "",
    param_name_input2: str = "",
) -> tuple[list[Any], list[Any], list[Any]]:
    """Returns the two shapes, left-padded with ones to the same rank, and the broadcast shape.

    >>> broadcast_shapes((3,), (2, 1))
    ([1, 3], [2, 1], [2, 3])

    Raises:
        OperatorError: code E80013; the shapes do not broadcast.
    """
    # constant sizes become Python integers, because operators test them with isinstance
    first, second = shape_to_list(shape1), shape_to_list(shape2)
    rank = max(len(first), len(second))
    first = [1] * (rank - len(first)) + first
    second = [1] * (rank - len(second)) + second
    both = []
    for one, other in zip(first, second, strict=True):
        known = not isinstance(one, Expr) and not isinstance(other, Expr)
        if known and one != other and 1 not in (one, other):
            raise refusal(
                "E80013",
                f"{op_name or 'operator'}: shapes {tuple(shape1)} "
                f"({param_name_input1 or 'first'}) and "
                f"{tuple(shape2)} ({param_name_input2 or 'second'}) do not broadcast",
                op_name=op_name,
                input1_name=param_name_input1,
                input2_name=param_name_input2,
                input1_shape=",".join(map(str, shape1)),
                input2_shape=",".join(map(str, shape2)),
            )
        both.append(other if _is_one(one) else one)
    return first, second, both


def produce_shapes(
    shape1: Sequence[Any], shape2: Sequence[Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Older name of `broadcast_shapes`."""
    return broadcast_shapes(shape1, shape2)


def unify_broadcast_shapes(shapes: Sequence[Sequence[Any]], op_name: str = "") -> list[list[Any]]:
    """Returns all shapes, left-padded with ones to the same rank, and then the broadcast shape."""
    widest: list[Any] = []
    for shape in shapes:
        widest = broadcast_shapes(widest, shape, op_name)[2]
    return [[1] * (len(widest) - len(shape)) + shape_to_list(shape) for shape in shapes] + [widest]


def refine_shapes_for_broadcast(
    shape1: Sequence[Any], shape2: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Pads the shorter shape on the left with ones, and merges axes that broadcast in the same way.

    >>> refine_shapes_for_broadcast((2, 3, 4), (2, 3, 1)), refine_shapes_for_broadcast((2, 3), (1,))
    (([6, 4], [6, 1]), ([6], [1]))
    """
    rank = max(len(shape1), len(shape2))
    shape1, shape2 = ([1] * (rank - len(one)) + list(one) for one in (shape1, shape2))
    first: list[Any] = []
    second: list[Any] = []
    last = None
    for one, other in zip(shape1, shape2, strict=True):
        if _is_one(one) and _is_one(other):
            continue
        kind = "same" if _is_same_size(one, other) else "first" if _is_one(one) else "second"
        if isinstance(one, Expr) and isinstance(other, Expr) and one is not other:
            kind = "unknown"
        if kind == last and kind != "unknown":
            first[-1], second[-1] = first[-1] * one, second[-1] * other
        else:
            first.append(one)
            second.append(other)
        last = kind
    return first or [1], second or [1]


def refine_shape_axes(shape: Sequence[Any], axes: Any) -> tuple[list[Any], list[int]]:
    """Merges adjacent axes that are all reduced or all kept; removes axes of size 1.

    >>> refine_shape_axes((2, 3, 4, 5, 6), (1, -3))
    ([2, 12, 30], [1])
    """
    if len(shape) == 1:
        return list(shape), list(axes) if isinstance(axes, (list, tuple)) else [axes]
    reduced = wrap_axes_to_positive(axes, len(shape))
    merged, found = _merge_axes(
        (size, index in reduced) for index, size in enumerate(shape) if not _is_one(size)
    )
    return merged or [1], found


def _merge_axes(axes: Iterable[tuple[Any, bool]]) -> tuple[list[Any], list[int]]:
    """Merges adjacent axes that are all reduced or all kept.

    Returns a pair: the sizes of all merged axes, and the positions of the reduced axes among them.

    Args:
        axes: one pair (size, whether the axis is reduced) for each axis.
    """
    merged = [
        (functools.reduce(operator.mul, (size for size, _ in run)), kind)
        for kind, run in itertools.groupby(axes, lambda axis: axis[1])
    ]
    return [size for size, _ in merged], [i for i, (_, kind) in enumerate(merged) if kind]


def simplify_axis_shape(shape: Sequence[int], axis: Any) -> tuple[list[int], list[int]]:
    """Merges adjacent axes that are all reduced or all kept; axes of size 1 stay.

    >>> simplify_axis_shape([2, 3, 4, 5], [1, 2])
    ([2, 12, 5], [1])
    """
    reduced = wrap_axes_to_positive(axis, len(shape))
    merged, found = _merge_axes((size, index in reduced) for index, size in enumerate(shape))
    return merged, found or [0]


def shape_refine(shape: Sequence[Any], reduce_axis: Any = None, keep_dims: bool = True) -> Any:
    """Removes axes of size 1; with `reduce_axis`, also returns the renumbered reduced axes.

    >>> shape_refine((2, 1, 3)), shape_refine((2, 1, 3), [2])
    ([2, 3], ([2, 3], [1]))

    If a reduced axis has size 1 and `keep_dims` is True, shape and axes are returned unchanged.
    """
    if reduce_axis is None:
        return squeeze_shape(shape)
    listed = list(reduce_axis) if hasattr(reduce_axis, "__iter__") else [reduce_axis]
    reduced = sorted(wrap_axes_to_positive(listed, len(shape)))
    if keep_dims and any(_is_one(shape[axis]) for axis in reduced):
        return shape, listed
    kept = [index for index, size in enumerate(shape) if not _is_one(size)]
    return [shape[index] for index in kept] or [1], [
        kept.index(axis) for axis in reduced if axis in kept
    ]


def compare_tensor_dict_key(dict1: Any, dict2: Any, dict_key: str) -> None:
    """Raises `CheckError` if the values of two tensor descriptions under `dict_key` differ."""
    values = []
    for which, given in (("first", dict1), ("second", dict2)):
        if not isinstance(given, dict) or dict_key not in given:
            raise refusal(
                "E80004",
                f"the {which} description lacks the key {dict_key!r}",
                key=dict_key,
                op_name="",
                param_name=which,
            )
        value = given[dict_key]
        values.append(
            list(value)
            if isinstance(value, (list, tuple))
            else value.lower()
            if isinstance(value, str)
            else value
        )
    if values[0] != values[1]:
        raise refusal(
            "E80018" if dict_key == "dtype" else "E80017",
            f"{dict_key} of both inputs has to be equal, but is {values[0]} and {values[1]}",
            op_name="",
            param_name1="first",
            param_name2="second",
        )


def check_input_tensor_shape(shape: Any) -> None:
    """Raises `CheckError` if a size is below the minimum: 0 in dynamic operators, 1 otherwise."""
    least = 0 if in_dynamic() else 1
    for size in shape_to_list(getattr(shape, "shape", shape)):
        if not (in_dynamic() and isinstance(size, Expr)) and not (
            isinstance(size, int) and size >= least
        ):
            raise refusal(
                "E90001",
                f"a size of a tensor has to be an int of at least {least}, but is {size}",
                detailed_cause=f"input shape value {size}",
            )


def ceil_div(value: Any, factor: Any) -> Any:
    """Returns `value` / `factor`, rounded up, or raises `CheckError` if `factor` is zero."""
    if isinstance(factor, int) and factor == 0:
        raise refusal("E90001", f"{value} is divided by zero", detailed_cause="division by zero")
    return (value + factor - 1) // factor


def align(value: Any, factor: Any) -> Any:
    """Rounds `value` up to a multiple of `factor`, or raises `CheckError` if `factor` is zero."""
    return ceil_div(value, factor) * factor


def cast(x: Any, dtype: str) -> Any:
    """Casts a tensor or a scalar to another dtype."""
    if isinstance(x, Tensor):
        return compute(x.shape, lambda *index: x(*index).astype(dtype), "cast", "elemwise")
    return cast_scalar(dtype, x)
