"""How many bytes the kernel cache holds: counted once, then carried on in a file by all processes.

One line for what was counted, then one for each kernel stored since. A line is appended in one write, so no process
waits for another; a line that is lost while another process counts makes the sum a little too small until the next count.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path

from tbe_impl.errors import CacheError
from tbe_impl.runtime.cache_entry import open_directory, read_file

NAME = "size"
UNDER_WAY = re.compile(r"\.size-.*\Z")
"""Files in which it is counted; a killed process leaves one."""
_FILE_BYTES_MAX = 1 << 20
_DIGITS_MAX = 18


def add(root: Path, stored: int) -> int | None:
    """Adds a kernel's bytes; the sum with it, None where the cache has to be counted: no file, or one not to be trusted."""
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


def store(root: Path, counted: int) -> None:
    """Begins anew with what was counted; where that cannot be kept, the next kernel counts again."""
    with contextlib.suppress(OSError):
        handle, made = tempfile.mkstemp(prefix=".size-", dir=root)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(b"%d\n" % counted)
            Path(made).replace(root / NAME)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise


def forget(root: Path) -> None:
    """The cache has to be counted."""
    with contextlib.suppress(OSError):
        (root / NAME).unlink(missing_ok=True)
