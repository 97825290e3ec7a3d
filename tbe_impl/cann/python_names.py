"""Converts names of a model to Python identifiers and comments."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

NAME_LENGTH = 40
QUOTED_LENGTH = 80


def quote_name(text: str) -> str:
    """Quotes a name of the model for a comment, as one line of ASCII of limited length.

    >>> quote_name("a" + chr(10) + "b")
    "'a\\\\nb'"
    """
    shown = ascii(text)
    return shown if len(shown) <= QUOTED_LENGTH else f"{shown[: QUOTED_LENGTH - 1]}..."


class Names:
    """Allocates unique Python names for values of the model; the names in `taken` are reserved."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken: set[str] = {*keyword.kwlist, *dir(builtins), *taken}
        self.counts: dict[str, int] = {}

    def new(self, value: str) -> str:
        stem = identifier(value)
        return self._next_numbered(stem) if stem in self.taken else self._take(stem)

    def new_numbered(self, value: str) -> str:
        return self._next_numbered(identifier(value))

    def _next_numbered(self, stem: str) -> str:
        while True:
            self.counts[stem] = self.counts.get(stem, 0) + 1
            name = f"{stem}_{self.counts[stem]}"
            if name not in self.taken:
                return self._take(name)

    def _take(self, name: str) -> str:
        self.taken.add(name)
        return name


def identifier(value: str) -> str:
    """Converts a name of a model to a Python identifier; only the end of a long name is kept.

    >>> identifier("/layer.0/up/MatMul_output_0"), identifier("7"), identifier("")
    ('layer_0_up_MatMul_output_0', 'v7', 'v')
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", value).strip("_")[-NAME_LENGTH:].strip("_")
    return plain if plain[:1].isalpha() else f"v{plain}"
