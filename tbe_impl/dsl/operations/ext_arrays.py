"""Extension operations on whole axes: slice, pad, iota, reshape, cumulative sum, argmax, sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import (
    Const,
    Expr,
    IterVar,
    Range,
    Reduce,
    as_expr,
    call,
    cast,
    const,
    make_binary,
    select,
)
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_scalar, check_tensor, may_equal, with_name
from tbe_impl.dsl.operations.compare import vsel
from tbe_impl.dsl.operations.indexing import check_indices
from tbe_impl.dsl.operations.reductions import reduced_shape
from tbe_impl.dsl.sizes import check_axes, check_axis, is_one, match_axis_runs, product
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


def _per_axis_values(
    word: str, tensor: Tensor, values: Any, argument: str, default: Any
) -> list[Any]:
    """Returns `values` as a list with one value per axis.

    If `values` is None, the value for every axis is `default`.

    Raises:
        InputError: the number of values is not the number of axes.
    """
    found = [default] * tensor.ndim if values is None else list(values)
    if len(found) != tensor.ndim:
        raise InputError(
            f"{word} takes one number per axis for {argument}",
            place=str(user_location()),
            expected=f"{tensor.ndim}",
            got=f"{len(found)}",
        )
    return [item.value if isinstance(item, Const) else item for item in found]


def strided_slice(x: Tensor, begin: Any = None, end: Any = None, strides: Any = None) -> Tensor:
    """Slices every axis as Python does: ``x[begin:end:strides]``.

    A bound that is None is omitted.

    If the size of an axis is known only at run time, bounds count from the front and must be in
    range.
    """
    tensor = check_tensor("strided_slice", x)
    bounds = zip(
        tensor.shape,
        _per_axis_values("strided_slice", tensor, begin, "begin", None),
        _per_axis_values("strided_slice", tensor, end, "end", None),
        _per_axis_values("strided_slice", tensor, strides, "strides", 1),
        strict=True,
    )
    starts: list[Any] = []
    steps: list[int] = []
    sizes: list[Any] = []
    for size, first, last, step in bounds:
        step = 1 if step is None else step
        if not isinstance(step, int) or step == 0:
            raise InputError(
                "strided_slice takes integer strides",
                place=str(user_location()),
                expected="an integer other than 0",
                got=repr(step),
            )
        if isinstance(size, Const) and not isinstance(first, Expr) and not isinstance(last, Expr):
            span = range(size.value)[first:last:step]
            starts.append(span.start)
            sizes.append(len(span))
        else:
            low = (0 if step > 0 else size - 1) if first is None else first
            high = (size if step > 0 else -1) if last is None else last
            starts.append(low)
            away = high - low if step > 0 else low - high
            sizes.append((away + (abs(step) - 1)) // abs(step))
        steps.append(step)

    def pick(*index: Expr) -> Expr:
        return tensor(
            *(i * step + start for i, step, start in zip(index, steps, starts, strict=True))
        )

    use = DslCall(
        "strided_slice",
        (tensor,),
        {"starts": tuple(starts), "steps": tuple(steps), "sizes": tuple(sizes)},
    )
    return compute(sizes, pick, fresh_name("strided_slice"), "strided_slice", word=use)


def pad(x: Tensor, paddings: Any, value: Any = 0) -> Tensor:
    """Pads x with `value`; `paddings` has a pair (before, after) per axis."""
    tensor = check_tensor("pad", x)
    pairs = [tuple(pair) for pair in _per_axis_values("pad", tensor, paddings, "paddings", (0, 0))]
    filler = check_scalar("pad", value, tensor.dtype, "value")

    def pick(*index: Expr) -> Expr:
        inside: Any = True
        at = []
        for i, size, (before, after) in zip(index, tensor.shape, pairs, strict=True):
            place = i - before
            at.append(place)
            for holds, needed in ((place >= 0, before), (place < size, after)):
                if not (isinstance(needed, int) and needed == 0):
                    inside = holds if inside is True else make_binary("and", inside, holds)
        return select(inside, tensor(*at), filler)

    return compute(
        [size + before + after for size, (before, after) in zip(tensor.shape, pairs, strict=True)],
        pick,
        fresh_name("pad"),
        "pad",
        word=DslCall("pad", (tensor,), {"paddings": pairs, "value": filler}),
    )


def _pad(x: Array, paddings: Any, value: Any) -> Array:
    return np.pad(x, [(int(a), int(b)) for a, b in paddings], constant_values=value)


def iota(shape: Any, axis: int = 0, dtype: str = "int32") -> Tensor:
    """Creates a tensor with the values 0, 1, 2 … along `axis` and constant along all other axes."""
    sizes, name = as_shape(shape), dtype_of(dtype).name
    if not -len(sizes) <= axis < len(sizes):
        raise InputError(
            "iota: the shape has no such axis",
            place=str(user_location()),
            expected=f"axis below {len(sizes)}",
            got=str(axis),
        )
    return compute(
        sizes,
        lambda *i: cast(name, i[axis]),
        fresh_name("iota"),
        "iota",
        word=DslCall("iota", (), {"shape": sizes, "axis": axis}),
    )


def one_hot(
    indices: Tensor,
    depth: Any,
    on_value: Any = 1,
    off_value: Any = 0,
    axis: int = -1,
    dtype: str = "float32",
) -> Tensor:
    """Encodes each index as a vector of length `depth` along the new axis `axis`.

    The vector is `on_value` at the index and `off_value` elsewhere.
    """
    source = check_indices("one_hot", indices)
    name = dtype_of(dtype).name
    on, off = (check_scalar("one_hot", item, name) for item in (on_value, off_value))
    place = axis % (source.ndim + 1)

    def pick(*index: Expr) -> Expr:
        number = source(*index[:place], *index[place + 1 :])
        return select(make_binary("eq", number, cast(number.dtype, index[place])), on, off)

    return compute(
        (*source.shape[:place], as_expr(depth), *source.shape[place:]),
        pick,
        fresh_name("one_hot"),
        "one_hot",
        word=DslCall("one_hot", (source,)),
    )


def where(condition: Tensor, lhs: Any, rhs: Any) -> Tensor:
    """Selects elementwise: lhs if condition holds, and rhs otherwise; see `vsel`."""
    return vsel(condition, lhs, rhs)


def reverse(x: Tensor, axes: Any) -> Tensor:
    """Reverses the order of the elements along `axes`."""
    tensor = check_tensor("reverse", x)
    turned = check_axes("reverse", tensor, axes, "axes")
    return compute(
        tensor.shape,
        lambda *i: tensor(
            *(tensor.shape[axis] - 1 - at if axis in turned else at for axis, at in enumerate(i))
        ),
        fresh_name("reverse"),
        "reverse",
        word=DslCall("reverse", (tensor,), {"axes": turned}),
    )


def tile(x: Tensor, multiples: Any) -> Tensor:
    """Repeats x along each axis; `multiples` has the number of copies per axis."""
    tensor = check_tensor("tile", x)
    times = _per_axis_values("tile", tensor, multiples, "multiples", 1)
    return compute(
        [size * count for size, count in zip(tensor.shape, times, strict=True)],
        lambda *i: tensor(*(at % size for at, size in zip(i, tensor.shape, strict=True))),
        fresh_name("tile"),
        "tile",
        word=DslCall("tile", (tensor,), {"multiples": tuple(times)}),
    )


def reshape(x: Tensor, shape: Any) -> Tensor:
    """Changes the shape and keeps the elements in row-major order; a size of −1 is inferred."""
    tensor = check_tensor("reshape", x)
    wanted = [
        item.value if isinstance(item, Const) else item
        for item in (shape if isinstance(shape, (list, tuple)) else [shape])
    ]
    if wanted.count(-1) == 1:
        rest = product(
            as_shape([size for size in wanted if not (isinstance(size, int) and size == -1)])
        )
        wanted[wanted.index(-1)] = make_binary("floordiv", product(tensor.shape), rest)
    sizes = as_shape(wanted)
    if not may_equal(product(sizes), product(tensor.shape)):
        raise InputError(
            "reshape keeps the number of elements",
            place=str(user_location()),
            expected=f"{product(tensor.shape)} elements",
            got=f"{product(sizes)} in {shape_text(sizes)}",
        )

    def pick(*index: Expr) -> Expr:
        at: list[Expr] = []
        for own, new in match_axis_runs(tensor.shape, sizes):
            at += _reshape_indices(
                [index[axis] for axis in new],
                [sizes[axis] for axis in new],
                tensor.shape[own.start : own.stop],
            )
        return tensor(*at)

    use = DslCall("reshape", (tensor,), {"shape": sizes})
    return compute(sizes, pick, fresh_name("reshape"), "reshape", word=use)


def _reshape_indices(
    index: Sequence[Expr], sizes: Sequence[Expr], shape: Sequence[Expr]
) -> list[Expr]:
    """Maps an index of the shape `sizes` to the index of the same element in `shape`.

    Both shapes have equal element counts.
    """
    place: Expr | None = None
    for i, size in zip(index, sizes, strict=True):
        if not is_one(size):
            place = i if place is None else place * size + i
    at: list[Expr] = [const(0)] * len(shape)
    wide = [axis for axis, size in enumerate(shape) if not is_one(size)]
    for axis in reversed(wide):
        if place is None:
            break
        at[axis] = make_binary("floormod", place, shape[axis]) if axis != wide[0] else place
        place = make_binary("floordiv", place, shape[axis])
    return at


def _make_cumulative(name: str, operation: str, start: int) -> DslOperation:
    def build(x: Tensor, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
        tensor = check_tensor(name, x)
        parameters = {
            "axis": check_axis(name, tensor, axis),
            "exclusive": exclusive,
            "reverse": reverse,
        }
        (made,) = library_stage(
            fresh_name(name),
            [tensor.shape],
            [tensor.dtype],
            DslCall(name, (tensor,), parameters),
            tag=name,
        )
        return made

    def numpy(x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
        if x.ndim == 0 or x.shape[axis] == 0:
            return x
        given = np.flip(x, axis) if reverse else x
        found: Array = getattr(np, operation)(given, axis=axis, dtype=x.dtype)
        if exclusive:
            first = np.full_like(np.take(x, [0], axis), start)
            found = np.concatenate([first, np.delete(found, -1, axis)], axis)
        return np.flip(found, axis) if reverse else found

    return DslOperation(
        name,
        with_name(
            build,
            name,
            (
                f"Computes the cumulative {'sum' if start == 0 else 'product'} along an axis. "
                "With `exclusive`, each result omits the element at its own position. "
                "With `reverse`, the accumulation starts at the end of the axis."
            ),
        ),
        numpy,
    )


def _make_arg_extremum(name: str, op: str) -> DslOperation:
    def build(x: Tensor, axis: int = -1, keepdims: bool = False, dtype: str = "int32") -> Tensor:
        tensor = check_tensor(name, x)
        along = check_axis(name, tensor, axis)
        size = tensor.shape[along] if tensor.ndim else const(1)

        def best(*index: Expr) -> Expr:
            over = IterVar(Range(size), f"k{along}", "reduce")
            return Reduce(op, tensor(*index[:along], over, *index[along + 1 :]), [over])

        found: Tensor = compute(
            reduced_shape(tensor, [along], True), best, fresh_name(name), f"reduce_{op}"
        )
        kept = reduced_shape(tensor, [along], keepdims)

        def first_index(*index: Expr) -> Expr:
            over = IterVar(Range(size), f"k{along}", "reduce")
            rest = index if keepdims else (*index[:along], const(0), *index[along:])
            rest = rest[: tensor.ndim]
            value = tensor(*rest[:along], over, *rest[along + 1 :])
            hit = make_binary("eq", value, found(*rest[:along], const(0), *rest[along + 1 :]))
            if is_float(tensor.dtype):
                hit = make_binary("or", hit, call("isnan", value, dtype="bool"))
            name_ = dtype_of(dtype).name
            return Reduce("min", select(hit, cast(name_, over), cast(name_, size)), [over])

        return compute(kept, first_index, fresh_name(name), "reduce_min")

    return DslOperation(
        name,
        with_name(
            build,
            name,
            (
                f"Returns the index of the {'largest' if op == 'max' else 'smallest'} element "
                "along an axis. Of several equal elements, the first one is used. If an element "
                "is NaN, the result is the index of the first NaN."
            ),
        ),
    )


def _check_directions(word: str, tensor: Tensor, axis: Any) -> int:
    if not tensor.ndim:
        raise InputError(
            f"{word} needs an axis",
            place=str(user_location()),
            expected="one axis or more",
            got="()",
        )
    return check_axis(word, tensor, axis)


def sort(x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Sorts along an axis; the sort is stable, and NaN comes last.

    Returns:
        A pair of tensors: the sorted elements, and the position of each element before the sort.
        The positions are int32.
    """
    tensor = check_tensor("sort", x)
    along = _check_directions("sort", tensor, axis)
    use = DslCall("sort", (tensor,), {"axis": along, "descending": bool(descending)})
    values, places = library_stage(
        fresh_name("sort"), [tensor.shape] * 2, [tensor.dtype, "int32"], use, tag="sort"
    )
    return values, places


