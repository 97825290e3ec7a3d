"""Checks a compiled library before the dynamic loader maps it."""

from __future__ import annotations

import _ctypes
import ctypes
import struct
from collections.abc import Sequence
from pathlib import Path

from tbe_impl import environment
from tbe_impl.errors import CompileError

_ELF = b"\x7fELF"
_SHARED, _LOADED = 3, 1


def load_library(path: Path, symbols: Sequence[str]) -> ctypes.CDLL:
    """The library of a file, with these symbols in it.

    Raises:
        CompileError: it cannot be loaded, or lacks one of them.
    """
    try:
        library = ctypes.CDLL(str(path))
        for symbol in symbols:
            getattr(library, symbol)
    except (OSError, AttributeError) as error:
        raise CompileError(
            "a compiled kernel cannot be loaded", place=str(path), got=str(error)
        ) from error
    return library


def check_library(path: Path, symbols: Sequence[str], *, compiler: str) -> None:
    """Raises `CompileError`, which names the compiler, unless it left a whole library with these symbols."""
    problem = _what_is_cut(path.read_bytes())
    if not problem:
        try:
            library = load_library(path, symbols)
        except CompileError as error:
            # where it lay for the moment is of no use to anybody
            problem = str(error.__cause__).replace(f"{path}: ", "")
        else:
            # the next one to load it names it by the place where it stays
            _ctypes.dlclose(library._handle)
    if problem:
        raise CompileError(
            "the C compiler left no library that can be loaded",
            place=compiler,
            expected=f"a shared library with {symbols[0]}" if symbols else None,
            got=problem,
            remedy=f"Name another compiler in {environment.COMPILER.name}",
        )


def _what_is_cut(content: bytes) -> str:
    """Why the loader would fail or die of an ELF file of 64 bits, empty when nothing is seen; other kinds are its matter."""
    if content[:4] != _ELF:
        return "" if content[:4] in _OTHERS else f"{len(content)} bytes that are none"
    if content[4:6] != b"\x02\x01":
        return ""
    if len(content) < 64:
        return "a header that is cut off"
    kind, parts, sections, each, count, section, number = struct.unpack_from(
        "<16xH14xQQ6xHHHH", content
    )
    if kind != _SHARED:
        return "another kind of file"
    if parts + each * count > len(content) or sections + section * number > len(content):
        return "a library that is cut off"
    for place in range(parts, parts + each * count, max(each, 56)):
        use, begin, size = struct.unpack_from("<I4xQ16xQ", content, place)
        if use == _LOADED and begin + size > len(content):
            return "a library that is cut off"
    return ""


_OTHERS = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How libraries of macOS begin."""
