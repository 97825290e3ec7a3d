"""Convolutions against explicit float64 sums; gradients against the same sums by element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy import special

from custom_ops.onednn import prepare_conv2d, prepare_conv2d_backward, why_missing
from tests.cases import cases

LOWERINGS = ("im2col",) if why_missing() else ("onednn", "im2col")
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}
"""Share of the sum of absolute products, for one rounding of the result."""


def pads(
    padding: Any,
    sizes: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
) -> list[tuple[int, int]]:
    """Padding above and below, left and right, by MindSpore's rule for `same`."""
    if padding == "valid":
        return [(0, 0), (0, 0)]
    if padding == "same":
        found = []
        for size, span, step, gap in zip(sizes, kernel, stride, dilation, strict=True):
            whole = max(0, (int(np.ceil(size / step)) - 1) * step + (span - 1) * gap + 1 - size)
            found.append((whole // 2, whole - whole // 2))
        return found
    four = (padding,) * 4 if isinstance(padding, int) else padding
    return [tuple(four[:2]), tuple(four[2:])]


def convolve(
    x: np.ndarray,
    weight: np.ndarray,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> np.ndarray:
    """One output channel and one kernel position at a time, in float64."""
    x, weight = x.astype(np.float64), weight.astype(np.float64)
    stride, dilation = (
        (item, item) if isinstance(item, int) else item for item in (stride, dilation)
    )
    around = pads(padding, x.shape[2:], weight.shape[2:], stride, dilation)
    x = np.pad(x, ((0, 0), (0, 0), *around))
    span = [(weight.shape[2 + i] - 1) * dilation[i] + 1 for i in range(2)]
    size = [(x.shape[2 + i] - span[i]) // stride[i] + 1 for i in range(2)]
    y = np.zeros((x.shape[0], weight.shape[0], *size))
    each_out, each_in = weight.shape[0] // groups, x.shape[1] // groups
    for out in range(weight.shape[0]):
        first = out // each_out * each_in
        for i, j in np.ndindex(*weight.shape[2:]):
            rows = np.arange(size[0]) * stride[0] + i * dilation[0]
            columns = np.arange(size[1]) * stride[1] + j * dilation[1]
            patch = x[:, first : first + each_in, rows[:, None], columns]
            y[:, out] += np.einsum("nchw,c->nhw", patch, weight[out, :, i, j])
    return y


# x, weight, attributes
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1x1": ((2, 16, 7, 9), (24, 16, 1, 1), {}),
    "1x1 stride 2": ((2, 16, 9, 7), (8, 16, 1, 1), {"stride": 2}),
    "1x1 of one place": ((3, 16, 1, 1), (24, 16, 1, 1), {}),
    "1x1 of few places": ((3, 16, 2, 3), (24, 16, 1, 1), {}),
    "1x1 groups": ((2, 16, 7, 9), (8, 4, 1, 1), {"groups": 4}),
    "3x3 batch 8": ((8, 16, 12, 12), (32, 16, 3, 3), {"padding": 1}),
    "3x3 same, odd, stride 2": ((1, 5, 11, 13), (7, 5, 3, 3), {"padding": "same", "stride": 2}),
    "3x3 same, even, stride 2": ((1, 3, 10, 8), (4, 3, 3, 3), {"padding": "same", "stride": 2}),
    "5x5 valid": ((1, 3, 13, 11), (10, 3, 5, 5), {"padding": "valid"}),
    "unlike on all sides": (
        (2, 4, 9, 10),
        (6, 4, 3, 2),
        {"padding": (2, 0, 1, 3), "stride": (2, 1)},
    ),
    "dilation": ((1, 8, 15, 17), (8, 8, 3, 3), {"padding": 2, "dilation": 2}),
    "dilation unlike": ((1, 4, 15, 12), (5, 4, 3, 2), {"padding": "same", "dilation": (3, 2)}),
    "groups": ((2, 12, 8, 8), (18, 4, 3, 3), {"padding": 1, "groups": 3}),
    "depthwise": ((2, 16, 9, 9), (16, 1, 3, 3), {"padding": 1, "groups": 16}),
    "depthwise times 2": ((1, 6, 9, 9), (12, 1, 3, 3), {"padding": 1, "groups": 6, "stride": 2}),
    "one value": ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    "kernel as large as x": ((3, 5, 4, 6), (2, 5, 4, 6), {}),
    "rest unused": ((1, 4, 8, 8), (4, 4, 3, 3), {"stride": 3}),
    "padding wider than the kernel": ((1, 2, 5, 5), (3, 2, 2, 2), {"padding": 3}),
}


def arrays(seed: int, *shapes: tuple[int, ...], dtype: Any = np.float32) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(dtype) for shape in shapes]


def assert_near(
    found: np.ndarray, expected: np.ndarray, scale: np.ndarray | float, dtype: str
) -> None:
    np.testing.assert_array_less(
        np.abs(found.astype(np.float64) - expected), TOLERANCE[dtype] * scale + 1e-30
    )


@cases("dtype", DTYPES, sample=42, per_item=120)
@cases("case", CASES)
@cases("lowering", LOWERINGS)
def test_results_agree_with_explicit_float64_sums(case: str, dtype: str, lowering: str) -> None:
    x_shape, weight_shape, given = CASES[case]
    x, weight = arrays(1, x_shape, weight_shape, dtype=DTYPES[dtype])
    prepared = prepare_conv2d(x_shape, weight_shape, dtype=dtype, lowering=lowering, **given)
    (found,) = prepared.call([x, weight])
    assert found.dtype == DTYPES[dtype]
    assert_near(
        found, convolve(x, weight, **given), convolve(np.abs(x), np.abs(weight), **given), dtype
    )


@cases("dtype", DTYPES, sample=24, per_item=60)
@cases("case", CASES)
@cases("lowering", LOWERINGS)
def test_gradients_agree_with_directional_derivatives(
    case: str, dtype: str, lowering: str, full: bool
) -> None:
    """Along four directions; ``make test`` takes two."""
    seeds = range(4 if full else 2)
    # the convolution is linear in x and in weight: ⟨conv(u, weight), grad⟩ = ⟨u, grad_x⟩ for every
    # u
    x_shape, weight_shape, given = CASES[case]
    x, weight = arrays(2, x_shape, weight_shape, dtype=DTYPES[dtype])
    prepared = prepare_conv2d_backward(
        x_shape, weight_shape, dtype=dtype, lowering=lowering, **given
    )
    (grad,) = arrays(3, prepared.inputs[0].shape, dtype=DTYPES[dtype])
    grad_x, grad_weight, grad_bias = prepared.call([grad, weight, x])
    wide = grad.astype(np.float64)
    for seed in seeds:
        u, v = arrays(10 + seed, x_shape, weight_shape)
        for direction, found, expected, scale in (
            (u, grad_x, convolve(u, weight, **given), convolve(np.abs(u), np.abs(weight), **given)),
            (v, grad_weight, convolve(x, v, **given), convolve(np.abs(x), np.abs(v), **given)),
        ):
            left, right = (expected * wide).sum(), (direction * found.astype(np.float64)).sum()
            assert abs(left - right) <= TOLERANCE[dtype] * (scale * np.abs(wide)).sum()
    assert_near(grad_bias, wide.sum((0, 2, 3)), np.abs(wide).sum((0, 2, 3)), dtype)


@cases(
    "case",
    ["1x1 stride 2", "unlike on all sides", "depthwise times 2", "dilation unlike"],
    sample=4,
)
@cases("lowering", LOWERINGS)
def test_every_value_of_the_gradients(case: str, lowering: str, full: bool) -> None:
    """Every third value; ``make test`` takes every eleventh."""
    step = 3 if full else 11
    # differences of a linear function are exact for each unit vector
    x_shape, weight_shape, given = CASES[case]
    x_shape = (1, *x_shape[1:])
    x, weight = arrays(4, x_shape, weight_shape)
    prepared = prepare_conv2d_backward(x_shape, weight_shape, lowering=lowering, **given)
    (grad,) = arrays(5, prepared.inputs[0].shape)
    grad_x, grad_weight, _ = prepared.call([grad, weight, x])
    for found, shape, function in (
        (grad_x, x_shape, lambda u: convolve(u, weight, **given)),
        (grad_weight, weight_shape, lambda v: convolve(x, v, **given)),
    ):
        expected = np.zeros(shape)
        for place in list(np.ndindex(*shape))[::step]:
            unit = np.zeros(shape)
            unit[place] = 1
            expected[place] = (function(unit) * grad).sum()
            assert found[place] == pytest.approx(expected[place], rel=1e-4, abs=2e-5)


@cases("wanted", [("x",), ("weight",), ("weight", "bias"), ("x", "weight")])
@cases("lowering", LOWERINGS)
def test_only_the_gradients_that_are_wanted(wanted: tuple[str, ...], lowering: str) -> None:
    shapes = (2, 8, 6, 6), (16, 8, 3, 3)
    whole = prepare_conv2d_backward(*shapes, padding=1, lowering=lowering)
    part = prepare_conv2d_backward(*shapes, padding=1, wanted=wanted, lowering=lowering)
    grad, weight, x = arrays(6, *(kind.shape for kind in whole.inputs))
    by_name = {"grad": grad, "weight": weight, "x": x}
    expected = dict(
        zip((kind.name for kind in whole.outputs), whole.call([grad, weight, x]), strict=True)
    )
    found = part.call([by_name[kind.name] for kind in part.inputs])
    assert [kind.name for kind in part.outputs] == [f"grad_{name}" for name in wanted]
    for kind, array in zip(part.outputs, found, strict=True):
        np.testing.assert_allclose(array, expected[kind.name], rtol=1e-5, atol=1e-5)


FORMULAS = {
    "": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.1 * x),
    "swish": lambda x: x * special.expit(1.5 * x),
    "silu": lambda x: x * special.expit(x),
    "gelu": lambda x: x * special.ndtr(x),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "sigmoid": special.expit,
    "tanh": np.tanh,
    "hard_swish": lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
}
ALPHA = {"leaky_relu": 0.1, "swish": 1.5}


@cases("dtype", DTYPES, sample=30, per_item=100)
@cases("residual", [False, True])
@cases(
    "activation, size, kernel",
    [
        *((name, 7, 3) for name in FORMULAS),
        ("relu", 7, 1),
        ("gelu", 7, 1),
        ("relu", 1, 1),
        ("silu", 1, 1),
    ],
)
@cases("lowering", LOWERINGS)
def test_epilogues_agree_with_their_formulas(
    activation: str, size: int, kernel: int, residual: bool, dtype: str, lowering: str
) -> None:
    x_shape, weight_shape, kind = (2, 16, size, size), (24, 16, kernel, kernel), DTYPES[dtype]
    padding = kernel // 2
    x, weight, bias, before = arrays(
        7, x_shape, weight_shape, (24,), (2, 24, size, size), dtype=kind
    )
    weight = (weight.astype(np.float32) / 8).astype(kind)
    prepared = prepare_conv2d(
        x_shape,
        weight_shape,
        dtype=dtype,
        padding=padding,
        bias=True,
        residual=residual,
        activation=activation,
        alpha=ALPHA.get(activation),
        lowering=lowering,
    )
    (found,) = prepared.call([x, weight, bias, *([before] if residual else [])])
    sums = convolve(x, weight, padding=padding) + bias.astype(np.float64).reshape(-1, 1, 1)
    sums += before.astype(np.float64) if residual else 0
    scale = convolve(np.abs(x), np.abs(weight), padding=padding) + 2
    assert_near(found, FORMULAS[activation](sums), scale, dtype)


@cases("lowering", LOWERINGS)
def test_a_residual_may_be_the_result(lowering: str) -> None:
    x, weight, before = arrays(8, (2, 16, 6, 6), (16, 16, 3, 3), (2, 16, 6, 6))
    prepared = prepare_conv2d(x.shape, weight.shape, padding=1, residual=True, lowering=lowering)
    expected = convolve(x, weight, padding=1) + before
    (found,) = prepared.call([x, weight, before], [before])
    assert found is before
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@cases("dtype", DTYPES)
@cases("lowering", LOWERINGS)
def test_relu_keeps_nan(dtype: str, lowering: str) -> None:
    kind = DTYPES[dtype]
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 1, -1], kind).reshape(1, 1, 2, 3)
    prepared = prepare_conv2d(
        x.shape, (1, 1, 1, 1), dtype=dtype, activation="relu", lowering=lowering
    )
    (found,) = prepared.call([x, np.ones((1, 1, 1, 1), kind)])
    np.testing.assert_array_equal(found.astype(np.float32).ravel(), [np.nan, np.inf, 0, 0, 1, 0])


