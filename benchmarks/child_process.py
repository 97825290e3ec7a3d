"""A process that answers a line of JSON for each line that it is told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ANSWER = "ANSWER "
"""Before each answer on the child's output; other lines are left to pass."""


class ChildProcess:
    """The parent's side; the process is killed when the ``with`` block ends.

    Args:
        name: as errors call it.
        command: what is run.
        environment: all of its variables.
        directory: its working directory, by default the parent's.
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
        """The answer to this line.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        """The next answer, waited for; the first one comes unasked when the child is ready.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                return json.loads(line.removeprefix(ANSWER))
        raise RuntimeError(f"{self._name} ended; what it said stands above")


def tell(answer: Any) -> None:
    """The child's side: an answer."""
    print(f"{ANSWER}{json.dumps(answer)}", flush=True)
