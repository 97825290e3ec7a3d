"""The thread pool of this process's kernels: `thread_pool.c`, loaded before the first kernel."""

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

_loading = threading.Lock()
_loaded: list[ctypes.CDLL | None] = []


def start_workers() -> bool:
    """Loads them, so that libraries which are loaded later find them; whether they are there.

    Without them a kernel runs on one thread, of which a `RuntimeWarning` tells once.
    """
    with _loading:
        if not _loaded:
            _loaded.append(_load())
        return _loaded[0] is not None


def _load() -> ctypes.CDLL | None:
    try:
        file = compiler.build(SOURCE.read_text("utf-8"), symbols=SYMBOLS)
        return ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    except (MissingError, CompileError, OSError) as error:
        # whoever has kernels without a compiler has those that were kept
        text = f"kernels run on one thread each, those that they share their work among are missing: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
        return None
