"""The tiling function of a host file decides data, cores, key and workspace of a kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tbe_impl import load_ascendc
from tbe_impl.ascendc.host_tiling import read_tiling_structures
from tbe_impl.errors import InputError
from tests.cases import cases

PROGRAMS = Path(__file__).resolve().parents[2] / "programs" / "ascendc"
HOST = PROGRAMS / "axpb_host.cpp"


def _build(shape, dtype, **options):
    return load_ascendc(PROGRAMS / "axpb.cpp").build(
        (shape, dtype), outputs=[(shape, dtype)], host=HOST, **options
    )


@cases("dtype, tolerance", [("float32", 1e-6), ("float16", 2e-3)])
@cases(
    "attributes, expected",
    [({}, (3.0, 0.25)), ({"alpha": -2.0, "bias": [4.0, 8.0]}, (-2.0, 8.0))],
)
def test_shapes_dtypes_and_attributes_reach_the_tiling_function(
    dtype, tolerance, attributes, expected
):
    kernel = _build((32, 48), dtype, attributes=attributes)
    x = np.random.default_rng(0).standard_normal((32, 48)).astype(dtype)
    wanted = x.astype(np.float64) * expected[0] + expected[1]
    np.testing.assert_allclose(kernel(x).astype(np.float64), wanted, atol=tolerance * 10)
    assert kernel.report().findings == ()
    assert kernel.tiling_key == 2
    assert 1 < kernel.blocks <= 48


def test_structures_are_declared_in_the_order_of_their_nesting():
    found = read_tiling_structures(HOST)
    assert found.default == "AxpbTiling"
    assert found.text.index("BiasTiling") < found.text.index("AxpbTiling")
    assert "BIASES = 2" in found.text


def test_fields_can_be_set_over_the_tiling_functions_result():
    kernel = _build((512,), "float32", tiling={"alpha": 10.0})
    x = np.ones(512, np.float32)
    np.testing.assert_array_equal(kernel(x), np.full(512, 10.25, np.float32))


def test_a_tiling_function_that_fails_is_an_error():
    with pytest.raises(InputError, match="tiling function of Axpb fails"):
        _build((7919 * 16,), "float32")


def test_an_unknown_attribute_is_an_error():
    with pytest.raises(InputError, match="no attribute gamma") as caught:
        _build((512,), "float32", attributes={"gamma": 1})
    assert "alpha, bias" in str(caught.value)


def test_another_inferred_shape_is_a_note():
    kernel = load_ascendc(PROGRAMS / "axpb.cpp").build(
        ((512,), "float32"), outputs=[((2, 256), "float32")], host=HOST
    )
    assert "the shape 512, and it was given as 2×256" in kernel.notes[0]


@cases("whole", [True, False])
def test_a_matmul_object_multiplies_the_parts_of_its_tiling(whole):
    random = np.random.default_rng(0)
    a = random.standard_normal((100, 72)).astype(np.float16)
    b = random.standard_normal((72, 150)).astype(np.float16)
    bias = random.standard_normal(150).astype(np.float32)
    kernel = load_ascendc(PROGRAMS / "product.cpp").build(
        a,
        b,
        bias,
        outputs=[((100, 150), "float32")],
        host=PROGRAMS / "product_host.cpp",
        attributes={"whole": whole},
    )
    wanted = a.astype(np.float64) @ b.astype(np.float64) + bias
    np.testing.assert_allclose(kernel(a, b, bias), wanted, atol=1e-4)
    assert kernel.report().findings == ()
    assert kernel.vector_cores_per_block == 2


@cases(
    "dtype, length, twice",
    [("float32", 1024, True), ("float16", 8192, True), ("float16", 8192, False)],
)
def test_the_tiling_function_chooses_template_arguments(dtype, length, twice):
    array = ((length,), dtype)
    kernel = load_ascendc(PROGRAMS / "tile_template.cpp").build(
        array,
        outputs=[array],
        host=PROGRAMS / "tile_template_host.cpp",
        attributes={"twice": twice},
    )
    x = np.arange(length).astype(dtype) / 16
    np.testing.assert_array_equal(kernel(x), x + x if twice else x)
    assert kernel.report().instructions["MTE2"] == (8 if length > 2048 else 2)
