"""Stores notes (short byte strings by key) beside the entries of the kernel cache.

A note is one file, ``<key[:2]>/<key>.note``. It contains the SHA-256 of key and content, a line
break and the content. A moved, truncated or modified note is treated as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from tbe_impl.errors import CacheError
from tbe_impl.runtime.cache_entry import check_owner, open_directory, read_file

SUFFIX = ".note"
BYTES_MAX = 1 << 20
_DIGITS = 64


def read_note(place: Path | str, key: str) -> bytes:
    """Returns the content of the note of `key` in a directory of this user.

    Raises:
        CacheError: the note is missing, damaged, of another user or of another key.
    """
    directory = open_directory(place)
    try:
        check_owner(os.fstat(directory), place)
        whole = read_file(directory, f"{key}{SUFFIX}", place, BYTES_MAX)
    finally:
        os.close(directory)
    content = whole[_DIGITS + 1 :]
    if whole != _encode_note(key, content):
        raise CacheError("is damaged or belongs to another key", place=f"{place}/{key}{SUFFIX}")
    return content


def write_note(place: Path, key: str, content: bytes) -> None:
    """Writes a note atomically to a directory of this user.

    Raises:
        CacheError: the directory belongs to another user, or the note exceeds `BYTES_MAX`.
        OSError: the note cannot be written.
    """
    whole = _encode_note(key, content)
    if len(whole) > BYTES_MAX:
        raise CacheError("is too large", place=f"{place}/{key}{SUFFIX}", got=f"{len(whole)} bytes")
    check_owner(place.lstat(), place)
    handle, made = tempfile.mkstemp(prefix=f".stage-{key[:16]}-", dir=place)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(whole)
        Path(made).replace(place / f"{key}{SUFFIX}")
    except BaseException:
        with contextlib.suppress(OSError):
            Path(made).unlink(missing_ok=True)
        raise


def _encode_note(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + content).hexdigest().encode() + b"\n" + content
