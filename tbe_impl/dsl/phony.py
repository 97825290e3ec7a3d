"""Stages that name an operand only to depend on it."""

from __future__ import annotations

from tbe_impl.dsl.expr import Binary, Expr
from tbe_impl.dsl.tensor import Operation

PHONY = "elewise_binary_phony"
"""A stage with this tag adds its second operand on paper only: operators use it to keep an input that they do not read."""


def body_of(op: Operation) -> tuple[Expr, ...]:
    """The expressions that a stage really computes: of a phony addition the first operand."""
    if PHONY not in op.tag:
        return op.body
    return tuple(part.a if isinstance(part, Binary) else part for part in op.body)
