"""Parses emitted C statements, one per line, to find the names that they define and use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

IDENTIFIER = re.compile(r"\w+")

_DEFINITION = re.compile(r"(?:const )?(\w+) (\w+) = (.*?);( /\*.*\*/)?$")
_WRITE = re.compile(r"(if \(\w+\) )?\w+_(store|store_part|stream)\(")
_CALL = re.compile(r"\w+\(.*\);[^;]*$")
_READ = re.compile(r"\w+_load\(.*\)$")


@dataclass(frozen=True)
class CStatement:
    """One C statement.

    Attributes:
        text: the whole line.
        c, name, value: C type, name and initialiser of a definition; empty for other statements.
    """

    text: str
    c: str = ""
    name: str = ""
    value: str = ""

    @staticmethod
    def parse(text: str) -> CStatement:
        """Parses one line."""
        match = _DEFINITION.match(text)
        return CStatement(text, *match.groups()[:3]) if match else CStatement(text)

    @property
    def identifiers(self) -> set[str]:
        """Identifiers that the statement uses.

        For a definition, these are the identifiers in its initialiser. For another statement, they
        are all identifiers in its text.
        """
        return set(IDENTIFIER.findall(self.value or self.text))

    @property
    def is_prefetch(self) -> bool:
        """Whether the statement is a prefetch."""
        return self.text.startswith(("fetch(", "fetch_of("))

    @property
    def is_load(self) -> bool:
        """Whether the statement defines a vector by a contiguous load."""
        return bool(_READ.match(self.value))

    @property
    def is_store(self) -> bool:
        """Whether the statement stores a vector."""
        return bool(_WRITE.match(self.text))

    @property
    def is_call(self) -> bool:
        """Whether the statement is only a call."""
        return bool(_CALL.match(self.text))

    def assignment_text(self) -> str:
        """Returns a definition as an assignment, for a name that is already declared."""
        return self.text[self.text.index(f" {self.name} = ") + 1 :] if self.name else self.text


def number_prefetches(lines: Iterable[Any], place: int | str) -> list[Any]:
    """Passes `place`, the number of a vector among consecutive vectors, to each prefetch.

    In C, only the first vector of each cache line then prefetches the line.
    """
    return [
        f"fetch_of({place}, {line.removeprefix('fetch(')}"
        if isinstance(line, str) and line.startswith("fetch(")
        else line
        for line in lines
    ]
