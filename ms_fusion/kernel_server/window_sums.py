"""Sums over windows of images: wide accumulators, conditions on elements, means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tbe_impl import dsl
from tbe_impl.dsl.expr import Expr, binary
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name


def wide(x: Tensor) -> Tensor:
    """Sums of narrow floats are float32."""
    return dsl.cast_to(x, "float32") if x.dtype in ("float16", "bfloat16") else x


def both(one: Expr | None, other: Expr) -> Expr:
    """Conditions that both hold; None holds always."""
    return other if one is None else binary("and", one, other)


def divided(given: Tensor, elements: Callable[..., Any]) -> Tensor:
    """A number for each part, by how many elements the part at its place has."""

    def body(*index: Expr) -> Any:
        return given(*index) / dsl.cast(given.dtype, elements(*index))

    return compute(given.shape, body, fresh_name("divided"))
