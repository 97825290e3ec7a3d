"""Computes dtypes and shapes of traced NumPy formulas: promotion and broadcasting rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.dtypes import DTYPES, dtype_of
from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.sizes import is_one, is_same_size
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError


def trace_error(what: str, **parts: Any) -> InputError:
    """The error for code that cannot be traced, with the user's line as its place."""
    return InputError(what, **{"place": str(user_location()), **parts})


def dtype_name(dtype: Any) -> str:
    """The DSL name of a NumPy dtype.

    Raises:
        InputError: the DSL has no such dtype.
    """
    name = np.dtype(dtype).name
    if name not in DTYPES:
        raise trace_error("the language has no such dtype", expected=", ".join(DTYPES), got=name)
    return name


def weak_dtype(kind: str, tensors: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype of a Python scalar beside tensors: theirs, unless they cannot hold its kind.

    >>> weak_dtype("f", [np.dtype("float32")]), weak_dtype("f", [np.dtype("int8")])
    (dtype('float32'), dtype('float64'))

    Args:
        kind: ``b``, ``i`` or ``f``.
        tensors: dtypes of the other operands.
    """
    order = "bif"
    if tensors:
        common = np.result_type(*tensors)
        held = "b" if common.kind == "b" else "i" if common.kind in "iu" else "f"
        if order.index(kind) <= order.index(held):
            return common
    return np.dtype({"b": np.bool_, "i": np.int64, "f": np.float64}[kind])


def result_dtype(function: np.ufunc, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The result dtype of an elementwise function of NumPy or SciPy."""
    try:
        with np.errstate(all="ignore"):
            found: np.dtype[Any] = function(*(np.empty(0, dtype) for dtype in dtypes)).dtype
    except TypeError as error:
        listed = ", ".join(map(str, dtypes))
        raise trace_error(
            f"{function.__name__} has no meaning for these dtypes", got=listed
        ) from error
    return found


def check_fits(number: Any, dtype: np.dtype[Any]) -> None:
    """Raises if a number is out of the range of an integer dtype."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise trace_error(
            f"{number} is no {dtype}",
            expected=f"{np.iinfo(dtype).min} to {np.iinfo(dtype).max}",
            got=str(number),
        )


def broadcast_shapes(function: str, shapes: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    """The broadcast shape of several shapes, aligned at the last axis.

    Of a size known only at run time and a static size above 1, the static size is the result: the
    run-time size may be 1.

    Raises:
        InputError: two sizes differ, or two different sizes are known only at run time.
    """
    found: list[Expr] = []
    for shape in shapes:
        for at, size in enumerate(reversed(shape)):
            if at == len(found):
                found.append(size)
                continue
            other = found[at]
            if is_one(other):
                found[at] = size
            elif is_one(size) or is_same_size(size, other):
                continue
            elif isinstance(size, Const) != isinstance(other, Const):
                found[at] = size if isinstance(size, Const) else other
            else:
                raise trace_error(
                    f"{function}: the shapes cannot be broadcast",
                    expected="sizes that are the same, or 1",
                    got=" and ".join(map(shape_text, shapes)),
                )
    return tuple(reversed(found))


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a DSL dtype name."""
    return dtype_of(name).numpy
