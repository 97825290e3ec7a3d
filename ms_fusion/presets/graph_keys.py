"""Adds the flags in force to MindSpore's key of compiled graphs.

MindSpore's own key is of types and shapes, so that a net that was compiled before its flags changed
would stay as it is. With the flags in the key it is compiled once more at its next call. Both graphs
are kept: under the first flags the first graph is found. A block holds for what is compiled in it:
outside of all blocks a call takes the graph of the block in which it was first made.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ms_fusion.presets import mindspore_state
from ms_fusion.presets.cell_attributes import CELL_FLAGS, HELD

GENERATING = ("prefill", "increment")
"""Phases of Cells that generate text."""


class Scopes(Protocol):
    """What holds in this process."""

    @property
    def held(self) -> tuple[str, bool]:
        """The flags of the innermost block or of the process, empty for none.

        Whether of a block.
        """


_first_calls: WeakKeyDictionary[Any, dict[str, str] | None] = WeakKeyDictionary()
"""By net and by MindSpore's key of a call: the flags of the block in which the call was first made.

They are empty outside of blocks. None stands for a net that was compiled before ours was there.
"""


def forget(net: Any) -> None:
    """The graphs of this net are gone, and so are the blocks in which they were compiled."""
    with contextlib.suppress(TypeError):
        _first_calls.pop(net, None)


def with_flags(original: Callable[..., Any], scopes: Scopes) -> Callable[..., Any]:
    """MindSpore's ``generate_arguments_key``, to whose key the flags are added.

    Args:
        original: MindSpore's own.
        scopes: what holds.
    """

    @functools.wraps(original)
    def generate_arguments_key(self: Any, net: Any, *args: Any) -> Any:
        key = original(self, net, *args)
        flags = _flags_of(net, str(key), scopes)
        return f"{key}.{hash(flags):x}" if flags else key

    return generate_arguments_key


def _flags_of(net: Any, key: str, scopes: Scopes) -> str:
    """Those whose graph a call takes; empty where nothing of ours holds."""
    own = getattr(net, "__dict__", {}).get(CELL_FLAGS)
    if own is not None:
        return str(own.flags)
    flags, in_block = scopes.held
    try:
        if net not in _first_calls:
            _first_calls[net] = None if mindspore_state.is_compiled(net) else {}
        calls = _first_calls[net]
    except TypeError:  # a net that nothing can be remembered of
        calls = None
    first = "" if calls is None else calls.setdefault(key, flags if in_block else "")
    return flags if in_block else first or flags


def held(cell: Any, scopes: Scopes) -> str | tuple[str, bool]:
    """What holds for a Cell: flags of its own, or what holds in the process."""
    own = cell.__dict__.get(CELL_FLAGS)
    return scopes.held if own is None else str(own.flags)


def looking_up(original: Callable[..., Any], scopes: Scopes) -> Callable[..., Any]:
    """``Cell._predict``, which in phases of text generation takes the Cell's last graph unseen.

    When something else holds than with the last call, that graph is looked up anew.

    Args:
        original: MindSpore's own.
        scopes: what holds.
    """

    @functools.wraps(original)
    def predict(self: Any, *args: Any, **kwargs: Any) -> Any:
        phases = self.__dict__.get("_phase_cache")
        if phases and self.phase in GENERATING:
            now = held(self, scopes)
            if self.__dict__.get(HELD) != now:
                phases.clear()
                self.__dict__[HELD] = now
        return original(self, *args, **kwargs)

    return predict
