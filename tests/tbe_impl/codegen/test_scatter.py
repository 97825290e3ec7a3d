"""Segments and scatters in C against NumPy: every dtype, out-of-range indices, any width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import Tensor, placeholder
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import assert_same, prepare

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "bool",
)
SHAPES = ((40,), (40, 3), (40, 200), (0, 5), (7, 0))
COUNT = 6
KINDS = ("sum", "prod", "max", "min", "mean")
REDUCTIONS = ("update", "add", "sub", "mul", "div", "max", "min")


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Mixed values: NaN and both zeros among the floats, overflowing integers."""
    rng, wanted = np.random.default_rng(seed), dtype_of(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if wanted.kind == "float":
        found = rng.choice([-1.5, 0.75, 1.25, 0.0, -0.0, 3.0, np.inf], shape)
        return np.where(rng.random(shape) < 0.02, np.nan, found).astype(wanted.numpy)
    limits = np.iinfo(wanted.numpy)
    return rng.integers(limits.min, limits.max, shape, wanted.numpy, endpoint=True)


def places(shape: tuple[int, ...], dtype: str = "int32") -> np.ndarray:
    """Row indices, some of them negative or too large; one row is never used."""
    least = 0 if dtype.startswith("u") else -2
    found = np.random.default_rng(5).integers(least, COUNT + 2, shape)
    return np.where(found == 3, 2, found).astype(dtype)


def check(build: Callable[..., Any], arrays: list[np.ndarray], cache: Store) -> None:
    """Raises unless both back ends agree for any number of threads, without a NumPy step."""
    kernel, outputs, inputs = prepare(build, *arrays, cache=cache, parallel_elements=0)
    assert len(kernel.programs) == len(kernel.sequence.steps)
    given = {id(tensor): array for tensor, array in zip(inputs, arrays, strict=True)}
    (wanted,) = evaluate.run(outputs, given)
    for threads in (1, 2, 3):
        # the maximum of two zeros is unspecified
        assert_same(kernel.run(arrays, {}, threads)[0], wanted, signs=False)


@cases(
    "dtype",
    [pytest.param(dtype, marks=() if dtype in ("float16",) else FULL) for dtype in DTYPES],
)
def test_segments_of_every_dtype(dtype: str, full: bool, cache: Store) -> None:
    first = DTYPES.index(dtype)
    for kind in (
        ("prod", "max", "mean")
        if not full
        else KINDS
        if dtype in ("float16", "int8")
        else (KINDS[first % 5], KINDS[(first + 2) % 5])
    ):
        segments(kind, (40, 2, 33), dtype, cache)


@cases(
    "shape",
    [
        pytest.param(shape, marks=FULL if shape in ((40,), (40, 3), (7, 0)) else ())
        for shape in SHAPES
    ],
)
def test_segments_of_every_width(shape: tuple[int, ...], cache: Store) -> None:
    for kind, dtype in (("sum", "float32"), ("mean", "float16")):
        segments(kind, shape, dtype, cache)


def segments(kind: str, shape: tuple[int, ...], dtype: str, cache: Store) -> None:
    """Checks one operation; the fill value of empty segments differs from the initial value, for
    most.
    """
    word, fill = dsl.OPERATIONS[f"unsorted_segment_{kind}"], int(kind in ("prod", "min", "mean"))
    arrays = [numbers(shape, dtype, 1), places(shape[:1])]
    check(lambda x, ids: word(x, ids, COUNT, fill), arrays, cache)


@cases(
    "dtype",
    ["int8", "uint64", *(pytest.param(dtype, marks=FULL) for dtype in ("uint8", "int16", "int64"))],
)
def test_numbers_of_every_dtype_and_sorted_ones(dtype: str, cache: Store) -> None:
    for ids in (places((40,), dtype), np.sort(places((40,), dtype))):
        check(
            lambda x, i: dsl.unsorted_segment_sum(x, i, COUNT),
            [numbers((40,), "float32", 2), ids],
            cache,
        )


def test_numbers_of_several_axes_and_numbers_in_a_list(cache: Store) -> None:
    x = numbers((4, 10, 18), "float32", 3)
    check(lambda t, i: dsl.unsorted_segment_sum(t, i, COUNT, 4.5), [x, places((4, 10))], cache)
    check(lambda t: dsl.unsorted_segment_sum(t, [0, 9, 0, -1], COUNT), [x], cache)


@cases(
    "dtype",
    [pytest.param(dtype, marks=() if dtype in ("int8",) else FULL) for dtype in DTYPES],
)
def test_scatter(dtype: str, full: bool, cache: Store) -> None:
    first = DTYPES.index(dtype)
    some = (
        ("update", "sub", "div", "max")
        if not full
        else REDUCTIONS
        if dtype in ("float16", "int8")
        else (REDUCTIONS[first % 7], REDUCTIONS[(first + 3) % 7])
    )
    for reduction in some if dtype != "bool" else ("update", "add", "mul"):
        shape = (COUNT,) if dtype == "int8" and reduction != "update" else (COUNT, 2, 33)
        arrays = [numbers(shape, dtype, 4), places((5, 4)), numbers((5, 4, *shape[1:]), dtype, 5)]
        check(lambda v, i, u, r=reduction: dsl.scatter(v, i, u, r), arrays, cache)


@cases(
    "word",
    [
        "inplace_sub",
        *(pytest.param(word, marks=FULL) for word in ("inplace_update", "inplace_add")),
    ],
)
def test_rows_in_place(word: str, cache: Store) -> None:
    arrays = [numbers((COUNT, 18), "float32", 6), numbers((4, 18), "float32", 7)]
    check(lambda x, new: dsl.OPERATIONS[word](x, [2, 0, 2, 5], new), arrays, cache)
    check(lambda x, new: dsl.OPERATIONS[word](x, 1, new), [arrays[0], arrays[1][0]], cache)


def test_sizes_of_run_time_and_work_around(cache: Store) -> None:
    n, m = dsl.var("n"), dsl.var("m")
    x, ids = placeholder((n, m), "float32", "x"), placeholder((n,), "int32", "ids")
    outputs = [dsl.vadds(dsl.unsorted_segment_sum(dsl.vmuls(x, 2.0), ids, m), 1.0)]
    kernel = prepared_kernel.prepare(
        outputs, [x, ids], options=Options(parallel_elements=0), cache=cache
    )
    assert len(kernel.sequence.steps) == 3
    assert len(kernel.programs) == len(kernel.sequence.steps)
    for rows, columns in ((40, 7), (9, 100), (0, 3)):
        arrays = [numbers((rows, columns), "float32", 8), places((rows,))]
        values = {id(n): rows, id(m): columns}
        given = {id(x): arrays[0], id(ids): arrays[1]}
        wanted = evaluate.run(outputs, given, values)[0]
        assert_same(kernel.run(arrays, values, 2)[0], wanted)


def test_sizes_that_may_differ_are_left_to_numpy(cache: Store) -> None:
    n, m = dsl.var("n"), dsl.var("m")
    x, ids = placeholder((n, 4), "float32", "x"), placeholder((m,), "int32", "ids")
    made: Tensor = dsl.unsorted_segment_sum(x, ids, COUNT)
    kernel = prepared_kernel.prepare([made], [x, ids], cache=cache)
    assert (len(kernel.sequence.steps), kernel.programs) == (1, ())
