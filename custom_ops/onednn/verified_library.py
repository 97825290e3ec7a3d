"""The one oneDNN of this process, tried out before it is used."""

from __future__ import annotations

import threading
from functools import lru_cache

from custom_ops.onednn.dnnl_library import Library, load
from custom_ops.onednn.onednn_path import find
from custom_ops.onednn.self_test import try_out
from tbe_impl.errors import FusionError


@lru_cache(maxsize=1)
def _load() -> Library | FusionError:
    try:
        made = load(find())
        try_out(made)
    except FusionError as error:
        return error
    return made


_loading = threading.Lock()


def library() -> Library:
    """oneDNN, loaded and tried out once in a process.

    Raises:
        MissingError: there is none that is known.
        CompileError: our runtime cannot be built, or gave a wrong result.
    """
    with _loading:
        found = _load()
    if isinstance(found, FusionError):
        raise found
    return found


def why_missing() -> str:
    """Why oneDNN is not used here; empty when it is."""
    try:
        library()
    except FusionError as error:
        return str(error)
    return ""
