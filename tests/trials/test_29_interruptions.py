"""An interrupted `explain` leaves nothing behind, and timers do not disturb a compilation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tbe_impl.runtime.process_group import child_group
from tests.cases import FULL, cases
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs" / "trials"
LIMIT_S = 60.0


def wait_until(holds: object) -> bool:
    deadline = time.monotonic() + LIMIT_S
    while not holds():  # type: ignore[operator]
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_gone(process: int) -> bool:
    """Whether a process has ended; zombies count as ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def command_of(process: str) -> str:
    return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")


@pytest.mark.mindspore
@cases(
    "ends, interrupt, code",
    [
        ("waits", signal.SIGINT, 130),
        pytest.param("waits", signal.SIGKILL, -signal.SIGKILL, marks=FULL),
        pytest.param("dies", None, 2, marks=FULL),
    ],
)
def test_nothing_is_left_of_an_explain(
    tmp_path: Path, ends: str, interrupt: signal.Signals | None, code: int
) -> None:
    seen = tmp_path / f"seen-{ends}-{interrupt}"
    command = [
        sys.executable,
        "-m",
        "ms_fusion",
        "explain",
        f"{PROGRAMS}/net_with_a_helper_process.py:Net",
        "--input",
        "4",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MS_FUSION_CACHE_DIR": str(tmp_path / "cache"),
        "SEEN_PROCESSES": str(seen),
        "HOW_IT_ENDS": ends,
    }
    with child_group(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert wait_until(seen.exists)
        children = list(map(int, seen.read_text().split()))
        if interrupt:
            # like Ctrl-C in a terminal
            os.killpg(process.pid, interrupt)
        assert process.wait(LIMIT_S) == code
        assert wait_until(lambda: all(map(is_gone, children)))


def test_what_a_child_started_ends_with_it() -> None:
    program = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    read, write = os.pipe()
    with os.fdopen(read) as lines:
        with child_group([sys.executable, "-c", program], stdout=write) as process:
            os.close(write)
            grandchild = int(lines.readline())
            assert process.wait(LIMIT_S) == 0
            assert not is_gone(grandchild)
        assert wait_until(lambda: is_gone(grandchild))


BUSY = """
import ctypes, os, pathlib, subprocess, sys
started = subprocess.Popen(["sleep", "600"])
pathlib.Path(sys.argv[1] + ".new").write_text(f"{os.getpid()} {started.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
ctypes.PyDLL(None).sleep(600)
"""
"""A child in which no other thread runs, as during MindSpore's compilation."""
PARENT = """
import sys
from tbe_impl.runtime.process_group import child_group
with child_group([sys.executable, "-c", *sys.argv[1:]]) as child:
    child.wait()
"""


def test_a_busy_child_ends_with_its_parent(tmp_path: Path) -> None:
    """Also while the parent is a zombie."""
    seen = tmp_path / "seen"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PARENT, BUSY, str(seen)]
    with subprocess.Popen(command, env=environment) as parent:
        assert wait_until(seen.exists)
        children = list(map(int, seen.read_text().split()))
        parent.kill()
        assert wait_until(lambda: all(map(is_gone, children)))


def test_a_group_leaves_no_watcher() -> None:
    read, write = os.pipe()
    os.close(write)
    before = len(os.listdir("/proc/self/fd"))
    with child_group(["true"], stdin=read) as process:
        assert process.wait(LIMIT_S) == 0
    with pytest.raises(FileNotFoundError), child_group(["no such command"]):
        pass
    os.close(read)
    assert len(os.listdir("/proc/self/fd")) == before - 1
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()
    assert not [one for one in children.split() if "read -r leader" in command_of(one)]


@pytest.mark.mindspore
def test_timers_do_not_disturb_a_compilation(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(
        PROGRAMS / "timers_while_compiling.py", cwd=tmp_path, environment=environment
    )
    assert done.returncode == 0, done.output
    assert "right, timers as they were" in done.output.splitlines(), done.output
