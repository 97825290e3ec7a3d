"""Building and calling kernels: arguments are bound by order and name, mistakes are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tbe_impl import load_ascendc
from tbe_impl.ascendc.launch import CrashError
from tbe_impl.errors import InputError
from tbe_impl.runtime import shared_library_check
from tests.cases import cases

PROGRAMS = Path(__file__).resolve().parents[2] / "programs" / "ascendc"
ARRAY = ((64,), "float32")

SCALARS = """
#include "kernel_operator.h"
using namespace AscendC;
struct Pair { int32_t a[2]; float b; };
extern "C" __global__ __aicore__ void scalars(GM_ADDR x, GM_ADDR y, int32_t shift, float scale,
                                              bool twice, GM_ADDR tiling) {
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x, 64);
    to.SetGlobalBuffer((__gm__ float*)y, 64);
    GET_TILING_DATA_WITH_STRUCT(Pair, pair, tiling);
    if (shift == 99) { int* nowhere = nullptr; *nowhere = FACTOR; }
    for (int i = 0; i < 64; ++i) {
        float value = (from.GetValue(i) * scale + shift) * (twice ? 2 : 1) * FACTOR;
        to.SetValue(i, value + pair.a[1] + pair.b);
    }
}
"""


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernel") / "scalars.cpp"
    path.write_text(SCALARS)
    return load_ascendc(path)


def _build(operator, **changes):
    options = {
        "outputs": [ARRAY],
        "arguments": {"shift": -3, "scale": 0.5, "twice": True},
        "tiling": {"a": [7, 8], "b": 0.25},
        "defines": ["FACTOR=10"],
        "blocks": 1,
        **changes,
    }
    return operator.build(ARRAY, **options)


def test_scalars_defines_and_fields_arrive(operator):
    x = np.arange(64, dtype=np.float32)
    kernel = _build(operator)
    np.testing.assert_array_equal(kernel(x), (x * 0.5 - 3) * 20 + 8.25)
    assert kernel.report().instructions["S"] == 128
    least = {"shift": -(1 << 31), "scale": 0, "twice": False}
    np.testing.assert_array_equal(_build(operator, arguments=least)(x), -20.0 * 2**30 + 8.25)


@cases(
    "changes, message",
    [
        ({"arguments": {"shift": 1, "scale": 1}}, "needs the value of twice"),
        (
            {"arguments": {"shift": 1, "scale": 1, "twice": 1, "more": 2}},
            "no scalar parameter more",
        ),
        ({"tiling": {"c": 1}}, "the tiling structure Pair has no field c"),
        ({"tiling": {"a": [1, 2, 3]}}, "field a takes fewer values"),
        ({"tiling": {"a": [1, 2.5]}}, "field a cannot hold a value; expected a number"),
        ({"tiling": {"b": "much"}}, "field b cannot hold a value"),
        ({"tiling": {"a": [1, 1 << 31]}}, "got '2147483648'"),
        (
            {"arguments": {"shift": 2.5, "scale": 1, "twice": 1}},
            "parameter shift of scalars cannot hold a value; expected a number of type int32_t",
        ),
        ({"arguments": {"shift": 1, "scale": "x", "twice": 1}}, "parameter scale of scalars"),
        ({"arguments": {"shift": 1, "scale": 1, "twice": 2}}, "parameter twice of scalars"),
        ({"outputs": [ARRAY] * 3}, "expected 1 input and 3 outputs"),
        ({"function": "other"}, "no kernel function other"),
        ({"function": "scalars<float>"}, "scalars is no template"),
        ({"soc": "Ascend1"}, "unknown chip"),
        ({"defines": ["1=2"]}, "the form NAME or NAME=VALUE"),
    ],
)
def test_a_wrong_argument_is_named(operator, changes, message):
    with pytest.raises(InputError, match=message):
        _build(operator, **changes)


TEMPLATE = """
#include "kernel_operator.h"
template <typename T, typename U> __aicore__ inline constexpr T max(T a, U b) {
    return a > b ? a : static_cast<T>(b);
}
template <typename T> __aicore__ inline T min(T a, T b) { return a < b ? a : b; }
template <typename T, int FACTOR>
__global__ __aicore__ void multiple(GM_ADDR x, GM_ADDR y) {
    AscendC::GlobalTensor<T> from, to;
    from.SetGlobalBuffer((__gm__ T*)x, 64);
    to.SetGlobalBuffer((__gm__ T*)y, 64);
    uint16_t size = 64;
    for (int i = 0; i < min(max(32, size), 100); ++i) { to.SetValue(i, from.GetValue(i) * FACTOR); }
}
extern "C" __global__ __aicore__ void other(GM_ADDR x, GM_ADDR y) {}
"""


def test_a_template_is_run_with_the_arguments_that_are_given(tmp_path, monkeypatch):
    """Its library stays loaded: a linker may leave destructors of static objects to the exit."""
    monkeypatch.setattr(shared_library_check._ctypes, "dlclose", pytest.fail)
    path = tmp_path / "multiple.cpp"
    path.write_text(TEMPLATE)
    operator = load_ascendc(path)
    with pytest.raises(InputError, match=r'parameters: typename, int, .*"multiple<float, 1>"'):
        operator.build(ARRAY, outputs=[ARRAY], function="multiple")
    with pytest.raises(InputError, match="cannot be called with these template arguments"):
        operator.build(ARRAY, outputs=[ARRAY], function="multiple<float>")
    kernel = operator.build(ARRAY, outputs=[ARRAY], function="multiple<float, 3>", blocks=1)
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x), 3 * x)


def test_a_name_that_the_model_lacks_is_named_with_its_line(tmp_path):
    path = tmp_path / "missing.cpp"
    path.write_text(
        '#include "kernel_operator.h"\n'
        'extern "C" __global__ __aicore__ void missing(GM_ADDR x) {\n'
        "    AscendC::NoSuchFunction(x);\n}\n"
    )
    with pytest.raises(InputError, match="NoSuchFunction is missing") as caught:
        load_ascendc(path).build(outputs=[ARRAY])
    assert caught.value.place == f"{path}:3"


def test_another_shape_or_dtype_is_an_error(operator):
    kernel = _build(operator)
    for wrong in (np.zeros(32, np.float32), np.zeros(64, np.float16)):
        with pytest.raises(InputError, match="a wrong shape or dtype"):
            kernel(wrong)


def test_outputs_can_hold_values_from_before(operator):
    kernel = _build(operator)
    out = np.zeros(64, np.float32)
    assert kernel(np.ones(64, np.float32), out=out) is out
    assert (out == -41.75).all()


def test_a_crash_is_an_error_of_the_isolated_run(operator):
    kernel = _build(operator, arguments={"shift": 99, "scale": 1, "twice": 0})
    with pytest.raises(CrashError, match="SIGSEGV"):
        kernel.run(np.ones(64, np.float32), isolated=True)


def test_two_kernels_of_a_process_do_not_share_state(operator):
    first, second = _build(operator), _build(operator, defines=["FACTOR=1"])
    x = np.ones(64, np.float32)
    assert first(x)[0] == -41.75
    assert second(x)[0] == 3.25
    assert first(x)[0] == -41.75
