"""Where in the user's files a word of the language was used."""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType

_OURS = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True)
class Location:
    """A line of a file."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """What stands there."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def here() -> Location:
    """The nearest line outside this package's own language: the operator's, or the program's that calls us.

    Where NumPy stands between, as for a formula that is traced, it is the line that calls NumPy.
    """
    asked = _asked_for.get()
    if asked is not None:
        return asked
    frame = sys._getframe(1)
    while frame.f_back is not None and (_is_ours(frame.f_code.co_filename) or is_numeric(frame)):
        frame = frame.f_back
    name, line = frame.f_code.co_filename, frame.f_lineno
    return Location(name, line)


_asked_for: ContextVar[Location | None] = ContextVar("tbe_impl_asked_for", default=None)


@contextlib.contextmanager
def asked_at(location: Location) -> Iterator[None]:
    """What is done inside was asked for there; it is done now because nobody needed it before."""
    before = _asked_for.set(location)
    try:
        yield
    finally:
        _asked_for.reset(before)


def is_numeric(frame: FrameType) -> bool:
    """Whether a frame belongs to NumPy or SciPy."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("numpy", "scipy")


@lru_cache(maxsize=1024)
def _is_ours(file: str) -> bool:
    inside = file.removeprefix(_OURS)
    return inside != file and not inside.startswith("/ops/")
