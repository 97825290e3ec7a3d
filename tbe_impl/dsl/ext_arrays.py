"""Words on whole axes that CANN lacks: slices, padding, counting, repetition, cumulative sums, positions, sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array
from tbe_impl.dsl.compare import vsel
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import (
    Const,
    Expr,
    IterVar,
    Range,
    Reduce,
    as_expr,
    binary,
    call,
    cast,
    const,
    select,
)
from tbe_impl.dsl.indexing import check_indices
from tbe_impl.dsl.location import here
from tbe_impl.dsl.operation import Word, check_scalar, check_tensor, may_equal
from tbe_impl.dsl.reductions import reduced_shape
from tbe_impl.dsl.sizes import check_axes, check_axis, is_one, product, runs
from tbe_impl.dsl.tensor import (
    Tensor,
    WordUse,
    as_shape,
    compute,
    fresh_name,
    library_stage,
    shape_text,
)
from tbe_impl.errors import InputError


def _each(word: str, tensor: Tensor, values: Any, argument: str, default: Any) -> list[Any]:
    """One value per axis."""
    found = [default] * tensor.ndim if values is None else list(values)
    if len(found) != tensor.ndim:
        raise InputError(
            f"{word} takes one number per axis for {argument}",
            place=str(here()),
            expected=f"{tensor.ndim}",
            got=f"{len(found)}",
        )
    return [item.value if isinstance(item, Const) else item for item in found]


def strided_slice(x: Tensor, begin: Any = None, end: Any = None, strides: Any = None) -> Tensor:
    """``x[begin:end:strides]`` on every axis, as Python slices; None leaves a bound out.

    On an axis whose size is known at run time only, bounds count from the front and have to lie inside.
    """
    tensor = check_tensor("strided_slice", x)
    bounds = zip(
        tensor.shape,
        _each("strided_slice", tensor, begin, "begin", None),
        _each("strided_slice", tensor, end, "end", None),
        _each("strided_slice", tensor, strides, "strides", 1),
        strict=True,
    )
    starts: list[Any] = []
    steps: list[int] = []
    sizes: list[Any] = []
    for size, first, last, step in bounds:
        step = 1 if step is None else step
        if not isinstance(step, int) or step == 0:
            raise InputError(
                "strided_slice takes whole strides",
                place=str(here()),
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

    use = WordUse(
        "strided_slice",
        (tensor,),
        {"starts": tuple(starts), "steps": tuple(steps), "sizes": tuple(sizes)},
    )
    made: Tensor = compute(sizes, pick, fresh_name("strided_slice"), "strided_slice", word=use)
    return made


def pad(x: Tensor, paddings: Any, value: Any = 0) -> Tensor:
    """x with `value` around it; `paddings` has a pair of numbers, before and behind, per axis."""
    tensor = check_tensor("pad", x)
    pairs = [tuple(pair) for pair in _each("pad", tensor, paddings, "paddings", (0, 0))]
    filler = check_scalar("pad", value, tensor.dtype, "value")

    def pick(*index: Expr) -> Expr:
        inside: Any = True
        at = []
        for i, size, (before, after) in zip(index, tensor.shape, pairs, strict=True):
            place = i - before
            at.append(place)
            for holds, needed in ((place >= 0, before), (place < size, after)):
                if not (isinstance(needed, int) and needed == 0):
                    inside = holds if inside is True else binary("and", inside, holds)
        return select(inside, tensor(*at), filler)

    made: Tensor = compute(
        [size + before + after for size, (before, after) in zip(tensor.shape, pairs, strict=True)],
        pick,
        fresh_name("pad"),
        "pad",
        word=WordUse("pad", (tensor,), {"paddings": pairs, "value": filler}),
    )
    return made


def _pad(x: Array, paddings: Any, value: Any) -> Array:
    return np.pad(x, [(int(a), int(b)) for a, b in paddings], constant_values=value)


def iota(shape: Any, axis: int = 0, dtype: str = "int32") -> Tensor:
    """0, 1, 2 … along an axis, the same along the others."""
    sizes, name = as_shape(shape), dtype_of(dtype).name
    if not -len(sizes) <= axis < len(sizes):
        raise InputError(
            "iota: the shape has no such axis",
            place=str(here()),
            expected=f"axis below {len(sizes)}",
            got=str(axis),
        )
    made: Tensor = compute(
        sizes,
        lambda *i: cast(name, i[axis]),
        fresh_name("iota"),
        "iota",
        word=WordUse("iota", (), {"shape": sizes, "axis": axis}),
    )
    return made


def one_hot(
    indices: Tensor,
    depth: Any,
    on_value: Any = 1,
    off_value: Any = 0,
    axis: int = -1,
    dtype: str = "float32",
) -> Tensor:
    """on_value where the place on the new axis is the index, else off_value."""
    source = check_indices("one_hot", indices)
    name = dtype_of(dtype).name
    on, off = (check_scalar("one_hot", item, name) for item in (on_value, off_value))
    place = axis % (source.ndim + 1)

    def pick(*index: Expr) -> Expr:
        number = source(*index[:place], *index[place + 1 :])
        return select(binary("eq", number, cast(number.dtype, index[place])), on, off)

    made: Tensor = compute(
        (*source.shape[:place], as_expr(depth), *source.shape[place:]),
        pick,
        fresh_name("one_hot"),
        "one_hot",
        word=WordUse("one_hot", (source,)),
    )
    return made


def where(condition: Tensor, lhs: Any, rhs: Any) -> Tensor:
    """lhs where condition holds, else rhs; like vsel, of a bool condition."""
    return vsel(condition, lhs, rhs)


def reverse(x: Tensor, axes: Any) -> Tensor:
    """x with the order along `axes` turned round."""
    tensor = check_tensor("reverse", x)
    turned = check_axes("reverse", tensor, axes, "axes")
    made: Tensor = compute(
        tensor.shape,
        lambda *i: tensor(
            *(tensor.shape[axis] - 1 - at if axis in turned else at for axis, at in enumerate(i))
        ),
        fresh_name("reverse"),
        "reverse",
        word=WordUse("reverse", (tensor,), {"axes": turned}),
    )
    return made


def tile(x: Tensor, multiples: Any) -> Tensor:
    """x repeated so many times along every axis."""
    tensor = check_tensor("tile", x)
    times = _each("tile", tensor, multiples, "multiples", 1)
    made: Tensor = compute(
        [size * count for size, count in zip(tensor.shape, times, strict=True)],
        lambda *i: tensor(*(at % size for at, size in zip(i, tensor.shape, strict=True))),
        fresh_name("tile"),
        "tile",
        word=WordUse("tile", (tensor,), {"multiples": tuple(times)}),
    )
    return made


def reshape(x: Tensor, shape: Any) -> Tensor:
    """The same elements in the same order in another shape; one size may be −1."""
    tensor = check_tensor("reshape", x)
    wanted = [
        item.value if isinstance(item, Const) else item
        for item in (shape if isinstance(shape, (list, tuple)) else [shape])
    ]
    if wanted.count(-1) == 1:
        rest = product(
            as_shape([size for size in wanted if not (isinstance(size, int) and size == -1)])
        )
        wanted[wanted.index(-1)] = binary("floordiv", product(tensor.shape), rest)
    sizes = as_shape(wanted)
    if not may_equal(product(sizes), product(tensor.shape)):
        raise InputError(
            "reshape keeps the number of elements",
            place=str(here()),
            expected=f"{product(tensor.shape)} elements",
            got=f"{product(sizes)} in {shape_text(sizes)}",
        )

    def pick(*index: Expr) -> Expr:
        at: list[Expr] = []
        for own, new in runs(tensor.shape, sizes):
            at += _places(
                [index[axis] for axis in new],
                [sizes[axis] for axis in new],
                tensor.shape[own.start : own.stop],
            )
        return tensor(*at)

    use = WordUse("reshape", (tensor,), {"shape": sizes})
    made: Tensor = compute(sizes, pick, fresh_name("reshape"), "reshape", word=use)
    return made


def _places(index: Sequence[Expr], sizes: Sequence[Expr], shape: Sequence[Expr]) -> list[Expr]:
    """Where an element of axes of these sizes is in axes of another shape that hold as many."""
    place: Expr | None = None
    for i, size in zip(index, sizes, strict=True):
        if not is_one(size):
            place = i if place is None else place * size + i
    at: list[Expr] = [const(0)] * len(shape)
    wide = [axis for axis, size in enumerate(shape) if not is_one(size)]
    for axis in reversed(wide):
        if place is None:
            break
        at[axis] = binary("floormod", place, shape[axis]) if axis != wide[0] else place
        place = binary("floordiv", place, shape[axis])
    return at


def _cumulative(name: str, operation: str, start: int) -> Word:
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
            WordUse(name, (tensor,), parameters),
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

    build.__name__ = name
    build.__doc__ = f"The {'sum' if start == 0 else 'product'} of all elements up to each along an axis; `exclusive` leaves it itself out, `reverse` starts from the back."
    return Word(name, build, numpy)


def _position(name: str, op: str) -> Word:
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

        def first(*index: Expr) -> Expr:
            over = IterVar(Range(size), f"k{along}", "reduce")
            rest = index if keepdims else (*index[:along], const(0), *index[along:])
            rest = rest[: tensor.ndim]
            value = tensor(*rest[:along], over, *rest[along + 1 :])
            hit = binary("eq", value, found(*rest[:along], const(0), *rest[along + 1 :]))
            if is_float(tensor.dtype):
                hit = binary("or", hit, call("isnan", value, dtype="bool"))
            name_ = dtype_of(dtype).name
            return Reduce("min", select(hit, cast(name_, over), cast(name_, size)), [over])

        made: Tensor = compute(kept, first, fresh_name(name), "reduce_min")
        return made

    build.__name__ = name
    build.__doc__ = f"Where the {'largest' if op == 'max' else 'smallest'} element of an axis is, the first of equals; the first NaN when there is one."
    return Word(name, build)


def _check_directions(word: str, tensor: Tensor, axis: Any) -> int:
    if not tensor.ndim:
        raise InputError(
            f"{word} needs an axis", place=str(here()), expected="one axis or more", got="()"
        )
    return check_axis(word, tensor, axis)


def sort(x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements in order along an axis, NaN last, and where (int32) each was; equals stay in order."""
    tensor = check_tensor("sort", x)
    along = _check_directions("sort", tensor, axis)
    use = WordUse("sort", (tensor,), {"axis": along, "descending": bool(descending)})
    values, places = library_stage(
        fresh_name("sort"), [tensor.shape] * 2, [tensor.dtype, "int32"], use, tag="sort"
    )
    return values, places


