"""Products and convolutions as functions, in graph mode and in PyNative, against float64."""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from custom_ops import functional
from custom_ops.operators import all_specs
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode
from tests.custom_ops.test_functional import Net

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

LINEAR = ((3, 5, 8), (6, 8), (6,))
CONVOLUTION = ((2, 4, 7, 6), (6, 2, 3, 3))
STEPS = {"stride": 2, "padding": (1, 0, 1, 2), "groups": 2}
# function, operator, tensor shapes, keywords, and the operator's attributes in their place
CASES = [
    ("conv2d", "Conv2d", CONVOLUTION, STEPS, None),
    ("conv2d", "Conv2dBias", (*CONVOLUTION, (6,)), {**STEPS, "dilation": 2}, None),
    (
        "conv2d",
        "Conv2dBias",
        (*CONVOLUTION, (6,)),
        {**STEPS, "padding": "same", "lowering": "im2col"},
        None,
    ),
    ("matmul_bias_relu", "MatMulBiasReLU", LINEAR, {}, None),
    ("matmul_bias_gelu", "MatMulBiasGELU", LINEAR, {}, None),
    ("matmul_bias_gelu", "MatMulBiasGELU", LINEAR, {"approximate": False}, {"activation": "gelu"}),
    ("matmul_bias_silu", "MatMulBiasSiLU", LINEAR, {}, None),
    ("linear_residual", "LinearResidual", (*LINEAR, (3, 5, 6)), {}, None),
    (
        "layer_norm_linear",
        "LayerNormLinear",
        ((3, 5, 8), (8,), (8,), (6, 8), (6,)),
        {"epsilon": 1e-3},
        None,
    ),
]


CONV_BN = [
    ("conv_bn_relu", {}, lambda z: np.maximum(z, 0)),
    ("conv_bn_leaky_relu", {}, lambda z: np.where(z > 0, z, 0.1 * z)),
    ("conv_bn_leaky_relu", {"alpha": 0.3}, lambda z: np.where(z > 0, z, 0.3 * z)),
    ("conv_bn_silu", {}, lambda z: z / (1 + np.exp(-z))),
    ("fused_conv_bn", {}, lambda z: z),
    (
        "fused_conv_bn",
        {"activation": "leaky_relu", "alpha": 0.2},
        lambda z: np.where(z > 0, z, 0.2 * z),
    ),
]


class Normalised(ms.nn.Cell):
    """A function of tensors, one of which may be None."""

    def __init__(self, name, keywords, has_bias):
        super().__init__()
        self.function, self.keywords, self.has_bias = getattr(functional, name), keywords, has_bias

    def construct(self, x, weight, bias, gamma, beta, mean, variance):
        if self.has_bias:
            return self.function(x, weight, bias, gamma, beta, mean, variance, **self.keywords)
        return self.function(x, weight, None, gamma, beta, mean, variance, **self.keywords)


HOW = [(route, mode) for route in ("native", "composite") for mode in MODES]
QUICK = [("native", "graph"), *[("native", "pynative"), ("composite", "pynative")] * 3]
"""Tests of each function in `make test`, alternating: compiling a graph takes a second."""


@cases(
    "name, keywords, activation, has_bias, route, mode",
    [
        pytest.param(
            *one,
            has_bias,
            *how,
            id=f"{one[0]}-{one[1]}-{has_bias}-{how}",
            marks=[]
            if has_bias == (number % 2 == 1) and how == QUICK[number % len(QUICK)]
            else FULL,
        )
        for number, one in enumerate(CONV_BN)
        for has_bias in (False, True)
        for how in HOW
    ],
)
def test_convolution_normalised(name, keywords, activation, has_bias, route, mode):
    rng = np.random.default_rng(0)
    shapes = (*CONVOLUTION, *[(6,)] * 5)
    arrays = [
        rng.uniform(0.5, 1.5, shape).astype(np.float32) - (i < 4) for i, shape in enumerate(shapes)
    ]
    x, weight, bias, gamma, beta, mean, variance = (one.astype(np.float64) for one in arrays)
    column = lambda one: one.reshape(-1, 1, 1)  # noqa: E731
    conv = all_specs()["Conv2d"]
    z = conv.formula(x, weight, **conv.with_defaults(STEPS)) + column(bias * has_bias - mean)
    want = activation(z / np.sqrt(column(variance) + 1e-3) * column(gamma) + column(beta))
    set_mode(mode)
    net = Normalised(name, {**STEPS, **keywords, "eps": 1e-3, "route": route}, has_bias)
    np.testing.assert_allclose(net(*map(ms.Tensor, arrays)).asnumpy(), want, rtol=1e-4, atol=1e-4)


@cases(
    "route, mode",
    [
        ("native", "pynative"),
        ("composite", "pynative"),
        pytest.param("native", "graph", marks=FULL),
        pytest.param("composite", "graph", marks=FULL),
    ],
)
def test_normalisation_of_a_batch(route, mode):
    specs, rng = all_specs(), np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 1.5, shape).astype(np.float32) for shape in ((3, 4, 5), *[(4,)] * 4)]
    wide = [one.astype(np.float64) for one in arrays]
    given = {"eps": 1e-3, "activation": "leaky_relu", "alpha": 0.3}
    training = specs["BatchNormTraining"].formula(*wide[:3], **given)
    inference = specs["BatchNormInference"].formula(*wide, **given)
    set_mode(mode)
    net = Net("batch_norm", {**given, "route": route})
    tensors = [ms.Tensor(one) for one in arrays]
    np.testing.assert_allclose(net(*tensors).asnumpy(), inference, rtol=1e-4, atol=1e-4)
    for got, want in zip(net(*tensors[:3]), training, strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_every_operator_has_a_function():
    functions = {name.replace("_", "") for name in functional.__all__}
    for name in custom_ops.__all__:
        found = getattr(custom_ops, name)
        if not isinstance(found, type) or not found.__module__.startswith("custom_ops.operators"):
            continue
        if name != "FusedConvBN":  # a function of arrays
            assert found.__name__.lower() in functions, name


@cases(
    "name, operator, shapes, keywords, attributes, route, mode",
    [
        pytest.param(
            *one,
            *how,
            id=f"{one[1]}-{one[3]}-{how}",
            marks=[]
            if how == ("native", "pynative") or (number == 0 and how == ("composite", "pynative"))
            else FULL,
        )
        for number, one in enumerate(CASES)
        for how in HOW
    ],
)
def test_a_function_is_its_operator(name, operator, shapes, keywords, attributes, route, mode):
    spec = all_specs()[operator]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    wide = [one.astype(np.float64) for one in arrays]
    given = spec.with_defaults(keywords if attributes is None else attributes)
    want = spec.formula(*wide, **given)
    set_mode(mode)
    got = Net(name, {**keywords, "route": route})(*map(ms.Tensor, arrays))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4)
