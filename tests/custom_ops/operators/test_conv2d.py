"""Conv2d as a replacement of nn.Conv2d: padding, groups, lowerings, gradients, weights, errors."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops import Conv2d
from custom_ops.onednn import prepare_conv2d
from custom_ops.operators.conv2d import convolve, convolve_by_im2col
from tbe_impl.errors import InputError
from tests.cases import FULL, cases


@cases(
    "given, message",
    [
        ({"pad_mode": "reflect"}, "unknown pad_mode; expected same, valid or pad, got 'reflect'"),
        ({"padding": 1}, "padding is given to a pad_mode without it"),
        ({"stride": 0}, "stride is wrong; expected one positive number, or two, got 0"),
        ({"group": 4}, "in_channels does not fit group; expected a multiple of 4, got 6"),
        ({"data_format": "NHWC"}, "data_format is not computed on CPU; expected NCHW"),
        ({"lowering": "winograd"}, "unknown lowering; expected auto or onednn or im2col"),
        ({"route": "fast"}, "unknown route"),
    ],
)
def test_what_does_not_fit(given, message):
    with pytest.raises(InputError, match=message):
        Conv2d(6, 4, 3, **given)

    conv = Conv2d(6, 4, 3, has_bias=True)
    with pytest.raises(InputError, match="Conv2dBias: weight does not fit x"):
        conv.forward(np.zeros((1, 5, 8, 8), np.float32))


@cases("dtype", [np.float32, np.float64])
def test_both_lowerings_agree_on_arrays(dtype):
    rng = np.random.default_rng(0)
    shapes = (2, 6, 9, 8), (10, 3, 3, 2), (10,)
    x, weight, bias = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    made = []
    for lowering in ("auto", "im2col"):
        conv = Conv2d(6, 10, (3, 2), stride=(2, 1), group=2, has_bias=True, lowering=lowering)
        y = conv.forward(x, weight, bias)
        made.append((y, *conv.backward(np.ones_like(y))))
    for one, other in zip(*made, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


ms = pytest.importorskip("mindspore")
from mindspore import Tensor, nn  # noqa: E402

from tests.custom_ops.operators.modes import MODE_NAMES, MODES, mostly_pynative  # noqa: E402
from tests.custom_ops.squares import gradients  # noqa: E402

CASES = {
    "same": {},
    "same stride 2": {"stride": 2, "has_bias": True},
    "valid": {"pad_mode": "valid", "has_bias": True},
    "pad": {"pad_mode": "pad", "padding": 1},
    "pad unlike": {"pad_mode": "pad", "padding": (2, 0, 1, 3), "stride": (1, 2)},
    "dilation": {"dilation": 2, "has_bias": True},
    "groups": {"group": 2},
    "depthwise": {"group": 6, "has_bias": True},
    "one by one": {"kernel_size": 1},
}


QUICK = ("same stride 2", "pad unlike", "dilation", "depthwise")


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def near(got, want, tolerance=1e-5):
    scale = np.abs(want).max() if want.size else 1
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(scale, 1))


@pytest.mark.mindspore
@cases("case, mode", mostly_pynative(CASES, [], quick=QUICK), per_item=9)
def test_a_replacement_has_mindspores_results_and_gradients(mode, case):
    ms.set_context(mode=mode)
    given = {"kernel_size": 3, **CASES[case]}
    theirs = nn.Conv2d(6, 12, **given)
    x = floats(2, 6, 11, 10)
    want, slopes = theirs(Tensor(x)).asnumpy(), gradients(theirs, x)
    for lowering, route in (("auto", "native"), ("auto", "composite"), ("im2col", "composite")):
        ours = Conv2d.from_cells(theirs, lowering=lowering, route=route)
        assert ours.weight is theirs.weight
        near(ours(Tensor(x)).asnumpy(), want)
        for got, one in zip(gradients(ours, x), slopes, strict=True):
            near(got, one)


@pytest.mark.mindspore
@cases("has_bias", [False, True])
def test_weights_begin_as_mindspore_has_it(has_bias):
    made = []
    for kind in (nn.Conv2d, Conv2d):
        ms.set_seed(7)
        made.append(kind(4, 6, 3, has_bias=has_bias))
    for theirs, ours in zip(*(net.get_parameters() for net in made), strict=True):
        assert theirs.name == ours.name
        np.testing.assert_array_equal(theirs.asnumpy(), ours.asnumpy())


@pytest.mark.mindspore
@cases("dtype", ["float16", "bfloat16"])
@cases("mode", [pytest.param(MODES[0], marks=FULL), MODES[1]], ids=MODE_NAMES)
def test_half_precision_with_float32_weights(mode, dtype):
    ms.set_context(mode=mode)
    conv = Conv2d(6, 8, 3, has_bias=True)
    x = floats(2, 6, 9, 8)
    want = conv(Tensor(x)).asnumpy()
    got = conv(Tensor(x).astype(getattr(ms, dtype)))
    assert got.dtype == getattr(ms, dtype)
    near(got.astype(ms.float32).asnumpy(), want, 0.03)


@pytest.mark.mindspore
def test_shapes_that_come_later():
    ms.set_context(mode=ms.GRAPH_MODE)
    conv = Conv2d(3, 4, 3)
    conv.set_inputs(Tensor(shape=[None, 3, None, 8], dtype=ms.float32))
    for batch, height in ((2, 5), (1, 9), (2, 5)):
        x = floats(batch, 3, height, 8)
        near(conv(Tensor(x)).asnumpy(), conv.forward(x))


@cases("padding", ["same", "valid", 1, (2, 0, 1, 3)], ids=str)
@cases("stride, dilation", [(1, 1), ((2, 1), 1), (1, (2, 3)), ((3, 2), 2)], ids=str)
def test_basic_operators_compute_the_same(padding, stride, dilation):
    """The forms for devices, `convolve` and `convolve_by_im2col`, against a kernel on arrays."""
    x, weight = floats(2, 4, 9, 8), floats(6, 2, 3, 2, seed=1)
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": 2}
    (wanted,) = prepare_conv2d(x.shape, weight.shape, **how).call([x, weight])
    for compute in (convolve, convolve_by_im2col):
        near(compute(Tensor(x), Tensor(weight), **how).asnumpy(), wanted)
