"""What the generator did for each kernel, written beside it and read by `explain`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from ms_fusion.ledger import Build


def content(build: Build) -> bytes:
    """As it is kept."""
    return msgspec.json.encode(build)


def file_name(kernel: str) -> str:
    """Where it lies in the directory of the kernel's library."""
    return f"{kernel}.build"


def read(directory: Path) -> dict[str, Build]:
    """Name of a kernel → how it was built, as far as records lie there."""
    files = sorted(directory.glob(file_name("*")))
    found = {file.stem: read_one(directory, file.stem) for file in files}
    return {name: build for name, build in found.items() if build is not None}


def read_one(directory: Path, kernel: str) -> Build | None:
    """How a kernel was built; None where there is no record of it."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((directory / file_name(kernel)).read_bytes(), type=Build)
    return None
