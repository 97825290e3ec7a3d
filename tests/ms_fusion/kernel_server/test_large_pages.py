"""During launches the process memory moves into 2 MiB pages, and its content stays unchanged."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ms_fusion.kernel_server.host import LARGE_PAGES
from tbe_impl.runtime import compiler
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

PAGE, SMALL = 2 << 20, 4096
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
LAUNCH = """
void launch(uintptr_t kernel, int times) {
  while (times--) large_pages((void *)(kernel << 4));
}
"""
SOURCE = LARGE_PAGES.read_text("utf-8")
TIMES = "FIRST_NS = 250000000, PIECE_NS = 1000000, OTHERS_SHARE = 2, LATER = 4;"
AT_ONCE = "FIRST_NS = 0, PIECE_NS = 1000000, OTHERS_SHARE = 0, LATER = 4;"
ONCE = "FIRST_NS = 1, PIECE_NS = 1000000, OTHERS_SHARE = 0, LATER = 1000000000000;"
NOT_YET = "FIRST_NS = 1000000000000000, PIECE_NS = 1000000, OTHERS_SHARE = 0, LATER = 1;"
# Linux constants that Python has no name for
MADV_NOHUGEPAGE, MADV_COLLAPSE = 15, 25
OFTEN, STEP = 1000, 50
"""A launch inspects at least one page, if any."""

libc = ctypes.CDLL(None, use_errno=True)


def protect(at: int, count: int, allowed: int) -> None:
    """Whether these bytes are readable (1) and writable (2)."""
    assert libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(count), allowed) == 0


class Memory:
    """Some large pages in small ones, all written except the last.

    Args:
        whole: number of large pages.
        missing: number of missing small pages at the end of each.
    """

    def __init__(self, whole: int = 3, missing: int = 0):
        self._map = mmap.mmap(-1, (whole + 2) * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = np.frombuffer(self._map, np.uint8).ctypes.data
        # so that smaps lists it separately
        for end in (start, start + len(self._map) - SMALL):
            protect(end, SMALL, 0)
        skipped = -(start + SMALL) % PAGE + SMALL
        self.at = start + skipped
        pages = np.frombuffer(self._map, np.uint64, whole * PAGE // 8, skipped)
        self._written = pages.reshape(whole, -1, SMALL // 8)[:, : PAGE // SMALL - missing]
        self._wanted = np.arange(self._written.size, dtype=np.uint64).reshape(self._written.shape)
        self._written[:] = self._wanted

    def is_whole(self) -> bool:
        """Whether it still holds the written data."""
        return bool((self._written == self._wanted).all())

    def large(self) -> int:
        """Number of 2 MiB pages."""
        counts = False
        for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
            if head := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                counts = int(head[1], 16) <= self.at < int(head[2], 16)
            elif counts and line.startswith("AnonHugePages:"):
                return (int(line.split()[1]) << 10) // PAGE
        raise AssertionError("no such mapping")


def _why_not() -> str:
    """Why this system does not move pages on request, or moves them without."""
    if not SETTING.is_file() or "[madvise]" not in SETTING.read_text():
        return f"{SETTING} does not say madvise"
    memory = Memory()
    libc.madvise(ctypes.c_void_p(memory.at), ctypes.c_size_t(3 * PAGE), MADV_COLLAPSE)
    return "" if memory.large() == 3 else "Linux moves nothing into large pages here"


_REASON = _why_not()
moves = pytest.mark.skipif(bool(_REASON), reason=_REASON)
linux = pytest.mark.skipif(not Path("/proc/self/smaps").is_file(), reason="for Linux alone")


class Library:
    """The C file loaded as a separate library, so that it knows no kernel."""

    _numbers = itertools.count()

    def __init__(self, place: Path, *changes: tuple[str, str], options: tuple[str, ...] = ()):
        text = f"#include <stdint.h>\n{SOURCE}{LAUNCH}"
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        # a process loads each library file once
        file = place / f"{next(self._numbers)}.so"
        file.write_bytes(compiler.build(text, symbols=("launch",), options=options).read_bytes())
        self._launch = ctypes.CDLL(str(file), use_errno=True).launch

    def launch(self, kernel: int = 1, times: int = OFTEN, until: Memory | None = None) -> None:
        """Launches are counted; a memory move ends with that count, or after four times as many."""
        for _ in range(0, times if until is None else 4 * times, STEP):
            self._launch(ctypes.c_size_t(kernel), STEP)
            if until is not None and until.large() == 3:
                return


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path, (TIMES, AT_ONCE))


@moves
def test_memory_is_moved_and_nothing_in_it_changes(library: Library) -> None:
    memory = Memory()
    assert memory.large() == 0
    library.launch(until=memory)
    assert memory.large() == 3
    assert memory.is_whole()


@moves
def test_a_page_of_which_much_is_missing_stays(library: Library) -> None:
    """An eighth is missing: moving it would increase the process memory by more than a seventh."""
    memories = {missing: Memory(missing=missing) for missing in (64, 65, 511)}
    library.launch()
    assert {missing: one.large() == 3 for missing, one in memories.items()} == {
        64: True,
        65: False,
        511: False,
    }
    assert all(one.is_whole() for one in memories.values())


@moves
def test_who_launches_kernels_for_a_moment_does_not_wait(tmp_path: Path) -> None:
    memory = Memory()
    library = Library(tmp_path, (TIMES, NOT_YET))
    library.launch()
    assert memory.large() == 0


@moves
def test_memory_that_must_not_be_moved_keeps_no_other_from_it(library: Library) -> None:
    memory, others = Memory(), Memory(20)
    libc.madvise(ctypes.c_void_p(others.at), ctypes.c_size_t(20 * PAGE), MADV_NOHUGEPAGE)
    later = Memory()
    library.launch(until=later)
    library.launch(until=memory)
    assert (memory.large(), others.large(), later.large()) == (3, 0, 3)


@moves
def test_a_new_kernel_restarts_the_move_to_large_pages(tmp_path: Path) -> None:
    first = Memory()
    library = Library(tmp_path, (TIMES, ONCE))
    library.launch(until=first)
    library.launch(times=8 * OFTEN)  # the rest of the process, which may hold thousands of pages
    later = Memory()
    library.launch()
    assert first.large() == 3
    assert later.large() == 0
    library.launch(kernel=2, times=2 * OFTEN, until=later)
    assert later.large() == 3


@FULL
@moves
def test_threads_launch_at_once(library: Library) -> None:
    memories = [Memory() for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: library.launch(kernel=number), range(8)))
    library.launch(times=2 * OFTEN)
    assert all(memory.large() == 3 and memory.is_whole() for memory in memories)


@moves
@cases(
    "modes, is_moved",
    [
        ("always [madvise] never\n", True),
        pytest.param("[always] madvise never\n", True, marks=FULL),
        ("always madvise [never]\n", False),
        pytest.param("", False, marks=FULL),
        (None, False),
    ],
)
def test_what_the_system_says_counts(modes: str | None, is_moved: bool, tmp_path: Path) -> None:
    setting = tmp_path / "enabled"
    setting.unlink(missing_ok=True)
    if modes is not None:
        setting.write_text(modes)
    memory = Memory()
    Library(tmp_path, (TIMES, AT_ONCE), (f'"{SETTING}"', f'"{setting}"')).launch(
        until=memory if is_moved else None
    )
    assert (memory.large() == 3) == is_moved


@linux
def test_elsewhere_than_on_linux_it_does_nothing(tmp_path: Path) -> None:
    memory = Memory()
    Library(tmp_path, (TIMES, AT_ONCE), options=("-U__linux__",)).launch()
    assert memory.large() == 0
    assert memory.is_whole()


@FULL
@linux
def test_what_is_not_the_process_s_alone_stays_as_it_is(library: Library, tmp_path: Path) -> None:
    """A file that is read, a shared one, and memory that is not writable or not readable; ``errno``
    is unchanged.
    """
    file = tmp_path / "weights"
    file.write_bytes(os.urandom(4 * PAGE))
    with file.open("r+b") as opened:
        read = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        shared = mmap.mmap(opened.fileno(), 0)
    shared[:8] = b"together"
    kept, hidden = Memory(), Memory()
    protect(kept.at, 3 * PAGE, 1)
    protect(hidden.at, 3 * PAGE, 0)
    ctypes.set_errno(7)
    library.launch()
    assert ctypes.get_errno() == 7
    protect(hidden.at, 3 * PAGE, 3)
    assert read[:] == shared[:] == file.read_bytes()
    assert kept.is_whole() and hidden.is_whole()


@moves
@pytest.mark.mindspore
def test_in_mindspore_tensors_come_to_lie_in_large_pages(full: bool, tmp_path: Path) -> None:
    """The argument, 8 large pages (16 with ``--full``), is the minimum."""
    rows = 2048 if full else 1024
    program = ROOT / "tests" / "programs" / "kernel_server" / "large_pages.py"
    found = run(program, tmp_path, str(rows)).result
    assert found["kernels"] == 1
    assert found["large"] >= rows * 3 // 512
    assert found["wrong"] < 1e-5
