"""Shared code of the stress rows: extent, output, child processes, counting compilers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbe_impl import environment
from tbe_impl.runtime import compiler, thread_pool
from tbe_impl.runtime.store import Entry, Store
from tbe_impl.runtime.store_kinds import KERNELS

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Stress:
    """One run of a row.

    Attributes:
        place: its directory; ``work`` in it is the working directory and ``cache`` the kernel
            cache.
        seed: seed of all random numbers.
        full: the full extent instead of the short one.
    """

    place: Path
    seed: int
    full: bool

    def times(self, full: int, short: int) -> int:
        """Number of repetitions."""
        return full if self.full else short

    @property
    def chance(self) -> random.Random:
        """A random generator with the same sequence on each call."""
        return random.Random(self.seed)


@dataclass(frozen=True)
class Row:
    """One line of the stress run.

    Attributes:
        number: number of the row.
        what: description of the action.
        asked: the required outcome.
        check: runs the row, raises `AssertionError` on failure, and returns the observations.
    """

    number: int
    what: str
    asked: str
    check: Callable[[Stress], str]


def kernel_cache() -> Store:
    """The store of this process."""
    return Store(environment.cache_dir() / "store")


def libraries(cache: Store) -> list[Entry]:
    """The kernels of a store."""
    return list(cache.entries(KERNELS))


def kernel_entries() -> list[Entry]:
    """The kernels of the user's cache, without the thread library, which is compiled first."""
    threads = hashlib.sha256(thread_pool.SOURCE.read_bytes()).hexdigest()
    key = compiler.recipe(threads).key
    return [entry for entry in libraries(kernel_cache()) if entry.key != key]


_held: list[int] = []
"""The end of the pipe to the parent."""


class Child:
    """A forked process that runs one function and returns a JSON value."""

    def __init__(self, work: Callable[[], Any]):
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            while _held:  # an end held by a grandchild would block its grandparent
                os.close(_held.pop())
            _held.append(writing)
            _do(work, writing)
        os.close(writing)
        self._reading = reading

    def end(self, limit_s: float = 120.0) -> Any:
        """Its result; raises `AssertionError` if it crashed, failed or timed out."""
        said, until = b"", time.monotonic() + limit_s
        while True:
            ready, _, _ = select.select([self._reading], [], [], max(until - time.monotonic(), 0))
            if not ready:
                os.kill(self.pid, signal.SIGKILL)
            more = os.read(self._reading, 1 << 16) if ready else b""
            if not more:
                break
            said += more
        os.close(self._reading)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert ready, f"a process hung for {limit_s:g} s"
        assert status >= 0, f"a process died of {signal.Signals(-status).name}"
        value = json.loads(said) if said else {"failed": f"exit code {status}"}
        assert "failed" not in value, value["failed"]
        return value["said"]

    def kill(self) -> None:
        """Kills it immediately."""
        os.kill(self.pid, signal.SIGKILL)
        os.close(self._reading)
        os.waitpid(self.pid, 0)


def _do(work: Callable[[], Any], writing: int) -> None:
    try:
        value = {"said": work()}
    except AssertionError as error:
        value = {"failed": str(error)}
    except BaseException:  # noqa: BLE001 - whatever it is, the parent has to hear of it
        value = {"failed": traceback.format_exc(limit=-4)}
    with contextlib.suppress(OSError):
        text, at = json.dumps(value).encode(), 0
        while at < len(text):
            at += os.write(writing, text[at:])
    os._exit(0)


def in_child(work: Callable[[], Any], limit_s: float = 120.0) -> Any:
    """The result of `work` in a forked process."""
    return Child(work).end(limit_s)


def run_python(
    module: str, *arguments: object, before: tuple[str, ...] = (), **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """``python -m module`` in its own process; a variable that is None is unset there."""
    kept = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [*before, sys.executable, "-m", module, *map(str, arguments)],
        env={key: value for key, value in kept.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=120,
    )


def real_compiler() -> str:
    """The C compiler of this machine."""
    return " ".join(compiler.find_compiler().command)


def script(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def counting_compiler(path: Path) -> Path:
    """The real compiler, with a line in ``path.log`` for each call."""
    return script(path, f'echo called >> "{path}.log"\nexec {real_compiler()} "$@"')


def remembering_compiler(path: Path) -> Path:
    """Compiles once, then returns the same library for every text: for rows with one kernel.

    The thread library is always compiled.
    """
    return script(
        path,
        f"""last=
for argument; do [ "$last" = -o ] && target=$argument; last=$argument; done
for argument; do
  case $argument in
    *.c) grep -q "^void tbe_impl_share" "$argument" && exec {real_compiler()} "$@" ;;
  esac
done
echo called >> "{path}.log"
[ -f "{path}.so" ] && exec cp "{path}.so" "$target"
{real_compiler()} "$@" && cp "$target" "{path}.so" """,
    )


def calls_of(path: Path) -> int:
    """Number of calls of one of these compilers."""
    log = Path(f"{path}.log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@contextlib.contextmanager
def using_compiler(path: Path | str) -> Iterator[None]:
    """This compiler is in use inside the context."""
    with environment_variable(environment.COMPILER.name, str(path)):
        yield


@contextlib.contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """Sets an environment variable inside the context."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def files_below(place: Path) -> list[str]:
    """Every file below a directory."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if not path.is_dir())
