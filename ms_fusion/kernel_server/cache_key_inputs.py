"""Collects the compile cache's key inputs: sources, tuning records, compiler, oneDNN, settings.

This module does not import the generator, so that a cache hit stays cheap. The kernel cache adds
further inputs to each of its keys, such as the features of the processor.
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
ONEDNN_PREFIXES = ("ONEDNN_", "DNNL_")
"""Prefixes of oneDNN's environment variables. They are key inputs because oneDNN's settings decide
whether images are lowered to NHWC.
"""


def source_fingerprint() -> str:
    """Returns a digest of the paths, sizes and modification times of our source files."""
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


_SOURCES_AT_START = source_fingerprint()


def has_unchanged_sources() -> bool:
    """Returns whether our source files are unchanged since this process started.

    A process whose sources have changed must not write cache entries.
    """
    return source_fingerprint() == _SOURCES_AT_START


def key_inputs() -> dict[str, object]:
    """Returns all key inputs by name, as values that can be encoded as JSON.

    Raises:
        MissingError: there is no C compiler.
    """
    return {
        "sources": _SOURCES_AT_START,
        "tuned": _tuning_record_stamps(),
        "threads": environment.threads(),
        "compiler": compiler.find_compiler().identity,
        "processor": tuning_store.processor(),
        "onednn": [
            _onednn_stamp(),
            *sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(ONEDNN_PREFIXES)),
        ],
        "python": [sys.version, _numpy_stamp()],
    }


def _tuning_record_stamps() -> list[str]:
    """Returns path, size and modification time of every tuning record.

    All records are included because any of them may belong to the kernel.
    """
    root = tuning_store.user_store().root
    try:
        return sorted(_stamp(one) for one in os.scandir(root) if one.is_file(follow_symlinks=False))
    except OSError:
        return []


@lru_cache(maxsize=1)
def _onednn_stamp() -> str:
    try:
        return _stamp(onednn_path.find_library())
    except MissingError:
        return ""


@lru_cache(maxsize=1)
def _numpy_stamp() -> str:
    """Returns path, size and modification time of NumPy, by which the formulas are traced."""
    found = importlib.util.find_spec("numpy")
    return _stamp(Path(found.origin)) if found and found.origin else ""
