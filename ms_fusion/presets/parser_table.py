"""Registers our replacements of MindSpore functions in its parser's table.

MindSpore keeps a table of objects that it takes for others, in a module that loads MindSpore.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

RESOURCES = ("mindspore.graph._parse.resources", "mindspore._extends.parse.resources")
"""Where the table is, by version."""


@contextlib.contextmanager
def taken_for(own: Mapping[Any, Any]) -> Iterator[None]:
    """Inside, what is compiled calls these; one inside of another changes nothing.

    Args:
        own: function of MindSpore's → ours. Ours must not call the one that it replaces.
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
    """An empty one where this version has none that we know of."""
    for name in RESOURCES:
        with contextlib.suppress(ImportError, AttributeError):
            found: MutableMapping[Any, Any] = importlib.import_module(name).convert_object_map
            return found
    return {}
