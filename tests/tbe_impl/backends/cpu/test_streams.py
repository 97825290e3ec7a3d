"""Large outputs are written past the caches, and nobody is told before they have arrived."""

from __future__ import annotations

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.backends.cpu.call import aligned_empty
from tbe_impl.backends.cpu.options import Options
from tbe_impl.backends.cpu.program import write_program
from tbe_impl.cache import KernelCache
from tbe_impl.dsl.tensor import Tensor, placeholder
from tbe_impl.dsl.words import WORDS
from tests.tbe_impl.backends.cpu.graphs import prepare


def source(stream_bytes: int) -> str:
    x = placeholder((64, 1024), "float32", "x")
    return write_program([WORDS["vexp"](x)], [x], options=Options(stream_bytes=stream_bytes)).source


def test_a_nest_that_streams_ends_with_a_fence():
    text = source(1)
    assert "f32_stream(" in text
    nest = text[: text.index("int k_")]
    assert nest.rindex("stream_fence();") > nest.rindex("f32_stream(")


def test_a_small_output_stays_in_the_caches():
    assert "stream" not in source(1 << 30).replace("const int stream", "")


def beside(x: Tensor) -> list[Tensor]:
    """Rows without their largest element, and its half: two outputs in a nest of two loops."""
    rest = dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, 1, True), x.shape))
    return [rest, dsl.vmuls(rest, 0.5)]


def joined(x: Tensor) -> list[Tensor]:
    """Pieces of whole rows, which are one loop each."""
    return [dsl.concat([dsl.vadds(x, 1.0), dsl.vmuls(x, 2.0)], 0)]


def off_a_line(array: np.ndarray, bytes_: int) -> np.ndarray:
    """An array like this one, so many bytes behind the beginning of a cache line."""
    raw = aligned_empty((array.nbytes + 64,), np.dtype(np.uint8))
    return raw[bytes_ : bytes_ + array.nbytes].view(array.dtype).reshape(array.shape)


@pytest.mark.parametrize("build", [beside, joined])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("places", [(0, 0), (16, 16), (40, 40), (16, 48)])
def test_rows_stream_wherever_memory_begins(
    build: type, dtype: str, places: tuple[int, int], cache: KernelCache
) -> None:
    x = np.random.default_rng(0).standard_normal((6, 96)).astype(dtype)
    kernel, *_ = prepare(build, x, cache=cache, stream_bytes=1)
    assert "_stream(" in kernel.source
    wanted = kernel.run([x], {}, 1)
    results = [off_a_line(one, place) for one, place in zip(wanted, places, strict=False)]
    kernel.run([x], {}, 2, results)
    for found, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
