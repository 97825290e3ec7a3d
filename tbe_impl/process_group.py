"""Child processes that lead a process group: what a child started ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any


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

    A closed terminal reaches the parent only.
    """
    if os.getpgrp() != os.getpid():
        return

    def watch(parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
