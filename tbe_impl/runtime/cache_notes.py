"""Short notes beside the entries of the kernel cache; read only if whole and of the right key.

A note is one file, ``<key[:2]>/<key>.note``: the SHA-256 over key and content, a line break, the content. Whoever moves,
cuts or changes one makes it one that is not there.
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
    """The content of the note of `key` in a directory of ours.

    Raises:
        CacheError: there is none, or it is damaged, another's, or another key's.
    """
    directory = open_directory(place)
    try:
        check_owner(os.fstat(directory), place)
        whole = read_file(directory, f"{key}{SUFFIX}", place, BYTES_MAX)
    finally:
        os.close(directory)
    content = whole[_DIGITS + 1 :]
    if whole != _sealed(key, content):
        raise CacheError("is damaged, or another's", place=f"{place}/{key}{SUFFIX}")
    return content


def write_note(place: Path, key: str, content: bytes) -> None:
    """Puts a note into a directory of ours, whole or not at all.

    Raises:
        CacheError: the directory is another's, or the note too large to be read again.
        OSError: it cannot be written.
    """
    whole = _sealed(key, content)
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


def _sealed(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + content).hexdigest().encode() + b"\n" + content
