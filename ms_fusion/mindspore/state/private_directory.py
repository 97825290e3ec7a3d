"""Creates private directories of this process (mode 0700, locked) and removes them at exit.

MindSpore executes the kernel files in its kernel directory. So each process creates a new directory
that no other user can write to. If a process has ended without removing its directory, a later
process removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tbe_impl.environment import cache_dir, temporary_directory
from tbe_impl.errors import CacheError
from tbe_impl.runtime.store_directory import check_utf8_path, warn_not_cached
from tbe_impl.runtime.store_entry import check_owner

FOLDER = "mindspore"
"""Subdirectory of the cache directory in which the private directories are created."""

PREFIX = "process-"
LOCK = ".lock"

_own_directories: dict[Path, tuple[int, int]] = {}


def make(parent: Path | None = None) -> Path:
    """Creates and returns a directory ``PARENT/process-…`` that only this user can access.

    If `parent` cannot be used, the function issues a warning and creates the directory in the
    temporary directory.

    Args:
        parent: the parent directory, or None for ``<cache>/mindspore``.
    """
    parent = parent or cache_dir() / FOLDER
    try:
        check_utf8_path(parent)
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_owner(parent.lstat(), parent)
        _sweep(parent)
        place = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    except (OSError, CacheError) as error:
        warn_not_cached(parent, error.sentence if isinstance(error, CacheError) else str(error))
        place = Path(tempfile.mkdtemp(prefix=f"ms_fusion-{FOLDER}-", dir=temporary_directory()))
    place = place.resolve()
    # The file is locked before it gets the name that `_sweep` looks for.
    draft = place / f"{LOCK}.new"
    lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _lock(lock)
    draft.rename(place / LOCK)
    _own_directories[place] = (os.getpid(), lock)
    return place


def is_of_another_process(place: Path) -> bool:
    """Returns whether another process created, and therefore will remove, the private directory."""
    known = place.name.startswith(PREFIX) and place.parent == (cache_dir() / FOLDER).resolve()
    # The other process may use another cache directory, so the lock file is checked, too.
    return place not in _own_directories and (known or (place / LOCK).exists())


def is_made_here(place: Path) -> bool:
    """Returns whether this process created the directory."""
    return place in _own_directories


def remove(place: Path) -> None:
    """Removes a directory that `make` created in this process.

    A forked child process does not remove the directories of its parent process.
    """
    owner, lock = _own_directories.pop(place)
    if owner == os.getpid():
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def remove_all() -> None:
    """Removes all directories that this process created."""
    for place in list(_own_directories):
        remove(place)


def _sweep(parent: Path) -> None:
    """Removes the private directories in `parent` that belong to processes that have ended.

    Each process locks its directories. If a directory is not locked, its process has ended.
    """
    for place in parent.glob(f"{PREFIX}*"):
        try:
            lock = os.open(place / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            _lock(lock)
            shutil.rmtree(place, ignore_errors=True)
        except OSError:
            continue
        finally:
            os.close(lock)


def _lock(descriptor: int) -> None:
    """Locks an open file for this process, or raises OSError if another process holds the lock."""
    import fcntl  # Lazy import: Windows lacks it, but can read dumps.

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
