"""Writes files atomically: through a temporary file and a rename."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tbe_impl.errors import InputError


def write_text(path: str | Path, text: str) -> Path:
    """Write `text` in UTF-8 to a temporary file beside `path`, then rename the file to `path`.

    Raises:
        InputError: the directory of `path` does not exist, `path` is a directory, or `path` is not
            writable.
    """
    target = Path(path)
    temporary = ""
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
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            file.write(text)
        # mkstemp creates a private file; give it the mode of an ordinary new file.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(target)
    except (OSError, ValueError) as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(
            "the report cannot be written",
            place=str(target),
            got=getattr(error, "strerror", None) or str(error),
            remedy="Choose a writable path",
        ) from error
    return target
