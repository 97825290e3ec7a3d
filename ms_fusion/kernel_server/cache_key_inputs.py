"""Inputs of the compile cache's key: our sources, tuning records, compiler, oneDNN, settings.

It is found out without the generator, so that a kernel that is there already costs no import of it. What a compiled library
depends on besides, processor features among them, is part of every key of the cache.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from custom_ops.onednn import onednn_path
from tbe_impl import environment, tuning_store
from tbe_impl.errors import MissingError
from tbe_impl.runtime import compiler

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = tuple(ROOT / name for name in ("tbe_impl", "custom_ops", "ms_fusion"))
SUFFIXES = (".py", ".c", ".h")
ABOUT_ONEDNN = ("ONEDNN_", "DNNL_")
"""How the names of its settings begin; what it is quick at decides how images lie."""


def sources() -> str:
    """Changes when one of our files does; by size and time."""
    found = sorted(stamp for package in PACKAGES for stamp in _stamps(package))
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def _stamp(file: Path | os.DirEntry[str]) -> str:
    try:
        status = file.stat()
    except OSError:
        return os.fspath(file)
    return f"{os.fspath(file)} {status.st_size} {status.st_mtime_ns}"


def _stamps(directory: Path | str) -> Iterator[str]:
    with os.scandir(directory) as items:
        for item in items:
            if item.name.endswith(SUFFIXES):
                yield _stamp(item)
            elif item.is_dir() and item.name != "__pycache__":
                yield from _stamps(item.path)


_AT_START = sources()


def unchanged() -> bool:
    """Whether our files are those that this process has read; else it writes down nothing of what they make."""
    return sources() == _AT_START


def circumstances() -> dict[str, object]:
    """As plain values, for a key.

    Raises:
        MissingError: there is no C compiler.
    """
    return {
        "sources": _AT_START,
        "tuned": _tuned(),
        "threads": environment.threads(),
        "compiler": compiler.find_compiler().identity,
        "processor": tuning_store.processor(),
        "onednn": [
            _library(),
            *sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(ABOUT_ONEDNN)),
        ],
        "python": [sys.version, _numpy()],
    }


def _tuned() -> list[str]:
    """The records of tuned kernels by size and time; each of them may be this kernel's."""
    root = tuning_store.store().root
    try:
        return sorted(_stamp(one) for one in os.scandir(root) if one.is_file(follow_symlinks=False))
    except OSError:
        return []


@lru_cache(maxsize=1)
def _library() -> str:
    try:
        return _stamp(onednn_path.find())
    except MissingError:
        return ""


@lru_cache(maxsize=1)
def _numpy() -> str:
    """The formulas are traced with it."""
    found = importlib.util.find_spec("numpy")
    return _stamp(Path(found.origin)) if found and found.origin else ""
