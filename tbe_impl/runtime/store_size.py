"""Tracks the size of the store in bytes in a file shared by all processes.

The first line of the file is the total size at the last full count of the store. Each later line is
the size of one entry stored since then. A process appends a line with one write. Therefore, no
process waits for another process. If a line is lost during a count, the sum is slightly too small
until the next count.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tbe_impl.errors import CacheError
from tbe_impl.runtime.atomic_file import write_atomically
from tbe_impl.runtime.store_entry import open_directory, read_file

NAME = "size"
_FILE_BYTES_MAX = 1 << 20
_DIGITS_MAX = 18


def add(root: Path, stored: int) -> int | None:
    """Adds the size of a new entry to the size file.

    Returns the store's size, or None if a full count is due.
    """
    try:
        directory = open_directory(root)
    except CacheError:
        return None
    try:
        file = os.open(
            NAME, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory
        )
        try:
            os.write(file, b"%d\n" % stored)
        finally:
            os.close(file)
        lines = read_file(directory, NAME, root, _FILE_BYTES_MAX).split()
    except (CacheError, OSError):
        return None
    finally:
        os.close(directory)
    if not all(line.isdigit() and len(line) <= _DIGITS_MAX for line in lines):
        return None
    return sum(map(int, lines))


def store(root: Path, counted: int, work: Path) -> None:
    """Replaces the size file by a new file that contains only the full count `counted`.

    If the file cannot be written, the next stored entry triggers another full count.

    Args:
        root: the directory of the store.
        counted: size of the store in bytes, from a full count.
        work: the directory for temporary files.
    """
    with contextlib.suppress(OSError):
        write_atomically(root / NAME, b"%d\n" % counted, directory=work)


def invalidate(root: Path) -> None:
    """Deletes the file with the store's size, so that the next entry triggers a full count."""
    with contextlib.suppress(OSError):
        (root / NAME).unlink(missing_ok=True)
