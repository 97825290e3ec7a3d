"""Rows 3 and 5: damaged and planted cache entries."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tbe_impl.runtime.cache import KernelCache
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
from tests.tbe_impl.runtime import cache_cases
from tests.tbe_impl.runtime.cache_cases import HOSTILE, OTHER, builder, damages

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
        good = (entry.path / "kernel.so").read_bytes()
        before = calls_of(cc)
        counts = (
            {"cuts": 60, "flips": 400, "garbage": 91}
            if stress.full
            else {"cuts": 6, "flips": 20, "garbage": 4}
        )
        for name, file, content in damages(good, stress.chance, **counts):
            (entry.path / file).write_bytes(content)
            with _named(name):
                in_child(lambda: check_swish(0))
                assert cache.verify() == (), "not healed"
            kinds[name.partition("-")[0]] = kinds.get(name.partition("-")[0], 0) + 1
        healed = calls_of(cc) - before
    assert healed == sum(kinds.values()), f"{sum(kinds.values())} damages, {healed} compiled again"
    return (
        ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
        + ": 0 signals, all right and healed"
    )


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
        for make in [*HOSTILE, cache_cases.make_prefix_world_writable, *_OTHERS]:
            if make in _OTHERS and os.geteuid():
                continue  # only the superuser can change owners
            with _named(make.__name__):
                _attack(make, planted)
                assert not mark.exists(), "planted code ran"
            done.append(make.__name__.removeprefix("make_"))
    note = "" if os.geteuid() == 0 else "; other owners need the superuser"
    return f"{len(done)} attacks refused, none ran, all right{note}"


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
    other = cache.get_or_build(OTHER, builder(planted.read_bytes())).parent
    if "swapped" not in make.__name__:
        _forge(entry.path, planted)
    make(entry.path, other)
    assert cache.load(entry.key) is None, "not refused"
    # a process with an empty memory cache; if the directory itself is refused, it warns and
    # continues without
    assert in_child(_call), "wrong numbers"
    shutil.rmtree(cache.root)


def _call() -> bool:
    kernel = swish(0)
    libraries = [one.file for one in kernel.compiled.programs]
    right = swish_is_right(0, kernel(POINTS))
    for library in libraries:
        if library.parents[2] != kernel_cache().root:
            # private, and removed at the end of a process that was not forked
            shutil.rmtree(library.parents[2])
    return right


def _forge(entry: Path, planted: Path) -> None:
    """The planted code in the entry's place, with matching size and SHA-256."""
    content = planted.read_bytes()
    (entry / "kernel.so").write_bytes(content)
    meta = json.loads((entry / "meta.json").read_text())
    meta |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (entry / "meta.json").write_text(json.dumps(meta))
    assert KernelCache(entry.parents[1]).load(entry.name), (
        "the forgery is not believed: it shows nothing"
    )


def make_kernel_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry / "kernel.so", ANOTHER, ANOTHER)


def make_metadata_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry / "meta.json", ANOTHER, ANOTHER)


def make_entry_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry, ANOTHER, ANOTHER)


def make_prefix_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry.parent, ANOTHER, ANOTHER)


def make_root_another_owners(entry: Path, other: Path) -> None:
    os.chown(entry.parents[1], ANOTHER, ANOTHER)


_OTHERS = (
    make_kernel_another_owners,
    make_metadata_another_owners,
    make_entry_another_owners,
    make_prefix_another_owners,
    make_root_another_owners,
)

ROWS = (
    Row(
        3,
        "library truncated, bits flipped, metadata garbage",
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
