"""Kernel sequences: stages, scratch memory, stored form, one C function."""

from __future__ import annotations

import ctypes
import gc
import itertools

import msgspec
import numpy as np
import pytest

from tbe_impl.runtime import compiler
from tbe_impl.runtime.sequence import CFunction, KernelSequence, Step, link
from tbe_impl.runtime.shared_library_loader import open_library
from tbe_impl.runtime.store import Store
from tests.cases import cases

SOURCE = """
#include <stdint.h>
int add(void **buffers, const int64_t *numbers, int64_t threads) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = 0; i < 4; i++) y[i] = x[i] + (float)numbers[0];
  return threads < 0;
}
int fail(void **buffers, const int64_t *numbers, int64_t threads) { return 7; }
"""


class Own(msgspec.Struct, frozen=True, tag="own"):
    symbol: str


class Library(msgspec.Struct, frozen=True, tag="library"):
    name: str


def chained(*kernels: str, count: int = 4) -> KernelSequence[str]:
    """x → a0 → a1 → … → y, one array of `count` float32 values each."""
    between = [f"a{number}" for number in range(len(kernels) - 1)]
    names = ["x", *between, "y"]
    steps = (
        Step(kernel, (names[at],), (names[at + 1],), (4 * count,))
        for at, kernel in enumerate(kernels)
    )
    return KernelSequence(("x", "y"), tuple(steps))


def test_a_stage_keeps_the_arrays() -> None:
    planned = chained("Exp", "Log")
    compiled = planned.convert(lambda step: len(step.kernel))
    assert [step.kernel for step in compiled.steps] == [3, 3]
    for one, other in zip(planned.steps, compiled.steps, strict=True):
        assert (one.reads, one.writes, one.written_bytes) == (
            other.reads,
            other.writes,
            other.written_bytes,
        )
    assert compiled.names == planned.names


def test_a_stored_sequence_is_json_of_plain_values() -> None:
    stored: KernelSequence[Own | Library] = KernelSequence(
        ("x", "y"),
        (Step(Own("k"), ("x",), ("a",), (16,)), Step(Library("product"), ("a",), ("y",), (8,))),
    )
    text = (
        b'{"names":["x","y"],"places":['
        b'{"kernel":{"type":"own","symbol":"k"},"reads":["x"],"writes":["a"],"written_bytes":[16]},'
        b'{"kernel":{"type":"library","name":"product"},'
        b'"reads":["a"],"writes":["y"],"written_bytes":[8]}]}'
    )
    assert msgspec.json.encode(stored) == text
    assert msgspec.json.decode(text, type=KernelSequence[Own | Library]) == stored


@cases(
    "before, after",
    [
        (b'"written_bytes":[16]', b'"written_bytes":["16"]'),
        (b'"type":"own"', b'"type":"other"'),
        (b'"reads":["x"],', b""),
        (b'"names":["x","y"]', b'"names":["x","y"],"more":1'),
    ],
)
def test_a_damaged_sequence_is_refused(before: bytes, after: bytes) -> None:
    whole = KernelSequence(("x", "y"), (Step(Own("k"), ("x",), ("y",), (16,)),))
    text = msgspec.json.encode(whole)
    assert before in text
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text.replace(before, after), type=KernelSequence[Own | Library])


@cases("length, scratch_bytes", [(1, 0), (2, 16), (3, 64 + 16), (4, 64 + 16), (9, 64 + 16)])
def test_arrays_that_are_not_live_together_share_memory(length: int, scratch_bytes: int) -> None:
    offsets, found = chained(*["f"] * length).assign_scratch_offsets()
    assert found == scratch_bytes
    assert all(offset % 64 == 0 for offset in offsets.values()) and len(offsets) == length - 1
    between = list(offsets.values())
    assert all(one != other for one, other in itertools.pairwise(between))


def functions(cache: Store) -> dict[str, CFunction]:
    library = open_library(compiler.build(SOURCE, symbols=("add", "fail"), cache=cache), ("add",))
    return {
        "one": CFunction(library.add, [0, 1], (1,)),
        "ten": CFunction(library.add, [0, 1], (10,)),
        "fail": CFunction(library.fail, [0, 1]),
    }


def run(made: CFunction, x: np.ndarray) -> tuple[int, np.ndarray]:
    y = np.zeros_like(x)
    run_c = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(made.address)
    buffers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    return run_c(made.state, buffers), y


def test_a_sequence_is_one_c_function(cache: Store) -> None:
    known = functions(cache)
    made = link(chained("one", "ten", "one").convert(lambda step: known[step.kernel]))
    assert made is not None and made.order == [0, 1]
    gc.collect()  # nothing but `kept` holds the records that the function reads
    x = np.arange(4, dtype=np.float32)
    status, y = run(made, x)
    assert status == 0
    np.testing.assert_array_equal(y, x + 12)


def test_a_failing_kernel_ends_the_sequence(cache: Store) -> None:
    known = functions(cache)
    made = link(chained("one", "fail", "one").convert(lambda step: known[step.kernel]))
    assert made is not None
    status, y = run(made, np.ones(4, np.float32))
    assert status == 7 and not y.any()


def test_a_kernel_without_a_c_function_is_not_linked(
    cache: Store,
) -> None:
    known = functions(cache)
    assert link(chained("one", "python").convert(lambda step: known.get(step.kernel))) is None
