"""What dtype and shape a NumPy formula has when it runs on tensors of the language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.dtypes import DTYPES, dtype_of
from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.location import here
from tbe_impl.dsl.sizes import is_one, same_size
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError


def refused(what: str, **parts: Any) -> InputError:
    """The error for what no graph can be made of, at the user's line."""
    return InputError(what, **{"place": str(here()), **parts})


def name_of(dtype: Any) -> str:
    """A NumPy dtype by the name that the language has for it.

    Raises:
        InputError: it has none.
    """
    name = np.dtype(dtype).name
    if name not in DTYPES:
        raise refused("the language has no such dtype", expected=", ".join(DTYPES), got=name)
    return name


def weak_dtype(kind: str, tensors: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype that a Python number takes beside tensors: theirs, unless they cannot hold its kind.

    >>> weak_dtype("f", [np.dtype("float32")]), weak_dtype("f", [np.dtype("int8")])
    (dtype('float32'), dtype('float64'))

    Args:
        kind: ``b``, ``i`` or ``f``.
        tensors: of the tensors beside it.
    """
    order = "bif"
    if tensors:
        common = np.result_type(*tensors)
        held = "b" if common.kind == "b" else "i" if common.kind in "iu" else "f"
        if order.index(kind) <= order.index(held):
            return common
    return np.dtype({"b": np.bool_, "i": np.int64, "f": np.float64}[kind])


def result_of(function: np.ufunc, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype that an elementwise function of NumPy or SciPy gives."""
    try:
        with np.errstate(all="ignore"):
            found: np.dtype[Any] = function(*(np.empty(0, dtype) for dtype in dtypes)).dtype
    except TypeError as error:
        listed = ", ".join(map(str, dtypes))
        raise refused(f"{function.__name__} has no meaning for these dtypes", got=listed) from error
    return found


def check_fits(number: Any, dtype: np.dtype[Any]) -> None:
    """Raises when a whole number lies outside of an integer dtype."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise refused(
            f"{number} is no {dtype}",
            expected=f"{np.iinfo(dtype).min} to {np.iinfo(dtype).max}",
            got=str(number),
        )


def broadcast_shapes(function: str, shapes: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    """The shape that tensors have together, aligned at the right.

    Of a size that is known at run time only and one that is a number above 1, the number is taken: the other may be 1.

    Raises:
        InputError: two sizes differ, or are two that are known at run time only.
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
            elif is_one(size) or same_size(size, other):
                continue
            elif isinstance(size, Const) != isinstance(other, Const):
                found[at] = size if isinstance(size, Const) else other
            else:
                raise refused(
                    f"{function}: the shapes cannot be broadcast",
                    expected="sizes that are the same, or 1",
                    got=" and ".join(map(shape_text, shapes)),
                )
    return tuple(reversed(found))


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a tensor's."""
    return dtype_of(name).numpy
