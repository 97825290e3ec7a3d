"""Starts child processes as leaders of a process group that ends with leader and parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

WATCH = ("/bin/sh", "-c", 'read -r leader && { read -r _; kill -9 "-$leader"; }')
"""Reads the group leader from a pipe; kills the group at end of file."""


@contextlib.contextmanager
def child_group(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a child as leader of a session and process group; kills the group at block exit.

    Ctrl-C, a closed terminal or a signal reaches only the parent, which ends the group on exit.
    When the parent is killed, a watcher ends the group: it reads a pipe whose other end the parent,
    or a forked copy of it, holds open. Processes started by the child may inherit its pipes, so its
    output must go to a file.

    Args:
        command: the command to run.
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
