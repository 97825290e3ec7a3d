"""``classify(…, "gather")`` returns the axis ``batch_dims + 1``, for any axis of the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tbe_impl import compat
from tbe_impl.cli.sample_arrays import make_inputs
from tbe_impl.errors import FusionError
from tests.cases import cases
from tests.trials.operators import described, operator


def taken(x: np.ndarray, places: np.ndarray, axis: int | None, batch: int) -> np.ndarray:
    """NumPy's take, for each element of the batch."""
    along = batch if axis is None else axis
    if not batch:
        return np.take(x, places, along)
    parts = [taken(a, b, along - 1, batch - 1) for a, b in zip(x, places, strict=True)]
    return np.stack(parts)


ROWS: list[tuple[tuple[int, ...], tuple[int, ...], int | None, int]] = [
    ((4, 8), (3,), None, 0),
    ((4, 8), (2, 3), None, 0),
    ((7,), (5,), None, 0),
    ((4, 8), (), None, 0),
    ((1, 2, 4, 5), (1, 3), None, 0),  # as many axes as the variant, with another meaning
    ((3, 4, 5), (3, 2), None, 1),
    ((2, 3, 4, 5), (2, 3, 6), None, 2),
    ((4, 8), (3,), 1, 0),
    ((2, 3, 4, 5), (6,), 2, 0),
    ((2, 3, 4, 5), (2, 6), 3, 1),
]


@cases("shape, places, axis, batch", ROWS)
@cases("is_dynamic", [True, False])
def test_gather_takes_along_the_first_axis_after_the_batch(
    shape: tuple[int, ...], places: tuple[int, ...], axis: int | None, batch: int, is_dynamic: bool
) -> None:
    along = batch if axis is None else axis
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    rng = np.random.default_rng(2)
    indices = np.asarray(rng.integers(0, shape[along], places), "int32")
    expected = taken(x, indices, axis, batch)

    def sizes(real: tuple[int, ...]) -> tuple[int, ...]:
        return (-1,) * len(real) if is_dynamic else real

    kernel = operator("gathered_rows", "gathered_rows").build(
        described(sizes(shape), "float32"),
        described(sizes(places), "int32"),
        described(sizes(expected.shape), "float32"),
        axis,
        batch,
    )
    found = kernel(x, indices, backend="numpy")
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


def test_one_kernel_gathers_from_arrays_of_all_sizes() -> None:
    unknown = described((-1, -1), "float32")
    kernel = operator("gathered_rows", "gathered_rows").build(
        unknown, described((-1,), "int32"), unknown
    )
    kernel = kernel.with_options(threads=1)
    object.__setattr__(kernel, "specialise", None)
    for rows, columns in ((4, 8), (9, 1), (1, 5)):
        x = np.random.default_rng(1).standard_normal((rows, columns), "float32")
        indices = np.array([rows - 1, 0, rows // 2], "int32")
        assert np.array_equal(kernel(x, indices), x[indices])


def test_indices_to_try_it_with_reach_all_rows() -> None:
    """The gathered axis limits an index, not the batch of size 1 before it."""
    kernel = operator("gathered_rows", "gathered_rows").build(
        described((5, 8), "float32"), described((99,), "int32"), described((99, 8), "float32")
    )
    _, places = make_inputs(kernel, [])
    assert set(places.array.tolist()) == set(range(5))


POINTS: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((4, 8), (3, 1), 0),
    ((4, 8), (3, 2), 0),
    ((4, 8, 3), (5, 2, 2), 0),
    ((4, 8), (2,), 0),
    ((2, 4, 8), (2, 3, 1), 1),
    ((2, 4, 8), (2, 3, 2), 1),
]


@cases("shape, places, batch", POINTS)
@cases("is_dynamic", [True, False])
def test_gather_nd_takes_points_behind_the_batch(
    shape: tuple[int, ...], places: tuple[int, ...], batch: int, is_dynamic: bool
) -> None:
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    depth = places[-1]
    rng = np.random.default_rng(3)
    indices = rng.integers(0, shape[batch : batch + depth], places).astype("int32")

    def points(a: np.ndarray, b: np.ndarray, left: int) -> np.ndarray:
        if left:
            return np.stack([points(*pair, left - 1) for pair in zip(a, b, strict=True)])
        return a[tuple(np.moveaxis(b, -1, 0))]

    expected = points(x, indices, batch)

    def sizes(real: tuple[int, ...], kept: int = 0) -> tuple[int, ...]:
        return (-1,) * (len(real) - kept) + real[len(real) - kept :] if is_dynamic else real

    kernel = operator("gathered_rows", "gathered_points").build(
        described(sizes(shape), "float32"),
        described(sizes(places, 1), "int32"),
        described(sizes(expected.shape), "float32"),
        batch,
    )
    found = kernel(x, indices, backend="numpy")
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


@cases(
    "shape, axis, batch_dims, message",
    [
        ((4, 8), None, "unknown", "batch_dims of a gather has to be known .* 'unknown'"),
        ((4, 8), 2, 0, r"gather: axis 2 is outside of params \(4, 8\)"),
        ((4, 8), 0, 1, r"gather: axis 0 is outside of params \(4, 8\) behind 1 batch axes"),
        ((4, 8), None, 5, "a gather has no 5 batch axes: params have 2 axes, indices 1"),
    ],
)
def test_a_gather_that_cannot_be_is_refused(
    shape: tuple[int, ...], axis: int | None, batch_dims: Any, message: str
) -> None:
    with pytest.raises(FusionError, match=message):
        operator("gathered_rows", "gathered_rows").build(
            described(shape, "float32"),
            described((3,), "int32"),
            described((3, 8)),
            axis,
            batch_dims,
        )


def test_the_classifier_merges_axes_as_the_toolkit_does() -> None:
    with compat.installed():
        from tbe import dsl

        params, places = described((2, 3, 4, 5)), described((2, 7, 8), "int32")
        ((a, b, axis, batch),) = dsl.classify([params, places, 2, 1], "gather")
        assert (a["shape"], b["shape"], axis, batch) == ([2, 3, 4, 5], [2, 56], 2, 1)
        ((a, b, axis, batch),) = dsl.classify([params, places, None, -2], "gather")
        assert (a["shape"], b["shape"], axis, batch) == ([2, 1, 3, 20], [2, 56], 2, 1)
        unknown = described((-1, 3))
        ((a, b, axis, batch),) = dsl.classify([unknown, places, None, 0], "gather")
        assert (a["shape"], b["shape"], axis, batch) == ([1, 1, -1, -1], [1, -1], 2, 1)
        assert a["range"] == [(1, 1), (1, 1), (1, None), (1, None)]
