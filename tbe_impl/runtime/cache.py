"""Implements the on-disk kernel cache; entries are published atomically.

Each key has a directory ``<key[:2]>/<key>/`` with ``kernel.so`` and ``meta.json``. An entry is
staged beside its final path, synced and renamed. If two processes build the same entry, the later
process deletes its own copy. A cache directory may be unusable: read-only, full, a file, a dangling
link, mounted noexec or of another user. It is then replaced, with one warning, by a private
directory that is removed at exit.

This module exceeds 500 lines because the store and its rules for publishing and eviction belong
together.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import json
import logging
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tbe_impl import environment
from tbe_impl.errors import CacheError, FusionError, InputError
from tbe_impl.runtime import cache_size, machine
from tbe_impl.runtime.cache_entry import (
    KERNEL,
    META,
    SCHEMA,
    check_owner,
    fsync_directory,
    read_entry,
    seal,
)
from tbe_impl.runtime.cache_notes import SUFFIX, read_note, write_note

Decoded = TypeVar("Decoded")

LIMIT_BYTES = 1 << 30
EVICTION_TARGET_SHARE = 0.9
"""Eviction shrinks the cache to this share of the limit, so that eviction is rare."""
FREE_BYTES_MIN = 16 << 20
LOCK_TIMEOUT_S = 120.0
OWN_DIRECTORY_REMEDY = f"Set {environment.CACHE_DIR.name} to a directory of your own"
FREE_SPACE_REMEDY = (
    f"Free some space there, or set {environment.CACHE_DIR.name} to a directory on another disk"
)
IN_USE_S = 60.0
"""Number of seconds after a load during which an entry counts as in use.

An entry that a process maps is always in use.
"""
LEFTOVER_S = 3600.0
NOTE_S = 90 * 86400.0
"""Seconds after which a note (see `cache_notes`) is deleted if no process read it."""
PLACE_ERRORS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.EIO,
        errno.ESTALE,
        errno.EEXIST,
        errno.ENOTDIR,
    }
)
"""Values of ``errno`` that are caused by the cache directory, not by the builder of a kernel."""

_log = logging.getLogger(__name__)
_KEY = re.compile(r"[0-9a-f]{64}\Z")
_PREFIX = re.compile(r"[0-9a-f]{2}\Z")
_LEFTOVER_PATTERN = re.compile(r"(\.(stage|gone)-[0-9a-f]{16}-.*|[0-9a-f]{64}\.lock)\Z")
_NOTE = re.compile(rf"[0-9a-f]{{64}}{re.escape(SUFFIX)}\Z")
_MAPPED_KERNEL_PATTERN = re.compile(rb"/([0-9a-f]{64})/" + re.escape(KERNEL).encode())
_warned_directories: set[str] = set()

machine.identity()  # evaluated at import, so that the first kernel of a process does not wait

Build = Callable[[Path], Mapping[str, Any] | None]
"""A function that writes a kernel to a given path.

