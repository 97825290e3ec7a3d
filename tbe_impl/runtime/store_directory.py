"""Checks the store's directory, and replaces an unusable directory by a private one.

A directory is unusable if it is read-only, full, mounted noexec, owned by another user, a file, or
a dangling link. The process then warns once and uses a private directory, which it removes at exit.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import shutil
import stat
import tempfile
from pathlib import Path

from tbe_impl import environment
from tbe_impl.errors import CacheError
from tbe_impl.runtime import machine
from tbe_impl.runtime.store_entry import check_owner

FREE_BYTES_MIN = 16 << 20
OWN_DIRECTORY_REMEDY = f"Set {environment.CACHE_DIR.name} to a directory of your own"
FREE_SPACE_REMEDY = (
    f"Free some space there, or set {environment.CACHE_DIR.name} to a directory on another disk"
)
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
"""Values of ``errno`` that are caused by the directory, not by the builder of a kernel."""

_log = logging.getLogger(__name__)
_warned_directories: set[str] = set()


def check_place(root: Path) -> None:
    """Creates the directory `root` if it does not exist.

    Raises:
        CacheError: the directory cannot hold kernels.
    """
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
            "MindSpore cannot use a directory whose name is not UTF-8 text in this locale",
            place=environment.printable_path(root),
        )


def _can_write(root: Path) -> bool:
    return os.access(root, os.W_OK | os.X_OK)


def find_directory_problem(root: Path, error: Exception) -> str | None:
    """Returns the problem of `root` that caused `error`, or None if `error` has another cause."""
    if isinstance(error, OSError) and error.errno in PLACE_ERRORS:
        return f"{root}: {error.strerror}"
    try:
        check_place(root)
    except CacheError as problem:
        return problem.sentence
    return error.sentence if isinstance(error, CacheError) else None


def make_private_directory() -> Path:
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


def warn_not_cached(place: Path, reason: str) -> None:
    """Warns, once for each cache directory, that nothing can be stored in it."""
    home = environment.cache_dir()
    whole = str(home if place.is_relative_to(home) else place)
    if whole in _warned_directories:
        return
    _warned_directories.add(whole)
    _log.warning(
        "kernels are not kept: %s (set %s to another directory)", reason, environment.CACHE_DIR.name
    )