@cases("dtype", ["float16", "bfloat16"])
@cases("lowering", LOWERINGS)
def test_relu_of_every_number_of_16_bits(dtype: str, lowering: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(DTYPES[dtype])
    if dtype == "bfloat16":
        # processors with bfloat16 products flush subnormals to 0
        x = np.where(np.abs(x.astype(np.float32)) < 2.0**-126, np.zeros_like(x), x)
    prepared = prepare_conv2d(
        (1, 1, 256, 256), (1, 1, 1, 1), dtype=dtype, activation="relu", lowering=lowering
    )
    (found,) = prepared.call([x.reshape(1, 1, 256, 256), np.ones((1, 1, 1, 1), x.dtype)])
    np.testing.assert_array_equal(
        found.ravel().astype(np.float32), np.maximum(x.astype(np.float32), 0)
    )


@cases("lowering", LOWERINGS)
def test_weights_changed_in_place_are_seen(lowering: str) -> None:
    x, weight = arrays(9, (1, 16, 8, 8), (32, 16, 3, 3))
    prepared = prepare_conv2d(x.shape, weight.shape, lowering=lowering)
    for _ in range(3):
        np.testing.assert_allclose(
            prepared.call([x, weight])[0], convolve(x, weight), rtol=1e-4, atol=1e-4
        )
        weight[5, 3, 1, 1] += 1


@cases("lowering", LOWERINGS)
def test_an_empty_batch(lowering: str) -> None:
    batch = 0
    prepared = prepare_conv2d(
        (batch, 4, 5, 5), (6, 4, 3, 3), bias=True, activation="relu", lowering=lowering
    )
    x, weight, bias = arrays(1, (batch, 4, 5, 5), (6, 4, 3, 3), (6,))
    assert prepared.call([x, weight, bias])[0].shape == (batch, 6, 3, 3)
    backward = prepare_conv2d_backward((batch, 4, 5, 5), (6, 4, 3, 3), lowering=lowering)
    grad_x, grad_weight, grad_bias = backward.call(
        [np.zeros((batch, 6, 3, 3), np.float32), weight, x]
    )
    assert grad_x.shape == x.shape
    assert not grad_weight.any()
    assert not grad_bias.any()


@cases("dtype", DTYPES, sample=12)
@cases(
    "width, kernel, stride, padding",
    [(1, 3, 2, 1), (2, 3, 3, 2), (1, 2, 3, 1), (5, 3, 2, 1), (7, 3, 1, 1)],
)
@cases("lowering", LOWERINGS)
def test_memory_of_earlier_calls_is_not_read(
    width: int, kernel: int, stride: int, padding: int, dtype: str, lowering: str
) -> None:
    whole = np.full((8, 64, 24, 24), np.nan, np.float32)
    earlier = prepare_conv2d(whole.shape, (64, 64, 3, 3), padding=1, threads=1, lowering=lowering)
    given: dict[str, Any] = {"stride": (1, stride), "padding": (1, 1, padding, padding)}
    x, weight = arrays(12, (2, 17, 6, width), (8, 17, 3, kernel), dtype=DTYPES[dtype])
    forward = prepare_conv2d(
        x.shape, weight.shape, dtype=dtype, threads=1, lowering=lowering, **given
    )
    backward = prepare_conv2d_backward(
        x.shape, weight.shape, dtype=dtype, threads=1, lowering=lowering, **given
    )
    for prepared in (forward, backward):
        filled = arrays(13, *(kind.shape for kind in prepared.inputs), dtype=DTYPES[dtype])
        first = prepared.call(filled)
        earlier.call([whole, np.ones((64, 64, 3, 3), np.float32)])
        for one, other in zip(first, prepared.call(filled), strict=True):
            assert np.isfinite(other.astype(np.float32)).all()
            np.testing.assert_array_equal(one, other)


@cases("threads", [1, 2, 5])
def test_any_number_of_threads(threads: int) -> None:
    if why_missing():
        pytest.skip(why_missing())
    x, weight = arrays(11, (5, 16, 14, 14), (32, 16, 3, 3))
    prepared = prepare_conv2d(x.shape, weight.shape, padding=1, threads=threads)
    np.testing.assert_allclose(
        prepared.call([x, weight])[0], convolve(x, weight, padding=1), rtol=1e-4, atol=1e-4
    )
