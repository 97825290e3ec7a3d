"""Which kernels the compile server did not build, and why: written by the server, read by the process that compiles."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ms_fusion.generator_limits import Refusal

FILE = "refused_kernels.jsonl"
"""In the kernel directory; one pair of operator and reason a line."""


def record(directory: Path, found: Sequence[Refusal]) -> None:
    """Adds to what was refused."""
    if not found:
        return
    file = os.open(directory / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(one) + "\n" for one in found)


def length(directory: Path) -> int:
    """How far the record goes now, for `since`; bytes."""
    try:
        return (directory / FILE).stat().st_size
    except OSError:
        return 0


def since(directory: Path, start: int) -> tuple[Refusal, ...]:
    """What was refused after the record was `start` bytes long, each kind once; without a line that a full disk cut off."""
    try:
        with (directory / FILE).open("rb") as stream:
            stream.seek(start)
            lines = stream.read().splitlines()
    except OSError:
        return ()
    found: dict[Refusal, None] = {}
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):
            found[msgspec.json.decode(line, type=Refusal)] = None
    return tuple(found)
