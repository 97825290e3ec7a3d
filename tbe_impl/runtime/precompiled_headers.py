"""Precompiles the headers of generated C and puts them into the store.

A compiler without support for precompiled headers parses the headers for each kernel.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tbe_impl.errors import CompileError
from tbe_impl.runtime.compiler_process import Compiler, run
from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import HEADERS

_log = logging.getLogger(__name__)
_HEAD = re.compile(
    r'(?:#define LANES \d+\n)?#include "vector_math.h"\n#include "runtime.h"\n(?=\n)'
)
_GCC = re.compile(r"(.*-)?gcc(-\d+)?(\.\d+)*\Z")
NAME = "headers.h"
"""Header name that GCC looks up; the precompiled file has the suffix ``.gch``."""
_requested_keys: set[str] = set()
"""Keys that were requested once. The second request for a key precompiles the headers."""
_verified_paths: dict[tuple[Path, str], Path] = {}
"""Maps (root of the store, key) to a precompiled file that this process has already checked."""
_rejected_keys: set[str] = set()
"""Keys whose precompilation or use failed."""


def head_of(source: str, compiler: Compiler) -> str:
    """Returns the include lines of a C text, or "" if the compiler cannot precompile headers."""
    is_gcc = sys.platform == "linux" and _GCC.match(Path(compiler.identity.split(" ")[0]).name)
    found = _HEAD.match(source) if is_gcc else None
    return found[0] if found else ""


def find(
    key: str, head: str, compiler: Compiler, flags: Sequence[str], store: Store
) -> Path | None:
    """Returns the file with the precompiled headers, or None if there is no such file.

    If the file is not in the store, the second request in the same process builds it.

    Args:
        key: the cache key over the include lines, the headers, the compiler and its flags.
        head: the include lines, from `head_of`.
        compiler: the C compiler.
        flags: the compiler flags of generated texts, including the include path.
        store: the store that holds the precompiled headers.
    """
    if key in _rejected_keys:
        return None
    place = (store.root, key)
    known = _verified_paths.get(place)
    if known and known.exists():
        return known
    found = store.find(HEADERS, key)
    if not found and key in _requested_keys:
        found = _precompile(key, head, compiler, flags, store)
    _requested_keys.add(key)
    if found:
        _verified_paths[place] = found
    return found


def _precompile(
    key: str, head: str, compiler: Compiler, flags: Sequence[str], store: Store
) -> Path | None:
    def make(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="tbe_impl-", dir=target.parent) as directory:
            text = Path(directory) / NAME
            text.write_text(head, "utf-8")
            own = [flag for flag in flags if flag != "-shared"]
            run(compiler, [*own, "-x", "c-header", "-o", str(target), str(text)], text.parent)

    try:
        return store.get_or_build(HEADERS, key, make)
    except CompileError as error:
        give_up(key, error)
        return None


def use(found: Path, head: str, place: Path) -> list[str]:
    """Links precompiled headers into a compile directory.

    Returns the compiler flags that make the compiler use these headers.
    """
    (place / NAME).write_text(head, "utf-8")
    (place / f"{NAME}.gch").symlink_to(found)
    return ["-include", NAME]


def give_up(key: str, error: Exception) -> None:
    """Disables the precompiled headers of `key` in this process and logs `error` as the reason."""
    _rejected_keys.add(key)
    _log.info("precompiled headers are disabled: %s", error)
