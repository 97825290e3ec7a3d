"""Reads and seals the files of the store, and checks owner, mode, type, size and SHA-256.

An entry is one file: the content, then a trailer of `TRAILER_BYTES` bytes. The trailer is a line
break, the SHA-256 of content, schema, kind and key in hexadecimal digits, and a line break. The
trailer thus reveals an entry that is damaged or truncated, or that has another key, kind or format.
The loader and GCC ignore bytes after the data. A library with a trailer can therefore be loaded,
and GCC reads precompiled headers with a trailer. All checks are made on open file descriptors, so
that no file can be replaced by a link between check and use.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from tbe_impl.errors import CacheError, CompileError
from tbe_impl.runtime.store_kinds import Kind

SCHEMA = 2
TRAILER_BYTES = 66

# Windows has none of these three flags; the store is disabled there, but this file is imported.
_OPEN_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
    _OPEN_FLAGS |= getattr(os, _name, 0)


def check_owner(status: os.stat_result, place: Path | str) -> None:
    """Raises `CacheError` if a file belongs to another user, or if other users can write to it."""
    if status.st_uid != os.geteuid():
        raise CacheError(
            "belongs to another user and is not used",
            place=str(place),
            expected=f"owner {os.geteuid()}",
            got=f"owner {status.st_uid}",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(
            "can be written by other users and is not used",
            place=str(place),
            got=f"mode {stat.S_IMODE(status.st_mode):04o}",
            remedy=f"Run: chmod go-w {place}",
        )


def open_directory(place: Path | str) -> int:
    """Opens a directory without following links.

    Raises `CacheError` on failure.
    """
    try:
        return os.open(place, _OPEN_FLAGS | os.O_DIRECTORY)
    except OSError as error:
        raise CacheError("cannot be opened", place=str(place), got=error.strerror) from error


def read_file(directory: int, name: str, place: Path | str, limit: int) -> bytes:
    """Returns the bytes of a regular file of this user inside an open directory.

    Args:
        directory: descriptor of the directory.
        name: name of the file.
        place: path of the directory, for error messages.
        limit: maximum size of the file in bytes.

    Raises:
        CacheError: the file is missing or too large, is not a regular file, or belongs to another
            user.
    """
    path = f"{place}/{name}"
    try:
        handle = os.open(name, _OPEN_FLAGS, dir_fd=directory)
    except OSError as error:
        raise CacheError("cannot be opened", place=path, got=error.strerror) from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise CacheError("is not a regular file", place=path)
        check_owner(status, path)
        if status.st_size > limit:
            raise CacheError("is too large", place=path, got=f"{status.st_size} bytes")
        content = os.read(handle, status.st_size)
        while len(content) < status.st_size and (
            more := os.read(handle, status.st_size - len(content))
        ):
            content += more
        return content
    finally:
        os.close(handle)


def read_entry(place: Path | str, kind: Kind, key: str) -> bytes:
    """Checks an entry completely, and returns the bytes of the entry, including the trailer.

    Args:
        place: the directory of the kind.
        kind, key: kind and key of the entry.

    Raises:
        CacheError: the entry is missing or damaged, belongs to another user, or has another key or
            kind.
    """
    directory = open_directory(place)
    try:
        check_owner(os.fstat(directory), place)
        whole = read_file(directory, kind.file_name(key), place, kind.bytes_max + TRAILER_BYTES)
    finally:
        os.close(directory)
    content = memoryview(whole)[:-TRAILER_BYTES]
    if whole[len(content) :] != make_trailer(content, kind, key):
        raise CacheError(
            "is damaged, or belongs to another entry", place=f"{place}/{kind.file_name(key)}"
        )
    return whole


def make_trailer(content: bytes | memoryview, kind: Kind, key: str) -> bytes:
    """Returns the bytes that follow the content of an entry."""
    digest = hashlib.sha256(content)
    digest.update(f"\n{SCHEMA} {kind.name} {key}".encode())
    return f"\n{digest.hexdigest()}\n".encode()


def digest_of(whole: bytes) -> str:
    """Returns the SHA-256 in the trailer of an entry, as hexadecimal digits."""
    return whole[1 - TRAILER_BYTES : -1].decode("ascii")


def seal(file: Path, kind: Kind, key: str) -> None:
    """Appends the trailer to a file that a builder wrote, and syncs the file to disk.

    Raises:
        CompileError: the builder did not write a regular file.
    """
    try:
        status = file.lstat()
    except FileNotFoundError as error:
        raise CompileError("the builder left no kernel", place=str(file)) from error
    if not stat.S_ISREG(status.st_mode):
        raise CompileError("the builder's kernel is not a regular file", place=str(file))
    file.chmod(0o600)
    trailer = make_trailer(file.read_bytes(), kind, key)
    with file.open("ab") as stream:
        stream.write(trailer)
        stream.flush()
        os.fsync(stream.fileno())


def fsync_directory(directory: Path) -> None:
    """Syncs a directory, so that its file names survive a power failure."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
