"""Records the kernels that the compile server did not build, and why, for the compiling process.

Ranks may share a directory, so each line names its process.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ms_fusion.mindspore.flags.generator_limits import KernelRefusal

FILE = "refused_kernels.jsonl"
"""In the kernel directory; one line each of process, operator, reason and whether MindSpore keeps
the kernel.
"""


def record(directory: Path, found: Sequence[KernelRefusal], *, process: int | None = None) -> None:
    """Appends refusals for a process; this one by default."""
    if not found:
        return
    file = os.open(directory / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps([process or os.getpid(), *one]) + "\n" for one in found)


def length(directory: Path) -> int:
    """Current length of the record in bytes, for `read_since`."""
    try:
        return (directory / FILE).stat().st_size
    except OSError:
        return 0


def read_since(directory: Path, start: int) -> tuple[KernelRefusal, ...]:
    """The distinct refusals for this process since the record had `start` bytes; skips truncated
    lines.
    """
    try:
        with (directory / FILE).open("rb") as stream:
            stream.seek(start)
            lines = stream.read().splitlines()
    except OSError:
        return ()
    found: dict[KernelRefusal, None] = {}
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):
            process, op, reason, left = msgspec.json.decode(line, type=tuple[int, str, str, bool])
            if process == os.getpid():
                found[KernelRefusal(op, reason, left)] = None
    return tuple(found)
