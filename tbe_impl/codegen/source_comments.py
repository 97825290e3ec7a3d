"""Emits comments in the generated C that name the stage of each statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tbe_impl.dsl.tensor import Operation

_is_enabled: ContextVar[bool] = ContextVar("tbe_impl_marks", default=False)


@contextmanager
def enable_stage_comments() -> Iterator[None]:
    """Enables comments with stage numbers for programs generated in a ``with`` statement's body.

    The results of the programs do not change.
    """
    before = _is_enabled.set(True)
    try:
        yield
    finally:
        _is_enabled.reset(before)


def are_stages_shown() -> bool:
    """Returns whether comments in C name the `Operation.number` of each statement's stage."""
    return _is_enabled.get()


def stage_comment(op: Operation) -> str:
    """Returns a C comment with the number of a stage; "" if comments are disabled."""
    return f" /* stage {op.number} */" if are_stages_shown() else ""
