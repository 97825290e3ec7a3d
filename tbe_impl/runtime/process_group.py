"""Starts child processes as process group leaders, and kills the groups when the parent ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

WATCH = ("/bin/sh", "-c", 'read -r leader && { read -r _; kill -9 "-$leader"; }')
"""Watcher command, which reads a process group's id from a pipe.

The watcher kills the group when the other end of the pipe is closed.
"""


def child_environment(**variables: str) -> dict[str, str]:
    """Returns the environment of a child process that can import this program's packages.

    Args:
        variables: environment variables that differ from those of this process.
    """
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **variables}


@contextlib.contextmanager
def child_group(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a child process as the leader of a new session and process group.

    The group is killed when the ``with`` block ends. Because of the new session, Ctrl-C and a
    closed terminal reach only the parent. The parent kills the group when the parent exits. If the
    parent is killed, a watcher process kills the group. The watcher reads from a pipe. The other
    end of the pipe stays open until the parent and all its forked copies have ended. Processes
    started by the child may inherit the child's pipes, so the child's output must go to a file.

    Args:
        command: the command to run.
        options: options of `subprocess.Popen`.
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
