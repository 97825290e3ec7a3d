"""The on-disk store: keeps all cached results as entries of one format.

An entry is the file ``<root>/<kind>/<key><suffix>``; `store_kinds` lists the kinds. These rules
hold for all entries:

- **Key.** A key is the SHA-256 of the inputs, the machine, the package version and the schema
  (`make_key`). Entries do not expire. An entry becomes unused when its inputs change, because all
  processes then compute a different key.
- **Trust.** The root, the directory of the kind, and the file must belong to this user. Nobody else
  may be able to write to them, and the file must be a regular file. Links are not followed below
  the root. Before use, `store_entry` checks the size limit, and the SHA-256 over content, schema,
  kind and key. `read_record` also checks the types of the content. An entry that fails a check is
  treated as absent, and the next write replaces it.
- **Writing.** An entry is staged in ``<root>/work`` and renamed, so a reader sees a complete entry
  or none. Directories have mode 0700, files 0600. Measured results, files for the loader and files
  for the C compiler are also synced to disk. A lock for each key prevents several processes from
  building the same file. If a process holds the lock for too long, other processes ignore it.
- **Size.** If the size exceeds `LIMIT_BYTES`, the least recently used entries of all kinds are
  removed. An entry is not removed while a process has it mapped, or in the minute after its last
  use. Measured results are never removed to free space.
- **Failure.** If the directory is unusable, a process warns once and builds into a private
  directory. The process removes this directory at exit. Measured results are not stored in it.

This module exceeds 500 lines because all entries share one set of rules.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tbe_impl import environment
from tbe_impl.errors import CacheError, FusionError, InputError
from tbe_impl.runtime import machine
from tbe_impl.runtime.store_directory import (
    check_place,
    find_directory_problem,
    make_private_directory,
    warn_not_cached,
)
from tbe_impl.runtime.store_entry import (
    SCHEMA,
    TRAILER_BYTES,
    check_owner,
    digest_of,
    fsync_directory,
    make_trailer,
    read_entry,
    seal,
)
from tbe_impl.runtime.store_kinds import KERNELS, KINDS, Kind

LIMIT_BYTES = 1 << 30
EVICTION_TARGET_SHARE = 0.9
"""Share of the size limit to which an eviction shrinks the store, so that evictions are rare."""
LOCK_TIMEOUT_S = 120.0
IN_USE_S = 60.0
"""Time in seconds, after its last use, during which an entry counts as in use."""
LEFTOVER_S = 3600.0
"""Age, in seconds, at which the leftover files of killed processes are deleted."""
WORK = "work"
"""Name of the directory for locks, and for files that are not complete entries yet."""

_log = logging.getLogger(__name__)
_KEY = re.compile(r"[0-9a-f]{64}\Z")
_MAPPED_KERNEL_PATTERN = re.compile(
    rf"/{KERNELS.name}/([0-9a-f]{{64}}){re.escape(KERNELS.suffix)}".encode()
)
_logged_messages: set[str] = set()

machine.identity()  # evaluated at import, so that the first kernel of a process does not wait

Record = TypeVar("Record")
Build = Callable[[Path], object]
"""A function that writes the content of an entry to a given path."""


@dataclass(frozen=True)
class Entry:
    """One entry on disk.

    Attributes:
        kind, key: kind and key of the entry.
        path: the file of the entry.
        bytes: size of the file.
        used: time of the last use, in seconds since 1970. For a measured result, the time of
            storage.
    """

    kind: Kind
    key: str
    path: Path
    bytes: int
    used: float


@dataclass(frozen=True)
class StoreInfo:
    """Statistics of the store.

    `entries` maps the name of each kind to its number of entries. `problem` is the reason why the
    directory `root` is unusable, or "" if the directory is usable.
    """

    root: Path
    entries: Mapping[str, int]
    bytes: int
    limit_bytes: int
    free_bytes: int
    problem: str = ""


def _canonicalize(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": hashlib.sha256(value).hexdigest()}
    raise InputError("a part of a cache key is not a plain value", got=type(value).__name__)


def make_key(**parts: Any) -> str:
    """Returns a cache key: the SHA-256, in 64 hexadecimal digits, of all inputs of an entry.

    The digest covers `parts`, the machine, the package version and the schema of the store.

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
    """Returns the SHA-256 of a generated text.

    The digest is part of the cache key of the library that is compiled from the text.
    """
    return hashlib.sha256(source.encode()).hexdigest()


