"""Operator files in public styles, with their unusual features."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbe_impl
from tbe_impl import compat, dsl
from tbe_impl.compat import newer_operations, testing
from tbe_impl.dsl import layouts
from tbe_impl.errors import FusionError
from tbe_impl.loading.deferred_kernel import DeferredKernel
from tests.cases import FULL, cases
from tests.tbe_impl.ops.calls import describe
from tests.tbe_impl.tolerances import assert_close

TREE = Path(__file__).parent / "tree"
BACKENDS = ("numpy", "cpu")


def operator(name: str) -> Any:
    """An operator of the tree."""
    return tbe_impl.load_operator(TREE / "impl" / f"{name}.py", name, search_path=[TREE])


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers from -1 to 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def in_backends(rows: Sequence[Any], in_c: Collection[int]) -> list[Any]:
    """Rows prefixed by a back end: NumPy for each; `make test` compiles the given positions."""
    found = []
    for backend in BACKENDS:
        for place, row in enumerate(rows):
            values = row if isinstance(row, tuple) else (row,)
            marks = () if backend == "numpy" or place in in_c else FULL
            found.append(pytest.param(backend, *values, marks=marks))
    return found


@cases("backend", BACKENDS)
def test_outputs_that_are_written_over_inputs_are_given_once(backend: str) -> None:
    tensor, number = describe((5, 7), "float32"), describe((1,), "float32")
    kernel = operator("nesterov_2020").build(tensor, tensor, number, tensor, tensor, tensor)
    var, accum, grad = (draw(5, 7, seed=seed) for seed in range(3))
    rate = np.array([0.1], np.float32)
    moved = 0.9 * accum.astype(np.float64) + grad
    found = kernel(var, accum, rate, grad, backend=backend)
    assert len(found) == 2
    assert_close(found[0], var - 0.1 * (grad + 0.9 * moved), "float32")
    assert_close(found[1], moved, "float32")


@cases("backend, shape", in_backends([((5, 37),), ((-1, -1),)], in_c=(1,)))
def test_bits_conditions_and_packages_that_import_everything(backend: str, shape: Any) -> None:
    kernel = operator("masked_dynamic").build(
        describe(shape, "int8"), describe(shape, "float32"), describe(shape, "float32")
    )
    x = draw(5, 37) * 3
    condition = (draw(5, 37, seed=1) > 0).astype(np.int8)
    wanted = np.minimum(np.where(condition * (x > 0), x, 0), 1)
    assert_close(kernel(condition, x, backend=backend), wanted, "float32")
    assert_close(kernel(condition.astype(bool), x, backend=backend), wanted, "float32")


@cases("backend", BACKENDS)
def test_names_that_only_old_operators_use(backend: str) -> None:
    tensor = describe((3, 50), "float32")
    x = draw(3, 50)
    kernel = operator("threshold_2020").build(tensor, tensor, [0.0, 0.5])
    wanted = np.minimum(np.maximum(x, 0) * 1e4, 1) + np.minimum(np.maximum(x - 0.5, 0) * 1e4, 1)
    assert_close(kernel(x, backend=backend), wanted, "float32", times=10)


@cases(
    "backend, padding, window, stride", in_backends([("SAME", 4, 3), ("VALID", 3, 2)], in_c=(0,))
)
def test_windows_counted_by_the_toolkit(
    padding: str, window: int, stride: int, backend: str
) -> None:
    tensor = describe((3, 17), "float16")
    x = draw(3, 17).astype(np.float16)
    for scale in (None, 0.5):
        kernel = operator("row_pool_2021").build(tensor, tensor, scale, window, stride, padding)
        starts = range(0, 17, stride) if padding == "SAME" else range(0, 17 - window + 1, stride)
        before = max((len(starts) - 1) * stride + window - 17, 0) // 2 if padding == "SAME" else 0
        parts = [x[:, max(at - before, 0) : at - before + window] for at in starts]
        wanted = np.stack([part.sum(1, dtype=np.float64) for part in parts], 1) * (scale or 1)
        assert_close(kernel(x, backend=backend), wanted, "float16")
    with pytest.raises(FusionError, match="padding has to be SAME or VALID"):
        operator("row_pool_2021").build(tensor, tensor, None, 3, 2, "CEIL")


@cases("groups", [1, 4])
def test_an_operator_derived_from_a_class_of_the_toolkit(groups: int) -> None:
    shape, size = (2, 8, 6, 5), (12, 8 // groups, 3, 2)
    x, dy = draw(*shape), draw(2, 12, 3, 6, seed=1)
    image = {
        "shape": (2, 1, 6, 5, 16),
        "dtype": "float32",
        "format": "NC1HWC0",
        "ori_shape": shape,
        "ori_format": "NCHW",
    }
    slope = {**image, "shape": (2, 1, 3, 6, 16), "ori_shape": dy.shape}
    blocks = layouts.fractal_z_shape(size, groups)
    y = {
        "shape": blocks,
        "dtype": "float32",
        "format": "FRACTAL_Z",
        "ori_shape": size,
        "ori_format": "NCHW",
    }
    build = operator("filter_slope_static").build
    kernel = build(image, slope, y, list(size), [1, 1, 2, 1], [1, 1, 1, 1], groups)
    found = kernel(layouts.to_blocked_channels(x), layouts.to_blocked_channels(dy))
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    wanted = np.zeros(size)
    for o, i, h, w in np.ndindex(*size):
        channel = o // (12 // groups) * size[1] + i
        wanted[o, i, h, w] = (padded[:, channel, h : h + 5 : 2, w : w + 6] * dy[:, o]).sum()
    assert_close(layouts.from_fractal_z(found, size, groups), wanted, "float32")
    with pytest.raises(FusionError, match="H that fits"):
        build(image, slope, y, list(size), [1, 1, 1, 1], [1, 1, 1, 1], groups)


@cases("backend, shape", in_backends([((-2,),), ((-1, -1, 5),), ((3, 4, 5),)], in_c=(0,)))
def test_kernels_that_are_made_when_ranks_and_axes_are_known(shape: Any, backend: str) -> None:
    kernel = operator("centred_dynamic").build(
        describe(shape, "float32"), describe((-1,), "int32"), describe(shape, "float32")
    )
    assert isinstance(kernel, DeferredKernel) and kernel.with_options(threads=1).threads == 1
    x = draw(3, 4, 5)
    for axes in ([1], [0, 2]):
        wanted = x - x.max(axis=tuple(axes), keepdims=True).astype(np.float64)
        found = kernel(x, np.array(axes, np.int32), backend=backend)
        assert found.shape == x.shape
        assert_close(found, wanted, "float32")
    known = kernel.for_arrays([x, np.array([1], np.int32)])
    assert "float" in known.source and known is not kernel
    with pytest.raises(FusionError, match="before the sizes are known"):
        kernel.report()
    with pytest.raises(FusionError, match="not inputs of the operator"):
        kernel(*[x] * 4)


def test_a_refusal_that_sizes_do_not_change_comes_at_once() -> None:
    with pytest.raises(FusionError, match="float16, float32"):
        operator("centred_dynamic").build(
            describe((-2,), "int8"), describe((-1,), "int32"), describe((-2,), "int8")
        )


@cases("backend", BACKENDS)
@cases("bias", [False, True])
def test_sizes_that_are_counted_in_blocks(bias: bool, backend: str) -> None:
    unknown, row = describe((-1, -1), "float32"), describe((-1,), "float32")
    kernel = operator("product_dynamic").build(unknown, unknown, row if bias else None, unknown)
    for m, k, n in ((20, 33, 17), (32, 5, 16), (1, 1, 1)):
        a, b, c = draw(m, k), draw(k, n, seed=1), draw(n, seed=2)
        wanted = a.astype(np.float64) @ b + (c if bias else 0)
        given = (a, b, c) if bias else (a, b)
        found = kernel(*given, backend=backend)
        assert found.shape == (m, n)
        assert_close(found, wanted, "float32")
        into = np.zeros((m, n), np.float32)
        kernel(*given, backend=backend, out=into)
        np.testing.assert_array_equal(into, found)


@cases("backend, shape", in_backends([((-1, -1),), ((3, 20),)], in_c=(0,)))
def test_a_sort_reads_the_wanted_number_from_an_array(shape: Any, backend: str) -> None:
    x, one = describe(shape, "float32"), describe((1,), "int32")
    kernel = operator("ranked_dynamic").build(x, one, x, describe((-1, -1), "int32"))
    data = draw(3, 20)
    for count in (1, 7):
        values, places = kernel(data, np.array([count], np.int32), backend=backend)
        np.testing.assert_array_equal(places, np.argsort(-data, axis=1, kind="stable")[:, :count])
        assert_close(values, 2 * np.sort(-data, axis=1)[:, :count].astype(np.float64), "float32")
    with pytest.raises(FusionError, match="ascend or descend"):
        newer_operations.sort(dsl.placeholder((2, 3)), direction="up")


@cases("backend", BACKENDS)
def test_a_segment_maximum_reads_its_count_from_an_array(backend: str) -> None:
    rows, row, one = (
        describe((-1, -1), "float32"),
        describe((-1,), "int32"),
        describe((1,), "int32"),
    )
    kernel = operator("grouped_dynamic").build(rows, row, one, rows)
    x, ids = draw(6, 16), np.array([0, 1, 1, 3, 0, 3], np.int32)
    for count in (4, 5):
        wanted = np.full((count, 16), -0.5)
        for number in set(ids.tolist()):
            wanted[number] = x[ids == number].max(axis=0) / 2.0
        assert_close(
            kernel(x, ids, np.array([count], np.int32), backend=backend), wanted, "float32"
        )


def test_frameworks_hide_functions_and_tutorials_build_lists() -> None:
    loaded = tbe_impl.load_operator(TREE / "impl" / "soft_step.py", search_path=[TREE])
    x = draw(4, 9)
    kernel = loaded.build(
        describe((4, 9), "float32"), describe((4, 9), "float32"), kernel_name="own"
    )
    assert kernel.name == "own"
    assert_close(kernel(x), 1 / (1 + np.exp(-4 * (x.astype(np.float64) - 0.5))), "float32")


def test_an_operator_that_is_tried_out_while_it_is_built(capfd: pytest.CaptureFixture[str]) -> None:
    tensor = describe((2, 3), "float32")
    kernel = operator("tried_out").build(tensor, tensor)
    assert "0.2" in capfd.readouterr().out
    x = draw(2, 3)
    assert_close(kernel(x), 2 * np.abs(x.astype(np.float64)) + 1, "float32")
    with pytest.raises(FusionError, match=r"tried_out.py:\d+: .*fails: AssertionError"):
        operator("tried_out").build(tensor, tensor, 3.0)
    with compat.installed(), pytest.raises(FusionError, match="inside of `with debug"):
        testing.run(x)
    with compat.installed(), testing.debug(), pytest.raises(FusionError, match="0 tensors"):
        testing.run(x)


@cases(
    "backend, kind",
    in_backends(["vadd", "vsub", "vmul", "vdiv", "vmax", "vmin", "update"], in_c=(6,)),
)
def test_classes_that_are_a_whole_operator(kind: str, backend: str) -> None:
    places, shape = np.array([[0, 1], [2, 0], [0, 1]], np.int32), (3, 2, 5)
    var, new = describe(shape, "float32"), describe((3, 5), "float32")
    kernel = operator("rows_2020").build(var, describe((3, 2), "int32"), new, var, kind)
    x, updates = draw(*shape), draw(3, 5, seed=1) + 2
    wanted = x.astype(np.float64)
    change = {
        "vadd": np.add,
        "vsub": np.subtract,
        "vmul": np.multiply,
        "vdiv": np.divide,
        "vmax": np.maximum,
        "vmin": np.minimum,
        "update": lambda _, b: b,
    }[kind]
    for place, update in zip(places, updates, strict=True):
        wanted[tuple(place)] = change(wanted[tuple(place)], update)
    found = kernel(x, places, updates, backend=backend)
    assert found.shape == shape
    assert_close(found, wanted, "float32")


@cases("backend, shape", in_backends([((-1,) * 4,), ((2, 3, 6, 7),)], in_c=(0,)))
def test_windows_that_are_classified_with_the_shape(shape: Any, backend: str) -> None:
    image = describe(shape, "float16")
    kernel = operator("peaks_dynamic").build(
        image,
        describe((-1,) * 4, "float16"),
        describe((-1,) * 4, "int32"),
        [1, 3, 3, 1],
        [1, 2, 2, 1],
    )
    x = draw(2, 3, 6, 7).astype(np.float16)
    values, places = kernel(x, backend=backend)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-9)
    for n, c, i, j in np.ndindex(2, 3, 3, 4):
        window = padded[n, c, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        assert values[n, c, i, j] == window.max() == x[n, c].reshape(-1)[places[n, c, i, j]]


DEVICE: list[tuple[str, list[float], bool, Any]] = [
    ("DeviceExp", [0.5, 0.25, 2.0], False, lambda x: 2 ** (0.5 * x + 0.25)),
    ("cc_device_exp_c", [1, 0, -1], False, np.exp),
    ("DeviceLog", [2.0, 1.0, 10.0], False, lambda x: np.log10(2 * x + 1)),
    ("cc_device_pow", [2.0, 1.0, 3.0], False, lambda x: (2 * x + 1) ** 3),
    ("cc_device_pow", [0, 0, 0], True, lambda x, y: x**y),
    ("cc_device_sqrt_float", [], False, np.sqrt),
    ("cc_device_ceil_float", [], False, np.ceil),
    ("cc_device_floor_float", [], False, np.floor),
    ("cc_device_round_float", [], False, np.rint),
    ("cc_device_floormod_float", [], True, lambda x, y: x - np.floor(x / y) * y),
    ("cc_device_truncatemod_float", [], True, np.fmod),
]


@cases("backend, function, numbers, two, formula", in_backends(DEVICE, in_c=(4, 9)))
def test_functions_of_the_device(
    function: str, numbers: list[float], two: bool, formula: Any, backend: str
) -> None:
    x, y = abs(draw(3, 20)) * 4 + 0.1, abs(draw(3, 1, seed=1)) + 0.5
    given = (x, y) if two else (x,)
    kernel = operator("device_2018").build(
        (3, 20), (3, 1) if two else (), "float32", function, numbers
    )
    wanted = formula(*(item.astype(np.float64) for item in given))
    assert_close(kernel(*given, backend=backend), wanted, "float32", times=2)


def test_functions_of_the_device_that_nobody_knows() -> None:
    with pytest.raises(FusionError, match=r"cc_device_fold.*floormod"):
        operator("device_2018").build((3, 20), (), "float32", "cc_device_fold", [])
    with compat.installed():
        from te import tvm

        with pytest.raises(FusionError, match="code of the device itself"):
            tvm.call_extern("int32_t", "copy_gm_to_ubuf")
        with pytest.raises(FusionError, match="code of the device itself"):
            tvm.extern((2,), [tvm.placeholder((2,))], lambda ins, outs: None)


@cases("backend", BACKENDS)
def test_a_new_axis_of_a_known_size_among_unknown_ones(backend: str) -> None:
    unknown = describe((-1, -1), "float32")
    kernel = operator("paired_dynamic").build([unknown, unknown], describe((2, -1, -1), "float32"))
    x, y = draw(5, 16), draw(5, 16, seed=1)
    np.testing.assert_array_equal(kernel(x, y, backend=backend), np.stack([x, y]))
