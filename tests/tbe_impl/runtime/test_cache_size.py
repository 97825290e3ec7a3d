"""A full cache is counted once, not by each process; the stored count is validated."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tbe_impl.runtime import cache_size
from tbe_impl.runtime.cache import KernelCache, make_key
from tests.cases import cases
from tests.tbe_impl.runtime.cache_cases import CONTENT, builder, unused


def filled(root: Path, numbers: range, limit_kernels: float = 1000) -> KernelCache:
    """A cache of a new process, with stored kernels of those numbers.

    Their keys are unique: a kernel loaded by any process is not removed.
    """
    cache = KernelCache(root, limit_bytes=int(limit_kernels * (len(CONTENT) + 600)))
    for number in numbers:
        key = make_key(counted=number)
        cache.get_or_build(key, builder())
        unused(cache, key, 1000 - number)
    return cache


def counts(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The caches that are counted from now on."""
    found: list[Path] = []
    entries = KernelCache.entries

    def entries_told(cache: KernelCache):
        found.append(cache.root)
        return entries(cache)

    monkeypatch.setattr(KernelCache, "entries", entries_told)
    return found


def size_of(cache: KernelCache) -> int:
    return sum(entry.bytes for entry in cache.entries())


def test_the_next_process_goes_on_where_the_last_one_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = filled(tmp_path, range(5))
    assert cache_size.add(tmp_path, 0) == size_of(cache)
    counted = counts(monkeypatch)
    cache = filled(tmp_path, range(5, 10))
    assert counted == []
    assert cache_size.add(tmp_path, 0) == size_of(cache)


def test_room_is_made_for_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = filled(tmp_path, range(20), limit_kernels=20.5)
    counted = counts(monkeypatch)
    filled(tmp_path, range(20, 22), limit_kernels=20.5)
    assert len(counted) == 1
    left = {entry.key for entry in cache.entries()}
    assert 17 <= len(left) <= 19
    assert left == {make_key(counted=number) for number in range(22 - len(left), 22)}


def test_what_a_killed_process_left_of_a_count_goes(tmp_path: Path) -> None:
    cache = filled(tmp_path, range(1))
    old, new = tmp_path / ".size-old", tmp_path / ".size-new"
    for file in (old, new):
        file.touch()
    os.utime(old, (1, 1))
    cache_size.invalidate(tmp_path)
    filled(tmp_path, range(1, 2))
    assert not old.exists() and new.exists()
    cache.clear()
    assert not new.exists()


def link(root: Path) -> None:
    (root / "elsewhere").write_text("1\n")
    (root / cache_size.NAME).symlink_to(root / "elsewhere")


@cases(
    "spoil",
    [
        lambda root: None,
        lambda root: (root / cache_size.NAME).write_text("many\n"),
        lambda root: (root / cache_size.NAME).write_text("-5\n"),
        lambda root: (root / cache_size.NAME).write_text("9" * 40),
        lambda root: (root / cache_size.NAME).write_bytes(b"1\n" * (1 << 20)),
        lambda root: (root / cache_size.NAME).write_bytes("٣\n".encode()),
        lambda root: (
            (root / cache_size.NAME).write_text("1\n"),
            (root / cache_size.NAME).chmod(0o666),
        ),
        lambda root: (root / cache_size.NAME).mkdir(),
        link,
    ],
    ids=[
        "none",
        "words",
        "negative",
        "too many digits",
        "long",
        "other digits",
        "writable",
        "directory",
        "link",
    ],
)
def test_what_cannot_be_trusted_is_counted_anew(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    filled(root, range(3))
    cache_size.invalidate(root)
    spoil(root)
    with pytest.MonkeyPatch.context() as patch:
        counted = counts(patch)
        cache = filled(root, range(3, 4))
        assert counted == [root]
        if not (root / cache_size.NAME).is_dir():
            assert cache_size.add(root, 0) == size_of(cache)


def test_kernels_that_somebody_deleted_cost_one_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = filled(tmp_path, range(19), limit_kernels=20.5)
    for entry in cache.entries()[:15]:
        cache._remove(entry.path)
    counted = counts(monkeypatch)
    filled(tmp_path, range(20, 24), limit_kernels=20.5)
    assert len(counted) == 1
    assert cache_size.add(tmp_path, 0) == size_of(cache)
    assert len(cache.entries()) == 8