It may return plain JSON values, which are stored with the kernel.
"""


@dataclass(frozen=True)
class Entry:
    """One kernel on disk.

    Attributes:
        key: the cache key.
        path: the directory of the entry.
        bytes: size of its files.
        used: time of the last load or store, in seconds since 1970.
    """

    key: str
    path: Path
    bytes: int
    used: float


@dataclass(frozen=True)
class CacheInfo:
    """Statistics of the cache; `problem` says why the directory `root` is unusable, else ""."""

    root: Path
    entries: int
    bytes: int
    limit_bytes: int
    free_bytes: int
    problem: str = ""


def _canonicalize(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": hashlib.sha256(value).hexdigest()}
    raise InputError("a part of a cache key is no plain value", got=type(value).__name__)


def make_key(**parts: Any) -> str:
    """Returns a cache key: the SHA-256 (64 hexadecimal digits) of everything a kernel depends on.

    The digest covers `parts`, the machine, the package version and the version of the cache format.

    Args:
        parts: further inputs of the key, such as source, compiler version and flags. The values are
            strings, bytes, numbers, and lists and mappings of these.
    >>> make_key(source="a") == make_key(source="a")
    True
    >>> make_key(source="a") == make_key(source="b")
    False
    """
    whole = {"schema": SCHEMA, "machine": machine.identity(), "parts": parts}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), default=_canonicalize)
    return hashlib.sha256(text.encode()).hexdigest()


def text_digest(source: str) -> str:
    """Returns the SHA-256 of a generated text, from which the key of its library follows."""
    return hashlib.sha256(source.encode()).hexdigest()


def check_place(root: Path) -> None:
    """Creates the directory `root` if absent; raises `CacheError` if it cannot hold kernels."""
    check_utf8_path(root)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = root.stat()
    except OSError as error:
        raise CacheError(
            "the cache directory cannot be made",
            place=str(root),
            got=error.strerror,
            remedy=FREE_SPACE_REMEDY
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else OWN_DIRECTORY_REMEDY,
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise CacheError(
            "the cache directory is not a directory", place=str(root), remedy=OWN_DIRECTORY_REMEDY
        )
    check_owner(status, root)
    if machine.is_noexec(root):
        raise CacheError(
            "the cache directory is mounted noexec",
            place=str(root),
            remedy=f"{OWN_DIRECTORY_REMEDY} that is not mounted noexec",
        )
    if not _can_write(root):
        raise CacheError(
            "the cache directory cannot be written", place=str(root), remedy=OWN_DIRECTORY_REMEDY
        )
    free = shutil.disk_usage(root).free
    if free < FREE_BYTES_MIN:
        raise CacheError(
            "the disk of the cache directory is full",
            place=str(root),
            expected=f"at least {FREE_BYTES_MIN} bytes free",
            got=f"{free}",
            remedy=FREE_SPACE_REMEDY,
        )


def check_utf8_path(root: Path) -> None:
    """Raises `CacheError` for a path that MindSpore cannot decode as UTF-8."""
    if not environment.is_utf8_path(root):
        raise CacheError(
            "MindSpore cannot use a directory whose name is no UTF-8 text in this locale",
            place=environment.printable_path(root),
        )


def _can_write(root: Path) -> bool:
    return os.access(root, os.W_OK | os.X_OK)


def _make_private_directory() -> Path:
    """Creates a directory from which this process can load code, and removes it at exit."""
    for parent in ("/dev/shm", tempfile.gettempdir()):
        try:
            if not machine.is_noexec(Path(parent)):
                made = Path(tempfile.mkdtemp(prefix="ms_fusion-", dir=parent))
                atexit.register(_remove_own, made, os.getpid())
                return made
        except OSError:
            continue
    raise CacheError(
        "there is no directory from which a compiled kernel could be loaded",
        remedy=f"{OWN_DIRECTORY_REMEDY} that is not mounted noexec",
    )


def _remove_own(directory: Path, pid: int) -> None:
    if os.getpid() == pid:  # a forked child must not delete its parent's directory
        shutil.rmtree(directory, ignore_errors=True)


class KernelCache:
    """A directory of compiled kernels, safe to share between processes and threads.

    Args:
        root: the directory; by default ``kernels`` in `tbe_impl.environment.cache_dir`.
        limit_bytes: size above which the least recently used entries are evicted; entries in use
            are kept.
    """

    def __init__(self, root: Path | str | None = None, *, limit_bytes: int = LIMIT_BYTES):
        self.root = Path(root) if root is not None else environment.cache_dir() / "kernels"
        self.limit_bytes = limit_bytes
        self._place = str(self.root)
        self._fallback: KernelCache | None = None
        self._is_private = False

    key = staticmethod(make_key)

    def load(self, key: str, *, sha256: str = "") -> Path | None:
        """Checks the kernel of `key` and returns its path; None if there is no valid kernel.

        Args:
            key: from `make_key`.
            sha256: required SHA-256 of the kernel; empty accepts any.
        """
        prefix = self._prefix(key)
        entry = f"{prefix}/{key}"
        try:
            check_owner(self.root.stat(), self._place)
            check_owner(os.lstat(prefix), prefix)
            found = read_entry(entry, key)
            if sha256 not in ("", found.sha256):
                raise CacheError("is another kernel", place=entry)
        except (CacheError, OSError) as error:
            if os.path.lexists(entry):
                _log.info("cache entry refused: %s", error)
            return self._fallback.load(key, sha256=sha256) if self._fallback else None
        with contextlib.suppress(OSError):
            os.utime(f"{entry}/{META}")
        return Path(entry, KERNEL)

    def get_or_build(self, key: str, build: Build) -> Path:
        """Returns the path of the kernel of `key`; if absent, builds and stores the kernel.

        A lock for each key prevents several processes from building the same kernel.

        Args:
            key: from `make_key`.
            build: writes the kernel to the given path. Other files that it writes to the directory
                are deleted.

        Raises:
            Any exception of `build`; nothing is stored then.
            CacheError: neither `root` nor a private directory can hold compiled kernels.
        """
        found = self.load(key)
        if found is not None:
            return found
        if self._fallback is None:
            try:
                check_place(self.root)
                return self._build(key, build)
            except (FusionError, OSError) as error:
                reason = self._find_directory_problem(error)
                if reason is None:
                    raise
                self._use_fallback(reason)
        assert self._fallback is not None
        return self._fallback.get_or_build(key, build)

    def load_note(self, key: str) -> bytes | None:
        """Returns the note (a short byte string) stored under `key`; None if there is none."""
        prefix = self._prefix(key)
        note = f"{prefix}/{key}{SUFFIX}"
        try:
            check_owner(self.root.stat(), self._place)
            found = read_note(prefix, key)
        except (CacheError, OSError) as error:
            if os.path.lexists(note):
                _log.info("note of the cache refused: %s", error)
            return self._fallback.load_note(key) if self._fallback else None
        with contextlib.suppress(OSError):
            os.utime(note)
        return found

    def load_record(self, key: str, decode: Callable[[bytes], Decoded]) -> Decoded | None:
        """Returns the decoded note stored under `key`; None if it is missing or `decode` fails."""
        note = self.load_note(key)
        try:
            return None if note is None else decode(note)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def store_note(self, key: str, content: bytes) -> None:
        """Stores a note (a short byte string) under a key; ignores failures.

        Notes only save time, so that a missing note does no harm.
        """
        if self._fallback is not None:
            self._fallback.store_note(key, content)
            return
        place = self._entry(key).parent
        with contextlib.suppress(CacheError, OSError):
            check_place(self.root)
            place.mkdir(mode=0o700, exist_ok=True)
            write_note(place, key, content)

    def entries(self) -> tuple[Entry, ...]:
        """Returns all entries without checking them, the least recently used first."""
        found = []
        for path in self._entry_paths():
            try:
                sizes = sum(item.stat(follow_symlinks=False).st_size for item in os.scandir(path))
                used = (path / META).lstat().st_mtime
            except OSError:
                sizes, used = 0, 0.0
            found.append(Entry(path.name, path, sizes, used))
        return tuple(sorted(found, key=lambda entry: (entry.used, entry.key)))

    def verify(self) -> tuple[tuple[Entry, str], ...]:
        """Checks every entry; returns the invalid entries, each with the reason.

        `load` never returns an invalid entry.
        """
        wrong = []
        for entry in self.entries():
            try:
                read_entry(entry.path, entry.key)
            except CacheError as error:
                wrong.append((entry, str(error)))
        return tuple(wrong)

    def clear(self) -> int:
        """Removes all entries, notes and temporary files; returns the number of removed entries.

        Other files in the directory are kept.
        """
        removed = 0
        for path in list(self._entry_paths()):
            removed += self._remove(path)
        for prefix in self._prefixes():
            _reap(prefix, _LEFTOVER_PATTERN, older_than_s=0.0)
            _reap(prefix, _NOTE, older_than_s=0.0)
        _reap(self.root, cache_size.TEMPORARY_NAMES, older_than_s=0.0)
        cache_size.invalidate(self.root)
        return removed

    def info(self) -> CacheInfo:
        """Returns statistics of the cache; does not create its directory."""
        entries = self.entries()
        nearest = self.root
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        problem = ""
        if os.path.lexists(self.root):
            try:
                check_place(self.root)
            except CacheError as error:
                problem = str(error)
        return CacheInfo(
            self.root,
            len(entries),
            sum(entry.bytes for entry in entries),
            self.limit_bytes,
            shutil.disk_usage(nearest).free,
            problem,
        )

    def _prefix(self, key: str) -> str:
        """Returns the directory that contains the entry and the note of a key."""
        if not _KEY.match(key):
            raise InputError("not a cache key", expected="64 hexadecimal digits", got=repr(key))
        return f"{self._place}/{key[:2]}"

    def _entry(self, key: str) -> Path:
        return Path(self._prefix(key), key)

    def _prefixes(self) -> Iterator[Path]:
        try:
            found = sorted(item.name for item in os.scandir(self.root) if _PREFIX.match(item.name))
        except OSError:
            return
        for name in found:
            path = self.root / name
            if path.is_dir() and not path.is_symlink():
                yield path

    def _entry_paths(self) -> Iterator[Path]:
        for prefix in self._prefixes():
            try:
                names = sorted(item.name for item in os.scandir(prefix) if _KEY.match(item.name))
            except OSError:
                continue
            yield from (prefix / name for name in names)

    def _build(self, key: str, build: Build) -> Path:
        from filelock import FileLock, Timeout  # lazy import: cache hits do not need it

        entry = self._entry(key)
        entry.parent.mkdir(mode=0o700, exist_ok=True)
        check_owner(entry.parent.lstat(), entry.parent)
        lock = FileLock(entry.parent / f"{key}.lock", timeout=LOCK_TIMEOUT_S, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            # The lock holder may hang; building twice costs less than waiting for ever.
            _log.warning("waited %.0f s for another process to build a kernel", LOCK_TIMEOUT_S)
        try:
            found = self.load(key)
            if found is not None:
                return found
            self._remove(entry)
            return self._publish(entry, key, build)
        finally:
            lock.release()

    def _publish(self, entry: Path, key: str, build: Build) -> Path:
        stage = Path(tempfile.mkdtemp(prefix=f".stage-{key[:16]}-", dir=entry.parent))
        try:
            told = dict(build(stage / KERNEL) or {})
            for path in list(stage.iterdir()):
                if path.name != KERNEL:
                    _delete(path)
            seal(stage, key, told)
            try:
                stage.rename(entry)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            fsync_directory(entry.parent)
        finally:
            _delete(stage)
        found = self.load(key)
        if found is None:
            raise CacheError("the entry just stored cannot be read back", place=str(entry))
        self._enforce_limit(entry)
        return found

    def _enforce_limit(self, newest: Path) -> None:
        _reap(newest.parent, _LEFTOVER_PATTERN, older_than_s=LEFTOVER_S)
        _reap(newest.parent, _NOTE, older_than_s=NOTE_S)
        known = cache_size.add(self.root, sum(item.stat().st_size for item in newest.iterdir()))
        if known is not None and known <= self.limit_bytes:
            return
        entries = self.entries()
        total = sum(entry.bytes for entry in entries)
        if total > self.limit_bytes:
            total -= self._evict(
                entries, total - int(EVICTION_TARGET_SHARE * self.limit_bytes), newest
            )
        cache_size.store(self.root, total)
        _reap(self.root, cache_size.TEMPORARY_NAMES, older_than_s=LEFTOVER_S)

    def _evict(self, entries: Iterable[Entry], wanted: int, newest: Path) -> int:
        """Removes entries that are not in use, in the given order, until `wanted` bytes are freed.

        Returns the number of freed bytes.
        """
        in_use, now, gone = machine.find_mapped_files(_MAPPED_KERNEL_PATTERN), time.time(), 0
        for entry in entries:
            if gone >= wanted:
                break
            # a recently returned entry may not be mapped yet
            if entry.path == newest or entry.key in in_use or now - entry.used < IN_USE_S:
                continue
            if self._remove(entry.path):
                gone += entry.bytes
        return gone

    def _remove(self, path: Path) -> bool:
        """Renames an entry of any file type atomically, then deletes it.

        Returns False if the entry does not exist or cannot be renamed.
        """
        if not os.path.lexists(path):
            return False
        gone = path.parent / f".gone-{path.name[:16]}-{os.getpid()}-{time.monotonic_ns()}"
        try:
            path.rename(gone)
        except OSError:
            return False
        _delete(gone)
        return True

    def _find_directory_problem(self, error: Exception) -> str | None:
        """Returns why `root` is unusable if this caused `error`; None if something else did."""
        if self._is_private:
            return None
        if isinstance(error, OSError) and error.errno in PLACE_ERRORS:
            return f"{self.root}: {error.strerror}"
        try:
            check_place(self.root)
        except CacheError as problem:
            return problem.sentence
        return error.sentence if isinstance(error, CacheError) else None

    def _use_fallback(self, reason: str) -> None:
        self._fallback = KernelCache(_make_private_directory(), limit_bytes=self.limit_bytes)
        self._fallback._is_private = True
        warn_not_cached(self.root, reason)


def warn_not_cached(place: Path, reason: str) -> None:
    """Warns once per cache directory that nothing can be stored there."""
    home = environment.cache_dir()
    whole = str(home if place.is_relative_to(home) else place)
    if whole in _warned_directories:
        return
    _warned_directories.add(whole)
    _log.warning(
        "kernels are not kept: %s (set %s to another directory)", reason, environment.CACHE_DIR.name
    )


def _delete(path: Path) -> None:
    """Removes a file, a link (never its target) or a directory, if present."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log.info("cannot be removed: %s", error)


def _reap(place: Path, names: re.Pattern[str], older_than_s: float) -> None:
    """Deletes files whose names match `names` and that are at least `older_than_s` seconds old.

    Such files are notes that no process reads, and temporary files of killed processes.
    """
    now = time.time()
    try:
        found = [item.name for item in os.scandir(place) if names.match(item.name)]
    except OSError:
        return
    for name in found:
        try:
            age = now - (place / name).lstat().st_mtime
        except OSError:
            continue
        if age >= older_than_s:
            _delete(place / name)
