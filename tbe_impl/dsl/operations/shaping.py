"""DSL operations for data movement: broadcast, transpose, concat, split, set_value."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array
from tbe_impl.dsl.expr import Const, Expr, as_expr, cast, const, select
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_tensor, may_equal
from tbe_impl.dsl.sizes import check_axis, is_one, is_same_size
from tbe_impl.dsl.tensor import DslCall, Tensor, as_shape, compute, fresh_name, shape_text
from tbe_impl.errors import InputError


def broadcast(var: Any, shape: Any, output_dtype: str | None = None) -> Tensor:
    """Broadcasts a tensor or a scalar to `shape`, aligned at the last axis as in NumPy.

    Args:
        var: a tensor, or a scalar. A tensor that has the shape already is returned unchanged.
        shape: shape of the result.
        output_dtype: dtype of the result if `var` is a scalar. By default a Python float becomes
            **float16** and a Python integer becomes int32. A constant keeps its dtype by default.

    Raises:
        InputError: a size of `var` is neither 1 nor the corresponding size of `shape`.
    """
    sizes = as_shape(shape)
    if not isinstance(var, Tensor):
        value = _as_scalar(var, output_dtype)
        return compute(
            sizes,
            lambda *_: value,
            fresh_name("broadcast"),
            "broadcast",
            word=DslCall("broadcast", (), {"shape": sizes, "scalar": value}),
        )
    lacking = len(sizes) - var.ndim
    fits = lacking >= 0 and all(
        is_one(size) or may_equal(size, wanted)
        for size, wanted in zip(var.shape, sizes[max(lacking, 0) :], strict=True)
    )
    if not fits:
        raise InputError(
            f"{var.name} cannot be broadcast",
            place=str(user_location()),
            expected=f"sizes that are 1 or those of {shape_text(sizes)}",
            got=shape_text(var.shape),
        )
    if not lacking and all(map(is_same_size, var.shape, sizes)):
        return var

    def broadcast_indices(index: Sequence[Expr]) -> list[Expr]:
        aligned = zip(var.shape, sizes[lacking:], index[lacking:], strict=True)
        return [_broadcast_index(size, wanted, i) for size, wanted, i in aligned]

    return compute(
        sizes,
        lambda *i: var(*broadcast_indices(i)),
        fresh_name("broadcast"),
        "broadcast_for_tensor",
        word=DslCall("broadcast", (var,), {"shape": sizes}),
    )


def _broadcast_index(size: Expr, wanted: Expr, index: Expr) -> Expr:
    if is_one(size):
        return const(0)
    if isinstance(size, Const) or is_same_size(size, wanted):
        return index
    # decide at run time, as a run-time size may be 1
    return select(as_expr(size.equal(1)), const(0), index)


def _as_scalar(value: Any, dtype: str | None) -> Expr:
    if not isinstance(value, (numbers.Number, Expr)) and not hasattr(value, "item"):
        raise InputError(
            "broadcast takes a tensor or a scalar",
            place=str(user_location()),
            expected="a tensor, a number or a constant",
            got=type(value).__name__,
        )
    if isinstance(value, Expr):
        return value if dtype is None else cast(dtype, value)
    number = value.item() if hasattr(value, "item") else value
    return const(number, dtype or ("float16" if isinstance(number, float) else "int32"))


def _broadcast(*arrays: Array, shape: Sequence[Any], scalar: Any = None) -> Array:
    return np.broadcast_to(arrays[0] if arrays else np.asarray(scalar), tuple(shape))


def transpose(tensor: Tensor, axes: Any = None) -> Tensor:
    """Permutes the axes of a tensor to the order `axes`; by default, the axes are reversed."""
    source = check_tensor("transpose", tensor)
    order = (
        list(reversed(range(source.ndim)))
        if axes is None
        else [check_axis("transpose", source, axis, "axes") for axis in axes]
    )
    if sorted(order) != list(range(source.ndim)):
        raise InputError(
            "transpose takes each axis once",
            place=str(user_location()),
            expected=f"a permutation of {list(range(source.ndim))}",
            got=str(list(axes)),
        )
    place = {axis: position for position, axis in enumerate(order)}
    return compute(
        [source.shape[axis] for axis in order],
        lambda *i: source(*(i[place[axis]] for axis in range(source.ndim))),
        fresh_name("transpose"),
        "transpose",
        word=DslCall("transpose", (source,), {"axes": tuple(order)}),
    )


def _check_tensors(word: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise InputError(
            f"{word} takes tensors in a list",
            place=str(user_location()),
            expected="a list of tensors",
            got=repr(tensors),
        )
    return [check_tensor(word, tensor) for tensor in tensors]


def concat(raw_tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenates tensors along `axis`; all other sizes and the dtype must be equal."""
    tensors = _check_tensors("concat", raw_tensors)
    first = tensors[0]
    along = check_axis("concat", first, axis)
    for other in tensors[1:]:
        same = other.ndim == first.ndim and all(
            position == along or may_equal(one, two)
            for position, (one, two) in enumerate(zip(first.shape, other.shape, strict=True))
        )
        if not same or other.dtype != first.dtype:
            raise InputError(
                "concat takes tensors that differ along its axis only",
                place=str(user_location()),
                expected=f"{first.dtype} {shape_text(first.shape)} but for axis {along}",
                got=f"{other.dtype} {shape_text(other.shape)} ({other.name})",
            )
    starts: list[Expr] = [const(0)]
    for tensor in tensors:
        starts.append(starts[-1] + tensor.shape[along])
    sizes = [*first.shape]
    sizes[along] = starts[-1]

    def pick(*index: Expr) -> Expr:
        def among(first: int, behind: int) -> Expr:
            if behind - first == 1:
                place = index[along] - starts[first]
                return tensors[first](*index[:along], place, *index[along + 1 :])
            # binary search: the number of conditions per element is logarithmic
            middle = (first + behind) // 2
            before = index[along] < starts[middle]
            return select(before, among(first, middle), among(middle, behind))

        return among(0, len(tensors))

    use = DslCall("concat", tuple(tensors), {"axis": along})
    return compute(sizes, pick, fresh_name("concat"), "concat", word=use)