def topk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The first k of `sort`."""
    tensor = check_tensor("topk", x)
    along = _check_directions("topk", tensor, axis)
    shape = (*tensor.shape[:along], as_expr(k), *tensor.shape[along + 1 :])
    use = WordUse("topk", (tensor,), {"axis": along, "k": as_expr(k), "descending": bool(largest)})
    values, places = library_stage(
        fresh_name("topk"), [shape] * 2, [tensor.dtype, "int32"], use, tag="topk"
    )
    return values, places


def _sort(x: Array, axis: int, descending: bool) -> tuple[Array, Array]:
    if descending:
        # sorted from the back, so that a stable order and NaN at the end hold this way round too
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


WORDS = (
    Word("strided_slice", strided_slice),
    Word("pad", pad, _pad),
    Word("iota", iota, _iota),
    Word("one_hot", one_hot),
    Word("where", where),
    Word("reverse", reverse, lambda x, axes: np.flip(x, axes)),
    Word("tile", tile, lambda x, multiples: np.tile(x, [int(item) for item in multiples])),
    Word("reshape", reshape, lambda x, shape: x.reshape(shape)),
    _cumulative("cumsum", "cumsum", 0),
    _cumulative("cumprod", "cumprod", 1),
    _position("argmax", "max"),
    _position("argmin", "min"),
    Word("sort", sort, _sort),
    Word("topk", topk, _topk),
)
