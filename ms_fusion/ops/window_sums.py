"""Provides helpers for sums over windows of images: float32 accumulators, conditions, means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tbe_impl import dsl
from tbe_impl.dsl.expr import Expr, make_binary
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name


def widen(x: Tensor) -> Tensor:
    """Casts float16 and bfloat16 tensors to float32; returns tensors of other dtypes unchanged."""
    return dsl.cast_to(x, "float32") if x.dtype in ("float16", "bfloat16") else x


def conjunction(one: Expr | None, other: Expr) -> Expr:
    """Returns the logical and of two conditions.

    None means a condition that is always true.
    """
    return other if one is None else make_binary("and", one, other)


def divide_by_count(given: Tensor, elements: Callable[..., Any]) -> Tensor:
    """Divides each element of `given` by a number that depends on the element's index.

    `elements` returns this number.
    """

    def body(*index: Expr) -> Any:
        return given(*index) / dsl.cast(given.dtype, elements(*index))

    return compute(given.shape, body, fresh_name("divided"))
