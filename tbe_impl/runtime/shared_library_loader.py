"""Loads the thread pool, then a compiled library that uses it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from tbe_impl.runtime.shared_library_check import load_library
from tbe_impl.runtime.thread_pool import start_workers


def open_library(path: Path, symbols: Sequence[str]) -> ctypes.CDLL:
    """Loads the thread pool, then the library, and checks that the library contains `symbols`.

    Raises:
        CompileError: the library cannot be loaded, or a symbol is missing.
    """
    start_workers()
    return load_library(path, symbols)
