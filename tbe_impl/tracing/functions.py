"""Traces the non-elementwise functions of NumPy: reductions, data movement, matrix products.

This module exceeds 500 lines because the traced NumPy functions form one table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.expr import Expr, const, make_binary, select
from tbe_impl.dsl.ext import EXT_OPERATIONS
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.dsl.operations.compare import vsel
from tbe_impl.dsl.operations.cube import batch_matmul
from tbe_impl.dsl.operations.reductions import OPERATIONS as REDUCTIONS
from tbe_impl.dsl.operations.shaping import broadcast, concat, split, transpose
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor, as_shape, compute, fresh_name
from tbe_impl.tracing.arrays import (
    REMEDY,
    Size,
    TracedArray,
    broadcast_tensors,
    dtypes_of,
    is_weak,
    tensor_of,
)
from tbe_impl.tracing.dtypes import dtype_name, trace_error
from tbe_impl.tracing.elementwise import as_truth
from tbe_impl.tracing.indexing import index_array as index_array
from tbe_impl.tracing.indexing import rearrange_axes

_REDUCTION_OPERATIONS = {word.name: word for word in REDUCTIONS}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy function → its implementation on traced arrays."""


def _register(*functions: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that registers an implementation under NumPy names.

    Names that the installed NumPy does not have are skipped.
    """

    def enter(made: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update({getattr(np, name): made for name in functions if hasattr(np, name)})
        return made

    return enter


def call_function(function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Calls the traced implementation of a NumPy function.

    Raises:
        InputError: the function has no traced implementation, or an argument is not supported.
    """
    name = _name_of(function)
    made = FUNCTIONS.get(function)
    if made is None:
        raise trace_error(f"{name} cannot be traced", remedy=REMEDY)
    given = {
        key: item
        for key, item in keywords.items()
        if item is not np._NoValue  # type: ignore[attr-defined]
    }
    try:
        signature = inspect.signature(made)
        bound = signature.bind(*args, **given)
    except TypeError as error:
        raise trace_error(
            f"{name} cannot be traced with these arguments: {error}",
            expected=f"{name}({', '.join(signature.parameters)})",
            remedy=REMEDY,
        ) from None
    return made(*bound.args, **bound.kwargs)


def _name_of(function: Any) -> str:
    """Returns the name of a function as users write it, such as ``np.linalg.inv``."""
    room = str(getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    return f"{room}.{getattr(function, '__name__', function)}"


def call_ufunc_method(function: np.ufunc, method: str, *given: Any, **keywords: Any) -> Any:
    """Traces one of the ufunc methods ``reduce``, ``accumulate`` and ``outer``."""
    if method == "reduce" and function.__name__ in _REDUCTION_FUNCTIONS:
        return call_function(
            _REDUCTION_FUNCTIONS[function.__name__], given, {"axis": 0, **keywords}
        )
    if method == "accumulate" and function.__name__ in ("add", "multiply"):
        running = np.cumsum if function.__name__ == "add" else np.cumprod
        return call_function(running, given, {"axis": 0, **keywords})
    if method == "outer" and len(given) == 2:
        one, other = (item if isinstance(item, TracedArray) else np.asarray(item) for item in given)
        return function(one[(Ellipsis,) + (None,) * np.ndim(other)], other, **keywords)
    raise trace_error(f"np.{function.__name__}.{method} cannot be traced", remedy=REMEDY)


_REDUCTION_FUNCTIONS: Mapping[str, Any] = {
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
        for name in (
            "sum prod mean max min all any var std argmax argmin cumsum cumprod reshape ravel "
            "squeeze swapaxes repeat clip take round dot"
        ).split()
    },
    "flatten": np.ravel,
}


def array_attribute(array: TracedArray, name: str) -> Any:
    """Returns the array method `name` if the class `TracedArray` does not define this method.

    Raises:
        InputError: NumPy arrays have this method or attribute, but it cannot be traced.
    """
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
        return lambda dtype, **_: TracedArray(cast_to(array.tensor, dtype_name(dtype)))
    if name == "copy":
        return lambda *_, **__: TracedArray(array.tensor, weak=array.weak)
    if not name.startswith("_") and hasattr(np.ndarray, name):
        raise trace_error(f"the method {name} of arrays cannot be traced", remedy=REMEDY)
    raise AttributeError(f"a traced tensor has no attribute {name!r}")


def _axes(array: TracedArray, axis: Any) -> list[int]:
    """Converts `axis` to a list of non-negative integers; if `axis` is None, lists all axes."""
    if axis is None:
        return list(range(array.ndim))
    listed = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    for item in listed:
        if not -array.ndim <= int(item) < array.ndim:
            raise trace_error(
                "no such axis", expected=f"{-array.ndim} to {array.ndim - 1}", got=str(item)
            )
    return [int(item) % array.ndim for item in listed]


def _as_traced(value: Any) -> TracedArray:
    return value if isinstance(value, TracedArray) else TracedArray(tensor_of(value))


def _reduce(word: str, a: Any, axis: Any, keepdims: bool, dtype: Any = None) -> TracedArray:
    array = _as_traced(a)
    tensor = array.tensor if dtype is None else cast_to(array.tensor, dtype_name(dtype))
    axes = _axes(array, axis)
    if not axes:
        return TracedArray(tensor)
    return _drop_axes(_REDUCTION_OPERATIONS[word](tensor, axes, True), axes, keepdims)


def _drop_axes(tensor: Tensor, axes: Sequence[int], keepdims: bool) -> TracedArray:
    """Drops the reduced `axes`, which have size 1, from the result if `keepdims` is false."""
    if keepdims:
        return TracedArray(tensor)
    return TracedArray(
        rearrange_axes(tensor, [axis for axis in range(tensor.ndim) if axis not in axes])
    )


def _accumulation_dtype(a: Any, dtype: Any) -> Any:
    """Returns `dtype` or, if `dtype` is None, the dtype in which NumPy sums or multiplies `a`.

    For integers, the dtype has at least 64 bits.
    """
    return dtype if dtype is not None else np.add.reduce(np.empty(1, _as_traced(a).dtype)).dtype


@_register("sum")
def _sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _reduce("reduce_sum", a, axis, keepdims, _accumulation_dtype(a, dtype))


@_register("prod")
def _prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _reduce("reduce_prod", a, axis, keepdims, _accumulation_dtype(a, dtype))


@_register("max", "amax")
def _max(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _reduce("reduce_max", a, axis, keepdims)


@_register("min", "amin")
def _min(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _reduce("reduce_min", a, axis, keepdims)


@_register("ptp")
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _max(a, axis, keepdims=keepdims) - _min(a, axis, keepdims=keepdims)


@_register("mean")
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> TracedArray:
    array = _as_traced(a)
    wanted = (
        np.dtype(dtype)
        if dtype is not None
        else array.dtype
        if array.dtype.kind not in "iub"
        else np.dtype(np.float64)
    )
    return _reduce("reduce_mean", array, axis, keepdims, wanted)


@_register("var")
def _var(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    away = a - _mean(a, axis, keepdims=True)
    if ddof == 0:
        return _mean(np.square(away), axis, keepdims=keepdims)
    count: Any = 1
    for at in _axes(a, axis):
        count = count * a.shape[at]
    return _sum(np.square(away), axis, keepdims=keepdims) / (count - ddof)


@_register("std")
def _std(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(_var(a, axis, ddof=ddof, keepdims=keepdims))


@_register("all")
def _all(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _reduce("reduce_all", _as_traced(a), axis, keepdims, np.bool_)


@_register("any")
def _any(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _reduce("reduce_any", _as_traced(a), axis, keepdims, np.bool_)


@_register("count_nonzero")
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _sum(TracedArray(as_truth(a.tensor)), axis, keepdims=keepdims)


def _arg_extremum(word: str, a: Any, axis: Any, keepdims: bool) -> TracedArray:
    array = a if axis is not None else _ravel(a)
    along = 0 if axis is None else _axes(array, axis)[0]
    found = EXT_OPERATIONS[word](array.tensor, along, True, "int64")
    if axis is None and keepdims:
        return TracedArray(rearrange_axes(found, [None] * a.ndim))
    return _drop_axes(found, [along], keepdims)


@_register("argmax")
def _argmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _arg_extremum("argmax", a, axis, keepdims)


@_register("argmin")
def _argmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    return _arg_extremum("argmin", a, axis, keepdims)


def _accumulate(word: str, a: Any, axis: Any, dtype: Any) -> TracedArray:
    array = a if axis is not None else _ravel(a)
    tensor = cast_to(array.tensor, dtype_name(_accumulation_dtype(array, dtype)))
    return TracedArray(EXT_OPERATIONS[word](tensor, _axes(array, 0 if axis is None else axis)[0]))


@_register("cumsum")
def _cumsum(a: Any, axis: Any = None, dtype: Any = None) -> TracedArray:
    return _accumulate("cumsum", a, axis, dtype)


@_register("cumprod")
def _cumprod(a: Any, axis: Any = None, dtype: Any = None) -> TracedArray:
    return _accumulate("cumprod", a, axis, dtype)


@_register("sort")
def _sort(a: Any, axis: Any = -1) -> TracedArray:
    array = a if axis is not None else _ravel(a)
    return TracedArray(EXT_OPERATIONS["sort"](array.tensor, -1 if axis is None else axis)[0])


@_register("argsort")
def _argsort(a: Any, axis: Any = -1, *, kind: Any = "stable") -> TracedArray:
    array = a if axis is not None else _ravel(a)
    return TracedArray(
        cast_to(EXT_OPERATIONS["sort"](array.tensor, -1 if axis is None else axis)[1], "int64")
    )


@_register("shape")
def _shape(a: Any) -> Any:
    return a.shape


@_register("ndim")
def _ndim(a: Any) -> Any:
    return a.ndim


@_register("size")
def _size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else a.shape[axis]


def _sizes(shape: Any) -> list[Any]:
    listed = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    return [item.expression if isinstance(item, Size) else int(item) for item in listed]


@_register("reshape")
def _reshape(a: Any, newshape: Any = None, order: str = "C", *, shape: Any = None) -> Any:
    if order != "C":
        raise trace_error("np.reshape cannot be traced in this order", expected="C", got=order)
    wanted = _sizes(newshape if shape is None else shape)
    return a.view(_reshape_tensor(a.tensor, wanted))


def _reshape_tensor(tensor: Tensor, sizes: Sequence[Any]) -> Tensor:
    """Reshapes a tensor to `sizes`.

    If only axes of size 1 are added or dropped, the stage contains no index arithmetic.
    """
    ones = [at for at, size in enumerate(tensor.shape) if is_one(size)]
    if -1 not in [size for size in sizes if isinstance(size, int)]:
        left = [at for at in range(tensor.ndim) if at not in ones]
        wanted = as_shape(sizes)
        long = [at for at, size in enumerate(wanted) if not is_one(size)]
        if len(long) == len(left) and all(
            wanted[at] is tensor.shape[axis]
            or (
                isinstance(sizes[at], int)
                and make_binary("eq", wanted[at], tensor.shape[axis]) is True
            )
            for at, axis in zip(long, left, strict=True)
        ):
            places = dict(zip(long, left, strict=True))
            return rearrange_axes(tensor, [places.get(at) for at in range(len(wanted))])
    return EXT_OPERATIONS["reshape"](tensor, list(sizes))


@_register("ravel")
def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, -1, order)


@_register("transpose", "permute_dims")
def _transpose(a: Any, axes: Any = None) -> Any:
    order = list(reversed(range(a.ndim))) if axes is None else _axes(a, tuple(axes))
    return a.view(transpose(a.tensor, order)) if a.ndim > 1 else a


@_register("swapaxes")
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    one, other = _axes(a, (axis1, axis2))
    order[one], order[other] = order[other], order[one]
    return _transpose(a, order)


@_register("moveaxis")
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    moved, places = _axes(a, source), _axes(a, destination)
    order = [axis for axis in range(a.ndim) if axis not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return _transpose(a, order)


@_register("expand_dims")
def _expand_dims(a: Any, axis: Any) -> Any:
    listed = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    rank = a.ndim + len(listed)
    new = [item % rank for item in listed]
    rest = iter(range(a.ndim))
    return a.view(
        rearrange_axes(a.tensor, [None if at in new else next(rest) for at in range(rank)])
    )


@_register("squeeze")
def _squeeze(a: Any, axis: Any = None) -> Any:
    ones = [at for at, size in enumerate(a.tensor.shape) if is_one(size)]
    gone = ones if axis is None else _axes(a, axis)
    return a.view(rearrange_axes(a.tensor, [at for at in range(a.ndim) if at not in gone]))


@_register("broadcast_to")
def _broadcast_to(array: Any, shape: Any) -> Any:
    return array.view(broadcast(array.tensor, _sizes(shape)))


@_register("concatenate", "concat")
def _concatenate(arrays: Sequence[Any], axis: Any = 0) -> TracedArray:
    several = [_as_traced(item) for item in arrays]
    if axis is None:
        several, axis = [_ravel(item) for item in several], 0
    dtype = np.result_type(*(item.dtype for item in several))
    return TracedArray(concat([tensor_of(item, dtype) for item in several], axis))


@_register("stack")
def _stack(arrays: Sequence[Any], axis: int = 0) -> TracedArray:
    return _concatenate([_expand_dims(_as_traced(item), axis) for item in arrays], axis)


@_register("hstack")
def _hstack(tup: Sequence[Any]) -> TracedArray:
    several = [_as_traced(item) for item in tup]
    return _concatenate(several, 0 if several[0].ndim == 1 else 1)


@_register("vstack")
def _vstack(tup: Sequence[Any]) -> TracedArray:
    several = [_as_traced(item) for item in tup]
    return _concatenate([_expand_dims(item, 0) if item.ndim == 1 else item for item in several], 0)


@_register("split", "array_split")
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[TracedArray]:
    along = _axes(ary, axis)[0]
    size = ary.shape[along]
    if isinstance(size, Size):
        raise trace_error("np.split needs an axis whose size is known", got=str(size))
    parts = np.array_split(np.arange(size), indices_or_sections)
    return [ary.view(part) for part in split(ary.tensor, along, [len(item) for item in parts])[1]]


@_register("flip")
def _flip(m: Any, axis: Any = None) -> Any:
    return m.view(EXT_OPERATIONS["reverse"](m.tensor, _axes(m, axis)))


@_register("tile")
def _tile(A: Any, reps: Any) -> TracedArray:
    times = list(reps) if isinstance(reps, (tuple, list)) else [reps]
    array = A
    while array.ndim < len(times):
        array = _expand_dims(array, 0)
    return TracedArray(
        EXT_OPERATIONS["tile"](array.tensor, [1] * (array.ndim - len(times)) + times)
    )


@_register("repeat")
def _repeat(a: Any, repeats: int, axis: Any = None) -> TracedArray:
    array = a if axis is not None else _ravel(a)
    along = 0 if axis is None else _axes(array, axis)[0]
    if not isinstance(repeats, (int, np.integer)):
        raise trace_error(
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
    return TracedArray(made)


@_register("roll")
def _roll(a: Any, shift: int, axis: Any = None) -> Any:
    if axis is None:
        return _reshape(_roll(_ravel(a), shift, 0), a.shape)
    along = _axes(a, axis)[0]
    size = a.shape[along]
    if isinstance(size, Size):
        raise trace_error("np.roll needs an axis whose size is known", got=str(size))
    cut = (size - shift) % max(size, 1)
    front, back = ((slice(None),) * along + (part,) for part in (slice(cut, None), slice(0, cut)))
    return _concatenate([a[front], a[back]], along) if cut else a


@_register("pad")
def _pad(
    array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0
) -> TracedArray:
    if mode != "constant" or np.ndim(constant_values):
        raise trace_error(
            "np.pad cannot be traced like this", expected="mode constant and one value", got=mode
        )
    pairs = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    return TracedArray(
        EXT_OPERATIONS["pad"](array.tensor, [tuple(pair) for pair in pairs], constant_values)
    )


def _triangle(m: Any, k: int, *, upper: bool) -> TracedArray:
    tensor = m.tensor
    zero = const(0, tensor.dtype)

    def pick(*index: Expr) -> Expr:
        inside = make_binary("ge" if upper else "le", index[-1] - index[-2], const(int(k)))
        return select(inside, tensor(*index), zero)

    made: Tensor = compute(tensor.shape, pick, fresh_name("triangle"))
    return TracedArray(made)


@_register("tril")
def _tril(m: Any, k: int = 0) -> TracedArray:
    return _triangle(m, k, upper=False)


@_register("triu")
def _triu(m: Any, k: int = 0) -> TracedArray:
    return _triangle(m, k, upper=True)


@_register("where")
def _where(condition: Any, x: Any, y: Any) -> TracedArray:
    dtype = np.result_type(*dtypes_of([x, y]))
    mask = as_truth(tensor_of(condition))
    tensors = broadcast_tensors("np.where", [mask, tensor_of(x, dtype), tensor_of(y, dtype)])
    return TracedArray(vsel(*tensors), weak=all(map(is_weak, (condition, x, y))))


@_register("clip")
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    found = a if low is None else np.maximum(a, low)
    return found if high is None else np.minimum(found, high)


@_register("take")
def _take(a: Any, indices: Any, axis: Any = None) -> Any:
    array: Any = _as_traced(a) if axis is not None else _ravel(_as_traced(a))
    along = 0 if axis is None else _axes(array, axis)[0]
    return array[(slice(None),) * along + (indices,)]


@_register("round", "around")
def _round(a: Any, decimals: int = 0) -> Any:
    if decimals:
        factor = 10.0**decimals
        return np.rint(a * factor) / factor
    return np.rint(a) if a.dtype.kind not in "iub" else a


@_register("nan_to_num")
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


def _fill(like: Any, value: Any, dtype: Any) -> TracedArray:
    name = dtype_name(like.dtype if dtype is None else dtype)
    made: Tensor = broadcast(const(value, name), like.tensor.shape)
    return TracedArray(made)


@_register("zeros_like", "empty_like")
def _zeros_like(a: Any, dtype: Any = None) -> TracedArray:
    return _fill(a, 0, dtype)


@_register("ones_like")
def _ones_like(a: Any, dtype: Any = None) -> TracedArray:
    return _fill(a, 1, dtype)


@_register("full_like")
def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> TracedArray:
    return _fill(a, fill_value, dtype)


@_register("diff")
def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    for _ in range(n):
        ahead = [slice(None)] * _axes(a, axis)[0]
        later, earlier = ((*ahead, part) for part in (slice(1, None), slice(None, -1)))
        a = a[later] - a[earlier]
    return a


@_register("copy")
def _copy(a: Any, order: str = "K") -> TracedArray:
    return TracedArray(a.tensor, weak=a.weak)


@_register("dot")
def _dot(a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        raise trace_error("np.dot cannot be traced for more than two axes", remedy="Use np.matmul")
    return matmul(a, b)


@_register("outer")
def _outer(a: Any, b: Any) -> Any:
    return _ravel(_as_traced(a))[:, None] * _ravel(_as_traced(b))[None, :]


def matmul(a: Any, b: Any) -> TracedArray:
    """Traces ``a @ b`` with NumPy's rules.

    A 1-d `a` is treated as a row and a 1-d `b` as a column; the added axis of size 1 is dropped
    from the result. Batch axes are broadcast.
    """
    dtype = np.result_type(*dtypes_of([a, b]))
    if dtype.kind in "iub" and dtype != np.int32:
        raise trace_error(
            "matrix products of integers are traced in int32",
            got=str(dtype),
            remedy="Cast them with astype",
        )
    one, other = tensor_of(a, dtype), tensor_of(b, dtype)
    if not one.ndim or not other.ndim:
        raise trace_error("np.matmul takes arrays with axes", remedy="Use * for a number")
    row, column = one.ndim == 1, other.ndim == 1
    one = rearrange_axes(one, [None, 0]) if row else one
    other = rearrange_axes(other, [0, None]) if column else other
    found = batch_matmul(one, other, dst_dtype=dtype_name(dtype))
    kept = [
        axis
        for axis in range(found.ndim)
        if not (row and axis == found.ndim - 2) and not (column and axis == found.ndim - 1)
    ]
    return TracedArray(rearrange_axes(found, kept))
