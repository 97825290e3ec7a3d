"""Runs Python programs in forks of a server process that has imported MindSpore.

Importing MindSpore takes two to three seconds of processor time. A test that needs its own process
state, but not its own import, runs its program through :func:`run_program`: the server imports
NumPy and MindSpore once, forks for each program, and the fork continues as ``python PROGRAM
ARGUMENTS`` would, exit handlers included. A test of the import, or of variables that MindSpore
reads at import (``MS_…``), uses ``fresh=True``.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Ended:
    """Result of a program: exit code (negative: the signal) and output."""

    returncode: int
    output: str


def run_program(
    program: Path,
    *arguments: str,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_s: float = 300.0,
    fresh: bool = False,
) -> Ended:
    """Runs ``python -W default PROGRAM ARGUMENTS`` with exactly this environment.

    Args:
        program: a Python file.
        arguments: the rest of its ``sys.argv``.
        cwd: its working directory.
        environment: the complete environment.
        timeout_s: after this time the program and its children are killed, and ``TimeoutError`` is
            raised.
        fresh: a new interpreter instead of a fork.
    """
    with tempfile.TemporaryFile() as output:
        if fresh:
            process = subprocess.Popen(
                [sys.executable, "-W", "default", str(program), *arguments],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                _kill_group(process.pid)
                process.wait()
                raise TimeoutError(f"{program.name}: not ended after {timeout_s:g} s") from None
        else:
            code = _Server.of_this_process().run(
                [str(program), *arguments], cwd, environment, output.fileno(), timeout_s
            )
        output.seek(0)
        return Ended(code, output.read().decode("utf-8", "replace"))


class _Server:
    """The client's side: the server process of this worker, started on first use."""

    _one: _Server | None = None

    def __init__(self) -> None:
        variables = {k: v for k, v in os.environ.items() if not k.startswith("MS_")}
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server"],
            cwd=ROOT,
            env={**variables, "GLOG_v": "4"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # `select` must see unread data
        )

    @classmethod
    def of_this_process(cls) -> _Server:
        one = cls._one
        if one is None or one.owner != os.getpid() or one.process.poll() is not None:
            one = cls._one = _Server()
            atexit.register(one.close)
        return one

    def run(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        output: int,
        timeout_s: float,
    ) -> int:
        request = {
            "arguments": list(arguments),
            "cwd": str(cwd),
            "environment": dict(environment),
            "output": f"/proc/{os.getpid()}/fd/{output}",
        }
        assert self.process.stdin and self.process.stdout
        pid = None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            pid = int(self.process.stdout.readline())
            if not select.select([self.process.stdout], [], [], timeout_s)[0]:
                raise TimeoutError(f"{Path(arguments[0]).name}: not ended after {timeout_s:g} s")
            return int(self.process.stdout.readline())
        except BaseException:
            # a late answer would count for the next program: another server starts then
            if pid is not None:
                _kill_group(pid)
            self.close()
            raise

    def close(self) -> None:
        """Ends the server; the next program starts another one."""
        if self.owner == os.getpid():
            self.process.kill()
            self.process.communicate()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _serve() -> list[str] | None:
    """Forks for each request; in the fork it returns the arguments of the program."""
    import numpy  # noqa: F401

    with contextlib.suppress(ImportError):
        import mindspore  # noqa: F401
    gc.freeze()  # MindSpore collects garbage at each compilation; imported objects are frozen
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if not pid:
            _become(request)
            return list(request["arguments"])
        print(pid, flush=True)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(code, flush=True)
    return None


def _become(request: dict[str, object]) -> None:
    os.setsid()
    output = os.open(str(request["output"]), os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, place)
    os.close(output)
    os.close(nothing)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.chdir(str(request["cwd"]))
    warnings.resetwarnings()
    warnings.simplefilter("default")


def main() -> None:
    arguments = _serve()
    if arguments is None:
        return
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).parent)
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]
    extra = os.environ.get("PYTHONPATH", "")
    sys.path[1:1] = [entry for entry in extra.split(os.pathsep) if entry]
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
