"""Finds the line of the user's file that calls a DSL operation."""

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

_PACKAGE_DIRECTORY = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True)
class Location:
    """A line of a file."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """The source text of the line."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def user_location() -> Location:
    """Returns the location of the innermost stack frame that executes user code.

    Frames of this package are skipped, except those of the operators of `tbe_impl.ops`. Frames of
    NumPy and SciPy are skipped too, so the stages of a traced formula get the line that calls
    NumPy. Inside an `override_location` block, the function returns the location of the block.
    """
    asked = _location_override.get()
    if asked is not None:
        return asked
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        _is_own_file(frame.f_code.co_filename) or is_numpy_frame(frame)
    ):
        frame = frame.f_back
    name, line = frame.f_code.co_filename, frame.f_lineno
    return Location(name, line)


_location_override: ContextVar[Location | None] = ContextVar("tbe_impl_asked_for", default=None)


@contextlib.contextmanager
def override_location(location: Location) -> Iterator[None]:
    """Context manager; in its ``with`` block, `user_location` returns `location`.

    A stage that is built lazily thus gets the location of the code that requested it.
    """
    before = _location_override.set(location)
    try:
        yield
    finally:
        _location_override.reset(before)


def is_numpy_frame(frame: FrameType) -> bool:
    """Whether a frame belongs to NumPy or SciPy."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("numpy", "scipy")


@lru_cache(maxsize=1024)
def _is_own_file(file: str) -> bool:
    inside = file.removeprefix(_PACKAGE_DIRECTORY)
    return inside != file and (
        not inside.startswith("/ops/") or inside == "/ops/kernel_building.py"
    )
