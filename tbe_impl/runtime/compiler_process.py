"""Runs a C compiler in a process with time and memory limits, and removes temporary files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tbe_impl.errors import CompileError
from tbe_impl.records import Record
from tbe_impl.runtime.process_group import child_group

TIME_LIMIT_S = 60.0
MEMORY_LIMIT_BYTES = 4 << 30
"""Maximum address space of a compiler process. Most kernels need a few hundred MiB to compile."""
_OUT_OF_MEMORY_TEXTS = ("out of memory", "memory exhausted", "cannot allocate memory", "bad_alloc")
_MEMORY_LIMIT_COMMAND = ("/bin/sh", "-c", 'ulimit -v "$0" 2>/dev/null; exec "$@"')
"""Command prefix that sets the memory limit in KiB, if the shell supports ``ulimit``."""
OUTPUT_BYTES = 1 << 20
"""Maximum number of bytes that are read from the compiler's output."""


class Compiler(Record):
    """A compiler on this machine.

    Attributes:
        command: the command line prefix.
        identity: path, size and time stamp of the compiler. These values change if the compiler is
            updated.
    """

    command: tuple[str, ...]
    identity: str


def run(
    compiler: Compiler, arguments: Sequence[str], place: Path, *, limit_s: float | None = None
) -> None:
    """Runs the compiler with the directory `place` as its working and temporary directory.

    Raises:
        subprocess.TimeoutExpired: the compiler exceeded `limit_s`, by default `TIME_LIMIT_S`.
        CompileError: the compiler failed or exceeded `MEMORY_LIMIT_BYTES`.
    """
    command, output = [*compiler.command, *arguments], place / "output"
    if os.name == "posix":
        command = [*_MEMORY_LIMIT_COMMAND, str(MEMORY_LIMIT_BYTES >> 10), *command]
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
        process.wait(TIME_LIMIT_S if limit_s is None else limit_s)
    if process.returncode:
        said = _first_errors(output)
        if any(text in said.lower() for text in _OUT_OF_MEMORY_TEXTS):
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
    told = ("error", *_OUT_OF_MEMORY_TEXTS)
    lines = [line for line in lines if any(word in line.lower() for word in told)] or lines
    return "; ".join(lines[:3])[:600]
