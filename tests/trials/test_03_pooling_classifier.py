"""``classify(…, "pooling", …)`` returns windows, strides, dilations and padding."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tbe_impl import compat
from tbe_impl.errors import FusionError
from tests.cases import cases
from tests.trials.operators import described, operator


def largest(x: np.ndarray, axes: list[int], windows: dict[str, Any]) -> np.ndarray:
    """The maximum of every window, with −∞ as padding."""
    pads = [(0, 0)] * x.ndim
    for axis, pair in zip(
        axes, windows.get("padding_dimensions") or [(0, 0)] * len(axes), strict=True
    ):
        pads[axis] = tuple(pair)
    wide = np.pad(x.astype("float64"), pads, constant_values=-np.inf)
    counts = list(x.shape)
    dilations = windows.get("window_dilations") or [1] * len(axes)
    spans, strides = windows["window_dimensions"], windows["window_strides"]
    for axis, span, stride, dilation in zip(axes, spans, strides, dilations, strict=True):
        counts[axis] = (wide.shape[axis] - (span - 1) * dilation - 1) // stride + 1
    found = np.full(counts, -np.inf)
    for offset in product(*(range(span) for span in spans)):
        part = [slice(None)] * x.ndim
        for axis, at, stride, dilation in zip(axes, offset, strides, dilations, strict=True):
            first = at * dilation
            part[axis] = slice(first, first + (counts[axis] - 1) * stride + 1, stride)
        found = np.maximum(found, wide[tuple(part)])
    return found


ROWS: list[tuple[tuple[int, ...], list[int], dict[str, Any]]] = [
    ((1, 4, 4, 3), [1, 2], {"window_dimensions": [2, 2], "window_strides": [2, 2]}),
    (
        (2, 7, 6, 3),
        [1, 2],
        {"window_dimensions": [3, 2], "window_strides": [2, 1], "window_dilations": [1, 2]},
    ),
    (
        (2, 1, 5, 6, 16),
        [2, 3],
        {
            "window_dimensions": [3, 3],
            "window_strides": [2, 2],
            "padding_dimensions": [[1, 1], [1, 0]],
        },
    ),
    (
        (1, 4, 2, 5, 4, 16),
        [1, 3, 4],
        {
            "window_dimensions": [2, 3, 2],
            "window_strides": [2, 1, 2],
            "window_dilations": [1, 1, 1],
            "padding_dimensions": [[0, 0], [1, 1], [0, 0]],
        },
    ),
]


@cases("shape, axes, windows", ROWS)
@cases("is_dynamic", [True, False])
def test_windows_come_back_from_the_classifier(
    shape: tuple[int, ...], axes: list[int], windows: dict[str, Any], is_dynamic: bool
) -> None:
    x = np.random.default_rng(3).standard_normal(shape).astype("float16")
    expected = largest(x, axes, windows)
    sizes = (-1,) * len(shape)
    kernel = operator("largest_of_windows").build(
        described(sizes if is_dynamic else shape),
        described(sizes if is_dynamic else expected.shape),
        axes,
        windows,
    )
    found = kernel(x, backend="numpy")
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


def test_pooling_over_the_whole_plane_needs_no_windows() -> None:
    windows = {"window_dimensions": None, "window_strides": None, "global_pooling": True}
    kernel = operator("largest_of_windows").build(
        described((-1, -1, -1)), described((-1, -1, -1)), [1], windows, kind="GMP"
    )
    x = np.random.default_rng(4).standard_normal((2, 5, 3)).astype("float16")
    assert np.array_equal(kernel(x, backend="numpy"), x.max(1, keepdims=True))


@cases(
    "windows, message",
    [
        (
            {"window_dimensions": None, "window_strides": [2, 2]},
            "window_dimensions of a pooling has to be known .* None",
        ),
        (
            {"window_dimensions": [2], "window_strides": [2, 2]},
            r"window_dimensions of a pooling has to have one entry for each of the axes \[1, 2\], "
            r"but is \[2\]",
        ),
        (
            {"window_strides": [2, 2]},
            r"largest_of_windows\.py:\d+: reduce_window: window_dimensions are missing; expected "
            r"2 numbers",
        ),
        ({"window_dimensions": [2, 2]}, "reduce_window: window_strides are missing"),
    ],
)
def test_windows_that_are_missing_are_no_windows_of_1(
    windows: dict[str, Any], message: str
) -> None:
    unknown = described((-1, -1, -1, -1))
    with pytest.raises(FusionError, match=message):
        operator("largest_of_windows").build(unknown, unknown, [1, 2], windows)


def test_the_toolkit_s_names_of_windows() -> None:
    with compat.installed():
        from impl.util.pooling_pattern_adapter import PoolingPattern

        assert PoolingPattern.PADDING_DIMENSIONS == "padding_dimensions"
        assert PoolingPattern.WINDOW_STRIDES_ATTR_IDNEX == "window_strides_attr_index"
