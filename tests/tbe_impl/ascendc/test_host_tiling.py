"""The tiling function of a host file decides data, cores, key and workspace of a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tbe_impl import load_ascendc
from tbe_impl.ascendc.host_tiling import read_tiling_structures
from tbe_impl.ascendc.launch import CrashError
from tbe_impl.errors import InputError
from tests.cases import cases

PROGRAMS = Path(__file__).resolve().parents[2] / "programs" / "ascendc"
HOST = PROGRAMS / "axpb_host.cpp"


def _build(shape, dtype, **options):
    return load_ascendc(PROGRAMS / "axpb.cpp").build(
        (shape, dtype), outputs=[(shape, dtype)], **{"host": HOST, **options}
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


def test_an_unknown_or_missing_attribute_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no attribute gamma") as caught:
        _build((512,), "float32", attributes={"gamma": 1})
    assert "alpha, bias" in str(caught.value)
    path = tmp_path / HOST.name
    path.write_text(HOST.read_text().replace("OPTIONAL).Float(3.0)", "REQUIRED).Float()"))
    with pytest.raises(InputError, match=r"not given; expected alpha\. Give them: --attr"):
        _build((512,), "float32", host=path, include=[PROGRAMS])


def test_another_shape_or_chip_is_a_note():
    kernel = load_ascendc(PROGRAMS / "axpb.cpp").build(
        ((512,), "float32"), outputs=[((2, 256), "float32")], host=HOST, soc="Ascend310P3"
    )
    assert "for ascend910b, and the chip is Ascend310P3: give --soc" in kernel.notes[0]
    assert "the shape 512, and it was given as 2×256" in kernel.notes[1]


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


@cases("rows, width", [(40, 64), (6, 1024), (96, 248)])
def test_library_functions_fill_the_tilings_of_rows(rows, width):
    random = np.random.default_rng(2)
    x, gamma, beta = (
        random.standard_normal(shape).astype(np.float32) for shape in [(rows, width), width, width]
    )
    kernel = load_ascendc(PROGRAMS / "softmax_norm.cpp").build(
        x,
        gamma,
        beta,
        outputs=[((rows, width), "float32")],
        host=PROGRAMS / "softmax_norm_host.cpp",
    )
    powers = np.exp(x.astype(np.float64))
    softmax = powers / powers.sum(-1, keepdims=True)
    centred = softmax - softmax.mean(-1, keepdims=True)
    deviation = np.sqrt(softmax.var(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(
        kernel(x, gamma, beta), centred / deviation * gamma + beta, atol=1e-4
    )
    assert kernel.report().findings == ()
    assert kernel.blocks == {40: 40, 6: 6, 96: 48}[rows]


LIBRARY_SIZES = {
    # name: the most and the least bytes, for 4 × 8 × 64 float; of a tiling: two of its fields
    "tanh": (8192, 256),
    "erfc": (7 * 8192, 7 * 256),
    "round": (8192, 256),
    "log": (8192, 256),
    "power": (4 * 8192, 4 * 256),
    "gelu": (3 * 8192, 3 * 256),
    "swiglu": (4 * 8192, 4 * 256),
    "erf_factor": (3, 0),
    "where_factor": (0, 0),
    "quant": (2 * 8192, 2 * 256),
    "antiquant": (2 * 8192, 2 * 256),
    "select": (8192, 256),
    "sum": (256, 256),
    "mean": (416, 416),
    "cumulative": (8192, 8192),
    "broadcast": (2 * 8192, 2 * 256),
    "reduce_sum": (4096, 4096),
    "softmax": (32 * 320, 320),
    "flash_v2": (32 * 320, 320),
    "layer_norm": (32 * 768, 768),
    "rms_norm": (32 * 512, 512),
    "group_norm": (4 * 6144, 6144),
    "batch_norm": (4 * 6144, 6144),
    "topk": (32 * 1280, 1280),
    "sort": (0, 512),
    "softmax_tiling": (32, 64),
    "softmax_blocks": (8, 1),
    "grad_tiling": (32, 64),
    "log_tiling": (32, 64),
    "norm_tiling": (32, 64),
    "rms_tiling": (64, 60),
    "batch_tiling": (4, 512),
    "group_tiling": (256, 2),
    "pad_tiling": (32, 62),
    "wrong_rank": (0, 0),
    "reserved": (192 << 10, 176 << 10),
}


def test_host_functions_of_the_library_return_space_and_tilings():
    text = (PROGRAMS / "library_sizes_host.cpp").read_text("utf-8")
    assert re.findall(r'VALUE\("(\w+)"', text) == list(LIBRARY_SIZES)
    x = np.zeros((4, 8, 64), np.float32)
    kernel = load_ascendc(PROGRAMS / "library_sizes.cpp").build(
        x, outputs=[((80,), "uint32")], host=PROGRAMS / "library_sizes_host.cpp"
    )
    values = kernel(x).reshape(-1, 2).tolist()
    assert dict(zip(LIBRARY_SIZES, map(tuple, values), strict=False)) == LIBRARY_SIZES


def _subtract(length, **attributes):
    array = ((length,), "float32")
    return load_ascendc(PROGRAMS / "subtract_in_place.cpp").build(
        array,
        array,
        outputs=[array],
        host=PROGRAMS / "subtract_in_place_host.cpp",
        attributes=attributes,
    )


@cases("length, warnings", [(64, 0), (37, 3)])
def test_an_output_with_an_inputs_name_is_its_memory(length, warnings):
    """Copies of whole blocks may reach into the padding of a tensor, which is a warning."""
    random = np.random.default_rng(0)
    var, step = random.standard_normal((2, length)).astype(np.float32)
    before = var.copy()
    kernel = _subtract(length)
    np.testing.assert_array_equal(kernel(var, step), before - step)
    np.testing.assert_array_equal(var, before - step)
    found = kernel.report().findings
    assert [one.kind for one in found] == ["out_of_range"] * warnings
    assert all("and then padding" in one.message for one in found)


def test_a_crash_of_the_tiling_function_is_an_error():
    with pytest.raises(CrashError, match=r"subtract_in_place_host\.cpp crashed: SIGSEGV"):
        _subtract(64, crash=True)


def test_an_absent_header_is_named_if_the_file_does_not_compile(tmp_path):
    path = tmp_path / "host.cpp"
    path.write_text('#include "../lost.h"\nint n = lost_function();\n')
    with pytest.raises(InputError, match=r"not found: lost\.h"):
        load_ascendc(PROGRAMS / "axpb.cpp").build(
            ((512,), "float32"), outputs=[((512,), "float32")], host=path
        )