class Store:
    """A directory of entries, safe to share between processes and threads.

    Args:
        root: the directory; by default ``store`` in `tbe_impl.environment.cache_dir`.
        limit_bytes: size above which the least recently used entries are removed.
    """

    def __init__(self, root: Path | str | None = None, *, limit_bytes: int = LIMIT_BYTES):
        self.root = Path(root) if root is not None else environment.cache_dir() / "store"
        self.limit_bytes = limit_bytes
        self._place = str(self.root)
        self._fallback: Store | None = None
        self._is_private = False

    def find(self, kind: Kind, key: str, *, sha256: str = "") -> Path | None:
        """Checks the entry of `key` and returns its path, or None if there is no valid entry.

        Args:
            kind: a kind with `Kind.is_file`.
            key: key of the entry, from `make_key`.
            sha256: the `digest` that the entry must have. An empty string accepts any digest.
        """
        whole = self._read(kind, key)
        if whole is not None and sha256 in ("", digest_of(whole)):
            return Path(self._path(kind, key))
        return self._fallback.find(kind, key, sha256=sha256) if self._fallback else None

    def read(self, kind: Kind, key: str) -> bytes | None:
        """Returns the content of the entry of `key`, or None if there is no valid entry."""
        whole = self._read(kind, key)
        if whole is not None:
            return whole[:-TRAILER_BYTES]
        return self._fallback.read(kind, key) if self._fallback else None

    def read_record(
        self, kind: Kind, key: str, decoder: msgspec.json.Decoder[Record]
    ) -> Record | None:
        """Returns the decoded content of the entry of `key`, or None if there is no valid entry."""
        content = self.read(kind, key)
        try:
            return None if content is None else decoder.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            _say(f"{self._path(kind, key)} is not used: {error}", kind)
            return None

    def write(self, kind: Kind, key: str, content: bytes) -> None:
        """Stores `content` under `key`, and replaces an earlier entry.

        A failure to write is ignored, since the content can be computed again. If the content is a
        measured result, a failure causes a warning.
        """
        entry = self._path(kind, key)
        if self._fallback is not None and not kind.is_measured:
            self._fallback.write(kind, key, content)
            return
        try:
            if len(content) > kind.bytes_max:
                raise CacheError("is too large", place=entry, got=f"{len(content)} bytes")
            check_place(self.root)
            handle, made = tempfile.mkstemp(prefix=f"{key[:16]}-", dir=self._make_directory(WORK))
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content + make_trailer(content, kind, key))
                    if kind.is_measured:
                        file.flush()
                        os.fsync(file.fileno())
                self._publish(Path(made), kind, key)
            finally:
                _delete(Path(made))
        except (CacheError, OSError) as error:
            _say(f"{kind.content} is not kept: {error}", kind)

    def write_record(self, kind: Kind, key: str, record: Any) -> None:
        """Stores a record as JSON.

        In all other respects, the function behaves like `write`.
        """
        self.write(kind, key, msgspec.json.encode(record))

    def records(
        self, kind: Kind, decoder: msgspec.json.Decoder[Record]
    ) -> Iterator[tuple[str, Record]]:
        """Yields (key, record) for each valid entry of a kind, the least recently used first."""
        for entry in self.entries(kind):
            record = self.read_record(kind, entry.key, decoder)
            if record is not None:
                yield entry.key, record

    def get_or_build(self, kind: Kind, key: str, build: Build) -> Path:
        """Returns the path of the entry of `key`.

        Builds and stores the entry if it is absent. A lock for each key prevents several processes
        from building the same entry.

        Args:
            kind: a kind with `Kind.is_file`.
            key: key of the entry, from `make_key`.
            build: function that writes the content to the given path. Other files that `build`
                writes to the directory of this path are deleted.

        Raises:
            Any exception that `build` raises. Nothing is stored in this case.
            CacheError: neither `root` nor a private directory can hold compiled kernels.
        """
        found = self.find(kind, key)
        if found is not None:
            return found
        if self._fallback is None:
            try:
                return self._build(kind, key, build)
            except (FusionError, OSError) as error:
                reason = None if self._is_private else find_directory_problem(self.root, error)
                if reason is None:
                    raise
                self._fallback = Store(make_private_directory(), limit_bytes=self.limit_bytes)
                self._fallback._is_private = True
                warn_not_cached(self.root, reason)
        return self._fallback.get_or_build(kind, key, build)

    @contextlib.contextmanager
    def lock(self, key: str, *, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """Context manager that holds the lock of `key`.

        Only one process at a time holds the lock. The process that holds the lock may hang.
        Therefore, if the lock is not free after `timeout_s` seconds, the ``with`` body runs without
        the lock.

        Raises:
            CacheError, OSError: the store cannot be written.
        """
        from filelock import FileLock, Timeout  # lazy import: cache hits do not need it

        check_place(self.root)
        lock = FileLock(self._make_directory(WORK) / f"{key}.lock", timeout=timeout_s, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            _log.warning("waited %.0f s for another process to build a kernel", timeout_s)
        try:
            yield
        finally:
            lock.release()

    def has_any(self, kind: Kind) -> bool:
        """Returns whether an entry of this kind was ever stored."""
        return (self.root / kind.name).is_dir()

    def entries(self, *kinds: Kind) -> tuple[Entry, ...]:
        """Returns the entries of `kinds`, by default of all kinds, and does not check the entries.

        The least recently used entry comes first.
        """
        found = []
        for kind in kinds or KINDS:
            place = self.root / kind.name
            if place.is_symlink():
                continue
            with contextlib.suppress(OSError):
                for item in os.scandir(place):
                    key = item.name.removesuffix(kind.suffix)
                    if _KEY.match(key) and item.name == kind.file_name(key):
                        with contextlib.suppress(OSError):
                            status = item.stat(follow_symlinks=False)
                            size, used = status.st_size, status.st_mtime
                            found.append(Entry(kind, key, Path(item.path), size, used))
        return tuple(sorted(found, key=lambda entry: (entry.used, entry.key)))

    def digest(self, kind: Kind, key: str) -> str:
        """Returns the SHA-256 of the entry of `key`.

        Raises `CacheError` for an invalid entry.
        """
        self._path(kind, key)
        return digest_of(read_entry(f"{self._place}/{kind.name}", kind, key))

    def verify(self) -> tuple[tuple[Entry, str], ...]:
        """Checks every entry.

        Returns a pair (entry, reason) for each invalid entry. `find` and `read` never return an
        invalid entry.
        """
        wrong = []
        for entry in self.entries():
            try:
                self.digest(entry.kind, entry.key)
            except CacheError as error:
                wrong.append((entry, str(error)))
        return tuple(wrong)

    def remove(self, kind: Kind, keys: Iterable[str]) -> int:
        """Removes the entries of `keys`.

        Returns the number of removed entries.
        """
        return sum(_delete(Path(self._path(kind, key))) for key in keys)

    def clear(self, *kinds: Kind) -> tuple[Entry, ...]:
        """Removes the entries of `kinds` and returns the removed entries.

        By default, the entries of all kinds except measured results are removed. The function also
        removes temporary files. Any other file in the directory stays.
        """
        from tbe_impl.runtime import store_size

        chosen = kinds or tuple(kind for kind in KINDS if not kind.is_measured)
        removed = tuple(entry for entry in self.entries(*chosen) if _delete(entry.path))
        self._reap(older_than_s=0.0)
        store_size.invalidate(self.root)
        return removed

    def info(self) -> StoreInfo:
        """Returns statistics of the store.

        This method does not create the directory of the store.
        """
        entries = self.entries()
        nearest = next(place for place in (self.root, *self.root.parents) if place.exists())
        problem = ""
        if os.path.lexists(self.root):
            try:
                check_place(self.root)
            except CacheError as error:
                problem = str(error)
        return StoreInfo(
            self.root,
            Counter(entry.kind.name for entry in entries),
            sum(entry.bytes for entry in entries),
            self.limit_bytes,
            shutil.disk_usage(nearest).free,
            problem,
        )

    def _path(self, kind: Kind, key: str) -> str:
        if not _KEY.match(key):
            raise InputError("not a cache key", expected="64 hexadecimal digits", got=repr(key))
        return f"{self._place}/{kind.name}/{kind.file_name(key)}"

    def _make_directory(self, name: str) -> Path:
        place = self.root / name
        place.mkdir(mode=0o700, exist_ok=True)
        check_owner(place.lstat(), place)
        return place

    def _read(self, kind: Kind, key: str) -> bytes | None:
        """Reads an entry, and marks the entry as used.

        Returns the content and the trailer, or None for an invalid entry.
        """
        entry = self._path(kind, key)
        try:
            check_owner(self.root.stat(), self._place)
            whole = read_entry(f"{self._place}/{kind.name}", kind, key)
        except (CacheError, OSError) as error:
            if os.path.lexists(entry):
                _say(f"{entry} is not used: {error}", kind)
            return None
        if not kind.is_measured:
            with contextlib.suppress(OSError):
                os.utime(entry)
        return whole

    def _build(self, kind: Kind, key: str, build: Build) -> Path:
        with self.lock(key):
            found = self.find(kind, key)
            if found is not None:
                return found
            stage = Path(tempfile.mkdtemp(prefix=f"{key[:16]}-", dir=self._make_directory(WORK)))
            try:
                build(stage / kind.name)
                seal(stage / kind.name, kind, key)
                # Without the lock, another process may have built the entry; its users know it.
                if self.find(kind, key) is None:
                    self._publish(stage / kind.name, kind, key)
            finally:
                _delete(stage)
        found = self.find(kind, key)
        if found is None:
            place = self._path(kind, key)
            raise CacheError("the entry just stored cannot be read back", place=place)
        return found

    def _publish(self, stage: Path, kind: Kind, key: str) -> None:
        """Moves the complete file `stage` into the store as an entry.

        If the store is then too full, the function evicts entries.
        """
        from tbe_impl.runtime import store_size

        entry = self._make_directory(kind.name) / kind.file_name(key)
        if entry.is_dir():
            _delete(entry)
        size = stage.stat().st_size  # the entry itself may be removed at any time
        stage.replace(entry)
        if kind.is_file or kind.is_measured:
            fsync_directory(entry.parent)
        self._reap(older_than_s=LEFTOVER_S)
        known = store_size.add(self.root, size)
        if known is not None and known <= self.limit_bytes:
            return
        entries = self.entries()
        total = sum(one.bytes for one in entries)
        if total > self.limit_bytes:
            wanted = total - int(EVICTION_TARGET_SHARE * self.limit_bytes)
            total -= self._evict(entries, wanted, entry)
        store_size.store(self.root, total, self._make_directory(WORK))

    def _evict(self, entries: Iterable[Entry], wanted: int, newest: Path) -> int:
        """Removes entries that are not in use, in the given order, until `wanted` bytes are freed.

        Returns the number of freed bytes.
        """
        in_use, now, gone = machine.find_mapped_files(_MAPPED_KERNEL_PATTERN), time.time(), 0
        for entry in entries:
            if gone >= wanted:
                break
            # a recently returned entry may not be mapped yet
            is_used = entry.key in in_use or now - entry.used < IN_USE_S or entry.path == newest
            if not (is_used or entry.kind.is_measured) and _delete(entry.path):
                gone += entry.bytes
        return gone

    def _reap(self, *, older_than_s: float) -> None:
        """Deletes old files that killed processes left in the working directory of the store."""
        now = time.time()
        place = self.root / WORK
        with contextlib.suppress(OSError, CacheError):
            check_owner(place.lstat(), place)
            for item in os.scandir(place):
                with contextlib.suppress(OSError):
                    if now - item.stat(follow_symlinks=False).st_mtime >= older_than_s:
                        _delete(Path(item.path))


@lru_cache(maxsize=4)
def _store_at(root: str) -> Store:
    return Store(root)


def user_store() -> Store:
    """Returns the user's store."""
    return _store_at(str(environment.cache_dir() / "store"))


def _delete(path: Path) -> bool:
    """Removes a file, a directory or a link (not its target).

    Returns whether the removal succeeded.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        _log.info("cannot be removed: %s", error)
        return False
    return True


def _say(text: str, kind: Kind) -> None:
    """Logs that an entry cannot be used or stored.

    Warns once if the entry is a measured result.
    """
    if not kind.is_measured:
        _log.info("%s", text)
    elif text not in _logged_messages:
        _logged_messages.add(text)
        _log.warning("%s", text)
