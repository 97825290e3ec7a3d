"""Precompiled headers of generated C, stored in the kernel cache.

A compiler that cannot use them reads the headers, as it would without.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tbe_impl.errors import CompileError
from tbe_impl.runtime.cache import KernelCache
from tbe_impl.runtime.compiler_process import Compiler, run

_log = logging.getLogger(__name__)
_HEAD = re.compile(
    r'(?:#define LANES \d+\n)?#include "vector_math.h"\n#include "runtime.h"\n(?=\n)'
)
_GCC = re.compile(r"(.*-)?gcc(-\d+)?(\.\d+)*\Z")
NAME = "headers.h"
"""Under which GCC looks for what was read, which has ``.gch`` behind it."""
_asked: set[str] = set()
"""Keys that this process asked for: whoever compiles a single kernel does not wait for them to be made."""
_checked: dict[tuple[Path, str], Path] = {}
"""Where they lie, by cache and key: they are as large as a hundred kernels, and are looked over once."""
_useless: set[str] = set()
"""Keys of what could not be made, or used."""


def head_of(source: str, compiler: Compiler) -> str:
    """What a text includes, if this compiler can keep it as read; else nothing."""
    is_gcc = sys.platform == "linux" and _GCC.match(Path(compiler.identity.split(" ")[0]).name)
    found = _HEAD.match(source) if is_gcc else None
    return found[0] if found else ""


def find(
    key: str, head: str, compiler: Compiler, flags: Sequence[str], store: KernelCache
) -> Path | None:
    """Where they lie, made at the second time that a process asks; None where there are none.

    Args:
        key: over the head, the headers, the compiler and its flags.
        head: from `head_of`.
        flags: as the texts are compiled, with the place of the headers.
        store: where they are kept.
    """
    if key in _useless:
        return None
    place = (store.root, key)
    known = _checked.get(place)
    if known and known.exists():
        return known
    found = store.load(key)
    if not found and key in _asked:
        found = _made(key, head, compiler, flags, store)
    _asked.add(key)
    if found:
        _checked[place] = found
    return found


def _made(
    key: str, head: str, compiler: Compiler, flags: Sequence[str], store: KernelCache
) -> Path | None:
    def make(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="tbe_impl-", dir=target.parent) as directory:
            text = Path(directory) / NAME
            text.write_text(head, "utf-8")
            own = [flag for flag in flags if flag != "-shared"]
            run(compiler, [*own, "-x", "c-header", "-o", str(target), str(text)], text.parent)

    try:
        return store.get_or_build(key, make)
    except (CompileError, subprocess.TimeoutExpired) as error:
        give_up(key, error)
        return None


def use(found: Path, head: str, place: Path) -> list[str]:
    """Lays them into the directory where a text is compiled; what the compiler is told besides."""
    (place / NAME).write_text(head, "utf-8")
    (place / f"{NAME}.gch").symlink_to(found)
    return ["-include", NAME]


def give_up(key: str, error: Exception) -> None:
    """This process compiles without them from now on."""
    _useless.add(key)
    _log.info("headers are read anew for each kernel: %s", error)
