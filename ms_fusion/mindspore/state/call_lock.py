"""Serialises calls of compiled nets from several threads: MindSpore is not thread-safe."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ms_fusion.mindspore.state.mindspore_state import compile_lock, is_graph_mode, jit_executor

_is_installed = False


def install(is_wanted: Callable[[], bool]) -> None:
    """Makes calls of Cells in graph mode and of ``@ms.jit`` functions wait for a common lock.

    The lock is `compile_lock`, which is also held during compilations.

    Args:
        is_wanted: function that returns whether a call must take the lock. Each call of a net calls
            this function.
    """
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    from mindspore import nn

    nn.Cell.__call__ = _wrap_with_lock(nn.Cell.__call__, lambda: is_wanted() and is_graph_mode())
    executor: Any = jit_executor()
    if executor is not None:
        executor.__call__ = _wrap_with_lock(executor.__call__, is_wanted)


def _wrap_with_lock(
    original: Callable[..., Any], is_wanted: Callable[[], bool]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_wanted():
            return original(self, *args, **kwargs)
        with compile_lock:
            return original(self, *args, **kwargs)

    return call
