"""Writes and reads build records: files that describe how our generator built a kernel.

A build record is stored beside the kernel's library. The function `explain` reads these records.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from ms_fusion.ledger import Build


def content(build: Build) -> bytes:
    """Returns the build record `build` as JSON, the content of its record file."""
    return msgspec.json.encode(build)


def file_name(kernel: str) -> str:
    """Returns the name of a kernel's record file, which is stored beside the kernel's library."""
    return f"{kernel}.build"


def read(directory: Path) -> dict[str, Build]:
    """Returns a dict from kernel name to build record; skips records that are unreadable."""
    files = sorted(directory.glob(file_name("*")))
    found = {file.stem: read_one(directory, file.stem) for file in files}
    return {name: build for name, build in found.items() if build is not None}


def read_one(directory: Path, kernel: str) -> Build | None:
    """Returns the build record of a kernel, or None if the record is missing or unreadable."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((directory / file_name(kernel)).read_bytes(), type=Build)
    return None
