"""Software pipelining across rows: bit-identical to row after row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.passes.software_pipelining import LONGEST_ROW
from tbe_impl.codegen.program import write_program
from tbe_impl.dsl.tensor import Tensor, placeholder
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import prepare

Build = Callable[[Tensor], list[Tensor]]


def _wide(row: Tensor, x: Tensor) -> Tensor:
    return dsl.broadcast(row, x.shape)


def softmax(x: Tensor) -> list[Tensor]:
    """Its exponentials are buffered for the last loop."""
    powers = dsl.vexp(dsl.vsub(x, _wide(dsl.reduce_max(x, -1, True), x)))
    return [dsl.vdiv(powers, _wide(dsl.reduce_sum(powers, -1, True), x))]


def layer_norm(x: Tensor) -> list[Tensor]:
    """Two later loops use the mean of a row."""
    length = int(x.shape[-1])
    rest = dsl.vsub(x, _wide(dsl.vmuls(dsl.reduce_sum(x, -1, True), 1 / length), x))
    squares = dsl.vmuls(dsl.reduce_sum(dsl.vmul(rest, rest), -1, True), 1 / length)
    return [dsl.vmul(rest, _wide(dsl.vrsqrt(dsl.vadds(squares, 1e-5)), x))]


def with_its_sums(x: Tensor) -> list[Tensor]:
    """The statistics of a row are a further output."""
    largest = dsl.reduce_max(x, -1, True)
    powers = dsl.vexp(dsl.vsub(x, _wide(largest, x)))
    total = dsl.reduce_sum(powers, -1, True)
    return [dsl.vdiv(powers, _wide(total, x)), total, largest]


def two_wide(x: Tensor) -> list[Tensor]:
    """Two loops over a row, the last writes two results."""
    total = dsl.reduce_sum(dsl.vmul(x, x), -1, True)
    scaled = dsl.vmul(x, _wide(dsl.vrsqrt(dsl.vadds(total, 1.0)), x))
    return [scaled, dsl.vmuls(scaled, 0.5)]


def two_kept(x: Tensor) -> list[Tensor]:
    """Two buffered rows and four successive loops."""
    powers = dsl.vexp(dsl.vsub(x, _wide(dsl.reduce_max(x, -1, True), x)))
    shares = dsl.vdiv(powers, _wide(dsl.reduce_sum(powers, -1, True), x))
    logs = dsl.vlog(dsl.vadds(dsl.vexp(shares), 1.0))
    return [dsl.vmul(logs, _wide(dsl.vrsqrt(dsl.reduce_sum(dsl.vmul(logs, logs), -1, True)), x))]


def five_loops(x: Tensor) -> list[Tensor]:
    """Each sum of a row depends on the previous one."""
    for _ in range(4):
        x = dsl.vmul(x, _wide(dsl.vrsqrt(dsl.reduce_sum(dsl.vmul(x, x), -1, True)), x))
    return [x]


@cases("rows", [9, 2], sample=2, per_item=20)
@cases("build", [softmax, layer_norm, with_its_sums, two_wide, two_kept])
@cases(
    "dtype, length",
    [("float16", 1024), ("float32", 96), ("float32", 1008), ("float32", 1024), ("float64", 1024)],
)
@cases("offset", [0, 16])
def test_staggered_rows_are_bit_identical_to_plain_rows(
    rows: int, build: Build, dtype: str, length: int, offset: int, cache: Store
) -> None:
    """Also for threads with fewer rows than loops, and for any alignment."""
    options: dict[str, Any] = {"stream_bytes": 1, "parallel_elements": 1, "offset": offset}
    generator = np.random.default_rng(0)
    x = generator.standard_normal((rows, length)).astype(dtype)
    kernel, *_ = prepare(build, x, cache=cache, **options)
    plain, *_ = prepare(build, x, cache=cache, software_pipelining=False, **options)
    assert "int64_t turn" not in plain.source
    for threads in (1, 2):
        wanted = plain.run([x], {}, threads)
        for place in (0, 16, 40):
            room = [np.full(one.size + 256, 7, one.dtype) for one in wanted]
            starts = [(place - one.ctypes.data) % 64 // one.itemsize for one in room]
            results = [
                one[first : first + want.size].reshape(want.shape)
                for one, first, want in zip(room, starts, wanted, strict=True)
            ]
            kernel.run([x], {}, threads, results)
            for found, want, one, first in zip(results, wanted, room, starts, strict=True):
                np.testing.assert_array_equal(found, want)
                assert (one[:first] == 7).all() and (one[first + want.size :] == 7).all()


@cases("portions", [5, pytest.param(0, marks=FULL)])
def test_threads_that_take_portions(portions: int, cache: Store) -> None:
    x = np.random.default_rng(1).standard_normal((23, 512)).astype(np.float32)
    options: dict[str, Any] = {"stream_bytes": 1, "parallel_elements": 1, "portions": portions}
    kernel, *_ = prepare(softmax, x, cache=cache, **options)
    plain, *_ = prepare(softmax, x, cache=cache, software_pipelining=False, **options)
    np.testing.assert_array_equal(kernel.run([x], {}, 2)[0], plain.run([x], {}, 1)[0])


def _source(build: Build, shape: tuple[int, ...], **options: Any) -> str:
    x = placeholder(shape, "float32", "x")
    return write_program(build(x), [x], options=Options(**{"stream_bytes": 1, **options})).source


@cases(
    "build, loops",
    [(softmax, 3), (layer_norm, 3), (with_its_sums, 3), (two_wide, 2), (two_kept, 4)],
)
def test_loops_over_a_row_are_taken_together(build: Build, loops: int) -> None:
    text = _source(build, (64, 1024))
    assert f"turn < end + {loops - 1};" in text
    assert f"has{loops - 1}" in text and f"has{loops}" not in text


@cases(
    "build, shape, options",
    [
        (softmax, (64, LONGEST_ROW + 64), {}),
        (softmax, (64, 1024), {"stream_bytes": 1 << 30}),
        (softmax, (64, 1024), {"software_pipelining": False}),
        (softmax, (64, 1000), {}),
        (lambda x: [dsl.vexp(x)], (64, 1024), {}),
        (five_loops, (64, 1024), {}),
    ],
    ids=[
        "long",
        "small outputs",
        "not asked for",
        "half a line at the end",
        "one loop",
        "five loops",
    ],
)
def test_rows_are_not_staggered_where_it_does_not_apply(
    build: Build, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    assert "int64_t turn" not in _source(build, shape, **options)


def test_the_first_loop_is_the_one_that_memory_is_asked_for() -> None:
    """A later loop would prefetch after the first has read."""
    fetched = [
        line
        for line in _source(softmax, (64, 1024), offset=16).splitlines()
        if line.strip().startswith("fetch")
    ]
    staggered = [line for line in fetched if "_at" in line]
    assert staggered and all("i0_at0" in line for line in staggered)
    assert any("fetch_of(3, " in line for line in staggered)