def split(
    data: Tensor, split_dim: int, size_splits: Sequence[Any]
) -> tuple[list[tuple[Expr, ...]], list[Tensor]]:
    """Splits the tensor along the axis `split_dim` into parts of the sizes `size_splits`.

    Returns:
        Two lists, as in CANN: the shapes of the parts, and the parts.
    """
    tensor = check_tensor("split", data, "data")
    along = check_axis("split", tensor, split_dim, "split_dim")
    sizes = as_shape(size_splits)
    total: Expr = const(0)
    for size in sizes:
        total = total + size
    if not may_equal(total, tensor.shape[along]):
        raise InputError(
            "split has to use up its axis",
            place=str(user_location()),
            expected=f"sizes whose sum is {tensor.shape[along]}",
            got=str([*sizes]),
        )
    start: Expr = const(0)
    parts: list[Tensor] = []
    for size in sizes:
        parts.append(_slice_part(tensor, along, start, size))
        start = start + size
    return [part.shape for part in parts], parts


def _slice_part(tensor: Tensor, along: int, start: Expr, size: Expr) -> Tensor:
    shape = (*tensor.shape[:along], size, *tensor.shape[along + 1 :])
    return compute(
        shape,
        lambda *i: tensor(*i[:along], i[along] + start, *i[along + 1 :]),
        fresh_name("split"),
        "split",
        word=DslCall("split", (tensor,), {"axis": along, "start": start, "size": size}),
    )


def _split(x: Array, axis: int, start: int, size: int) -> Array:
    return x[(slice(None),) * axis + (slice(start, start + size),)]


def set_value(tensor: Tensor, condition: Callable[..., Any], value: Any) -> Tensor:
    """Replaces each element by `value` if `condition` holds for the indices of the element.

    Args:
        tensor: any tensor.
        condition: a function from one index per axis to a predicate.
        value: a scalar, or a function from one index per axis to a scalar.
    """
    source = check_tensor("set_value", tensor)

    def body(*index: Expr) -> Expr:
        new = value(*index) if callable(value) and not isinstance(value, Tensor) else value
        return select(
            condition(*index), as_expr(new, source.dtype).astype(source.dtype), source(*index)
        )

    return compute(
        source.shape,
        body,
        fresh_name("set_value"),
        "set_value",
        word=DslCall("set_value", (source,)),
    )


OPERATIONS = (
    DslOperation("broadcast", broadcast, _broadcast, "vector_dup"),
    DslOperation("transpose", transpose, lambda x, axes: np.transpose(x, axes), "vtranspose"),
    DslOperation("concat", concat, lambda *arrays, axis: np.concatenate(arrays, axis)),
    DslOperation("split", split, _split),
    DslOperation("set_value", set_value),
)
