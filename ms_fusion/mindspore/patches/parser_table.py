"""Registers our replacements of MindSpore functions in the table of MindSpore's parser.

The table maps a Python object to its replacement in compiled nets. The module of MindSpore that
defines the table imports all of MindSpore.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

RESOURCES = ("mindspore.graph._parse.resources", "mindspore._extends.parse.resources")
"""The modules that define the table in the versions of MindSpore, newest version first."""


@contextlib.contextmanager
def replace_in_parser(own: Mapping[Any, Any]) -> Iterator[None]:
    """Returns a context manager that replaces MindSpore functions in nets compiled in its block.

    The ``with`` blocks of this context manager may be nested.

    Args:
        own: a dict from a function of MindSpore to its replacement. The replacement must not call
            the function of MindSpore, since the parser would replace this call, too.
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
    """Returns the replacement table of MindSpore's parser.

    Returns an empty dict if no module in `RESOURCES` defines the table.
    """
    for name in RESOURCES:
        with contextlib.suppress(ImportError, AttributeError):
            return importlib.import_module(name).convert_object_map
    return {}
