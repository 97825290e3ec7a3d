"""Large outputs use non-temporal stores, and completion is signalled only after a fence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import write_program
from tbe_impl.cpu.prepared_kernel import CpuKernel
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, placeholder
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import behind, prepare


def source(stream_bytes: int) -> str:
    x = placeholder((64, 1024), "float32", "x")
    return write_program(
        [OPERATIONS["vexp"](x)], [x], options=Options(stream_bytes=stream_bytes)
    ).source


def test_a_nest_that_streams_ends_with_a_fence():
    text = source(1)
    assert "f32_stream(" in text
    nest = text[: text.index("int k_")]
    assert nest.rindex("stream_fence();") > nest.rindex("f32_stream(")


def test_a_small_output_stays_in_the_caches():
    assert "stream" not in source(1 << 30).replace("const int stream", "")


def beside(x: Tensor) -> list[Tensor]:
    """Rows minus their maximum, and half of that: two outputs in a nest of two loops."""
    rest = dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, 1, True), x.shape))
    return [rest, dsl.vmuls(rest, 0.5)]


def joined(x: Tensor) -> list[Tensor]:
    """Blocks of whole rows, which are one loop each."""
    return [dsl.concat([dsl.vadds(x, 1.0), dsl.vmuls(x, 2.0)], 0)]


def of_two_sizes(x: Tensor) -> list[Tensor]:
    """A narrow and a wide output in a nest of two loops."""
    rest = dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, 1, True), x.shape))
    return [rest, dsl.cast_to(rest, "float64")]


def check_places(kernel: CpuKernel, x: np.ndarray, places: Sequence[int]) -> None:
    """Outputs at this byte offset from a multiple of 128 equal those at any other."""
    wanted = kernel.run([x], {}, 1)
    results = [behind(one, place) for one, place in zip(wanted, places, strict=True)]
    kernel.run([x], {}, 2, results)
    for found, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


@cases(
    "build, dtype",
    [
        (beside, "float16"),
        (joined, "float32"),
        *(
            pytest.param(*case, marks=FULL)
            for case in (
                (beside, "float32"),
                (beside, "float64"),
                (joined, "float16"),
                (joined, "float64"),
            )
        ),
    ],
)
@cases("places", [(0, 0), (16, 16), (40, 40), (16, 48)])
def test_rows_stream_wherever_memory_begins(
    build: type, dtype: str, places: tuple[int, int], cache: Store
) -> None:
    x = np.random.default_rng(0).standard_normal((6, 96)).astype(dtype)
    kernel, *_ = prepare(build, x, cache=cache, stream_bytes=1)
    assert "_stream(" in kernel.source
    check_places(kernel, x, places[: len(kernel.outputs)])


@cases("places", [(0, 0), (64, 64), (64, 0), (0, 64), (32, 64)])
def test_outputs_of_two_sizes_stream_from_any_line(places: tuple[int, int], cache: Store) -> None:
    x = np.random.default_rng(0).standard_normal((6, 96)).astype(np.float32)
    kernel, *_ = prepare(of_two_sizes, x, cache=cache, stream_bytes=1)
    assert "f32_stream(" in kernel.source and "f64_stream(" in kernel.source
    check_places(kernel, x, places)


def in_planes(x: Tensor) -> list[Tensor]:
    """Nested rows, each minus its maximum: a nest of three loops where the middle axes of two
    inputs differ.
    """
    return [dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, [0, 2], True), x.shape))]


@cases("place", [16, 40], sample=3)
@cases("build", [beside, in_planes])
@cases("length", [24, 96, *(pytest.param(length, marks=FULL) for length in (32, 1024))])
@cases("portions", [0, 3])
def test_the_line_between_two_rows_is_written_once(
    build: Callable[[Tensor], list[Tensor]],
    length: int,
    portions: int,
    place: int,
    cache: Store,
) -> None:
    """Also at the boundaries of a thread's rows; memory around them is unchanged."""
    shape = (7, length) if build is beside else (3, 5, length)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    kernel, *_ = prepare(
        build, x, cache=cache, stream_bytes=1, portions=portions, parallel_elements=1
    )
    wanted = kernel.run([x], {}, 1)
    for threads in (1, 2):
        room = [np.full(x.size + 64, 7.0, np.float32) for _ in wanted]
        starts = [(place - one.ctypes.data) % 64 // 4 for one in room]
        results = [
            one[first : first + x.size].reshape(shape)
            for one, first in zip(room, starts, strict=True)
        ]
        kernel.run([x], {}, threads, results)
        for found, expected, one, first in zip(results, wanted, room, starts, strict=True):
            np.testing.assert_array_equal(found, expected)
            assert (one[:first] == 7).all() and (one[first + x.size :] == 7).all()


def test_rows_that_follow_one_another_have_no_line_in_two_pieces() -> None:
    x = placeholder((64, 1024), "float32", "x")
    text = write_program(
        beside(x), [x], options=Options(stream_bytes=1, software_pipelining=False)
    ).source
    assert text.count("if (stream && 1024 % LANES == 0") == 4, "two outputs, at both ends of a row"
