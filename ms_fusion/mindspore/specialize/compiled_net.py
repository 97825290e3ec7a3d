"""Compiles a net for one set of shapes; the compilation can be freed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from ms_fusion.mindspore.state import mindspore_state


class CompiledNet:
    """A net compiled for the shapes of its first call, regardless of declared shapes.

    Attributes:
        seconds: duration of the first call, compilation included.
    """

    def __init__(self, net: Callable[..., Any]) -> None:
        """`net` is a Cell or a function; it keeps its weights."""
        from ms_fusion.mindspore.state.outer_cell import OneShape

        cell: Any = OneShape(net)
        if not mindspore_state.is_graph_mode():
            cell.construct = mindspore_state.mindspore_module().jit(cell.construct)
        self._cell = cell
        self._phases: set[str] = set()
        self.seconds = 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the net; compiles at the first call."""
        if self.seconds:
            return self._cell(*args, **kwargs)
        started = time.perf_counter()
        with _record_new_phases(self._phases):
            result = self._cell(*args, **kwargs)
        self.seconds = time.perf_counter() - started
        return result

    def drop(self) -> None:
        """Frees the compilation; the next call compiles again."""
        mindspore_state.forget(self._cell, self._phases)
        self._phases.clear()
        self.seconds = 0.0


@contextlib.contextmanager
def _record_new_phases(known: set[str]) -> Iterator[None]:
    """Adds to `known` the names of functions that are compiled in the block."""
    with mindspore_state.compile_lock:
        before = mindspore_state.compiled_functions()
        yield
        known |= mindspore_state.compiled_functions() - before
