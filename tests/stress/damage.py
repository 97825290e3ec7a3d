"""Rows 3 and 5: damaged and planted cache entries."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import KERNELS, KINDS, Kind
from tests.stress.kernels import POINTS, check_swish, swish, swish_is_right
from tests.stress.parts import (
    Row,
    Stress,
    calls_of,
    in_child,
    kernel_cache,
    kernel_entries,
    real_compiler,
    remembering_compiler,
    using_compiler,
)
from tests.tbe_impl.runtime.store_cases import (
    HOSTILE,
    HOSTILE_DIRECTORIES,
    KEY,
    OTHER,
    content_at,
    content_for,
    damages,
    forge,
    get,
    put,
)

PLANTED = r"""
#include <stdio.h>
__attribute__((constructor)) static void planted(void) { fclose(fopen("MARK", "w")); }
"""
ANOTHER = 12345
"""Another user's id."""


def damage(stress: Stress) -> str:
    """Each damage is detected before the library is loaded, and a new library replaces it."""
    cc, cache, kinds = remembering_compiler(stress.place / "cc"), kernel_cache(), {}
    with using_compiler(cc):
        in_child(lambda: check_swish(0))
        (entry,) = kernel_entries()
        good = entry.path.read_bytes()
        before = calls_of(cc)
        counts = (
            {"cuts": 60, "flips": 400, "garbage": 91}
            if stress.full
            else {"cuts": 6, "flips": 20, "garbage": 4}
        )
        for name, content in damages(good, stress.chance, **counts):
            entry.path.write_bytes(content)
            with _named(name):
                in_child(lambda: check_swish(0))
                assert cache.verify() == (), "not healed"
            kinds[name.partition("-")[0]] = kinds.get(name.partition("-")[0], 0) + 1
        healed = calls_of(cc) - before
    assert healed == sum(kinds.values()), f"{sum(kinds.values())} damages, {healed} compiled again"
    others = _damage_every_kind(stress, counts)
    return (
        ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
        + f": 0 signals, all right and healed; {others} in entries of {len(KINDS)} kinds: none used"
    )


def _damage_every_kind(stress: Stress, counts: dict[str, int]) -> int:
    """Damages an entry of each kind; returns the number of damages."""
    store, done = Store(stress.place / "kinds"), 0
    for kind in KINDS:
        path = put(store, kind, KEY)
        for name, content in damages(path.read_bytes(), stress.chance, **counts):
            path.write_bytes(content)
            assert get(store, kind, KEY) is None, f"{kind.name}, {name}: used"
            put(store, kind, KEY)
            assert get(store, kind, KEY) == content_for(kind), f"{kind.name}, {name}: not healed"
            done += 1
    return done


@contextlib.contextmanager
def _named(name: str):
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None


def hostile(stress: Stress) -> str:
    """Planted code that leaves a trace when loaded, with matching metadata."""
    mark = stress.place / "mark"
    planted = _planted(stress.place, mark)
    in_child(lambda: bool(ctypes.CDLL(str(planted))))
    assert mark.exists(), "the planted code does nothing: this row shows nothing"
    mark.unlink()
    cc, done = remembering_compiler(stress.place / "cc"), []
    with using_compiler(cc):
        for make in [*HOSTILE, *map(_of_directory, HOSTILE_DIRECTORIES), *_OTHERS]:
            if make in _OTHERS and os.geteuid():
                continue  # only the superuser can change owners
            with _named(make.__name__):
                _attack(make, planted)
                assert not mark.exists(), "planted code ran"
            done.append(make.__name__.removeprefix("make_"))
    note = "" if os.geteuid() == 0 else "; other owners need the superuser"
    for kind in KINDS:
        for make in HOSTILE:
            _attack_entry(Store(stress.place / "kinds" / kind.name / make.__name__), kind, make)
    return f"{len(done)} attacks refused, none ran, all right; also in {len(KINDS)} kinds{note}"


def _of_directory(make: Callable[[Path], None]) -> Callable[[Path, Path], None]:
    """The attack on a directory of a kind, as an attack on an entry."""

    @functools.wraps(make)
    def attack(entry: Path, other: Path) -> None:
        make(entry)

    return attack


def _attack_entry(store: Store, kind: Kind, make: Callable[[Path, Path], None]) -> None:
    entry, other = put(store, kind, KEY), put(store, kind, OTHER, b"other")
    make(entry, other)
    assert get(store, kind, KEY) is None, f"{kind.name}, {make.__name__}: not refused"
    put(store, kind, KEY)
    assert get(store, kind, KEY) == content_for(kind), f"{kind.name}, {make.__name__}: not healed"


def _planted(place: Path, mark: Path) -> Path:
    source, library = place / "planted.c", place / "planted.so"
    source.write_text(PLANTED.replace("MARK", str(mark)))
    subprocess.run(
        [*real_compiler().split(), "-shared", "-fPIC", "-o", library, source], check=True
    )
    return library


def _attack(make: Callable[[Path, Path], None], planted: Path) -> None:
    cache = kernel_cache()
    in_child(lambda: check_swish(0))
    (entry,) = kernel_entries()
    other = put(cache, KERNELS, OTHER, planted.read_bytes())
    if "swapped" not in make.__name__:
        forge(entry.path, KERNELS, planted.read_bytes())
        assert content_at(entry.path) == planted.read_bytes()
        assert cache.find(KERNELS, entry.key), "the forgery is not believed: it shows nothing"
    make(entry.path, other)
    assert cache.find(KERNELS, entry.key) is None, "not refused"
    # a process with an empty memory cache; if the directory itself is refused, it warns and
    # continues without
    assert in_child(_call), "wrong numbers"
    shutil.rmtree(cache.root)


def _call() -> bool:
    kernel = swish(0)
    libraries = [one.file for one in kernel.compiled.programs]
    right = swish_is_right(0, kernel(POINTS))
    for library in libraries:
        if library.parents[1] != kernel_cache().root:
            # private, and removed at the end of a process that was not forked
            shutil.rmtree(library.parents[1])
    return right


def make_entry_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry, ANOTHER, ANOTHER)


def make_directory_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry.parent, ANOTHER, ANOTHER)


def make_root_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry.parents[1], ANOTHER, ANOTHER)


_OTHERS = (
    make_entry_another_owners,
    make_directory_another_owners,
    make_root_another_owners,
)

ROWS = (
    Row(
        3,
        "entries truncated, bits flipped, garbage",
        "0 signals, 0 wrong numbers, healed",
        damage,
    ),
    Row(
        5,
        "entries of another owner, writable by others, links, swapped pairs",
        "refused, never executed",
        hostile,
    ),
)
