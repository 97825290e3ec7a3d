"""Stores how the generator built each kernel, in a file beside it that `explain` reads."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from ms_fusion.ledger import Build


def content(build: Build) -> bytes:
    """The file content of a record."""
    return msgspec.json.encode(build)


def file_name(kernel: str) -> str:
    """Name of the record file in the directory of the kernel's library."""
    return f"{kernel}.build"


def read(directory: Path) -> dict[str, Build]:
    """Kernel name → build record, for all records in the directory."""
    files = sorted(directory.glob(file_name("*")))
    found = {file.stem: read_one(directory, file.stem) for file in files}
    return {name: build for name, build in found.items() if build is not None}


def read_one(directory: Path, kernel: str) -> Build | None:
    """The build record of a kernel; None if there is none."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((directory / file_name(kernel)).read_bytes(), type=Build)
    return None
