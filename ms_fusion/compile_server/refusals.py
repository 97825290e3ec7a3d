"""Records the kernels that the compile server did not build, with the reasons, in a file.

The process that compiles the net reads the file. Several processes of a distributed training may
share the file. So each line contains the id of the process that compiles the net.
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
"""Name of the file of refusals, which is in the kernel directory.

Each line is a JSON array: the id of the process that compiles the net, then the fields of a
`KernelRefusal`.
"""


def record(directory: Path, found: Sequence[KernelRefusal], *, process: int | None = None) -> None:
    """Appends refused kernels to the file of refusals in `directory`.

    `process` is the id of the process that compiles the net. None means this process.
    """
    if not found:
        return
    file = os.open(directory / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps([process or os.getpid(), *one]) + "\n" for one in found)


def length(directory: Path) -> int:
    """Returns the length of the file of refusals in bytes, or 0 if the file is missing."""
    try:
        return (directory / FILE).stat().st_size
    except OSError:
        return 0


def read_since(directory: Path, start: int) -> tuple[KernelRefusal, ...]:
    """Returns the refusals for this process in the file of refusals, from byte `start` on.

    Duplicates and incomplete lines are skipped. `start` is an earlier result of `length`.
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
