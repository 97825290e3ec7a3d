"""Each kernel is built in a process of its own: one that kills the generator, or never ends, costs only itself.

MindSpore's own pool loses the kernel with the worker that died, and waits for it for minutes.
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
"""Fits into a pipe that nobody reads yet."""


class Ended(NamedTuple):
    """How a kernel ended that was not built, and where, as the error named it."""

    why: str
    place: str = ""


def build_apart(
    kernels: Sequence[str], build: Callable[[str], object], *, workers: int, seconds: int
) -> dict[str, Ended]:
    """Builds all, at most `workers` at a time, each within `seconds`.

    Args:
        kernels: what `build` is called with; it raises where it fails.

    Returns:
        Kernel → how it ended, of those that were not built.
    """
    forked = multiprocessing.get_context("fork")
    waiting = list(reversed(kernels))
    running: dict[int, tuple[BaseProcess, Connection, str]] = {}
    failed: dict[str, Ended] = {}
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
                failed[kernel] = _told(told) or Ended(_said(process.exitcode))
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
        tell.send(Ended(*(text[:REASON_CHARACTERS] for text in told)))
        raise


def _told(told: Connection) -> Ended | None:
    """What a worker said before it ended."""
    try:
        return told.recv() if told.poll() else None
    except (EOFError, OSError):
        return None


def _said(exitcode: int) -> str:
    if exitcode == -signal.SIGALRM:
        return "it did not end"
    return f"it died of {signal.Signals(-exitcode).name}" if exitcode < 0 else "it gave up"
