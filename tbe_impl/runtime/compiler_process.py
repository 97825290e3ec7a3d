"""Runs a C compiler in a process with time and memory limits, and removes temporary files."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tbe_impl.errors import CompileError, CompileTimeoutError
from tbe_impl.records import Record
from tbe_impl.runtime.process_group import child_group

TIME_LIMIT_S = 60
"""Maximum processor time of each process of a compiler."""
WALL_LIMIT_FACTOR = 5.0
"""Maximum ratio of the elapsed time of a compilation to the limit of the processor time.

On an overloaded machine, a compiler waits for the processor for most of the time.
"""
MEMORY_LIMIT_BYTES = 4 << 30
"""Maximum address space of a compiler process. Most kernels need a few hundred MiB to compile."""
_OUT_OF_MEMORY_TEXTS = ("out of memory", "memory exhausted", "cannot allocate memory", "bad_alloc")
_OUT_OF_TIME_TEXT = "cpu time limit exceeded"
_LIMIT_COMMAND = (
    "/bin/sh",
    "-c",
    '{ ulimit -v "$0"; ulimit -S -t "$1"; ulimit -S -c 0; } 2>/dev/null; shift; exec "$@"',
)
"""Command prefix that sets limits: KiB of memory, seconds of processor time, no core dump.

The soft limit of time ends a process by SIGXCPU; the hard limit would end it by SIGKILL.
"""
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
    compiler: Compiler, arguments: Sequence[str], place: Path, *, limit_s: int | None = None
) -> None:
    """Runs the compiler with the directory `place` as its working and temporary directory.

    Args:
        limit_s: maximum processor time of each process of the compiler, by default `TIME_LIMIT_S`.

    Raises:
        CompileTimeoutError: the compiler exceeded the processor time, or the elapsed time exceeded
            `WALL_LIMIT_FACTOR` times this limit.
        CompileError: the compiler failed or exceeded `MEMORY_LIMIT_BYTES`.
    """
    limit_s = TIME_LIMIT_S if limit_s is None else limit_s
    wall_s = limit_s * WALL_LIMIT_FACTOR
    command, output = [*compiler.command, *arguments], place / "output"
    if os.name == "posix":
        limits = (str(MEMORY_LIMIT_BYTES >> 10), str(limit_s))
        command = [*_LIMIT_COMMAND, *limits, *command]
    with (
        output.open("wb") as file,
        child_group(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=place,
            env={**os.environ, "TMPDIR": str(place), "LC_ALL": "C"},
        ) as process,
    ):
        try:
            process.wait(wall_s)
        except subprocess.TimeoutExpired:
            raise CompileTimeoutError(
                f"the C compiler took longer than {wall_s:g} s",
                place=" ".join(compiler.command),
                remedy="The machine is overloaded, or the compiler hangs: try again when there is "
                "less load",
            ) from None
    if process.returncode:
        said = _first_errors(output)
        if process.returncode == -signal.SIGXCPU or _OUT_OF_TIME_TEXT in said.lower():
            raise CompileTimeoutError(
                f"the C compiler took longer than {limit_s} s of processor time",
                place=" ".join(compiler.command),
                remedy="Divide the operator into smaller operators",
            )
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
    told = ("error", _OUT_OF_TIME_TEXT, *_OUT_OF_MEMORY_TEXTS)
    lines = [line for line in lines if any(word in line.lower() for word in told)] or lines
    return "; ".join(lines[:3])[:600]
