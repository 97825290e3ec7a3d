"""Rows 6, 7 and 8: cache size and eviction order, invalidation, and warm load time."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from tbe_impl.runtime import compiler, machine
from tbe_impl.runtime import store as store_module
from tbe_impl.runtime.store import EVICTION_TARGET_SHARE, LIMIT_BYTES, Store, make_key
from tbe_impl.runtime.store_kinds import KERNELS, KINDS
from tests.stress.kernels import POINTS, check_swish, swish
from tests.stress.parts import (
    Child,
    Row,
    Stress,
    calls_of,
    in_child,
    kernel_cache,
    kernel_entries,
    remembering_compiler,
    using_compiler,
)
from tests.tbe_impl.runtime.store_cases import in_memory, put, unused

WARM_S = 2e-3


def limit(stress: Stress) -> str:
    """Stores one entry too many; evicts the second oldest, as the oldest is in use.

    The entries are of all kinds that may be evicted, in turn.
    """
    assert Store().limit_bytes == LIMIT_BYTES == 1 << 30, "another default"
    size, kept = stress.times(1 << 20, 1 << 14), stress.times(64, 8)
    cache = Store(stress.place / "limited", limit_bytes=kept * (size + 66))
    content = stress.chance.randbytes(size)
    kinds = [kind for kind in KINDS if kind.bytes_max >= size and not kind.is_measured]
    keys = [make_key(number=number) for number in range(kept * 4)]

    def use() -> None:
        found = cache.find(KERNELS, keys[0])
        assert found is not None
        with in_memory(found):
            mark.touch()
            time.sleep(600)

    mark = stress.place / "in-use"
    oldest = put(cache, KERNELS, keys[0], content)
    unused(oldest, 10_000)
    user = Child(use)
    while not mark.exists():
        time.sleep(0.01)
    for number, key in enumerate(keys):
        path = put(cache, kinds[number % len(kinds)], key, content)
        unused(path, 9_000 - number if number else 10_000)
        found = {entry.key for entry in cache.entries()}
        wanted = {keys[0], *keys[max(1, number - len(found) + 2) : number + 1]}
        few = len(found) < min(number + 1, int(EVICTION_TARGET_SHARE * kept) - 1)
        assert found == wanted and not few, (
            f"after {number + 1}: {len(found)} kept, {len(found - wanted)} of them wrong"
        )
        total = sum(entry.bytes for entry in cache.entries())
        assert total <= cache.limit_bytes, f"{total} bytes with a limit of {cache.limit_bytes}"
    user.kill()
    for number in range(kept):
        put(cache, KERNELS, make_key(number=f"last {number}"), content)
    assert keys[0] not in {entry.key for entry in cache.entries()}, (
        "kept for a process that is dead"
    )
    return (
        f"{len(keys) + 1} stored, of {len(kinds)} kinds, at most {kept} kept, "
        f"the least recently used went first, one in "
        f"use stayed until its user died"
    )


def _identity(name: str) -> contextlib.AbstractContextManager[Any]:
    another = {**machine.identity(), name: "another"}
    return mock.patch.object(machine, "identity", lambda: another)


def stale(stress: Stress) -> str:
    """Changes each cache key input alone; the kernel is compiled again."""
    cc = remembering_compiler(stress.place / "cc")
    headers = compiler._headers()

    @contextlib.contextmanager
    def compiler_touched() -> Iterator[None]:
        os.utime(cc, (1, 1))
        yield

    @contextlib.contextmanager
    def compiler_longer() -> Iterator[None]:
        cc.write_text(cc.read_text() + "\n")
        yield

    @contextlib.contextmanager
    def compiler_elsewhere() -> Iterator[None]:
        with using_compiler(shutil.copy2(cc, stress.place / "another-cc")):
            yield

    changes: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
        "compiler touched": compiler_touched,
        "compiler longer": compiler_longer,
        "compiler elsewhere": compiler_elsewhere,
        "flags": lambda: mock.patch.object(compiler, "FLAGS", (*compiler.FLAGS, "-DX=1")),
        "architecture": lambda: mock.patch.object(compiler, "march", lambda: "x86-64-v2"),
        "header byte": lambda: mock.patch.object(compiler, "_headers", lambda: headers + " "),
        "schema": lambda: mock.patch.object(store_module, "SCHEMA", store_module.SCHEMA + 1),
        **{name: (lambda name=name: _identity(name)) for name in machine.identity()},
    }
    source = swish(0).source
    with using_compiler(cc):

        def build(text: str) -> int:
            """Number of compiler calls for it, in a new process."""
            before = calls_of(cc) + calls_of(stress.place / "another-cc")
            in_child(lambda: str(compiler.build(text)))
            return calls_of(cc) + calls_of(stress.place / "another-cc") - before

        assert (build(source), build(source)) == (1, 0), "not found again"
        for name, change in changes.items():
            with change():
                assert build(source) == 1, f"{name}: found although it changed"
                assert build(source) == 0, f"{name}: not found again"
        for at in stress.chance.sample(range(len(source)), stress.times(100, 5)):
            changed = source[:at] + chr(ord(source[at]) ^ 1) + source[at + 1 :]
            assert build(changed) == 1, f"source byte {at}: found although it changed"
    return (
        f"{len(changes)} parts ({', '.join(changes)}) and {stress.times(100, 5)} bytes of the "
        f"source: each a miss"
    )


def warm(stress: Stress) -> str:
    """New processes load a kernel from disk; the first load in each is timed."""
    check_swish(0)
    kernel = swish(0)
    program = kernel.compiled.programs[0]
    (entry,) = kernel_entries()

    def load() -> float:
        cache, begin = kernel_cache(), time.perf_counter()
        path = cache.find(KERNELS, entry.key)
        getattr(ctypes.CDLL(str(path)), program.program.symbol)
        return time.perf_counter() - begin

    def whole() -> float:
        again, begin = swish(0), time.perf_counter()
        again.compiled.run([POINTS], {}, 1)
        return time.perf_counter() - begin

    times = stress.times(50, 5)
    loads = sorted(in_child(load) for _ in range(times))
    wholes = sorted(in_child(whole) for _ in range(times))
    loaded, called = (statistics.median(item) * 1e3 for item in (loads, wholes))
    assert not stress.full or loaded <= WARM_S * 1e3, f"median {loaded:.2f} ms"
    size = entry.path.stat().st_size
    return (
        f"median {loaded:.2f} ms with the hash of {size / 1024:.0f} KiB, fastest "
        f"{loads[0] * 1e3:.2f} ms"
        f" ({times} processes); with the graph, the C and a call {called:.2f} ms"
    )


ROWS = (
    Row(
        6, "cache over its limit", "1 GiB by default, least recently used first, none in use", limit
    ),
    Row(
        7, "compiler, flags, processor, version, schema, source byte", "each alone is a miss", stale
    ),
    Row(8, "warm load in a new process", "≤ 2 ms with the hash", warm),
)
