"""Toolkit names in public operator files, one operator per name.

`tests/programs/trials/toolkit_names.py` has the operators.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tbe_impl.dsl.layouts import to_blocked_channels, to_fractal_z, to_nz
from tbe_impl.errors import FusionError
from tests.cases import cases
from tests.tbe_impl.tolerances import assert_close
from tests.trials.operators import described, operator

FILE = "toolkit_names"
RNG = np.random.default_rng(32)


def normal(*shape: int, dtype: str = "float16") -> np.ndarray:
    """Values of both signs."""
    return RNG.standard_normal(shape).astype(dtype)


def of(array: np.ndarray) -> dict[str, Any]:
    """Its description."""
    return described(array.shape, str(array.dtype))


@cases("one, other", [((5,), (5,)), ((4, 5), (5,)), ((4, 5), (1, 5)), ((3, 1), (4, 3, 6))])
def test_shapes_of_2020_broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    x, y = normal(*one), normal(*other)
    unknown = [described((-1,) * array.ndim) for array in (x, y, x + y)]
    found = operator(FILE, "sum_of_2020").build(*unknown)(x, y, backend="numpy")
    assert found.shape == (x + y).shape
    assert_close(found, x.astype("float64") + y, "float16")


@cases("is_dynamic", [True, False])
def test_sparse_axes_write_some_rows(is_dynamic: bool) -> None:
    var, grad = normal(9, 4, dtype="float32"), normal(3, 4, dtype="float32")
    moment, indices = np.abs(normal(9, 4, dtype="float32")) + 1, np.int32([4, 0, 7])
    given = [of(one) for one in (var, moment, grad, indices, var, moment)]
    if is_dynamic:
        given = [described((-1,) * len(one["shape"]), one["dtype"]) for one in given]
    found = operator(FILE, "step_of_rows").build(*given)(
        var, moment, grad, indices, backend="numpy"
    )
    moments, weights = moment.astype("float64"), var.astype("float64")
    moments[indices] += grad.astype("float64") ** 2
    weights[indices] -= grad / np.sqrt(moments[indices])
    assert_close(found[0], weights, "float32")
    assert_close(found[1], moments, "float32")


def test_rows_that_are_computed_are_written_too() -> None:
    x, indices = normal(6, 5), np.int32([1, 3])
    found = operator(FILE, "doubled_rows").build(of(x), of(indices), of(x))(x, indices)
    expected = x.copy()
    expected[indices] = 2 * x[:2]
    assert np.array_equal(found, expected)


@cases("reduction", ["update", "add", "sub", "max", "min", "mul", ""])
@cases("depth", [1, 2, 3])
def test_scatter_nd_changes_points(reduction: str, depth: int) -> None:
    var = normal(4, 3, 5, dtype="float32")
    indices = RNG.integers(0, [4, 3, 5][:depth], (7, depth)).astype("int32")
    indices[2, -1] = 9  # out of range: skipped
    indices[3, 0] = -1
    updates = normal(7, *var.shape[depth:], dtype="float32")
    kernel = operator(FILE, "changed_points").build(
        *map(of, (var, indices, updates, var)), reduction
    )
    expected = var.astype("float64")
    change = {
        "max": np.maximum,
        "min": np.minimum,
        "add": np.add,
        "": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
    }
    for point, new in zip(indices, updates, strict=True):
        at = tuple(point)
        if all(0 <= i < size for i, size in zip(at, var.shape, strict=False)):
            expected[at] = new if reduction == "update" else change[reduction](expected[at], new)
    assert_close(kernel(var, indices, updates, backend="numpy"), expected, "float32")


def test_points_of_zeros_have_the_shape_of_an_input() -> None:
    indices, x = np.int32([[1, 2], [3, 0], [1, 2]]), normal(3, 5)
    shape = np.int32([4, 3, 5])
    kernel = operator(FILE, "points_of_zeros").build(
        of(indices), of(x), of(shape), described((4, 3, 5))
    )
    expected = np.zeros((4, 3, 5))
    np.add.at(expected, tuple(indices.T), x)
    found = kernel(indices, x, shape, backend="numpy")
    assert found.shape == expected.shape
    assert_close(found, expected, "float16")


@cases("negative", [True, False])
def test_points_may_count_from_behind(negative: bool) -> None:
    x, indices = normal(4, 3), np.int32([[0, 1], [-1, 2], [3, -3], [9, 0]])
    kernel = operator(FILE, "points_from_behind").build(
        of(x), of(indices), described((4,)), negative
    )
    behind = [x[-1, 2], x[3, -3]] if negative else [0, 0]
    assert np.array_equal(kernel(x, indices, backend="numpy"), np.float16([x[0, 1], *behind, 0]))


def test_volumes_have_gradients_by_the_name_of_2020() -> None:
    w, dy = normal(16, 16, 2, 2, 3), normal(1, 16, 3, 3, 4)
    pads, dx = [0, 0, 0, 0, 1, 1], np.zeros((1, 16, 4, 4, 4))
    wide = np.zeros((1, 16, 4, 4, 6))
    for d, h, k in product(range(2), range(2), range(3)):
        part = np.einsum("oi,nodhw->nidhw", w[:, :, d, h, k].astype("float64"), dy)
        wide[:, :, d : d + 3, h : h + 3, k : k + 4] += part
    dx = wide[..., 1:-1]
    blocked = [to_fractal_z(w, 16), to_blocked_channels(dy, 16, 2), to_blocked_channels(dx, 16, 2)]
    kernel = operator(FILE, "volume_gradient").build(
        of(blocked[0]), of(blocked[1]), described(blocked[2].shape), w.shape, [1, 4, 4, 4, 16], pads
    )
    assert_close(kernel(*blocked[:2], backend="numpy"), blocked[2], "float16")


@cases("padding, pads", [("VALID", [0] * 6), ("SAME", [0] * 6), ("CALCULATED", [1, 0, 0, 1, 0, 0])])
def test_second_slopes_lie_at_the_maxima(padding: str, pads: list[int]) -> None:
    shape, ksize, strides = (2, 4, 1, 5, 6, 16), (2, 3, 2), (2, 1, 2)
    x = RNG.integers(0, 4, shape).astype("float16")  # with many equal values
    g = normal(*shape)
    sizes = [shape[1], shape[3], shape[4]]
    if padding == "SAME":
        counts = [-(-size // step) for size, step in zip(sizes, strides, strict=True)]
        needed = [
            max((n - 1) * step + k - size, 0)
            for n, step, k, size in zip(counts, strides, ksize, sizes, strict=True)
        ]
        begins = [one // 2 for one in needed]
    else:
        begins = pads[::2]
        both = [pads[2 * i] + pads[2 * i + 1] for i in range(3)]
        counts = [
            (size + more - k) // step + 1
            for size, more, k, step in zip(sizes, both, ksize, strides, strict=True)
        ]
    y = np.zeros((2, counts[0], 1, counts[1], counts[2], 16), "float16")
    expected = np.zeros(y.shape, "float16")
    for n, d, h, w, c in product(range(2), *map(range, counts), range(16)):
        best = None
        for offset in product(*map(range, ksize)):
            at = [
                i * s + o - b for i, s, o, b in zip((d, h, w), strides, offset, begins, strict=True)
            ]
            if all(0 <= i < size for i, size in zip(at, sizes, strict=True)):
                place = (n, at[0], 0, at[1], at[2], c)
                if best is None or x[place] > x[best]:
                    best = place
        assert best is not None
        y[n, d, 0, h, w, c], expected[n, d, 0, h, w, c] = x[best], g[best]
    assist = np.ones((1, 2, 1, 3, 2, 16), "float16")
    kernel = operator(FILE, "slopes_at_maxima").build(
        *map(of, (x, y, g, assist, y)), ksize, strides, pads, padding
    )
    assert np.array_equal(kernel(x, y, g, assist, backend="numpy"), expected)


def depthwise(stride: tuple[int, int], pad: tuple[int, int, int, int]) -> Any:
    """An image, a gradient, and pairs of windows of the image with their target."""
    x, kernel = normal(2, 2, 1, 7, 6, 16), (3, 2)
    wide = np.pad(x.astype("float64"), [(0, 0)] * 3 + [pad[:2], pad[2:], (0, 0)])
    sizes = [(wide.shape[3 + i] - kernel[i]) // stride[i] + 1 for i in range(2)]
    dy = normal(2, 2, 1, *sizes, 16)
    windows = {
        (h, w): np.s_[
            :,
            :,
            :,
            h : h + (sizes[0] - 1) * stride[0] + 1 : stride[0],
            w : w + (sizes[1] - 1) * stride[1] + 1 : stride[1],
        ]
        for h, w in product(*map(range, kernel))
    }
    return x, wide, dy, kernel, windows


STEPS = [((1, 1), (0, 0, 0, 0)), ((2, 2), (1, 1, 1, 0)), ((1, 2), (2, 1, 0, 1))]


@cases("stride, pad", STEPS)
def test_depthwise_filters_have_gradients(
    stride: tuple[int, int], pad: tuple[int, int, int, int]
) -> None:
    x, wide, dy, kernel, windows = depthwise(stride, pad)
    expected = np.zeros((2, 6, 16, 16))
    for (h, w), part in windows.items():
        sums = (wide[part] * dy).sum((0, 3, 4))[:, 0]
        expected[:, h * 2 + w] = sums[:, :, None] * np.eye(16)
    made = operator(FILE, "depthwise_filters").build(
        of(x), of(dy), described(expected.shape, "float32"), kernel, stride, pad, (1, 1)
    )
    assert_close(made(x, dy, backend="numpy"), expected, "float32", times=4)


@cases("stride, pad", STEPS)
def test_depthwise_images_have_gradients(
    stride: tuple[int, int], pad: tuple[int, int, int, int]
) -> None:
    x, wide, dy, kernel, windows = depthwise(stride, pad)
    each = normal(2, 6, 16)
    expected = np.zeros(wide.shape)
    for (h, w), part in windows.items():
        expected[part] += dy * each[:, h * 2 + w].astype("float64")[None, :, None, None, None]
    expected = expected[:, :, :, pad[0] : pad[0] + 7, pad[2] : pad[2] + 6].reshape(2, 2, 1, 42, 16)
    filters = (each[:, :, None, :, None] * np.eye(16)).astype("float16")
    made = operator(FILE, "depthwise_image").build(
        of(filters), of(dy), described(expected.shape), x.shape, kernel, stride, pad
    )
    assert_close(made(filters, dy, backend="numpy"), expected, "float16")


@cases("in_attributes", [True, False])
@cases(
    "one, other",
    [((4, 1), (3,)), ((1, 4), (4, 1)), ((2, 3), (2, 3)), ((2, 3), (1, 3)), ((1,), (5,))],
)
def test_merged_batches_of_gemm_broadcast(
    one: tuple[int, ...], other: tuple[int, ...], in_attributes: bool
) -> None:
    x, y = normal(*one, 16, 32), normal(*other, 32, 16)
    exact = x.astype("float64") @ y.astype("float64")
    merged = [to_nz(a.reshape(-1, *a.shape[-2:])) for a in (x, y)]
    z = to_nz(exact)
    kernel = operator(FILE, "product_of_batches").build(
        *map(of, merged), described(z.shape), (one, other), in_attributes
    )
    found = kernel(*merged, backend="numpy")
    assert found.shape == z.shape
    assert_close(found, z, "float16")


def test_merged_batches_that_do_not_broadcast_are_refused() -> None:
    x, y = described((4, 1, 1, 16, 16)), described((6, 1, 1, 16, 16))
    with pytest.raises(
        FusionError, match=r"gemm: the batches differ; expected \(2, 2\) \(a\), got \(2, 3\) \(b\)"
    ):
        operator(FILE, "product_of_batches").build(x, y, y, ((2, 2), (2, 3)))


def test_a_placeholder_may_be_the_beginning_of_a_tensor() -> None:
    x, scale = normal(4, 8), normal(6, 2, 8)
    kernel = operator(FILE, "scaled_by_first_row").build(of(x), of(scale), of(x))
    assert_close(kernel(x, scale), x.astype("float64") * scale[0, 0], "float16")
    with pytest.raises(
        FusionError,
        match=r"factor has a wrong shape or dtype; expected \(6, 2, 8\) float16, got \(1, 8\)",
    ):
        kernel(x, scale[0, :1])


@cases("soc", ["Ascend910A", "Ascend910B1", "Ascend310P3"])
def test_there_is_no_stored_schedule_and_windows_are_asked_for(soc: str) -> None:
    x = normal(4, 8)
    found = operator(FILE, "not_in_the_bank").build(of(x), of(x), soc=soc)(x, backend="numpy")
    assert np.array_equal(found, -x)


def test_two_results_over_one_input_are_refused() -> None:
    from tbe_impl import compat

    with compat.installed():
        from te import tvm
        from te.lang.cce.te_compute import util

        a = tvm.placeholder((4,), name="a")
        util.reuse_input_as_output(a, tvm.placeholder((4,), name="b"), "kernel")
        with pytest.raises(RuntimeError, match="two results are written over a"):
            util.reuse_input_as_output(a, a, "kernel")


def test_sparse_bodies_that_are_none_are_refused() -> None:
    from tbe_impl import compat

    with compat.installed():
        from te import tvm

        x, rows = tvm.placeholder((6, 5), name="x"), tvm.placeholder((2, 5), name="rows")
        places = tvm.placeholder((2,), "int32", name="places")
        k = tvm.sparse_axis((0, 2), name="k")
        with pytest.raises(
            RuntimeError, match=r"tvm\.sparse takes tvm\.select\(index\[k\] == i\[0\], row\)"
        ):
            tvm.compute(x.shape, lambda *i: tvm.sparse(rows(k, i[1]), axis=[k]))
        with pytest.raises(RuntimeError, match="must be an input of the rows"):
            tvm.compute(
                (6, 5),
                lambda *i: tvm.sparse(tvm.select(places[k] == i[0], rows(k, i[1])), axis=[k]),
            )
        with pytest.raises(RuntimeError, match="takes one axis made by"):
            tvm.compute(x.shape, lambda *i: tvm.sparse(rows(k, i[1]), axis=None))
