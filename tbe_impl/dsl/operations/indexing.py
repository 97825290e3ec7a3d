"""DSL operations that read or update elements at indices: gather, scatter, in-place row updates."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array, divide
from tbe_impl.dsl.expr import Const, Expr, cast, const, make_binary, select
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_tensor, may_equal, with_name
from tbe_impl.dsl.sizes import check_axis
from tbe_impl.dsl.tensor import (
    DslCall,
    Tensor,
    as_shape,
    compute,
    fresh_name,
    library_stage,
    shape_text,
)
from tbe_impl.errors import InputError

INTEGER_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def check_indices(word: str, value: Any, argument: str = "indices") -> Tensor:
    """Returns `value`, or raises `InputError` if it is not an integer tensor."""
    tensor = check_tensor(word, value, argument)
    if tensor.dtype not in INTEGER_DTYPES:
        raise InputError(
            f"{word} takes whole numbers for {argument}",
            place=str(user_location()),
            expected="an integer dtype such as int32",
            got=f"{tensor.dtype} ({tensor.name})",
        )
    return tensor


def _fetch(
    tensor: Tensor, at: Sequence[Expr], looked_up: Mapping[int, Expr], negative: bool
) -> Expr:
    """Builds an expression that reads an element of `tensor`.

    The value of the expression is 0 if an index in `looked_up` is out of range.

    `at` has one index for each axis of `tensor`. `looked_up` maps some of the axes to indices that
    were read from an index tensor. These indices replace the indices in `at`. If `negative` is
    true, negative indices in `looked_up` count from the end.
    """
    inside: Any = True
    index = list(at)
    for axis, number in looked_up.items():
        size = cast(number.dtype, tensor.shape[axis])
        place = select(number < 0, number + size, number) if negative else number
        index[axis] = place
        holds = make_binary("and", place >= 0, place < size)
        inside = holds if inside is True else make_binary("and", inside, holds)
    return select(inside, tensor(*index), const(0, tensor.dtype))


def gather(
    params: Tensor,
    indices: Tensor,
    axis: int | None = None,
    batch_dims: int = 0,
    negative_index_support: bool = False,
    support_out_of_bound_index: bool = True,
) -> Tensor:
    """Reads slices of params at `indices` along `axis`; an out-of-range index gives zeros.

    Args:
        params: the tensor to read.
        indices: integers; their first `batch_dims` axes are the batch axes of params.
        axis: axis of params to index; by default the first axis after the batch axes.
        batch_dims: number of leading batch axes that params and indices share.
        negative_index_support: whether negative indices count from the end.
        support_out_of_bound_index: ignored; every index is checked.

    Returns:
        A tensor of shape
        ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``.
    """
    source, places = check_tensor("gather", params, "params"), check_indices("gather", indices)
    batch = int(batch_dims) % (places.ndim + 1)
    along = batch if axis is None else check_axis("gather", source, axis)
    if along < batch or not all(map(may_equal, source.shape[:batch], places.shape[:batch])):
        raise InputError(
            "gather: the batch axes do not match",
            place=str(user_location()),
            expected=f"{batch} leading axes of {shape_text(source.shape)} before axis {along}",
            got=shape_text(places.shape),
        )
    inner = places.ndim - batch

    def pick(*index: Expr) -> Expr:
        number = places(*index[:batch], *index[along : along + inner])
        at = (*index[:along], const(0), *index[along + inner :])
        return _fetch(source, at, {along: number}, negative_index_support)

    return compute(
        (*source.shape[:along], *places.shape[batch:], *source.shape[along + 1 :]),
        pick,
        fresh_name("gather"),
        "gather",
        word=DslCall(
            "gather",
            (source, places),
            {"axis": along, "batch_dims": batch, "negative": bool(negative_index_support)},
        ),
    )


def gather_nd(
    params: Tensor,
    indices: Tensor,
    batch_dims: int = 0,
    negative_index_support: bool = False,
    support_out_of_bound_index: bool = True,
) -> Tensor:
    """Reads slices of params at index vectors; an out-of-range vector gives a slice of zeros.

    Args:
        params: the tensor to read.
        indices: integers; each index vector lies along the last axis. The first `batch_dims` axes
            are the batch axes of params.
        batch_dims: number of leading batch axes that params and indices share.
        negative_index_support: whether negative indices count from the end.
        support_out_of_bound_index: ignored; every index is checked.

    Returns:
        A tensor of shape ``indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:]``.
    """
    source, places = (
        check_tensor("gather_nd", params, "params"),
        check_indices("gather_nd", indices),
    )
    depth = places.shape[-1] if places.ndim else const(0)
    if not isinstance(depth, Const) or depth.value + batch_dims > source.ndim:
        raise InputError(
            "gather_nd: the last axis of indices does not fit params",
            place=str(user_location()),
            expected=f"a last axis of at most {source.ndim - batch_dims}",
            got=shape_text(places.shape),
        )
    length, outer = int(depth.value), places.ndim - 1
    parameters: dict[str, Any] = {"batch_dims": batch_dims}
    if negative_index_support:
        parameters["negative"] = True

    def pick(*index: Expr) -> Expr:
        numbers = {batch_dims + k: places(*index[:outer], const(k)) for k in range(length)}
        at = (*index[:batch_dims], *([const(0)] * length), *index[outer:])
        return _fetch(source, at, numbers, negative_index_support) if length else source(*at)

    return compute(
        (*places.shape[:-1], *source.shape[batch_dims + length :]),
        pick,
        fresh_name("gather_nd"),
        "gather_nd",
        word=DslCall("gather_nd", (source, places), parameters),
    )


_UPDATE_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": divide,
    "max": np.maximum,
    "min": np.minimum,
}


def scatter(
    var: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: str = "update",
    support_out_of_bound_index: bool = True,
) -> Tensor:
    """Returns a copy of var; the rows at `indices` are updated one after the other.

    Args:
        var: the tensor that is copied; the result has the same shape.
        indices: integers, of any shape; out-of-range indices are skipped.
        updates: tensor of shape ``indices.shape + var.shape[1:]``.
        reduction: how a row is updated: ``update`` (replace), ``add``, ``sub``, ``mul``, ``div``,
            ``max`` or ``min``.
    """
    target = check_tensor("scatter", var, "var")
    places, new = check_indices("scatter", indices), check_tensor("scatter", updates, "updates")
    known = ("update", *_UPDATE_FUNCTIONS)
    wanted = (*places.shape, *target.shape[1:])
    if reduction not in known:
        raise InputError(
            "scatter: unknown reduction",
            place=str(user_location()),
            expected=" or ".join(known),
            got=repr(reduction),
        )
    if (
        new.dtype != target.dtype
        or new.ndim != len(wanted)
        or not all(map(may_equal, new.shape, wanted))
    ):
        raise InputError(
            "scatter: the updates do not fit",
            place=str(user_location()),
            expected=f"{target.dtype} {shape_text(wanted)}",
            got=f"{new.dtype} {shape_text(new.shape)} ({new.name})",
        )
    use = DslCall("scatter", (target, places, new), {"reduction": reduction})
    (made,) = library_stage(
        fresh_name("scatter"), [target.shape], [target.dtype], use, tag=f"scatter_{reduction}"
    )
    return made


def scatter_nd(
    var: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: str = "update",
    support_out_of_bound_index: bool = True,
) -> Tensor:
    """Returns a copy of var; the slices at index vectors are updated one after the other.

    Args:
        var: the tensor that is copied; the result has the same shape.
        indices: integers; each index vector lies along the last axis. Out-of-range vectors are
            skipped.
        updates: tensor of shape ``indices.shape[:-1] + var.shape[indices.shape[-1]:]``.
        reduction: see `scatter`; an empty string means ``add``.
        support_out_of_bound_index: ignored; every index is checked.
    """
    target, places = check_tensor("scatter_nd", var, "var"), check_indices("scatter_nd", indices)
    new = check_tensor("scatter_nd", updates, "updates")
    depth = places.shape[-1] if places.ndim else const(0)
    if not isinstance(depth, Const) or not 1 <= depth.value <= target.ndim:
        raise InputError(
            "scatter_nd: the last axis of indices does not fit var",
            place=str(user_location()),
            expected=f"a last axis of 1 to {target.ndim}",
            got=shape_text(places.shape),
        )
    parts = int(depth.value)
    sizes, inner = target.shape[:parts], target.shape[parts:]
    wanted = (*places.shape[:-1], *inner)
    if new.ndim != len(wanted) or not all(map(may_equal, new.shape, wanted)):
        raise InputError(
            "scatter_nd: the updates do not fit",
            place=str(user_location()),
            expected=f"{target.dtype} {shape_text(wanted)}",
            got=f"{new.dtype} {shape_text(new.shape)} ({new.name})",
        )

    def row(*index: Expr) -> Expr:
        number: Any = const(0, places.dtype)
        inside: Any = True
        for part, size in enumerate(sizes):
            at = places(*index, const(part))
            holds = make_binary("and", at >= 0, at < cast(places.dtype, size))
            inside = holds if inside is True else make_binary("and", inside, holds)
            number = number * cast(places.dtype, size) + at
        return select(inside, number, const(-1, places.dtype))

    def read_element(*index: Expr) -> Expr:
        at, left = [], index[0]
        for size in reversed(sizes):
            at.append(left % size)
            left = left // size
        return target(*reversed(at), *index[1:])

    rows = compute(
        places.shape[:-1] or (const(1),),
        row if places.ndim > 1 else lambda _: row(),
        fresh_name("rows"),
    )
    flat = (
        target
        if parts == 1
        else compute(
            (functools.reduce(operator.mul, sizes), *inner), read_element, fresh_name("merged")
        )
    )
    if places.ndim == 1:
        new = compute((const(1), *new.shape), lambda _, *index: updates(*index), fresh_name("row"))
    changed = scatter(flat, rows, new, reduction or "add")
    if parts == 1:
        return changed

    def scatter_element(*index: Expr) -> Expr:
        number: Any = index[0]
        for size, part in zip(sizes[1:], index[1:parts], strict=True):
            number = number * size + part
        return changed(number, *index[parts:])

    return compute(target.shape, scatter_element, fresh_name("scatter_nd"))


def _scatter(var: Array, places: Array, updates: Array, reduction: str) -> Array:
    rows = places.reshape(-1)
    new = updates.reshape(len(rows), *var.shape[1:])
    inside = (rows >= 0) & (rows < len(var))
    return update_rows(var, rows[inside], new[inside], reduction)


def update_rows(var: Array, rows: Array, new: Array, reduction: str) -> Array:
    """Returns a copy of `var`; ``new[i]`` updates the row ``rows[i]``, for each i in order.

    `reduction` is the kind of update; `scatter` lists the kinds.
    """
    out = np.array(var)
    if reduction == "update":
        for row, value in zip(rows.tolist(), new, strict=True):
            out[row] = value
    elif reduction == "div":
        for row, value in zip(rows.tolist(), new, strict=True):
            out[row] = divide(out[row], value)
    else:
        _UPDATE_FUNCTIONS[reduction].at(out, rows, new)  # type: ignore[attr-defined]
    return out


def _make_inplace_update(name: str, reduction: str, formula: str) -> DslOperation:
    def build(lhs: Tensor, inplace_ids: Any, rhs: Tensor) -> Tensor:
        target, new = check_tensor(name, lhs, "lhs"), check_tensor(name, rhs, "rhs")
        if isinstance(inplace_ids, Tensor):
            rows: Any = check_indices(name, inplace_ids, "inplace_ids")
            wanted: tuple[Expr, ...] = (*rows.shape, *target.shape[1:])
        else:
            several = isinstance(inplace_ids, (list, tuple))
            numbers = as_shape(inplace_ids if several else [inplace_ids])
            rows = tuple(_check_row_index(name, target, number) for number in numbers)
            alone = not several and new.ndim == target.ndim - 1
            wanted = target.shape[1:] if alone else (const(len(rows)), *target.shape[1:])
        if (
            new.dtype != target.dtype
            or new.ndim != len(wanted)
            or not all(map(may_equal, new.shape, wanted))
        ):
            raise InputError(
                f"{name}: the rows do not fit",
                place=str(user_location()),
                expected=f"{target.dtype} {shape_text(wanted)}",
                got=f"{new.dtype} {shape_text(new.shape)} ({new.name})",
            )
        by_tensor = isinstance(rows, Tensor)
        inputs = (target, rows, new) if by_tensor else (target, new)
        use = DslCall(name, inputs, {} if by_tensor else {"rows": rows})
        (made,) = library_stage(fresh_name(name), [target.shape], [target.dtype], use, tag=name)
        return made

    def numpy(x: Array, *rest: Array, rows: Sequence[int] | None = None) -> Array:
        ids = np.asarray(rest[0] if rows is None else rows).reshape(-1)
        return update_rows(x, ids, rest[-1].reshape(len(ids), *x.shape[1:]), reduction)

    return DslOperation(
        name,
        with_name(
            build,
            name,
            (
                "Returns a copy of lhs with updated rows: for each i in order, the row "
                f"lhs[ids[i]] becomes {formula}, where ids is `inplace_ids`."
            ),
        ),
        numpy,
    )


def _check_row_index(word: str, tensor: Tensor, number: Expr) -> Expr:
    size = tensor.shape[0]
    if isinstance(number, Const) and isinstance(size, Const) and not 0 <= number.value < size.value:
        raise InputError(
            f"{word}: {tensor.name} has no such row",
            place=str(user_location()),
            expected=f"rows from 0 to {size.value - 1}",
            got=str(number.value),
        )
    return number


OPERATIONS = (
    DslOperation("gather", gather),
    DslOperation("gather_nd", gather_nd),
    DslOperation("scatter", scatter, _scatter),
    DslOperation("scatter_nd", scatter_nd),
    _make_inplace_update("inplace_add", "add", "lhs[ids[i]] + rhs[i]"),
    _make_inplace_update("inplace_sub", "sub", "lhs[ids[i]] − rhs[i]"),
    _make_inplace_update("inplace_update", "update", "rhs[i]"),
)
