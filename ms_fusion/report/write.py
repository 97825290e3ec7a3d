"""Writes files atomically: through a temporary file and a rename."""

from __future__ import annotations

import os
from pathlib import Path

from tbe_impl.errors import InputError
from tbe_impl.runtime.atomic_file import write_atomically


def write_text(path: str | Path, text: str) -> Path:
    """Writes `text` in UTF-8 to a temporary file beside `path`, then renames the file to `path`.

    Raises:
        InputError: the directory of `path` does not exist, `path` is a directory, or `path` is not
            writable.
    """
    target = Path(path)
    try:
        if not target.parent.is_dir():
            raise InputError(
                "the directory of the report does not exist",
                place=str(target),
                remedy=f"Create it first: mkdir -p {target.parent}",
            )
        if target.is_dir():
            raise InputError(
                "the report needs a file name",
                place=str(target),
                got="a directory",
                remedy=f"Use for example {target / 'fusion.html'}",
            )
        mask = os.umask(0)  # reading it sets it
        os.umask(mask)
        write_atomically(target, text.encode("utf-8", "backslashreplace"), mode=0o666 & ~mask)
    except (OSError, ValueError) as error:
        raise InputError(
            "the report cannot be written",
            place=str(target),
            got=getattr(error, "strerror", None) or str(error),
            remedy="Choose a writable path",
        ) from error
    return target
