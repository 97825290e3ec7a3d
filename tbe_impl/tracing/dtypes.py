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
    """Creates the error for code that cannot be traced; the error names the user's line."""
    return InputError(what, **{"place": str(user_location()), **parts})


def dtype_name(dtype: Any) -> str:
    """Returns the DSL name of a NumPy dtype.

    Raises:
        InputError: the DSL has no such dtype.
    """
    name = np.dtype(dtype).name
    if name not in DTYPES:
        raise trace_error("the language has no such dtype", expected=", ".join(DTYPES), got=name)
    return name


def weak_dtype(kind: str, tensors: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Returns the dtype of a Python scalar that is combined with tensors.

    The result is the common dtype of the tensors if this dtype can hold the kind of the scalar.
    Otherwise the result is NumPy's default dtype for the kind: bool, int64 or float64.

    >>> weak_dtype("f", [np.dtype("float32")]), weak_dtype("f", [np.dtype("int8")])
    (dtype('float32'), dtype('float64'))

    Args:
        kind: kind of the scalar: ``b``, ``i`` or ``f``.
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
    """Returns the result dtype of an elementwise function of NumPy or SciPy.

    Raises:
        InputError: the function does not take operands of these dtypes.
    """
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
    """Raises `InputError` if `number` is out of the range of the integer dtype `dtype`."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise trace_error(
            f"{number} is no {dtype}",
            expected=f"{np.iinfo(dtype).min} to {np.iinfo(dtype).max}",
            got=str(number),
        )


def broadcast_shapes(function: str, shapes: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    """Returns the broadcast shape of several shapes, aligned at the last axis.

    If a run-time size meets a static size above 1, the result has the static size, because the
    run-time size may be 1.

    Raises:
        InputError: two static sizes differ and neither of them is 1, or two run-time sizes are not
            provably equal.
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
    """Returns the NumPy dtype of the DSL dtype called `name`."""
    return dtype_of(name).numpy
