"""Checks a model's file before ONNX is imported and the file is read."""

from __future__ import annotations

import stat
from pathlib import Path

from tbe_impl.errors import InputError

FILE_BYTES_MAX = (1 << 31) - 1
"""Maximum size of a model's file, in bytes: the size limit of a protobuf message."""


def check_model_file(path: Path) -> None:
    """Raises `InputError` if the path is not a regular file, or is too large for a model."""
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(
            "the model cannot be opened", place=str(path), got=error.strerror
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise InputError("the model is not a regular file", place=str(path))
    if status.st_size > FILE_BYTES_MAX:
        raise InputError(
            "the model is larger than one protobuf message can be",
            place=str(path),
            expected=f"at most {FILE_BYTES_MAX} bytes",
            got=f"{status.st_size} bytes",
            remedy="Export it with its weights as external data",
        )
