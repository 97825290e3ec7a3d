"""Row 9: compilers that are missing, fail, hang, crash, lie or are verbose."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tbe_impl.runtime import compiler_process
from tests.stress.kernels import POINTS, swish, swish_is_right
from tests.stress.parts import Row, Stress, in_child, real_compiler, script, using_compiler

HANGING_S = 0.3


@dataclass(frozen=True)
class Bad:
    """A compiler.

    Attributes:
        name: its defect.
        text: its script; ``{real}`` is the real one, ``{pids}`` a file for process ids.
        cause: text of the warning; empty if it works all the same.
    """

    name: str
    text: str
    cause: str = ""


TARGET = 'for argument; do [ "$last" = -o ] && target=$argument; last=$argument; done'
COMPILERS = (
    Bad("fails", "echo 'kernel.c:7: error: the moon is full' >&2; exit 1", "the moon is full"),
    Bad("fails without a word", "exit 3", "exit code 3"),
    Bad("hangs", "echo $$ >> {pids}; exec sleep 600", "took longer than"),
    Bad(
        "hangs with children",
        "sleep 600 & echo $! >> {pids}; sleep 600 & echo $! >> {pids}; wait",
        "took longer than",
    ),
    Bad(
        "hangs and hears no signal",
        "trap '' TERM INT HUP; echo $$ >> {pids}; while :; do sleep 1; done",
        "took longer than",
    ),
    Bad("computes forever", "while :; do :; done", "of processor time"),
    Bad("is killed", "kill -9 $$", "exit code -9"),
    Bad("crashes", "kill -SEGV $$", "exit code -11"),
    Bad(
        "talks, then works",
        'head -c 3000000 /dev/urandom; head -c 3000000 /dev/zero >&2; exec {real} "$@"',
    ),
    Bad(
        "talks, then fails", "yes 'this is an error' | head -c 3000000; exit 1", "this is an error"
    ),
    Bad("says that it worked", "exit 0", "produced no library"),
    Bad("leaves an empty library", TARGET + '; : > "$target"', "no library that can be loaded"),
    Bad(
        "leaves rubbish",
        TARGET + '; head -c 5000 /dev/urandom > "$target"',
        "no library that can be loaded",
    ),
    Bad(
        "leaves a library without the kernel",
        TARGET + '; echo "int f;" | {real} -shared -fPIC -x c - -o "$target"',
        "no library that can be loaded",
    ),
    Bad("leaves a directory", TARGET + '; mkdir "$target"', "produced no library"),
    Bad("leaves a link", TARGET + '; ln -s /etc/passwd "$target"', "produced no library"),
    Bad(
        "leaves a process that holds its output", 'sleep 600 & echo $! >> {pids}; exec {real} "$@"'
    ),
    Bad(
        "leaves a process of another session that holds its output",
        'setsid sleep 8 & exec {real} "$@"',
    ),
)
MISSING = Bad("is missing", "", "is not there")


def compilers(stress: Stress) -> str:
    """A kernel with each of them: right result, one warning with the cause, no running process."""
    failures = []
    for number, bad in enumerate((MISSING, *COMPILERS)):
        path, pids = stress.place / f"cc-{number}", stress.place / f"pids-{number}"
        if bad.text:
            text = bad.text.replace("{real}", real_compiler()).replace("{pids}", str(pids))
            script(path, text)
        seconds = 60.0 if stress.full and bad.name == "hangs" else HANGING_S
        limit_s = math.ceil(seconds) if bad.cause else 60
        hangs = bad.cause == "took longer than"
        with (
            using_compiler(path),
            mock.patch.object(compiler_process, "TIME_LIMIT_S", limit_s),
            mock.patch.object(
                compiler_process, "WALL_LIMIT_FACTOR", seconds / limit_s if hangs else 60.0
            ),
        ):
            try:
                _check(bad, in_child(_kernel(number), limit_s=seconds + 30), pids, seconds)
            except AssertionError as error:
                failures.append(f"{bad.name}: {error}")
    assert not failures, "; ".join(failures)
    limit = f", one of them {60 if stress.full else HANGING_S:g} s"
    return (
        f"{len(COMPILERS) + 1} compilers: all right, each with one warning that names the "
        f"cause{limit}; no process left"
    )


def _kernel(number: int) -> Callable[[], dict[str, object]]:
    def work() -> dict[str, object]:
        heard: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: heard.append(  # type: ignore[method-assign]
            record.getMessage()
        )
        logging.getLogger().addHandler(handler)
        begin = time.monotonic()
        right = all(swish_is_right(number, swish(number)(POINTS)) for _ in range(2))
        return {
            "right": right,
            "heard": heard,
            "children": _children(),
            "seconds": time.monotonic() - begin,
        }

    return work


def _children() -> list[str]:
    """Child processes of this one, including zombies."""
    tasks = Path(f"/proc/{os.getpid()}/task")
    return [pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


def _check(bad: Bad, told: dict, pids: Path, seconds: float) -> None:
    heard = told["heard"]
    assert told["right"], "wrong numbers"
    assert told["children"] == [], f"left children {told['children']}"
    assert len(heard) == bool(bad.cause), f"{len(heard)} warnings: {heard[:3]}"
    assert not bad.cause or bad.cause in heard[0], f"the cause is not named: {heard[0]}"
    assert told["seconds"] < seconds + 5, f"took {told['seconds']:.0f} s"
    assert all(len(text) < 2000 for text in heard), "a warning as long as a book"
    for pid in pids.read_text().split() if pids.exists() else ():
        deadline = time.monotonic() + 5
        while _runs(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not _runs(pid), "a process of the compiler goes on"


def _runs(pid: str) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


ROWS = (
    Row(
        9,
        "compiler missing, failing, hanging, killed, lying, noisy",
        "the NumPy back end with the cause, no zombies",
        compilers,
    ),
)
