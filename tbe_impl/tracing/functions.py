"""Functions of NumPy that are no elementwise ones, on traced tensors: reductions, movements, matrix products, choices.

One file of more than 500 lines: it is the table of traced NumPy functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.casts import cast_to
from tbe_impl.dsl.cube import batch_matmul
from tbe_impl.dsl.expr import Expr, binary, const, select
from tbe_impl.dsl.ext import EXT_WORDS
from tbe_impl.dsl.reductions import WORDS as REDUCTIONS
from tbe_impl.dsl.shaping import broadcast, concat, split, transpose
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor, as_shape, compute, fresh_name
from tbe_impl.tracing.arrays import REMEDY, Size, Traced, dtypes_of, is_weak, spread, tensor_of
from tbe_impl.tracing.dtypes import name_of, refused
from tbe_impl.tracing.elementwise import as_truth, chosen
from tbe_impl.tracing.indexing import rearranged

_REDUCE = {word.name: word for word in REDUCTIONS}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""Function of NumPy → what it is here."""


def _is(*functions: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enters a function under its names in NumPy; those that this NumPy lacks are left out."""

    def enter(made: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update({getattr(np, name): made for name in functions if hasattr(np, name)})
        return made

    return enter


def call_function(function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """A function of NumPy with a traced tensor among its arguments.

    Raises:
        InputError: there is nothing like it here, or it was given an argument that is not known here.
    """
    name = _name_of(function)
    made = FUNCTIONS.get(function)
    if made is None:
        raise refused(f"{name} cannot be traced", remedy=REMEDY)
    given = {key: item for key, item in keywords.items() if item is not np._NoValue}  # type: ignore[attr-defined]
    try:
        signature = inspect.signature(made)
        bound = signature.bind(*args, **given)
    except TypeError as error:
        raise refused(
            f"{name} cannot be traced with these arguments: {error}",
            expected=f"{name}({', '.join(signature.parameters)})",
            remedy=REMEDY,
        ) from None
    return made(*bound.args, **bound.kwargs)


def _name_of(function: Any) -> str:
    """As users write it: ``np.sum``, ``np.linalg.inv``."""
    room = str(getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    return f"{room}.{getattr(function, '__name__', function)}"


def by_method(function: np.ufunc, method: str, *given: Any, **keywords: Any) -> Any:
    """``np.add.reduce`` and its like."""
    if method == "reduce" and function.__name__ in _REDUCED:
        return call_function(_REDUCED[function.__name__], given, {"axis": 0, **keywords})
    if method == "accumulate" and function.__name__ in ("add", "multiply"):
        running = np.cumsum if function.__name__ == "add" else np.cumprod
        return call_function(running, given, {"axis": 0, **keywords})
    if method == "outer" and len(given) == 2:
        one, other = (item if isinstance(item, Traced) else np.asarray(item) for item in given)
        return function(one[(Ellipsis,) + (None,) * np.ndim(other)], other, **keywords)
    raise refused(f"np.{function.__name__}.{method} cannot be traced", remedy=REMEDY)


_REDUCED: Mapping[str, Any] = {
    "add": np.sum,
    "multiply": np.prod,
    "maximum": np.max,
    "minimum": np.min,
    "logical_and": np.all,
    "logical_or": np.any,
}
_METHODS: Mapping[str, Any] = {
    **{
        name: getattr(np, name)
        for name in "sum prod mean max min all any var std argmax argmin cumsum cumprod reshape ravel squeeze swapaxes repeat clip take round dot".split()
    },
    "flatten": np.ravel,
}


def method_named(array: Traced, name: str) -> Any:
    """An attribute of an array that `Traced` does not spell out."""
    if name in _METHODS:
        if name == "reshape":
            return lambda *shape, order="C": np.reshape(
                array, shape[0] if len(shape) == 1 else shape, order=order
            )
        return lambda *args, **keywords: call_function(_METHODS[name], (array, *args), keywords)
    if name == "transpose":
        return lambda *axes: np.transpose(
            array, (axes[0] if len(axes) == 1 else axes) if axes else None
        )
    if name == "astype":
        return lambda dtype, **_: Traced(cast_to(array.tensor, name_of(dtype)))
    if name == "copy":
        return lambda *_, **__: Traced(array.tensor, weak=array.weak)
    if not name.startswith("_") and hasattr(np.ndarray, name):
        raise refused(f"the method {name} of arrays cannot be traced", remedy=REMEDY)
    raise AttributeError(f"a traced tensor has no attribute {name!r}")


def _axes(array: Traced, axis: Any) -> list[int]:
    """Axes as the language takes them; all of them for None."""
    if axis is None:
        return list(range(array.ndim))
    listed = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    for item in listed:
        if not -array.ndim <= int(item) < array.ndim:
            raise refused(
                "no such axis", expected=f"{-array.ndim} to {array.ndim - 1}", got=str(item)
            )
    return [int(item) % array.ndim for item in listed]


def _as_traced(value: Any) -> Traced:
    return value if isinstance(value, Traced) else Traced(tensor_of(value))


def _reduced(word: str, a: Any, axis: Any, keepdims: bool, dtype: Any = None) -> Traced:
    array = _as_traced(a)
    tensor = array.tensor if dtype is None else cast_to(array.tensor, name_of(dtype))
    axes = _axes(array, axis)
    if not axes:
        return Traced(tensor)
    return _kept(_REDUCE[word](tensor, axes, True), axes, keepdims)


def _kept(tensor: Tensor, axes: Sequence[int], keepdims: bool) -> Traced:
    """A reduction without the axes that were reduced."""
    if keepdims:
        return Traced(tensor)
    return Traced(rearranged(tensor, [axis for axis in range(tensor.ndim) if axis not in axes]))


def _accumulated(a: Any, dtype: Any) -> Any:
    """The dtype in which NumPy sums: whole numbers at least as wide as int64."""
    return dtype if dtype is not None else np.add.reduce(np.empty(1, _as_traced(a).dtype)).dtype


@_is("sum")
def _sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Traced:
    return _reduced("reduce_sum", a, axis, keepdims, _accumulated(a, dtype))


@_is("prod")
def _prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Traced:
    return _reduced("reduce_prod", a, axis, keepdims, _accumulated(a, dtype))


@_is("max", "amax")
def _max(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return _reduced("reduce_max", a, axis, keepdims)


@_is("min", "amin")
def _min(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return _reduced("reduce_min", a, axis, keepdims)


@_is("ptp")
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _max(a, axis, keepdims=keepdims) - _min(a, axis, keepdims=keepdims)


@_is("mean")
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Traced:
    array = _as_traced(a)
    wanted = (
        np.dtype(dtype)
        if dtype is not None
        else array.dtype
        if array.dtype.kind not in "iub"
        else np.dtype(np.float64)
    )
    return _reduced("reduce_mean", array, axis, keepdims, wanted)


@_is("var")
def _var(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    away = a - _mean(a, axis, keepdims=True)
    if ddof == 0:
        return _mean(np.square(away), axis, keepdims=keepdims)
    count: Any = 1
    for at in _axes(a, axis):
        count = count * a.shape[at]
    return _sum(np.square(away), axis, keepdims=keepdims) / (count - ddof)


@_is("std")
def _std(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(_var(a, axis, ddof=ddof, keepdims=keepdims))


@_is("all")
def _all(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return _reduced("reduce_all", _as_traced(a), axis, keepdims, np.bool_)


@_is("any")
def _any(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return _reduced("reduce_any", _as_traced(a), axis, keepdims, np.bool_)


@_is("count_nonzero")
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return _sum(Traced(as_truth(a.tensor)), axis, keepdims=keepdims)


def _position(word: str, a: Any, axis: Any, keepdims: bool) -> Traced:
    array = a if axis is not None else _ravel(a)
    along = 0 if axis is None else _axes(array, axis)[0]
    found = EXT_WORDS[word](array.tensor, along, True, "int64")
    if axis is None and keepdims:
        return Traced(rearranged(found, [None] * a.ndim))
    return _kept(found, [along], keepdims)


@_is("argmax")
def _argmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return _position("argmax", a, axis, keepdims)


@_is("argmin")
def _argmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return _position("argmin", a, axis, keepdims)


def _running(word: str, a: Any, axis: Any, dtype: Any) -> Traced:
    array = a if axis is not None else _ravel(a)
    tensor = cast_to(array.tensor, name_of(_accumulated(array, dtype)))
    return Traced(EXT_WORDS[word](tensor, _axes(array, 0 if axis is None else axis)[0]))


@_is("cumsum")
def _cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Traced:
    return _running("cumsum", a, axis, dtype)


@_is("cumprod")
def _cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Traced:
    return _running("cumprod", a, axis, dtype)


@_is("sort")
def _sort(a: Any, axis: Any = -1) -> Traced:
    array = a if axis is not None else _ravel(a)
    return Traced(EXT_WORDS["sort"](array.tensor, -1 if axis is None else axis)[0])


@_is("argsort")
def _argsort(a: Any, axis: Any = -1, *, kind: Any = "stable") -> Traced:
    array = a if axis is not None else _ravel(a)
    return Traced(
        cast_to(EXT_WORDS["sort"](array.tensor, -1 if axis is None else axis)[1], "int64")
    )


@_is("shape")
def _shape(a: Any) -> Any:
    return a.shape


@_is("ndim")
def _ndim(a: Any) -> Any:
    return a.ndim


@_is("size")
def _size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else a.shape[axis]


def _sizes(shape: Any) -> list[Any]:
    listed = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    return [item.expression if isinstance(item, Size) else int(item) for item in listed]


@_is("reshape")
def _reshape(a: Any, newshape: Any = None, order: str = "C", *, shape: Any = None) -> Any:
    if order != "C":
        raise refused("np.reshape cannot be traced in this order", expected="C", got=order)
    wanted = _sizes(newshape if shape is None else shape)
    return a.view(_shaped(a.tensor, wanted))


def _shaped(tensor: Tensor, sizes: Sequence[Any]) -> Tensor:
    """Reshaped; where only axes of one element come or go, without counting places."""
    ones = [at for at, size in enumerate(tensor.shape) if is_one(size)]
    if -1 not in [size for size in sizes if isinstance(size, int)]:
        left = [at for at in range(tensor.ndim) if at not in ones]
        wanted = as_shape(sizes)
        long = [at for at, size in enumerate(wanted) if not is_one(size)]
        if len(long) == len(left) and all(
            wanted[at] is tensor.shape[axis]
            or (isinstance(sizes[at], int) and binary("eq", wanted[at], tensor.shape[axis]) is True)
            for at, axis in zip(long, left, strict=True)
        ):
            places = dict(zip(long, left, strict=True))
            return rearranged(tensor, [places.get(at) for at in range(len(wanted))])
    made: Tensor = EXT_WORDS["reshape"](tensor, list(sizes))
    return made


@_is("ravel")
def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, -1, order)


@_is("transpose", "permute_dims")
def _transpose(a: Any, axes: Any = None) -> Any:
    order = list(reversed(range(a.ndim))) if axes is None else _axes(a, tuple(axes))
    return a.view(transpose(a.tensor, order)) if a.ndim > 1 else a


@_is("swapaxes")
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    one, other = _axes(a, (axis1, axis2))
    order[one], order[other] = order[other], order[one]
    return _transpose(a, order)


@_is("moveaxis")
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    moved, places = _axes(a, source), _axes(a, destination)
    order = [axis for axis in range(a.ndim) if axis not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return _transpose(a, order)


@_is("expand_dims")
def _expand_dims(a: Any, axis: Any) -> Any:
    listed = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    rank = a.ndim + len(listed)
    new = [item % rank for item in listed]
    rest = iter(range(a.ndim))
    return a.view(rearranged(a.tensor, [None if at in new else next(rest) for at in range(rank)]))


@_is("squeeze")
def _squeeze(a: Any, axis: Any = None) -> Any:
    ones = [at for at, size in enumerate(a.tensor.shape) if is_one(size)]
    gone = ones if axis is None else _axes(a, axis)
    return a.view(rearranged(a.tensor, [at for at in range(a.ndim) if at not in gone]))


@_is("broadcast_to")
def _broadcast_to(array: Any, shape: Any) -> Any:
    return array.view(broadcast(array.tensor, _sizes(shape)))


@_is("concatenate", "concat")
def _concatenate(arrays: Sequence[Any], axis: Any = 0) -> Traced:
    several = [_as_traced(item) for item in arrays]
    if axis is None:
        several, axis = [_ravel(item) for item in several], 0
    dtype = np.result_type(*(item.dtype for item in several))
    return Traced(concat([tensor_of(item, dtype) for item in several], axis))


@_is("stack")
def _stack(arrays: Sequence[Any], axis: int = 0) -> Traced:
    return _concatenate([_expand_dims(_as_traced(item), axis) for item in arrays], axis)


@_is("hstack")
def _hstack(tup: Sequence[Any]) -> Traced:
    several = [_as_traced(item) for item in tup]
    return _concatenate(several, 0 if several[0].ndim == 1 else 1)


@_is("vstack")
def _vstack(tup: Sequence[Any]) -> Traced:
    several = [_as_traced(item) for item in tup]
    return _concatenate([_expand_dims(item, 0) if item.ndim == 1 else item for item in several], 0)


@_is("split", "array_split")
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    along = _axes(ary, axis)[0]
    size = ary.shape[along]
    if isinstance(size, Size):
        raise refused("np.split needs an axis whose size is known", got=str(size))
    parts = np.array_split(np.arange(size), indices_or_sections)
    return [ary.view(part) for part in split(ary.tensor, along, [len(item) for item in parts])[1]]


@_is("flip")
def _flip(m: Any, axis: Any = None) -> Any:
    return m.view(EXT_WORDS["reverse"](m.tensor, _axes(m, axis)))


@_is("tile")
def _tile(A: Any, reps: Any) -> Traced:
    times = list(reps) if isinstance(reps, (tuple, list)) else [reps]
    array = A
    while array.ndim < len(times):
        array = _expand_dims(array, 0)
    return Traced(EXT_WORDS["tile"](array.tensor, [1] * (array.ndim - len(times)) + times))


@_is("repeat")
def _repeat(a: Any, repeats: int, axis: Any = None) -> Traced:
    array = a if axis is not None else _ravel(a)
    along = 0 if axis is None else _axes(array, axis)[0]
    if not isinstance(repeats, (int, np.integer)):
        raise refused(
            "np.repeat cannot be traced with several counts",
            expected="one number",
            got=repr(repeats),
        )
    tensor, count = array.tensor, int(repeats)
    shape = [*tensor.shape[:along], tensor.shape[along] * count, *tensor.shape[along + 1 :]]
    made: Tensor = compute(
        shape,
        lambda *i: tensor(*i[:along], i[along] // count, *i[along + 1 :]),
        fresh_name("repeat"),
    )
    return Traced(made)


@_is("roll")
def _roll(a: Any, shift: int, axis: Any = None) -> Any:
    if axis is None:
        return _reshape(_roll(_ravel(a), shift, 0), a.shape)
    along = _axes(a, axis)[0]
    size = a.shape[along]
    if isinstance(size, Size):
        raise refused("np.roll needs an axis whose size is known", got=str(size))
    cut = (size - shift) % max(size, 1)
    front, back = ((slice(None),) * along + (part,) for part in (slice(cut, None), slice(0, cut)))
    return _concatenate([a[front], a[back]], along) if cut else a


@_is("pad")
def _pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Traced:
    if mode != "constant" or np.ndim(constant_values):
        raise refused(
            "np.pad cannot be traced like this", expected="mode constant and one value", got=mode
        )
    pairs = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    return Traced(EXT_WORDS["pad"](array.tensor, [tuple(pair) for pair in pairs], constant_values))


def _triangle(m: Any, k: int, *, upper: bool) -> Traced:
    tensor = m.tensor
    zero = const(0, tensor.dtype)

    def pick(*index: Expr) -> Expr:
        inside = binary("ge" if upper else "le", index[-1] - index[-2], const(int(k)))
        return select(inside, tensor(*index), zero)

    made: Tensor = compute(tensor.shape, pick, fresh_name("triangle"))
    return Traced(made)


@_is("tril")
def _tril(m: Any, k: int = 0) -> Traced:
    return _triangle(m, k, upper=False)


@_is("triu")
def _triu(m: Any, k: int = 0) -> Traced:
    return _triangle(m, k, upper=True)


@_is("where")
def _where(condition: Any, x: Any, y: Any) -> Traced:
    dtype = np.result_type(*dtypes_of([x, y]))
    mask = as_truth(tensor_of(condition))
    tensors = spread("np.where", [mask, tensor_of(x, dtype), tensor_of(y, dtype)])
    return Traced(chosen(*tensors), weak=all(map(is_weak, (condition, x, y))))


@_is("clip")
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    found = a if low is None else np.maximum(a, low)
    return found if high is None else np.minimum(found, high)


@_is("take")
def _take(a: Any, indices: Any, axis: Any = None) -> Any:
    array: Any = _as_traced(a) if axis is not None else _ravel(_as_traced(a))
    along = 0 if axis is None else _axes(array, axis)[0]
    return array[(slice(None),) * along + (indices,)]


@_is("round", "around")
def _round(a: Any, decimals: int = 0) -> Any:
    if decimals:
        factor = 10.0**decimals
        return np.rint(a * factor) / factor
    return np.rint(a) if a.dtype.kind not in "iub" else a


@_is("nan_to_num")
def _nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if x.dtype.kind in "iub":
        return x
    import ml_dtypes

    limits = ml_dtypes.finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    bounded = np.where(np.isinf(x), np.where(x > 0, high, low).astype(x.dtype), x)
    return np.where(np.isnan(x), nan, bounded)


def _full(like: Any, value: Any, dtype: Any) -> Traced:
    name = name_of(like.dtype if dtype is None else dtype)
    made: Tensor = broadcast(const(value, name), like.tensor.shape)
    return Traced(made)


@_is("zeros_like", "empty_like")
def _zeros_like(a: Any, dtype: Any = None) -> Traced:
    return _full(a, 0, dtype)


@_is("ones_like")
def _ones_like(a: Any, dtype: Any = None) -> Traced:
    return _full(a, 1, dtype)


@_is("full_like")
def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Traced:
    return _full(a, fill_value, dtype)


@_is("diff")
def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    for _ in range(n):
        ahead = [slice(None)] * _axes(a, axis)[0]
        later, earlier = ((*ahead, part) for part in (slice(1, None), slice(None, -1)))
        a = a[later] - a[earlier]
    return a


@_is("copy")
def _copy(a: Any, order: str = "K") -> Traced:
    return Traced(a.tensor, weak=a.weak)


@_is("dot")
def _dot(a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        raise refused("np.dot cannot be traced for more than two axes", remedy="Use np.matmul")
    return matmul(a, b)


@_is("outer")
def _outer(a: Any, b: Any) -> Any:
    return _ravel(_as_traced(a))[:, None] * _ravel(_as_traced(b))[None, :]


def matmul(a: Any, b: Any) -> Traced:
    """``a @ b``: of two vectors a number, of a vector and a matrix a vector, of more axes batches that are broadcast."""
    dtype = np.result_type(*dtypes_of([a, b]))
    if dtype.kind in "iub" and dtype != np.int32:
        raise refused(
            "matrix products of whole numbers are traced in int32",
            got=str(dtype),
            remedy="Cast them with astype",
        )
    one, other = tensor_of(a, dtype), tensor_of(b, dtype)
    if not one.ndim or not other.ndim:
        raise refused("np.matmul takes arrays with axes", remedy="Use * for a number")
    row, column = one.ndim == 1, other.ndim == 1
    one = rearranged(one, [None, 0]) if row else one
    other = rearranged(other, [0, None]) if column else other
    found = batch_matmul(one, other, dst_dtype=name_of(dtype))
    kept = [
        axis
        for axis in range(found.ndim)
        if not (row and axis == found.ndim - 2) and not (column and axis == found.ndim - 1)
    ]
    return Traced(rearranged(found, kept))
