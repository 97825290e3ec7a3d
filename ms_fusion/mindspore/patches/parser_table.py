"""Registers our replacements of MindSpore functions in its parser's table.

The table maps Python objects to their replacements. Its module imports MindSpore.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

RESOURCES = ("mindspore.graph._parse.resources", "mindspore._extends.parse.resources")
"""Module of the table, by version."""


@contextlib.contextmanager
def replace_in_parser(own: Mapping[Any, Any]) -> Iterator[None]:
    """Replaces functions for compilations in the block; reentrant.

    Args:
        own: function of MindSpore → replacement. The replacement must not call the original.
    """
    table = _table()
    before = {name: table[name] for name in own if name in table}
    table.update(own)
    try:
        yield
    finally:
        for name in own:
            table.pop(name, None)
        table.update(before)


def _table() -> MutableMapping[Any, Any]:
    """The parser's table; an empty one if this version has none in a known module."""
    for name in RESOURCES:
        with contextlib.suppress(ImportError, AttributeError):
            found: MutableMapping[Any, Any] = importlib.import_module(name).convert_object_map
            return found
    return {}
