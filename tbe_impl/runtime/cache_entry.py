"""Checks and reads entries of the kernel cache; completes new entries in a staging directory.

An entry is a directory named by its key, with ``kernel.so`` and ``meta.json``. Owner, mode, file
type, size and SHA-256 are checked on open file descriptors, so that no file can be replaced by a
link between check and use.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from tbe_impl.errors import CacheError, CompileError

SCHEMA = 1
KERNEL = "kernel.so"
META = "meta.json"
META_BYTES_MAX = 1 << 20
KERNEL_BYTES_MAX = 1 << 30

# Windows has none of these three flags; the cache is disabled there, but this file is imported.
_OPEN_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
    _OPEN_FLAGS |= getattr(os, _name, 0)


class EntryMetadata(msgspec.Struct, frozen=True):
    """Metadata of a compiled kernel; ``build`` holds the plain JSON values of its builder."""

    schema: int
    key: str
    size: int
    sha256: str
    build: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(EntryMetadata)


def check_owner(status: os.stat_result, place: Path | str) -> None:
    """Raises `CacheError` unless the file belongs to this user and others cannot write to it."""
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
    """Opens a directory without following links; raises `CacheError` on failure."""
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
        CacheError: the file is missing, too large, no regular file or of another user.
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


def read_entry(entry: Path | str, key: str) -> EntryMetadata:
    """Checks an entry completely and returns its metadata.

    Raises:
        CacheError: a file is missing, damaged, of another user or of another entry.
    """
    directory = open_directory(entry)
    try:
        check_owner(os.fstat(directory), entry)
        text = read_file(directory, META, entry, META_BYTES_MAX)
        try:
            meta = _DECODER.decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise CacheError("is damaged", place=f"{entry}/{META}", got=str(error)) from error
        if meta.schema != SCHEMA or meta.key != key:
            raise CacheError("belongs to another entry or schema", place=f"{entry}/{META}")
        kernel = read_file(directory, KERNEL, entry, KERNEL_BYTES_MAX)
    finally:
        os.close(directory)
    if len(kernel) != meta.size or hashlib.sha256(kernel).hexdigest() != meta.sha256:
        raise CacheError(
            "is damaged",
            place=f"{entry}/{KERNEL}",
            expected=f"{meta.size} bytes with SHA-256 {meta.sha256[:12]}…",
            got=f"{len(kernel)} bytes",
        )
    return meta


def _write_durably(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def fsync_directory(directory: Path) -> None:
    """Syncs a directory, so that its file names survive a power failure."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def seal(stage: Path, key: str, build: dict[str, Any]) -> None:
    """Writes ``meta.json`` beside ``kernel.so`` in a staging directory; syncs both files to disk.

    Raises:
        CompileError: the builder created no ``kernel.so``.
    """
    kernel = stage / KERNEL
    try:
        status = kernel.lstat()
    except FileNotFoundError as error:
        raise CompileError("the builder left no kernel", place=str(kernel)) from error
    if not stat.S_ISREG(status.st_mode):
        raise CompileError("the builder's kernel is not a regular file", place=str(kernel))
    kernel.chmod(0o600)
    content = kernel.read_bytes()
    with kernel.open("rb") as file:
        os.fsync(file.fileno())
    meta = EntryMetadata(SCHEMA, key, len(content), hashlib.sha256(content).hexdigest(), build)
    _write_durably(stage / META, msgspec.json.encode(meta))
    fsync_directory(stage)
