"""Operators of quantised layers, and those that use the builders of TVM and of 2021."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tbe_impl import compat, dsl
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.errors import FusionError, InputError
from tests.cases import cases
from tests.tbe_impl.operator_files.test_wild import BACKENDS, draw, in_backends, operator
from tests.tbe_impl.ops.calls import describe
from tests.tbe_impl.tolerances import assert_close


def device_scales(scales: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Scales and offsets in the device's 64-bit format."""
    low = scales.astype(np.float32).view(np.uint32).astype(np.uint64)
    return low | ((offsets & 0x1FF).astype(np.uint64) << np.uint64(37))


@cases(
    "backend, relu, dtype",
    in_backends([*product((False, True), ("float16", "int16", "int8"))], in_c=(0, 5)),
)
def test_whole_numbers_scaled_back(dtype: str, relu: bool, backend: str) -> None:
    random = np.random.default_rng(0)
    x = random.integers(-30_000, 30_000, (7, 37)).astype(np.int32)
    scales = random.uniform(1e-4, 1e-2, 37)
    offsets = random.integers(-100, 100, 37)
    kernel = operator("requantised").build(
        describe(x.shape, "int32"), describe((37,), "uint64"), describe(x.shape, dtype), relu
    )
    found = kernel(x, device_scales(scales, offsets), backend=backend)
    wanted = x * scales.astype(np.float32).astype(np.float64)
    wanted = np.maximum(wanted, 0) if relu else wanted
    if dtype == "float16":
        assert_close(found, wanted, dtype)
        return
    wanted = np.rint(wanted) + (offsets if dtype == "int8" else 0)
    limits = np.iinfo(dtype)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, np.clip(wanted, limits.min, limits.max))


def test_float_of_bits() -> None:
    bits = np.array([0, 0x3F800000, 0x80000000, 0x7F800000, 1, 0xC0490FDB], np.uint64)
    kernel = operator("requantised").build(
        describe((1, 6), "int32"), describe((6,), "uint64"), describe((1, 6), "float32")
    )
    with np.errstate(all="ignore"):
        wanted = 3 * bits.astype(np.uint32).view(np.float32)
    for backend in BACKENDS:
        found = kernel(np.full((1, 6), 3, np.int32), bits | np.uint64(7 << 40), backend=backend)
        np.testing.assert_array_equal(found[0], wanted)


def test_an_operator_that_runs_on_this_machine() -> None:
    for dtype in ("float16", "float32"):
        image = describe((2, 20, 5, 3), dtype)
        kernel = operator("on_this_machine").build(image, image)
        x = draw(2, 20, 5, 3).astype(dtype)
        for backend in BACKENDS:
            np.testing.assert_array_equal(kernel(x, backend=backend)[-1], x[:, :, 1:-1] * 2)


def test_what_a_build_of_tvm_says() -> None:
    with compat.installed(soc="Ascend910A"):
        import tbe  # type: ignore[import-not-found]
        from tbe import tvm  # type: ignore[import-not-found]

        data = tvm.placeholder((4, 5), "float32", "data")
        res = tbe.dsl.vabs(data)
        function = tvm.build(tvm.create_schedule(res.op), [data, res], "c", "llvm", name="f")
        with pytest.raises(RuntimeError, match="f takes an array for each of the 2 tensors"):
            function(np.zeros((4, 5)))
        with pytest.raises(RuntimeError, match="slice takes no stride"):
            tbe.dsl.slice(data, [0, 0], [1, 1], [2, 1])
        with pytest.raises(RuntimeError, match="end of slice has to be a list of 2 numbers"):
            tbe.dsl.slice(data, [0, 0], 3)
        with pytest.raises(RuntimeError, match="nothing is measured here"):
            function.time_evaluator("f", tvm.cpu(0))
        assert tvm.api_config.query_bit_width() == 32


@cases("backend", BACKENDS)
def test_builders_of_2021(backend: str) -> None:
    kernel = operator("variants_2021").build(
        describe((-1, 9), "float32"), describe((-1, 9), "float32")
    )
    x = draw(6, 9)
    assert_close(kernel(x, backend=backend), np.abs(x) + 1, "float32")


def test_sizes_have_to_be_numbers() -> None:
    with pytest.raises(InputError, match=r"a size is not an integer.*got \(\(1, 16\), 9\).*range"):
        operator("variants_2021").build(describe((4, 9), "float32") | {"shape": ((1, 16), 9)}, {})


def test_dilation_with_the_padding_of_an_image() -> None:
    x = draw(3, 4, 5, 16)
    made = dsl.placeholder(x.shape, "float32", "x")
    found = OPERATIONS["dilation"](made, [1, 2, 3, 1], [1, 2, 0, 1], 0.5)
    wanted = np.full((3, 7 + 3, 13 + 1, 16), 0.5, np.float32)
    wanted[:, 1:8:2, 0:13:3] = x
    from tbe_impl.interpreter import evaluate

    assert tuple(size.value for size in found.shape) == wanted.shape
    np.testing.assert_array_equal(evaluate.run([found], {id(made): x}, {})[0], wanted)
    with pytest.raises(InputError, match="neither a pair per axis nor four numbers"):
        OPERATIONS["dilation"](made, [1, 2, 3, 1], [1, 2, 0])


def test_code_of_the_device_with_several_results_is_refused() -> None:
    def code(inputs: object, outputs: object) -> object:
        from te import tvm  # type: ignore[import-not-found]

        assert outputs[1].dtype == "int32" and inputs[0].shape[0].value == 4  # type: ignore[index]
        return tvm.ir_builder.create()

    with compat.installed(soc="Ascend910A"):
        from te import tvm  # type: ignore[import-not-found]

        data = tvm.placeholder((4,), "float32", "data")
        with pytest.raises(FusionError, match="writes code of the device itself"):
            tvm.extern([(4,), (1,)], [data], code, name="res", dtype=["float32", "int32"])
