"""Builds each kernel in its own process, so that a crash or hang affects only one kernel.

MindSpore itself uses a process pool instead. If a worker process of the pool dies, MindSpore waits
minutes for the kernel that the worker was building.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from tbe_impl.errors import FusionError

REASON_CHARACTERS = 1000
"""Maximum length of each string in a `BuildFailure`.

A failure of this size fits into the buffer of a pipe. So a worker can send the failure and end
before the server reads it.
"""


class BuildFailure(NamedTuple):
    """Describes why a kernel could not be built.

    Attributes:
        why: the error message.
        place: the operator or other place where the error occurred; empty if unknown.
    """

    why: str
    place: str = ""


def build_in_processes(
    kernels: Sequence[str], build: Callable[[str], object], *, workers: int, seconds: int
) -> dict[str, BuildFailure]:
    """Builds all kernels in parallel processes.

    Args:
        kernels: one string for each kernel, which describes the kernel to `build`.
        build: function that builds the kernel of a description, and raises an error on failure.
        workers: maximum number of processes at a time.
        seconds: time limit for each kernel.

    Returns:
        A dict from the description of each failed kernel to its failure.
    """
    forked = multiprocessing.get_context("fork")
    waiting = list(reversed(kernels))
    running: dict[int, tuple[BaseProcess, Connection, str]] = {}
    failed: dict[str, BuildFailure] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            kernel = waiting.pop()
            told, tell = forked.Pipe(duplex=False)
            process: BaseProcess = forked.Process(
                target=_build, args=(build, kernel, seconds, tell)
            )
            process.start()
            tell.close()
            running[process.sentinel] = process, told, kernel
        for ended in wait(list(running)):
            process, told, kernel = running.pop(ended)  # type: ignore[arg-type]
            process.join()
            if process.exitcode:
                failed[kernel] = _receive_failure(told) or BuildFailure(
                    _describe_exit(process.exitcode)
                )
            process.close()
            told.close()
    return failed


def _build(build: Callable[[str], object], kernel: str, seconds: int, tell: Connection) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    try:
        build(kernel)
    except Exception as error:
        told = (
            (str(error), error.place or "")
            if isinstance(error, FusionError)
            else (f"{type(error).__name__}: {error}", "")
        )
        tell.send(BuildFailure(*(text[:REASON_CHARACTERS] for text in told)))
        raise


def _receive_failure(told: Connection) -> BuildFailure | None:
    """Returns the failure that a worker process sent, or None if the process sent no failure."""
    try:
        return told.recv() if told.poll() else None
    except (EOFError, OSError):
        return None


def _describe_exit(exitcode: int) -> str:
    if exitcode == -signal.SIGALRM:
        return "it did not end"
    return f"it died of {signal.Signals(-exitcode).name}" if exitcode < 0 else "it gave up"
