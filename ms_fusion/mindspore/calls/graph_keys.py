"""Adds the flags in force to the key under which MindSpore caches a compiled graph.

MindSpore's own key contains only types and shapes. So MindSpore would still use the old graph of a
net after a change of the fusion flags. With the flags in the key, the next call compiles the net
again. Both graphs stay cached. If the flags are changed back, the first graph is used again.

A net that is first compiled in a ``with fusion():`` block keeps the flags of this block. A later
call of the net outside of all ``with fusion():`` blocks uses the same graph.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ms_fusion.mindspore.state import mindspore_state
from ms_fusion.mindspore.state.cell_attributes import CELL_FLAGS, HELD_FLAGS

GENERATION_PHASES = ("prefill", "increment")
"""Values of `Cell.phase` in text generation."""


class Scopes(Protocol):
    """Interface of the object that returns the fusion flags in force in this process."""

    @property
    def flags_in_scope(self) -> tuple[str, bool]:
        """Returns (flags, whether a ``with fusion():`` block set them).

        The flags are those of the innermost ``with fusion():`` block. Outside of all blocks, the
        flags are those that `enable` has set for the process. The flags are empty if no preset is
        in force.
        """


_first_calls: WeakKeyDictionary[Any, dict[str, str] | None] = WeakKeyDictionary()
"""Maps a net to a dict from MindSpore's key of a call to the flags at the first such call.

The flags are those of the innermost ``with fusion():`` block; the flags are empty if the first call
with this key was outside of all blocks. A net that was compiled before ms_fusion was active is
mapped to None.
"""


def forget(net: Any) -> None:
    """Deletes the record of the flags under which a net was first called.

    The caller must call this function after the compiled graphs of the net have been freed.
    """
    with contextlib.suppress(TypeError):
        _first_calls.pop(net, None)


def wrap_arguments_key(original: Callable[..., Any], scopes: Scopes) -> Callable[..., Any]:
    """Wraps MindSpore's ``generate_arguments_key``; the wrapper adds the fusion flags to the key.

    Args:
        original: MindSpore's own method.
        scopes: object that returns the flags in force.
    """

    @functools.wraps(original)
    def generate_arguments_key(self: Any, net: Any, *args: Any) -> Any:
        key = original(self, net, *args)
        flags = _flags_of(net, str(key), scopes)
        return f"{key}.{hash(flags):x}" if flags else key

    return generate_arguments_key


def _flags_of(net: Any, key: str, scopes: Scopes) -> str:
    """Returns the flags under which the graph of a call must be compiled.

    The flags are empty if no preset is in force.

    Args:
        net: the called net.
        key: MindSpore's own key of the call.
        scopes: object that returns the flags in force.
    """
    own = getattr(net, "__dict__", {}).get(CELL_FLAGS)
    if own is not None:
        return str(own.flags)
    flags, in_block = scopes.flags_in_scope
    try:
        if net not in _first_calls:
            _first_calls[net] = None if mindspore_state.is_compiled(net) else {}
        calls = _first_calls[net]
    except TypeError:  # the net cannot be a weak dictionary key
        calls = None
    first = "" if calls is None else calls.setdefault(key, flags if in_block else "")
    return flags if in_block else first or flags


def effective_flags(cell: Any, scopes: Scopes) -> str | tuple[str, bool]:
    """Returns the flags that `patch` set on a Cell, or else those of `scopes.flags_in_scope`."""
    own = cell.__dict__.get(CELL_FLAGS)
    return scopes.flags_in_scope if own is None else str(own.flags)


def wrap_predict(original: Callable[..., Any], scopes: Scopes) -> Callable[..., Any]:
    """Wraps ``Cell._predict``; after a change of flags, the wrapper looks up the graph again.

    In text generation (`GENERATION_PHASES`) the original method reuses the Cell's last graph
    without checking the flags.

    Args:
        original: MindSpore's own method.
        scopes: object that returns the flags in force.
    """

    @functools.wraps(original)
    def predict(self: Any, *args: Any, **kwargs: Any) -> Any:
        phases = self.__dict__.get("_phase_cache")
        if phases and self.phase in GENERATION_PHASES:
            now = effective_flags(self, scopes)
            if self.__dict__.get(HELD_FLAGS) != now:
                phases.clear()
                self.__dict__[HELD_FLAGS] = now
        return original(self, *args, **kwargs)

    return predict
