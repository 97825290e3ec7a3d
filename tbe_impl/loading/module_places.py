"""Caches the file locations of loaded modules, because every operator build reads all locations."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

_location_cache: dict[str, tuple[Callable[[], Any], str]] = {}
"""Dict from a module's name to (weak reference to the module, location of the module's file)."""


def find_modules_below(loaded: Mapping[str, Any], places: tuple[str, ...]) -> list[str]:
    """Returns the names of the modules in `loaded` that are located below the paths `places`.

    The location of a module is its file or, for a package without a file, its first directory.
    """
    if len(_location_cache) > 2 * len(sys.modules) + 1000:
        _location_cache.clear()  # drops names of unloaded modules
    found = []
    for name, module in loaded.items():
        known = _location_cache.get(name)
        if known is not None and known[0]() is module:
            place = known[1]
        else:
            place = _place_of(module)
            with suppress(TypeError):
                _location_cache[name] = weakref.ref(module), place
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
