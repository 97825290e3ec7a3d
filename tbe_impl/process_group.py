"""Child processes that lead a process group: what a child started ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any

FILES = 256
"""Descriptors that a process may have at its start."""


@contextlib.contextmanager
def child_group(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A child that leads a session and process group, which is killed at the end of the block.

    Ctrl-C reaches the parent alone, which ends the group on its way out. A pipe of the child may
    be held by what it started: its output belongs into a file.

    Args:
        command: what to run.
        options: of `subprocess.Popen`.
    """
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_with_parent() -> None:
    """From now on the group that this process leads ends when its parent does.

    A closed terminal, or a signal that ends the parent, reaches the parent only. A process of its
    own looks for it: while MindSpore compiles, no other thread of this one runs.
    """
    leader, parent = os.getpid(), os.getppid()
    if os.getpgrp() != leader or os.fork():
        return
    try:
        os.closerange(0, FILES)  # who reads what the leader writes sees its end
        while os.getppid() == leader and _is_there(parent):
            time.sleep(1.0)
        os.killpg(leader, signal.SIGKILL)
    finally:
        os._exit(0)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
