"""Comments in the generated C that name the stage of each line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tbe_impl.dsl.tensor import Operation

_asked: ContextVar[bool] = ContextVar("tbe_impl_marks", default=False)


@contextmanager
def marking() -> Iterator[None]:
    """Programs that are written inside carry marks; what they compute is the same."""
    before = _asked.set(True)
    try:
        yield
    finally:
        _asked.reset(before)


def mark_of(op: Operation | None) -> str:
    """The comment of a stage, by its `Operation.number`; nothing unless marks are asked for."""
    return f" /* stage {op.number} */" if op is not None and _asked.get() else ""
