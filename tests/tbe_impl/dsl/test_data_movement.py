"""Operations that move, reduce and look up elements, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tests.cases import FULL, cases
from tests.tbe_impl.dsl.graphs import FLOATS, assert_near, compute, values

EVERY = ("float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
X = values((3, 5, 2), "float32")


@cases(
    "shape, wanted",
    [
        ((), (2, 3)),
        ((1,), (4,)),
        ((3,), (2, 3)),
        ((3, 1), (2, 3, 4)),
        ((1, 3, 1), (2, 3, 4)),
        ((0, 1), (0, 3)),
        ((2, 3), (2, 3)),
    ],
)
@cases("dtype", EVERY)
def test_broadcast(shape: tuple[int, ...], wanted: tuple[int, ...], dtype: str) -> None:
    x = values(shape, dtype)
    np.testing.assert_array_equal(
        compute(lambda t: dsl.broadcast(t, wanted), x)[0], np.broadcast_to(x, wanted)
    )


@cases(
    "value, dtype, given",
    [
        (1.5, None, "float16"),
        (3, None, "int32"),
        (dsl.const(2.0), None, "float32"),
        (dsl.const(3, "int8"), None, "int8"),
        (1.5, "float32", "float32"),
        (np.float32(2), None, "float16"),
        (2, "float16", "float16"),
    ],
)
def test_broadcast_of_a_scalar_has_the_dtype_of_cann(value: Any, dtype: Any, given: str) -> None:
    made = dsl.broadcast(value, [2, 3], dtype)
    assert made.dtype == given
    (found,) = compute(lambda: made)
    np.testing.assert_array_equal(found, np.full((2, 3), float(value)))
    x = dsl.placeholder((2, 3))
    assert dsl.broadcast(x, (2, 3)) is x


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
    "reduce_mean": np.mean,
}


@cases(
    "name, dtype",
    [
        (name, dtype)
        for name in REDUCTIONS
        for dtype in (*FLOATS, "int32")
        if (name, dtype) != ("reduce_mean", "int32")
    ],
)
@cases("axis", [0, -1, [1], [0, 2], (-1, 0), [0, 1, 2]], ids=str)
@cases("keep", [False, True, pytest.param(None, marks=FULL)], per_item=600)
def test_reductions(name: str, dtype: str, axis: Any, keep: bool | None) -> None:
    x = values((3, 5, 2), dtype, 0.5, 1.5)
    (found,) = compute(lambda t: getattr(dsl, name)(t, axis, keep), x)
    over = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    wanted = REDUCTIONS[name](x.astype(np.float64), axis=over, keepdims=bool(keep))
    assert_near(
        found, np.reshape(wanted, (1,)) if np.ndim(wanted) == 0 else wanted, dtype, times=16
    )


def test_reductions_of_nothing_give_the_identity() -> None:
    empty = np.zeros((0, 4), np.float32)
    assert compute(lambda t: dsl.reduce_sum(t, 0), empty)[0].tolist() == [0] * 4
    assert compute(lambda t: dsl.reduce_prod(t, 0), empty)[0].tolist() == [1] * 4
    assert compute(lambda t: dsl.reduce_max(t, 0), empty)[0].tolist() == [-np.inf] * 4
    assert compute(lambda t: dsl.reduce_min(t, 0), empty.astype("int8"))[0].tolist() == [127] * 4
    assert compute(lambda t: dsl.reduce_sum(t, 1), empty)[0].shape == (0,)


@cases("dtype", ["bool", "int8", "float16"])
def test_truth_of_all_and_any(dtype: str) -> None:
    given = np.array([[1, 1, 2], [0, 3, 0], [0, 0, 0]]).astype(dtype)
    assert compute(lambda t: dsl.reduce_all(t, 1), given)[0].tolist() == [1, 0, 0]
    assert compute(lambda t: dsl.reduce_any(t, -1), given)[0].tolist() == [1, 1, 0]


def test_tuple_sum_is_one_stage_with_several_outputs() -> None:
    y = X * X
    found = compute(lambda a, b: dsl.tuple_sum([a, b], [0, 2], True), X, y)
    for one, given in zip(found, (X, y), strict=True):
        assert_near(one, given.astype(float).sum((0, 2), keepdims=True), "float32", times=8)
    a, b = dsl.tuple_sum([dsl.placeholder((3, 4)), dsl.placeholder((3, 4))], -1)
    assert a.op is b.op


def test_the_mean_of_integers_is_cut() -> None:
    x = np.array([[1, 2, 2], [-1, -2, -2]], np.int32)
    assert compute(lambda t: dsl.reduce_mean(t, 1), x)[0].tolist() == [1, -1]


@cases("dtype", EVERY)
def test_moving_elements(dtype: str, subtests: pytest.Subtests) -> None:
    x, y = values((3, 5, 2), dtype, seed=1), values((3, 1, 2), dtype, seed=2)
    E = dsl.ext
    moves: list[tuple[Callable[..., Any], np.ndarray]] = [
        (lambda a, b: dsl.concat([a, b, a], 1), np.concatenate([x, y, x], 1)),
        (lambda a, b: dsl.concat([a], -1), x),
        (lambda a, b: dsl.transpose(a, [2, 0, -2]), x.transpose(2, 0, 1)),
        (lambda a, b: dsl.transpose(a), x.T),
        (lambda a, b: E.reverse(a, [0, -1]), x[::-1, :, ::-1]),
        (lambda a, b: E.tile(a, [2, 1, 3]), np.tile(x, (2, 1, 3))),
        (lambda a, b: E.reshape(a, (5, -1)), x.reshape(5, 6)),
        (lambda a, b: E.reshape(a, (1, 30, 1)), x.reshape(1, 30, 1)),
        (
            lambda a, b: E.pad(a, [(1, 2), (0, 0), (0, 1)], 1),
            np.pad(x, [(1, 2), (0, 0), (0, 1)], constant_values=1),
        ),
        (
            lambda a, b: E.strided_slice(a, [0, -1, 1], [2, None, 2], [1, -2, 1]),
            x[0:2, -1::-2, 1:2],
        ),
        (lambda a, b: E.strided_slice(a, [3, 0, 0], [3, 5, 2]), x[3:3]),
        (
            lambda a, b: dsl.set_value(a, lambda i, j, k: i < 1, 1),
            np.concatenate([np.ones_like(x[:1]), x[1:]]),
        ),
    ]
    for number, (build, wanted) in enumerate(moves):
        with subtests.test(dtype, move=number):
            np.testing.assert_array_equal(compute(build, x, y)[0], wanted)


def test_split_gives_shapes_and_parts() -> None:
    shapes, parts = dsl.split(dsl.placeholder((3, 5)), 1, [1, 0, 4])
    assert [tuple(map(int, shape)) for shape in shapes] == [(3, 1), (3, 0), (3, 4)]
    assert [tuple(map(int, part.shape)) for part in parts] == [(3, 1), (3, 0), (3, 4)]
    found = compute(lambda t: dsl.split(t, -2, [1, 4])[1], X)
    np.testing.assert_array_equal(np.concatenate(found, 1), X)


def test_iota_and_one_hot_agree_with_numpy() -> None:
    E = dsl.ext
    np.testing.assert_array_equal(compute(lambda: E.iota((2, 3), 1, "float16"))[0], [[0, 1, 2]] * 2)
    np.testing.assert_array_equal(compute(lambda: E.iota((2, 3), 0))[0], [[0] * 3, [1] * 3])
    ids = np.array([2, 0, 5], np.int32)
    np.testing.assert_array_equal(compute(lambda t: E.one_hot(t, 3), ids)[0], np.eye(6)[ids][:, :3])
    np.testing.assert_array_equal(
        compute(lambda t: E.one_hot(t, 3, 5, 2, 0), ids)[0], np.eye(6)[ids][:, :3].T * 3 + 2
    )


@cases("axis", [0, 1])
def test_positions_of_extremes(axis: int) -> None:
    E = dsl.ext
    x = np.array([[1, 3, 3], [0, np.nan, 9], [-1, -1, -2]], np.float32)
    (largest,) = compute(lambda t: E.argmax(t, axis), x)
    np.testing.assert_array_equal(largest, x.argmax(axis))
    (least,) = compute(lambda t: E.argmin(t, axis, True), x)
    np.testing.assert_array_equal(least, x.argmin(axis, keepdims=True))


@cases("dtype", ["float32", "float64", "int64", "int8", "uint8"])
def test_cumulative_sums_and_sorting(dtype: str) -> None:
    E = dsl.ext
    x = values((4, 5), dtype)
    sums, products = np.cumsum(x, 1, dtype=x.dtype), np.cumprod(x, 0, dtype=x.dtype)
    assert_near(compute(lambda t: E.cumsum(t, 1), x)[0], sums, dtype, times=8)
    assert_near(compute(lambda t: E.cumprod(t, 0), x)[0], products, dtype, times=8)
    (found,) = compute(lambda t: E.cumsum(t, 1, exclusive=True, reverse=True), x)
    wanted = np.cumsum(x[:, ::-1], 1, dtype=x.dtype)[:, ::-1]
    assert_near(found, np.concatenate([wanted[:, 1:], np.zeros((4, 1), dtype)], 1), dtype, times=8)
    for descending in (False, True):
        ordered, places = compute(lambda t, d=descending: E.sort(t, 1, d), x)
        np.testing.assert_array_equal(ordered, np.sort(x, 1)[:, :: -1 if descending else 1])
        np.testing.assert_array_equal(np.take_along_axis(x, places, 1), ordered)
    best, _ = compute(lambda t: E.topk(t, 2, 0), x)
    np.testing.assert_array_equal(best, np.sort(x, 0)[::-1][:2])
    ties = np.array([1, 3, 1, 3], np.int32)
    assert compute(lambda t: E.sort(t, 0, True), ties)[1].tolist() == [1, 3, 0, 2]


@cases("index", ["int32", "int64"])
@cases("axis", [0, 1, 2])
def test_gather_along_an_axis(index: str, axis: int) -> None:
    ids = np.array([[0, 4], [7, -1]], index)
    size = X.shape[axis]
    (found,) = compute(lambda t, i: dsl.gather(t, i, axis), X, ids)
    wanted = np.take(X, np.clip(ids, 0, size - 1), axis)
    outside = (ids < 0) | (ids >= size)
    wanted = np.where(outside.reshape((1,) * axis + (2, 2) + (1,) * (2 - axis)), 0, wanted)
    np.testing.assert_array_equal(found, wanted)


@cases("index", ["int32", "int64"])
def test_other_forms_of_gather(index: str) -> None:
    (found,) = compute(lambda t, i: dsl.gather(t, i, 1, 0, True), X, np.array([-1, -5], index))
    np.testing.assert_array_equal(found, X[:, [-1, 0]])
    rows = values((3, 4), index, 0, 4)
    (found,) = compute(lambda t, i: dsl.gather(t, i, 1, 1), X, rows)
    np.testing.assert_array_equal(found, np.take_along_axis(X, rows[:, :, None], 1))
    points = np.array([[0, 4], [2, 1], [3, 0]], index)
    (found,) = compute(lambda t, i: dsl.gather_nd(t, i), X, points)
    np.testing.assert_array_equal(found, [X[0, 4], X[2, 1], [0, 0]])


CHANGES: dict[str, Callable[..., Any]] = {
    "update": lambda a, b: b,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@cases("dtype", ["float16", "float32", "int32"])
@cases("reduction", CHANGES)
def test_scatter_and_rows_in_place(dtype: str, reduction: str) -> None:
    change = CHANGES[reduction]
    x, new = values((4, 3), dtype, 1, 4, seed=1), values((3, 3), dtype, 1, 4, seed=2)
    ids, outside = np.array([2, 0, 2], np.int32), np.array([4, 0, -1], np.int32)
    wanted = x.astype(np.float64)
    for row, value in zip(ids, new.astype(np.float64), strict=True):
        wanted[row] = change(wanted[row], value)
    (found,) = compute(lambda t, i, u: dsl.scatter(t, i, u, reduction), x, ids, new)
    assert_near(found, wanted, dtype, times=64)
    (found,) = compute(lambda t, i, u: dsl.scatter(t, i, u, reduction), x, outside, new)
    np.testing.assert_array_equal(found[1:], x[1:])
    if f"inplace_{reduction}" in dsl.OPERATIONS:
        word = dsl.OPERATIONS[f"inplace_{reduction}"]
        (found,) = compute(lambda t, u: word(t, [2, 0, 2], u), x, new)
        assert_near(found, wanted, dtype, times=64)
        (found,) = compute(lambda t, u: word(t, 1, u), x, new[0])
        assert_near(found[1], change(x[1].astype(float), new[0].astype(float)), dtype)


SEGMENTS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}


@cases("dtype", ["float16", "float32", "int32"])
@cases("kind", SEGMENTS)
def test_segments(dtype: str, kind: str) -> None:
    x, ids = values((6, 2), dtype), np.array([0, 2, 2, -1, 9, 3], np.int32)
    word = dsl.OPERATIONS[f"unsorted_segment_{kind}"]
    wide = x.astype(np.float64)
    wanted = np.stack([wide[0], np.full(2, 7.0), SEGMENTS[kind](wide[1:3], 0)])
    wanted = np.trunc(wanted) if dtype == "int32" else wanted
    assert_near(compute(lambda t, i: word(t, i, 3, 7), x, ids)[0], wanted, dtype, times=4)
    (found,) = compute(lambda t: word(t, ids.tolist(), 3, 7), x)
    assert_near(found, wanted, dtype, times=4)


@cases("dtype", ["float16", "float32", "int32"])
def test_segments_of_nothing(dtype: str) -> None:
    (found,) = compute(lambda t: dsl.unsorted_segment_sum(t, [], 2), values((0, 3), dtype))
    assert found.tolist() == [[0] * 3] * 2
