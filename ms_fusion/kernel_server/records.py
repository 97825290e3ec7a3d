"""What the generator did for each kernel, written beside it by the process that builds, read by the one that explains."""

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
    found = {}
    for file in directory.glob(file_name("*")):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            found[file.stem] = msgspec.json.decode(file.read_bytes(), type=Build)
    return found
