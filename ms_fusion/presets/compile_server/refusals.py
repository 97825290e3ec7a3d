"""Which kernels the compile server did not build, and why: written by the server, read by the process that compiles.

Ranks may share a directory, so each line says for which process it is.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ms_fusion.generator_limits import Refusal

FILE = "refused_kernels.jsonl"
"""In the kernel directory; process, operator, reason and whether the kernel is left to MindSpore, a line for each."""


def record(directory: Path, found: Sequence[Refusal], *, process: int | None = None) -> None:
    """Adds to what was refused to a process, this one unless another is named."""
    if not found:
        return
    file = os.open(directory / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps([process or os.getpid(), *one]) + "\n" for one in found)


def length(directory: Path) -> int:
    """How far the record goes now, for `since`; bytes."""
    try:
        return (directory / FILE).stat().st_size
    except OSError:
        return 0


def since(directory: Path, start: int) -> tuple[Refusal, ...]:
    """What was refused to this process after the record was `start` bytes long, each kind once; without a line that a full disk cut off."""
    try:
        with (directory / FILE).open("rb") as stream:
            stream.seek(start)
            lines = stream.read().splitlines()
    except OSError:
        return ()
    found: dict[Refusal, None] = {}
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):
            process, op, reason, left = msgspec.json.decode(line, type=tuple[int, str, str, bool])
            if process == os.getpid():
                found[Refusal(op, reason, left)] = None
    return tuple(found)