def topk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """Sorts along `axis` as `sort` does, and returns the first k elements of both results.

    If `largest` is true, the sort is descending, so the function returns the largest elements.
    """
    tensor = check_tensor("topk", x)
    along = _check_directions("topk", tensor, axis)
    shape = (*tensor.shape[:along], as_expr(k), *tensor.shape[along + 1 :])
    use = DslCall("topk", (tensor,), {"axis": along, "k": as_expr(k), "descending": bool(largest)})
    values, places = library_stage(
        fresh_name("topk"), [shape] * 2, [tensor.dtype, "int32"], use, tag="topk"
    )
    return values, places


def _sort(x: Array, axis: int, descending: bool) -> tuple[Array, Array]:
    if descending:
        # negated keys: the sort stays stable, and NaN stays last
        key = -x if x.dtype.kind not in "ub" else ~x
        places = np.argsort(~x if x.dtype.kind == "i" else key, axis=axis, kind="stable")
    else:
        places = np.argsort(x, axis=axis, kind="stable")
    return np.take_along_axis(x, places, axis), places


def _topk(x: Array, axis: int, k: Any, descending: bool) -> tuple[Array, Array]:
    values, places = _sort(x, axis, descending)
    first = (slice(None),) * axis + (slice(0, int(k)),)
    return values[first], places[first]


def _iota(shape: Sequence[Any], axis: int) -> Array:
    return np.broadcast_to(
        np.moveaxis(
            np.indices([int(shape[axis])])[0].reshape(-1, *[1] * (len(shape) - 1)), 0, axis
        ),
        shape,
    )


OPERATIONS = (
    DslOperation("strided_slice", strided_slice),
    DslOperation("pad", pad, _pad),
    DslOperation("iota", iota, _iota),
    DslOperation("one_hot", one_hot),
    DslOperation("where", where),
    DslOperation("reverse", reverse, lambda x, axes: np.flip(x, axes)),
    DslOperation("tile", tile, lambda x, multiples: np.tile(x, [int(item) for item in multiples])),
    DslOperation("reshape", reshape, lambda x, shape: x.reshape(shape)),
    _make_cumulative("cumsum", "cumsum", 0),
    _make_cumulative("cumprod", "cumprod", 1),
    _make_arg_extremum("argmax", "max"),
    _make_arg_extremum("argmin", "min"),
    DslOperation("sort", sort, _sort),
    DslOperation("topk", topk, _topk),
)
