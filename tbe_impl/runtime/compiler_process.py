"""Runs a C compiler in a process with limits of time and memory, and cleans up after it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tbe_impl.errors import CompileError
from tbe_impl.runtime.process_group import child_group

TIME_LIMIT_S = 60.0
MEMORY_LIMIT_BYTES = 4 << 30
"""Of address space, for each process of a compiler; a kernel takes some hundred MiB."""
_NO_MEMORY = ("out of memory", "memory exhausted", "cannot allocate memory", "bad_alloc")
_LIMITED = ("/bin/sh", "-c", 'ulimit -v "$0" 2>/dev/null; exec "$@"')
"""How a command is called with a limit in KiB before it; where there is no such limit it runs without."""
OUTPUT_BYTES = 1 << 20
"""How much of what a compiler says is read."""


@dataclass(frozen=True)
class Compiler:
    """A compiler on this machine.

    Attributes:
        command: how it is called.
        identity: changes when another version is installed at the same place.
    """

    command: tuple[str, ...]
    identity: str


def run(compiler: Compiler, arguments: Sequence[str], place: Path) -> None:
    """Lets it work in a directory.

    Raises:
        subprocess.TimeoutExpired: it took longer than `TIME_LIMIT_S`.
        CompileError: it failed, or needed more than `MEMORY_LIMIT_BYTES`.
    """
    command, output = [*compiler.command, *arguments], place / "output"
    if os.name == "posix":
        command = [*_LIMITED, str(MEMORY_LIMIT_BYTES >> 10), *command]
    with (
        output.open("wb") as file,
        child_group(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=place,
            env={**os.environ, "TMPDIR": str(place)},
        ) as process,
    ):
        process.wait(TIME_LIMIT_S)
    if process.returncode:
        said = _first_errors(output)
        if any(text in said.lower() for text in _NO_MEMORY):
            raise CompileError(
                "the C compiler needed more memory than it may have",
                place=" ".join(compiler.command),
                expected=f"at most {MEMORY_LIMIT_BYTES / 2**30:g} GiB",
                got=said,
            )
        raise CompileError(
            "the C compiler failed",
            place=" ".join(compiler.command),
            got=said or f"exit code {process.returncode}",
        )


def _first_errors(output: Path) -> str:
    with output.open("rb") as file:
        lines = file.read(OUTPUT_BYTES).decode("utf-8", "replace").splitlines()
    told = ("error", *_NO_MEMORY)
    lines = [line for line in lines if any(word in line.lower() for word in told)] or lines
    return "; ".join(lines[:3])[:600]
