"""Kernels move the large tensors that they meet again and again into pages of 2 MiB, and touch nothing else."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ms_fusion.formats.composite import Composite
from ms_fusion.kernel_server import driver, large_pages
from ms_fusion.kernel_server.driver import library as built
from ms_fusion.kernel_server.large_pages import LARGE_BYTES, SOURCE
from tbe_impl.backends.cpu import compiler
from tests.ms_fusion.kernel_server.composites import Text
from tests.ms_fusion.presets.mindspore_child import run

PAGE = 2 << 20
SIGHTS, KNOWN = 24, 16
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SEE = """
void see(void *at, int64_t bytes, int times) {
  while (times--) large_pages(at, bytes);
}
"""
TEXT = f"#include <stdint.h>\n{SOURCE.read_text('utf-8')}{SEE}"
# numbers of Linux, for those that Python has no name for
MADV_DONTNEED, MADV_DONTDUMP, MADV_COLLAPSE = 4, 16, 25

libc = ctypes.CDLL(None, use_errno=True)


class Memory:
    """Memory in small pages, whose first and last large page lie outside the range and the others in it.

    Attributes:
        at, bytes: the range; it begins and ends within a large page, and holds `whole` of them.
        content: all of the memory.
    """

    def __init__(self, whole: int = 2):
        self._map = mmap.mmap(-1, (whole + 3) * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.content = np.frombuffer(self._map, np.uint64)
        start = self.content.ctypes.data
        self.inner = -(-start // PAGE) * PAGE + PAGE
        self.inner_bytes = whole * PAGE
        self.at, self.bytes = self.inner - 8176, self.inner_bytes + 8176 + 12288
        # what differs in anything is told apart in smaps
        advise(self.inner, self.inner_bytes, MADV_DONTDUMP)
        self.fill()

    def fill(self) -> None:
        """Writes to all of it."""
        self.content[:] = np.arange(self.content.size, dtype=np.uint64)

    def is_whole(self) -> bool:
        """Whether it still holds what was written."""
        return bool((self.content == np.arange(self.content.size, dtype=np.uint64)).all())

    def large(self) -> tuple[int, int]:
        """Large pages within whole ones of the range, and elsewhere in this memory."""
        start, end = self.content.ctypes.data, self.content.ctypes.data + self.content.nbytes
        inside = huge_bytes(self.inner, self.inner + self.inner_bytes)
        return inside // PAGE, (huge_bytes(start, end) - inside) // PAGE


def huge_bytes(start: int, end: int) -> int:
    """What lies in large pages of the mappings that begin in a range."""
    total, counts = 0, False
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        if head := re.match(r"([0-9a-f]+)-[0-9a-f]+ ", line):
            counts = start <= int(head[1], 16) < end
        elif counts and line.startswith("AnonHugePages:"):
            total += int(line.split()[1]) << 10
    return total


def advise(at: int, count: int, advice: int) -> int:
    """``madvise``."""
    return libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(count), advice)


def _why_not() -> str:
    """Why this system does not move what it is asked to, or would do so unasked."""
    if not SETTING.is_file() or "[madvise]" not in SETTING.read_text():
        return f"{SETTING} does not say madvise"
    memory = Memory()
    advise(memory.inner, memory.inner_bytes, MADV_COLLAPSE)
    return "" if memory.large() == (2, 0) else "Linux moves nothing into large pages here"


_REASON = _why_not()
moves = pytest.mark.skipif(bool(_REASON), reason=_REASON)
linux = pytest.mark.skipif(not Path("/proc/self/smaps").is_file(), reason="for Linux alone")


class Library:
    """The C alone, loaded as a library of its own, so that it knows no buffer."""

    _numbers = itertools.count()

    def __init__(self, place: Path, text: str = TEXT, *options: str):
        # of one file there is one library in a process
        file = place / f"{next(self._numbers)}.so"
        file.write_bytes(compiler.build(text, symbols=("see",), options=options).read_bytes())
        self._see = ctypes.CDLL(str(file), use_errno=True).see

    def see(self, at: int, count: int, *, times: int = 1) -> None:
        """As a kernel that is called so often with this buffer."""
        self._see(ctypes.c_void_p(at), ctypes.c_int64(count), times)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@moves
def test_a_buffer_is_moved_when_it_was_seen_often(library: Library) -> None:
    memory = Memory()
    for sight in range(1, SIGHTS + 1):
        assert memory.large() == (0, 0)
        library.see(memory.at, memory.bytes)
        assert memory.is_whole(), sight
    assert memory.large() == (2, 0)


@moves
@pytest.mark.parametrize(("before", "after", "pages"), [(0, 0, 2), (16, 16, 2), (0, -16, 1), (-16, 0, 1), (-16, -16, 0), (-PAGE, -16, 0)])  # fmt: skip
def test_only_pages_that_lie_whole_in_it_are_moved(before: int, after: int, pages: int, library: Library) -> None:  # fmt: skip
    """Bytes before and after two large pages."""
    memory = Memory()
    library.see(memory.inner - before, memory.inner_bytes + before + after, times=SIGHTS)
    assert memory.large() == (pages, 0)
    assert memory.is_whole()


@moves
def test_what_was_moved_is_not_moved_again(library: Library) -> None:
    """Nor do the sights run over into the address that they are counted beside."""
    memory = Memory()
    library.see(memory.at, memory.bytes, times=SIGHTS)
    advise(memory.inner, memory.inner_bytes, MADV_DONTNEED)
    memory.fill()
    library.see(memory.at, memory.bytes, times=PAGE + SIGHTS)
    assert memory.large() == (0, 0)


@moves
@pytest.mark.parametrize(("others", "pages"), [(KNOWN - 1, 2), (KNOWN, 0)])
def test_the_buffer_that_was_met_first_is_forgotten_first(others: int, pages: int, library: Library) -> None:  # fmt: skip
    memory, elsewhere = Memory(), 1 << 30
    library.see(memory.at, memory.bytes, times=SIGHTS - 1)
    for number in range(others):
        library.see(elsewhere + number * PAGE, PAGE)
    library.see(memory.at, memory.bytes)
    assert memory.large() == (pages, 0)
    library.see(memory.at, memory.bytes, times=SIGHTS - 1)
    assert memory.large() == (2, 0)


@moves
def test_threads_that_see_the_same_buffers_move_each(library: Library) -> None:
    memories = [Memory() for _ in range(4)]

    def call(_: int) -> None:
        for _ in range(20):
            for memory in memories:
                library.see(memory.at, memory.bytes)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(8)))
    assert [memory.large() for memory in memories] == [(2, 0)] * 4
    assert all(memory.is_whole() for memory in memories)


@moves
@pytest.mark.parametrize(("modes", "pages"), [("always [madvise] never\n", 2), ("[always] madvise never\n", 2), ("always madvise [never]\n", 0), ("", 0), (None, 0)])  # fmt: skip
def test_what_the_system_says_counts(modes: str | None, pages: int, tmp_path: Path) -> None:
    setting = tmp_path / "enabled"
    if modes is not None:
        setting.write_text(modes)
    assert TEXT.count(f'"{SETTING}"') == 1
    memory = Memory()
    Library(tmp_path, TEXT.replace(str(SETTING), str(setting))).see(memory.at, memory.bytes, times=SIGHTS)  # fmt: skip
    assert memory.large() == (pages, 0)


@linux
def test_the_system_is_asked_once(tmp_path: Path) -> None:
    setting = tmp_path / "enabled"
    setting.write_text("always madvise [never]\n")
    memories = [Memory(), Memory()]
    own = Library(tmp_path, TEXT.replace(str(SETTING), str(setting)))
    for memory in memories:
        own.see(memory.at, memory.bytes, times=SIGHTS)
        setting.write_text("always [madvise] never\n")
    assert [memory.large() for memory in memories] == [(0, 0)] * 2


@linux
def test_elsewhere_than_on_linux_it_does_nothing(tmp_path: Path) -> None:
    memory = Memory()
    Library(tmp_path, TEXT, "-U__linux__").see(memory.at, memory.bytes, times=SIGHTS)
    assert memory.large() == (0, 0)
    assert memory.is_whole()


@linux
def test_what_cannot_be_moved_is_left_as_it_is(library: Library, tmp_path: Path) -> None:
    """A file that is read, memory that must not be written, or not even read."""
    file = tmp_path / "weights"
    file.write_bytes(os.urandom(4 * PAGE))
    with file.open("rb") as opened:
        weights = np.frombuffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    kept, hidden = Memory(), Memory()
    protect(kept, 1)
    protect(hidden, 0)
    see_unnoticed(library, weights.ctypes.data, weights.nbytes)
    for memory in (kept, hidden):
        see_unnoticed(library, memory.at, memory.bytes)
    protect(hidden, 3)
    assert weights.tobytes() == file.read_bytes()
    assert kept.is_whole() and hidden.is_whole()


@linux
def test_where_nothing_is_nothing_happens(library: Library) -> None:
    libc.mmap.restype = ctypes.c_void_p
    start = libc.mmap(None, ctypes.c_size_t(9 * PAGE), 3, 0x22, -1, ctypes.c_long(0))
    ends = [(start, 4 * PAGE), (start + 5 * PAGE, 4 * PAGE)]
    assert libc.munmap(ctypes.c_void_p(start + 4 * PAGE), ctypes.c_size_t(PAGE)) == 0
    for at, count in ends:
        ctypes.memset(at, 0x5A, count)
    see_unnoticed(library, start, 9 * PAGE)
    see_unnoticed(library, PAGE + 4096, 4 * PAGE)
    for at, count in ends:
        assert ctypes.string_at(at, count) == b"\x5a" * count
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(count))


def protect(memory: Memory, allowed: int) -> None:
    """Whether the pages in its range may be read (1) and written (2)."""
    assert libc.mprotect(ctypes.c_void_p(memory.inner), ctypes.c_size_t(memory.inner_bytes), allowed) == 0  # fmt: skip


def see_unnoticed(library: Library, at: int, count: int) -> None:
    """As a kernel that is called often; ``errno`` stays."""
    for sight in range(SIGHTS + 2):
        ctypes.set_errno(7)
        library.see(at, count)
        assert ctypes.get_errno() == 7, sight


CALLED = re.compile(r"^large_pages\(all\[(\d+)\], (\d+)\);$", re.MULTILINE)
ROW = 4096
ROWS = LARGE_BYTES // 4 // ROW


def scaled(rows: int) -> Composite:
    """A row is added to each; what stands in the rows is handed out twice, and the sums of rows."""
    text, shape = Text("Fused_scaled"), (rows, ROW)
    x, row = text.input(shape, "float32"), text.input((ROW,), "float32")
    moved = text.step("Add", [x, row], shape, "float32")
    sums = text.step("ReduceSum", [moved, text.constant([1], "int64")], (rows,), "float32", keep_dims=False)  # fmt: skip
    return text.kernel(moved, sums, moved)


def updated(rows: int) -> Composite:
    text, shape = Text("Fused_updated"), (rows, ROW)
    parameter, gradient = (text.input(shape, "float32") for _ in range(2))
    moved = text.step("Sub", [parameter, gradient], shape, "float32")
    return text.kernel(text.step("Assign", [parameter, moved], (1,), "float32"))


def turned(rows: int) -> Composite:
    """It cannot be computed straight into its place."""
    text, shape = Text("Fused_turned"), (rows, ROW)
    parameter = text.input(shape, "float32")
    back = text.step("ReverseV2", [parameter, text.constant([0, 1], "int64")], shape, "float32")
    return text.kernel(text.step("Assign", [parameter, back], (1,), "float32"))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts that the driver has compiled."""
    texts: list[str] = []
    build = compiler.build

    def recorded(source: str, **others: object) -> Path:
        texts.append(source)
        return build(source, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(driver.compiler, "build", recorded)
    yield texts


@pytest.mark.parametrize(
    ("make", "places"), [(scaled, [0, 2, 4]), (updated, [0, 1]), (turned, [0])]
)
def test_a_kernel_begins_with_its_large_tensors(make, places: list[int], written: list[str]) -> None:  # fmt: skip
    kernel = make(ROWS)
    built(kernel)
    (text,) = written
    assert text.count(SOURCE.read_text("utf-8")) == 1
    body = text.partition(f"void {kernel.name}(void *callback, int *offered, void **all) {{\n")[2].splitlines()  # fmt: skip
    assert body[1 : len(places) + 1] == [f"large_pages(all[{place}], {LARGE_BYTES});" for place in places]  # fmt: skip
    assert len(CALLED.findall(text)) == len(places)


@pytest.mark.parametrize("make", [scaled, updated, turned])
def test_a_kernel_without_large_tensors_is_what_it_was(make, written: list[str], monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    built(make(ROWS - 1))
    monkeypatch.setattr(large_pages, "LARGE_BYTES", 1 << 62)
    built(make(ROWS - 1))
    small, never = written
    assert small == never
    assert "large_pages" not in small


NET = """
from ms_fusion.presets import repeated_calls
# results in buffers of MindSpore's, not in arrays, of which NumPy asks for large pages by itself
repeated_calls.ASKED_AT = (0,)
ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()

class Swish(nn.Cell):
    def construct(self, x):
        return x * ops.sigmoid(x)

def large():
    with open("/proc/self/smaps") as lines:
        return sum(int(line.split()[1]) >> 11 for line in lines if line.startswith("AnonHugePages"))

net, x = Swish(), Tensor(np.linspace(-4, 4, 8 << 20, dtype=np.float32).reshape(2048, 4096))
RESULT["large"] = []
for _ in range(60):
    y = net(x)
    RESULT["large"].append(large())
exact = x.asnumpy() / (1 + np.exp(-x.asnumpy().astype(np.float64)))
RESULT["wrong"] = float(np.abs(y.asnumpy() - exact).max())
RESULT["kernels"] = len(kernels())
"""


@moves
@pytest.mark.mindspore
def test_in_mindspore_the_tensors_of_a_net_lie_in_large_pages(tmp_path: Path) -> None:
    """First the input, then results too; how many pages there are to be had at once is Linux's affair."""
    found = run(NET, tmp_path).result
    assert found["kernels"] == 1
    assert found["large"][: SIGHTS - 1] == [0] * (SIGHTS - 1)
    assert found["large"][SIGHTS - 1] > 0
    assert found["large"][-1] > found["large"][SIGHTS - 1]
    assert found["wrong"] < 1e-5
