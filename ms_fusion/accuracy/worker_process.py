"""Runs a child process that answers requests; the parent survives a crash or hang of the child."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tbe_impl.runtime.process_group import child_environment

_LATCHED_VARIABLES = (
    "MINDSPORE_DUMP_CONFIG",
    "MS_DEV_SAVE_GRAPHS",
    "MS_DEV_SAVE_GRAPHS_PATH",
    "MS_DEV_DUMP_IR_PASSES",
)


class WorkerError(Exception):
    """A request failed; the message is the reason."""


class Worker:
    """A child process ``python -m module mode FD`` that answers requests.

    Each request and each answer is one line of JSON. The first request starts the child process.
    After a crash or a hang, the next request starts a new child process. Answers use a separate
    pipe, so that text printed by MindSpore cannot corrupt the answers. Standard output is
    discarded.

    Args:
        module: the module to run, which reads requests from standard input. The last command-line
            argument, FD, is the file descriptor of the pipe for answers.
        mode: the command-line argument before FD.
        directory: working directory of the child.
        environment: additional environment variables.
        restarts: maximum number of restarts. After this number of restarts, each request that needs
            another restart raises `WorkerError`.
    """

    def __init__(
        self,
        module: str,
        mode: str,
        *,
        directory: Path,
        environment: Mapping[str, str] | None = None,
        restarts: int = 3,
    ):
        self.module, self.mode, self.directory, self.left = module, mode, directory, restarts + 1
        inherited = {
            name: value
            for name, value in child_environment().items()
            if name not in _LATCHED_VARIABLES
        }
        self.environment = {**inherited, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.answers = -1
        self.pending = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, request: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Sends a request and returns the child's answer.

        Raises:
            WorkerError: the child answered with an error, died, or exceeded `timeout_s`.
        """
        if self.process is None:
            self._start()
        process = self.process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = self._read_line(time.monotonic() + timeout_s)
        except BrokenPipeError:
            line = b""
        if line is None:
            self.stop()
            raise WorkerError(f"no answer within {timeout_s:.0f} s")
        if not line:
            code = process.wait()
            self.stop()
            raise WorkerError(
                f"died of signal {-code}" if code < 0 else f"ended with exit code {code}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return answer

    def stop(self) -> None:
        """Kills the child process if it is running."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin:
            with suppress(BrokenPipeError):
                process.stdin.close()
        os.close(self.answers)

    def _start(self) -> None:
        if not self.left:
            raise WorkerError("it died too often before")
        self.left -= 1
        self.answers, theirs = os.pipe()
        self.pending = b""
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, self.mode, str(theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.directory,
                env=self.environment,
                pass_fds=(theirs,),
            )
        finally:
            os.close(theirs)

    def _read_line(self, deadline: float) -> bytes | None:
        """Returns the next line of the answer pipe.

        Returns empty bytes if the pipe is closed, and None if `deadline` passes first.
        """
        while b"\n" not in self.pending:
            ready, _, _ = select.select(
                [self.answers], [], [], max(0.0, deadline - time.monotonic())
            )
            if not ready:
                return None
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                return b""
            self.pending += piece
        line, self.pending = self.pending.split(b"\n", 1)
        return line
