"""A child process that answers each request line with one line of JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ANSWER = "ANSWER "
"""Prefix of each answer on the child's output; other lines are ignored."""


class ChildProcess:
    """The parent's side; the process is killed when the ``with`` block ends.

    Args:
        name: name in error messages.
        command: the command line.
        environment: the complete environment.
        directory: working directory; default: the parent's.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: Path | None = None,
    ):
        self._name = name
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(environment),
            cwd=directory,
        )

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, line: str) -> Any:
        """Sends a line and returns the answer.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        """Waits for the next answer; the child sends the first one when it is ready.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                return json.loads(line.removeprefix(ANSWER))
        raise RuntimeError(f"{self._name} ended; what it said stands above")


def tell(answer: Any) -> None:
    """Child's side: sends an answer."""
    print(f"{ANSWER}{json.dumps(answer)}", flush=True)
