"""Replaces files atomically: other processes see the complete old or the complete new content."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(
    path: Path, content: bytes, *, mode: int = 0o600, directory: Path | None = None
) -> None:
    """Writes a temporary file and renames it to `path`.

    Args:
        path: path of the file to write or replace.
        content: new content of the file.
        mode: the permissions of the new file.
        directory: directory for the temporary file, on the file system of `path`. The default is
            the directory of `path`.

    Raises:
        OSError: the file cannot be written. In this case the old file is unchanged.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=directory or path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
