"""One compilation of a net for one set of shapes, which can be dropped again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from ms_fusion.presets import mindspore_state


class Compiled:
    """A net compiled for the shapes of its first call, whatever it was declared with.

    Attributes:
        seconds: what the first call took, which compiles.
    """

    def __init__(self, net: Callable[..., Any]) -> None:
        """`net` is a Cell or a function; its weights stay its own."""
        from ms_fusion.presets.outer_cell import OneShape

        cell: Any = OneShape(net)
        if not mindspore_state.is_graph_mode():
            cell.construct = mindspore_state.mindspore_module().jit(cell.construct)
        self._cell = cell
        self._phases: set[str] = set()
        self.seconds = 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the net returns; compiled at the first call."""
        if self.seconds:
            return self._cell(*args, **kwargs)
        started = time.perf_counter()
        with _new_phases(self._phases):
            result = self._cell(*args, **kwargs)
        self.seconds = time.perf_counter() - started
        return result

    def drop(self) -> None:
        """MindSpore forgets the compilation; the next call compiles anew."""
        mindspore_state.forget(self._cell, self._phases)
        self._phases.clear()
        self.seconds = 0.0


@contextlib.contextmanager
def _new_phases(known: set[str]) -> Iterator[None]:
    """Adds to `known` what is compiled inside."""
    with mindspore_state.compile_lock:
        before = mindspore_state.compiled_functions()
        yield
        known |= mindspore_state.compiled_functions() - before
