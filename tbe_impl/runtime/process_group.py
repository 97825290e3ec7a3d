"""Child processes that lead a process group: it ends with its leader, and with the parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

WATCH = ("/bin/sh", "-c", 'read -r leader && { read -r _; kill -9 "-$leader"; }')
"""Reads the leader of a group from a pipe, and kills the group at the end of file."""


@contextlib.contextmanager
def child_group(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A child that leads a session and process group, which is killed at the end of the block.

    Ctrl-C, a closed terminal or a signal reaches the parent alone, which ends the group on its way
    out. A watcher ends it when the parent is killed: it reads a pipe whose other end the parent
    holds, and a forked copy of the parent as long as it lives. A pipe of the child may be held by
    what it started: its output belongs into a file.

    Args:
        command: what to run.
        options: of `subprocess.Popen`.
    """
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    with (
        subprocess.Popen(
            WATCH, bufsize=0, stdin=pipe, stdout=null, stderr=null, start_new_session=True
        ) as watcher,
        subprocess.Popen(command, start_new_session=True, **options) as process,
    ):
        try:
            assert watcher.stdin is not None
            watcher.stdin.write(b"%d\n" % process.pid)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            watcher.kill()
