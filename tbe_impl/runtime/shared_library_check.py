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
_ET_DYN, _PT_LOAD = 3, 1


def load_library(path: Path, symbols: Sequence[str]) -> ctypes.CDLL:
    """Loads a library and checks that it contains `symbols`.

    Raises:
        CompileError: the library cannot be loaded, or a symbol is missing.
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


def check_library(
    path: Path, symbols: Sequence[str], *, compiler: str, is_cpp: bool = False
) -> None:
    """Checks that a library can be loaded.

    A C library is unloaded, so that the next load uses its final path. A C++ library stays loaded:
    some linkers, such as that of ziglang, do not run destructors of static objects when a library
    is unloaded, but at the exit of the process, when other memory may lie at their addresses. The
    loader finds a loaded library again under its final path.

    Raises:
        CompileError: the library cannot be loaded. The message names the compiler.
    """
    problem = _find_truncation(path.read_bytes())
    if not problem:
        try:
            library = load_library(path, symbols)
        except CompileError as error:
            # the error does not show the staging path, which the user does not know
            problem = str(error.__cause__).replace(f"{path}: ", "")
        else:
            if not is_cpp:
                _ctypes.dlclose(library._handle)
    if problem:
        raise CompileError(
            "the C compiler produced no library that can be loaded",
            place=compiler,
            expected=f"a shared library with {symbols[0]}" if symbols else None,
            got=problem,
            remedy=f"Name another compiler in {environment.COMPILER.name}",
        )


def _find_truncation(content: bytes) -> str:
    """Returns the reason why a library would crash the loader, or "" if the library is intact.

    Only the type and the completeness of 64-bit ELF files are checked.
    """
    if content[:4] != _ELF:
        return "" if content[:4] in _MACHO_MAGIC else f"{len(content)} bytes of another format"
    if content[4:6] != b"\x02\x01":
        return ""
    if len(content) < 64:
        return "a truncated header"
    kind, parts, sections, each, count, section, number = struct.unpack_from(
        "<16xH14xQQ6xHHHH", content
    )
    if kind != _ET_DYN:
        return "another type of ELF file"
    if parts + each * count > len(content) or sections + section * number > len(content):
        return "a truncated library"
    for place in range(parts, parts + each * count, max(each, 56)):
        use, begin, size = struct.unpack_from("<I4xQ16xQ", content, place)
        if use == _PT_LOAD and begin + size > len(content):
            return "a truncated library"
    return ""


_MACHO_MAGIC = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""Magic numbers of macOS libraries."""
