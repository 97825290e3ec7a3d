"""Kernels in threads, in all kinds of child processes, ten thousand times, on any layout."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.stress.parts import libraries
from tests.tbe_impl.codegen.graphs import prepare

ROUNDS = 100 if os.environ.get("TBE_FUZZ") else 10
ROOT = Path(__file__).resolve().parents[3]
CHILD = ROOT / "tests" / "programs" / "codegen" / "kernels_in_children.py"


@cases(
    "way", ["os.fork", *(pytest.param(way, marks=FULL) for way in ("fork", "spawn", "forkserver"))]
)
def test_child_processes_use_kernels_that_the_parent_used(
    way: str, cache: Store, tmp_path: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, str(CHILD), str(cache.root), way],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert done.stdout == "all right\n", done.stderr
    assert not [*tmp_path.iterdir()]


def test_eight_threads_compile_and_call(full: bool, tmp_path: Path) -> None:
    kernels, rounds = (12, ROUNDS) if full else (3, 4)
    cache = Store(tmp_path / "kernels")
    x = np.random.default_rng(0).uniform(1, 2, (9, 33)).astype(np.float32)
    wrong: list[object] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            start.wait()
            for turn in range(rounds):
                factor = float((number + turn) % kernels)
                kernel, _, _ = prepare(
                    lambda t, f=factor: [dsl.vmuls(t, f), dsl.reduce_max(t, 1)],
                    x,
                    cache=cache,
                    parallel_elements=2,
                )
                product, most = kernel.run([x], {}, 1 + turn % 2)
                np.testing.assert_array_equal(product, x * np.float32(factor))
                np.testing.assert_array_equal(most, x.max(1))
        except BaseException as error:  # noqa: BLE001
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(libraries(cache)) == kernels


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_calls_hold_no_memory(full: bool, cache: Store) -> None:
    x = np.ones((64, 128), np.float32)

    def build(t):
        # the sum of everything is stored between two loops: memory that the kernel allocates and
        # frees
        total = dsl.broadcast(dsl.reduce_sum(t, [0, 1], True), t.shape)
        return [dsl.vdiv(t, total), dsl.reduce_sum(t, 0)]

    kernel, _, _ = prepare(build, x, cache=cache, parallel_elements=2)
    for _ in range(500):
        kernel.run([x], {}, 2)
    before = _resident_bytes()
    for _ in range(10_000 if full else 1000):
        kernel.run([x], {}, 2)
    assert _resident_bytes() - before < 20_000_000


LAYOUTS = {
    "reversed": lambda x: x[::-1, ::-1],
    "transposed": lambda x: np.asfortranarray(x),
    "strided": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "unaligned": lambda x: (
        np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    ),
}


@cases("layout", LAYOUTS)
@cases("dtype", ["float16", "float64"])
def test_inputs_of_any_layout(layout: str, dtype: str, cache: Store) -> None:
    x = np.arange(13 * 37).reshape(13, 37).astype(dtype)
    x = LAYOUTS[layout](x)
    copy = x.copy()
    kernel, _, _ = prepare(
        lambda t: [dsl.vadd(t, t), dsl.reduce_max(t, 1), dsl.transpose(t)], copy, cache=cache
    )
    found = kernel.run([x], {}, 2)
    np.testing.assert_array_equal(found[0], copy + copy)
    np.testing.assert_array_equal(found[1], copy.max(1))
    np.testing.assert_array_equal(found[2], copy.T)
    np.testing.assert_array_equal(x, copy)
    for array in found:
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_results_go_where_they_are_wanted(cache: Store) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    kernel, _, _ = prepare(
        lambda t: [t, dsl.vadds(t, 1), dsl.ext.cumsum(t, 0), dsl.vmuls(t, 2)], x, cache=cache
    )
    places = [np.full((2, 3), -1, np.float32) for _ in range(4)]
    found = kernel.run([x], {}, 1, places)
    for place, array, wanted in zip(places, found, [x, x + 1, x.cumsum(0), x * 2], strict=True):
        assert place is array
        np.testing.assert_array_equal(place, wanted)
    alone = kernel.run([x], {}, 1)
    assert not np.shares_memory(alone[0], x)


QUICK_SHAPES = {
    "float16": ((), (31, 17)),
    "int64": ((4, 0),),
    "bool": ((127,),),
}
SHAPES = ((), (0,), (0, 4), (4, 0), (1,), (1, 1), (2, 0, 3), (13,), (31, 17), (127,), (3, 1, 5))


@cases(
    "shape, dtype",
    [
        pytest.param(shape, dtype, marks=() if shape in QUICK_SHAPES[dtype] else FULL)
        for dtype in QUICK_SHAPES
        for shape in SHAPES
    ],
)
def test_shapes_of_every_kind(shape: tuple[int, ...], dtype: str, cache: Store) -> None:
    x = (np.arange(np.prod(shape)) % 5 - 2).reshape(shape).astype(dtype)

    def build(t):
        found = (
            [dsl.compute(t.shape, lambda *i: t(*i) | t(*i))]
            if dtype in ("bool", "int64")
            else [dsl.vadd(t, t)]
        )
        found.append(dsl.broadcast(t, (2, *shape)))
        if shape:
            axes = list(range(len(shape)))
            found += [dsl.reduce_any(t, axes) if dtype == "bool" else dsl.reduce_sum(t, axes)]
            found += [dsl.reduce_max(t, -1, True), dsl.concat([t, t], 0), dsl.transpose(t)]
        return found

    kernel, _, _ = prepare(build, x, cache=cache, parallel_elements=1)
    for threads in (1, 2):
        found = kernel.run([x], {}, threads)
        np.testing.assert_array_equal(found[0], x | x if dtype in ("bool", "int64") else x + x)
        np.testing.assert_array_equal(found[1], np.broadcast_to(x, (2, *shape)))
        if shape:
            least = {"float16": -np.inf, "int64": -(2**63), "bool": False}
            np.testing.assert_array_equal(found[2], [x.any() if dtype == "bool" else x.sum()])
            np.testing.assert_array_equal(found[3], x.max(-1, keepdims=True, initial=least[dtype]))
            np.testing.assert_array_equal(found[4], np.concatenate([x, x]))
            np.testing.assert_array_equal(found[5], x.T)
