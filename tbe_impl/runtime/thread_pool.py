"""Loads the thread pool of this process's kernels (`thread_pool.c`) before the first kernel."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from pathlib import Path

from tbe_impl.errors import CompileError, MissingError
from tbe_impl.runtime import compiler

SOURCE = Path(__file__).with_name("thread_pool.c")
SYMBOLS = ("tbe_impl_share", "tbe_impl_is_awake")

_load_lock = threading.Lock()
_libraries: list[ctypes.CDLL | None] = []


def start_workers() -> bool:
    """Loads the thread pool, so that later libraries can link to it.

    Returns whether the pool is loaded.

    If the pool cannot be loaded, each kernel runs on one thread, and the process issues one
    `RuntimeWarning`.
    """
    with _load_lock:
        if not _libraries:
            _libraries.append(_load())
        return _libraries[0] is not None


def _load() -> ctypes.CDLL | None:
    try:
        file = compiler.build(SOURCE.read_text("utf-8"), symbols=SYMBOLS)
        return ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    except (MissingError, CompileError, OSError) as error:
        # a machine without a compiler can still have cached kernels
        text = f"kernels run on one thread each, because the thread pool cannot be loaded: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
        return None
