"""Loop fission into strips: bit-identical to one loop over vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.passes.loop_fission import MAX_STATEMENTS
from tbe_impl.codegen.program import write_program
from tbe_impl.dsl import ext
from tbe_impl.dsl.tensor import Tensor, placeholder
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import assert_same, behind, marches, prepare

Build = Callable[..., list[Tensor]]


def silu(x: Tensor, y: Tensor) -> list[Tensor]:
    """Both halves read the inputs twice."""
    return [dsl.vmul(x, ext.sigmoid(x))]


def swish(x: Tensor, y: Tensor) -> list[Tensor]:
    """The exponential of half types is short."""
    return [dsl.vdiv(x, dsl.vadds(dsl.vexp(dsl.vmuls(x, -1.0)), 1.0))]


def gate(x: Tensor, y: Tensor) -> list[Tensor]:
    """Two exponentials; their argument is computed and stored as an output."""
    shifted = dsl.vadds(x, 0.5)
    return [dsl.vmul(ext.sigmoid(shifted), ext.sigmoid(y)), shifted]


def twice(x: Tensor, y: Tensor) -> list[Tensor]:
    """The second depends on the first."""
    return [dsl.vadd(ext.sigmoid(ext.sigmoid(dsl.vmul(x, y))), y)]


def gradient(x: Tensor, y: Tensor) -> list[Tensor]:
    """silu: many operations on one value."""
    s = ext.sigmoid(x)
    return [
        dsl.vmul(y, dsl.vmul(s, dsl.vadds(dsl.vmul(x, dsl.vadds(dsl.vmuls(s, -1.0), 1.0)), 1.0)))
    ]


BUILDS = [silu, swish, gate, twice, gradient]


def _numbers(length: int, dtype: str, seed: int) -> np.ndarray:
    """Most of them near 0, in some strips a distant value, an infinity or a NaN."""
    chance = np.random.default_rng(seed)
    x = (chance.standard_normal(length) * 4).astype(dtype)
    for at, odd in zip(  # noqa: B905
        range(70, length, 97),
        (np.inf, -np.inf, np.nan, 90.0, -90.0, 1e4, -1e4, 87.5, -87.5, 0.0),
    ):
        x[at] = odd
    return x


@cases("length", [1000, 65, 7], sample=2)
@cases("build", BUILDS)
@cases("dtype", ["float32", "float16"])
@cases("offset", [0, 16])
@cases("stream_bytes", [1, 1 << 30])
def test_strips_are_bit_identical_to_one_loop(
    length: int, build: Build, dtype: str, offset: int, stream_bytes: int, cache: Store
) -> None:
    options: dict[str, Any] = {
        "stream_bytes": stream_bytes,
        "parallel_elements": 1,
        "offset": offset,
    }
    arrays = [_numbers(length, dtype, seed) for seed in (0, 1)]
    kernel, *_ = prepare(build, *arrays, cache=cache, **options)
    plain, *_ = prepare(build, *arrays, cache=cache, loop_fission=False, **options)
    for threads in (1, 2):
        for place in (0, 16, 40):
            given = [behind(one, place) for one in arrays]
            for one, array in zip(given, arrays, strict=True):
                one[...] = array
            for found, wanted in zip(
                kernel.run(given, {}, threads), plain.run(arrays, {}, 1), strict=True
            ):
                assert_same(found, wanted)


@cases("march", marches(), sample=1)
@cases("build", BUILDS)
@cases("dtype", ["float32", "float16"])
def test_with_vectors_of_other_processors(
    build: Build, dtype: str, march: str, cache: Store
) -> None:
    arrays = [_numbers(1000, dtype, seed) for seed in (0, 1)]
    kernel, *_ = prepare(build, *arrays, cache=cache, march=march)
    plain, *_ = prepare(build, *arrays, cache=cache, march=march, loop_fission=False)
    for found, wanted in zip(kernel.run(arrays, {}, 1), plain.run(arrays, {}, 1), strict=True):
        assert_same(found, wanted)


@cases("dtype", ["float32", pytest.param("float16", marks=FULL)])
def test_written_over_what_is_read(dtype: str, cache: Store) -> None:
    x, y = (_numbers(1000, dtype, seed) for seed in (2, 3))
    kernel, *_ = prepare(gradient, x, y, cache=cache, inplace=True)
    plain, *_ = prepare(gradient, x, y, cache=cache, loop_fission=False)
    wanted, own = plain.run([x, y], {}, 1)[0], x.copy()
    kernel.run([own, y], {}, 1)
    assert_same(own, wanted)


def _source(
    build: Build, shape: Sequence[int] = (4096,), dtype: str = "float32", **options: Any
) -> str:
    x, y = (placeholder(tuple(shape), dtype, name) for name in "xy")
    return write_program(build(x, y), [x, y], options=Options(**options)).source


@cases("build", [silu, gate, twice, gradient])
def test_the_source_has_one_strip_loop(build: Build) -> None:
    text = _source(build)
    assert text.count("#if LOOP_FISSION") == 1
    assert text.count("_begun[at] = f32p_sigmoid_begin(") == (2 if build is gate else 1)


@cases("build, count", [(swish, 1), (lambda x, y: [dsl.vexp(x)], 0)])
def test_what_follows_an_exponential_is_worth_a_loop(build: Build, count: int) -> None:
    assert _source(build, dtype="float16").count("_begun[at] = f32p_exp_to_half_begin(") == count


def _long(x: Tensor, y: Tensor) -> list[Tensor]:
    z = ext.sigmoid(x)
    for _ in range(MAX_STATEMENTS):
        z = dsl.vadd(z, y)
    return [z]


def _much_kept(x: Tensor, y: Tensor) -> list[Tensor]:
    sums = [dsl.vadds(dsl.vmul(x, y), float(step)) for step in range(3)]
    return [dsl.vmul(ext.sigmoid(dsl.vadd(dsl.vadd(*sums[:2]), sums[2])), one) for one in sums]


@cases(
    "build, options",
    [
        (silu, {"loop_fission": False}),
        (silu, {"unroll": 2}),
        (lambda x, y: [dsl.vmul(x, y)], {}),
        (lambda x, y: [dsl.reduce_sum(ext.sigmoid(x), -1, True)], {}),
        (_long, {}),
        (_much_kept, {}),
    ],
    ids=["not asked for", "several vectors", "nothing long", "a sum", "too long", "much to keep"],
)
def test_strips_are_absent_where_they_do_not_apply(build: Build, options: dict[str, Any]) -> None:
    assert "LOOP_FISSION" not in _source(build, (64, 64), **options)
