"""A full store is counted once, not by each process; the stored count is validated."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tbe_impl.runtime import store_size
from tbe_impl.runtime.store import Store, make_key
from tbe_impl.runtime.store_kinds import KERNELS, KINDS, Kind
from tests.cases import cases
from tests.tbe_impl.runtime.store_cases import CONTENT, put, unused


def filled(root: Path, numbers: range, limit_kernels: float = 1000) -> Store:
    """A cache of a new process, with stored kernels of those numbers.

    Their keys are unique: a kernel loaded by any process is not removed.
    """
    cache = Store(root, limit_bytes=int(limit_kernels * (len(CONTENT) + 66)))
    for number in numbers:
        unused(put(cache, KERNELS, make_key(counted=number)), 1000 - number)
    return cache


def counts(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The caches that are counted from now on."""
    found: list[Path] = []
    entries = Store.entries

    def entries_told(cache: Store, *kinds: Kind):
        found.append(cache.root)
        return entries(cache, *kinds)

    monkeypatch.setattr(Store, "entries", entries_told)
    return found


def size_of(cache: Store) -> int:
    return sum(entry.bytes for entry in cache.entries())


def test_the_next_process_goes_on_where_the_last_one_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = filled(tmp_path, range(5))
    assert store_size.add(tmp_path, 0) == size_of(cache)
    counted = counts(monkeypatch)
    cache = filled(tmp_path, range(5, 10))
    assert counted == []
    assert store_size.add(tmp_path, 0) == size_of(cache)


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
    old, new = tmp_path / "work" / "size-old", tmp_path / "work" / "size-new"
    for file in (old, new):
        file.touch()
    os.utime(old, (1, 1))
    store_size.invalidate(tmp_path)
    filled(tmp_path, range(1, 2))
    assert not old.exists() and new.exists()
    cache.clear()
    assert not new.exists()


def link(root: Path) -> None:
    (root / "elsewhere").write_text("1\n")
    (root / store_size.NAME).symlink_to(root / "elsewhere")


@cases(
    "spoil",
    [
        lambda root: None,
        lambda root: (root / store_size.NAME).write_text("many\n"),
        lambda root: (root / store_size.NAME).write_text("-5\n"),
        lambda root: (root / store_size.NAME).write_text("9" * 40),
        lambda root: (root / store_size.NAME).write_bytes(b"1\n" * (1 << 20)),
        lambda root: (root / store_size.NAME).write_bytes("٣\n".encode()),
        lambda root: (
            (root / store_size.NAME).write_text("1\n"),
            (root / store_size.NAME).chmod(0o666),
        ),
        lambda root: (root / store_size.NAME).mkdir(),
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
    store_size.invalidate(root)
    spoil(root)
    with pytest.MonkeyPatch.context() as patch:
        counted = counts(patch)
        cache = filled(root, range(3, 4))
        assert counted == [root]
        if not (root / store_size.NAME).is_dir():
            assert store_size.add(root, 0) == size_of(cache)


def test_kernels_that_somebody_deleted_cost_one_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = filled(tmp_path, range(19), limit_kernels=20.5)
    for entry in cache.entries()[:15]:
        entry.path.unlink()
    counted = counts(monkeypatch)
    filled(tmp_path, range(20, 24), limit_kernels=20.5)
    assert len(counted) == 1
    assert store_size.add(tmp_path, 0) == size_of(cache)
    assert len(cache.entries()) == 8


def test_entries_of_every_kind_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = filled(tmp_path, range(1))
    counted = counts(monkeypatch)
    for kind in KINDS:
        put(cache, kind, make_key(counted=kind.name), b"short")
    assert counted == []
    assert store_size.add(tmp_path, 0) == size_of(cache)
