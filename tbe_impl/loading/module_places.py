"""Where the modules of this process lie on disk: asked with every build, of hundreds or thousands of modules."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

_known: dict[str, tuple[Callable[[], Any], str]] = {}
"""Module by name → a weak reference to it, where it lies: a module says so once."""


def modules_below(loaded: Mapping[str, Any], places: tuple[str, ...]) -> list[str]:
    """Names of those modules whose file, or first directory, begins with one of the places."""
    if len(_known) > 2 * len(sys.modules) + 1000:
        _known.clear()  # names that nobody has any more
    found = []
    for name, module in loaded.items():
        known = _known.get(name)
        if known is not None and known[0]() is module:
            place = known[1]
        else:
            place = _place_of(module)
            with suppress(TypeError):
                _known[name] = weakref.ref(module), place
        if place.startswith(places):
            found.append(name)
    return found


def _place_of(module: Any) -> str:
    told = getattr(module, "__dict__", {})
    place = told.get("__file__")
    if place is None and "__path__" in told:
        with suppress(KeyError):
            place = next(iter(told["__path__"] or ()), None)
    return place if isinstance(place, str) else ""
