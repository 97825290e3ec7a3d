"""What the rows of the stress run share: how much, how a row is told, children that may die, compilers that count."""

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
from tbe_impl.runtime.cache import Entry, KernelCache
from tbe_impl.runtime.cache_entry import KERNEL

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Stress:
    """One run of a row.

    Attributes:
        place: a directory of its own; its ``work`` is the current directory and its ``cache`` that of kernels.
        seed: of everything random.
        full: as often as the row asks, or seldom enough for every commit.
    """

    place: Path
    seed: int
    full: bool

    def times(self, full: int, short: int) -> int:
        """How often."""
        return full if self.full else short

    @property
    def chance(self) -> random.Random:
        """Random numbers, the same ones each time it is asked."""
        return random.Random(self.seed)


@dataclass(frozen=True)
class Row:
    """One line of the stress run.

    Attributes:
        number: of the row.
        what: what is done.
        asked: what has to come out.
        check: does it, raises `AssertionError` when it came out otherwise, and says what was seen.
    """

    number: int
    what: str
    asked: str
    check: Callable[[Stress], str]


def kernel_cache() -> KernelCache:
    """The cache that kernels of this process are kept in."""
    return KernelCache(environment.cache_dir() / "kernels")


def libraries(cache: KernelCache) -> list[Entry]:
    """What a cache has, but for headers as GCC has read them."""
    return [entry for entry in cache.entries() if not _are_headers(entry.path / KERNEL)]


def _are_headers(path: Path) -> bool:
    return path.is_file() and path.read_bytes()[:4] == b"gpch"


def kernel_entries() -> list[Entry]:
    """What the user's cache has of kernels; the threads, which are there before the first, are not among them."""
    threads = hashlib.sha256(thread_pool.SOURCE.read_bytes()).hexdigest()
    key = compiler.recipe(threads).key
    return [entry for entry in libraries(kernel_cache()) if entry.key != key]


_held: list[int] = []
"""The end of the pipe to the parent."""


class Child:
    """A forked process that does one thing and says a JSON value."""

    def __init__(self, work: Callable[[], Any]):
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            while _held:  # an end that a grandchild holds would keep its grandparent waiting
                os.close(_held.pop())
            _held.append(writing)
            _do(work, writing)
        os.close(writing)
        self._reading = reading

    def end(self, limit_s: float = 120.0) -> Any:
        """What it said; raises `AssertionError` when it died, failed or took longer than that."""
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
        """Ends it at once, wherever it is."""
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
    """What `work` gives in a forked process."""
    return Child(work).end(limit_s)


def run_python(
    module: str, *arguments: object, before: tuple[str, ...] = (), **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """``python -m module`` in a process of its own; a variable that is None is absent there."""
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
    """A program in shell that can be called."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def counting_compiler(path: Path) -> Path:
    """The real compiler, with a line in ``path.log`` for each call."""
    return script(path, f'echo called >> "{path}.log"\nexec {real_compiler()} "$@"')


def remembering_compiler(path: Path) -> Path:
    """Compiles the first time, and then gives the same library for every text: for rows that use one kernel. Threads it always compiles."""
    return script(
        path,
        f"""last=
for argument; do [ "$last" = -o ] && target=$argument; last=$argument; done
for argument; do case $argument in *.c) grep -q "^void tbe_impl_share" "$argument" && exec {real_compiler()} "$@" ;; esac; done
echo called >> "{path}.log"
[ -f "{path}.so" ] && exec cp "{path}.so" "$target"
{real_compiler()} "$@" && cp "$target" "{path}.so" """,
    )


def calls_of(path: Path) -> int:
    """How often one of these compilers was called."""
    log = Path(f"{path}.log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@contextlib.contextmanager
def using_compiler(path: Path | str) -> Iterator[None]:
    """Kernels are compiled by this one inside."""
    with environment_variable(environment.COMPILER.name, str(path)):
        yield


@contextlib.contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """An environment variable has this value inside."""
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
