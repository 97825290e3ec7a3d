"""Private directories of this process: mode 0700, locked, removed at exit; stale ones too.

A fresh one for each process, since MindSpore runs every kernel file that it finds in its kernel directory: nobody else
can have put one there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tbe_impl.environment import cache_dir, temporary_directory
from tbe_impl.errors import CacheError
from tbe_impl.runtime.cache import check_text, say_not_kept
from tbe_impl.runtime.cache_entry import check_owner

FOLDER = "mindspore"
"""Where those of the kernels lie in the cache directory."""

PREFIX = "process-"
LOCK = ".lock"

_mine: dict[Path, tuple[int, int]] = {}


def make(parent: Path | None = None) -> Path:
    """A new directory ``PARENT/process-…`` that only this user can enter; by default in ``<cache>/mindspore``.

    Falls back to the system's temporary directory, with one warning, when the cache directory cannot be used.
    """
    parent = parent or cache_dir() / FOLDER
    try:
        check_text(parent)
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_owner(parent.lstat(), parent)
        _sweep(parent)
        place = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    except (OSError, CacheError) as error:
        say_not_kept(parent, error.sentence if isinstance(error, CacheError) else str(error))
        place = Path(tempfile.mkdtemp(prefix=f"ms_fusion-{FOLDER}-", dir=temporary_directory()))
    place = place.resolve()
    # locked before it has the name that `_sweep` looks for
    draft = place / f"{LOCK}.new"
    lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _lock(lock)
    draft.rename(place / LOCK)
    _mine[place] = (os.getpid(), lock)
    return place


def is_of_another_process(place: Path) -> bool:
    """Whether this is a directory of this kind that another process made, and will remove."""
    known = place.name.startswith(PREFIX) and place.parent == (cache_dir() / FOLDER).resolve()
    # the other one may keep its kernels elsewhere
    return place not in _mine and (known or (place / LOCK).exists())


def is_made_here(place: Path) -> bool:
    """Whether this process made it."""
    return place in _mine


def remove(place: Path) -> None:
    """Remove a directory that `make` made; a forked child leaves its parent's alone."""
    owner, lock = _mine.pop(place)
    if owner == os.getpid():
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def remove_all() -> None:
    """Remove every directory that this process made."""
    for place in list(_mine):
        remove(place)


def _sweep(parent: Path) -> None:
    """Remove directories whose process is gone: their lock can be had."""
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
    """Lock an open file for this process; raises OSError when another one holds it."""
    import fcntl  # not on Windows, where dumps are read all the same

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
