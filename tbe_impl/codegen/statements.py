"""Parses emitted C statements, one to a line: what each defines and uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

WORD = re.compile(r"\w+")

_DEFINITION = re.compile(r"(?:const )?(\w+) (\w+) = (.*?);( /\*.*\*/)?$")
_WRITE = re.compile(r"(if \(\w+\) )?\w+_(store|store_part|stream)\(")
_CALL = re.compile(r"\w+\(.*\);[^;]*$")
_READ = re.compile(r"\w+_load\(.*\)$")


@dataclass(frozen=True)
class Statement:
    """One statement.

    Attributes:
        text: all of it.
        c, name, value: of one that defines a name: its type, that name and what it is; else empty.
    """

    text: str
    c: str = ""
    name: str = ""
    value: str = ""

    @staticmethod
    def of(text: str) -> Statement:
        """A line as a statement."""
        match = _DEFINITION.match(text)
        return Statement(text, *match.groups()[:3]) if match else Statement(text)

    @property
    def words(self) -> set[str]:
        """The names that it is made of, among other words."""
        return set(WORD.findall(self.value or self.text))

    @property
    def fetches(self) -> bool:
        """Whether it asks for memory that is read later."""
        return self.text.startswith(("fetch(", "fetch_of("))

    @property
    def reads(self) -> bool:
        """Whether it defines a vector as it lies in memory."""
        return bool(_READ.match(self.value))

    @property
    def writes(self) -> bool:
        """Whether it writes a vector to memory."""
        return bool(_WRITE.match(self.text))

    @property
    def calls(self) -> bool:
        """Whether it is nothing but a call."""
        return bool(_CALL.match(self.text))

    def assigned(self) -> str:
        """The same for a name that there is already."""
        return self.text[self.text.index(f" {self.name} = ") + 1 :] if self.name else self.text


def of_vector(lines: Iterable[Any], place: int | str) -> list[Any]:
    """Statements for one of several vectors that are taken at once, so that those of one line of the cache ask for it once."""
    return [
        f"fetch_of({place}, {line.removeprefix('fetch(')}"
        if isinstance(line, str) and line.startswith("fetch(")
        else line
        for line in lines
    ]
