"""Loads oneDNN once per process and self-tests it before first use."""

from __future__ import annotations

import threading
from functools import lru_cache

from custom_ops.onednn.dnnl_library import Library, load
from custom_ops.onednn.onednn_path import find_library
from custom_ops.onednn.self_test import try_out
from tbe_impl.errors import FusionError


@lru_cache(maxsize=1)
def _load() -> Library | FusionError:
    try:
        made = load(find_library())
        try_out(made)
    except FusionError as error:
        return error
    return made


_load_lock = threading.Lock()


def library() -> Library:
    """Returns oneDNN, loaded and self-tested once per process.

    Raises:
        MissingError: no supported oneDNN is installed.
        CompileError: our runtime cannot be built, or its self-test failed.
    """
    with _load_lock:
        found = _load()
    if isinstance(found, FusionError):
        raise found
    return found


def why_missing() -> str:
    """Returns the reason why oneDNN cannot be used; empty if it can."""
    try:
        library()
    except FusionError as error:
        return str(error)
    return ""
