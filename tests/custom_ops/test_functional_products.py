"""Products and convolutions as functions, in graph mode and in PyNative, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.operators import all_specs
from tests.custom_ops.test_functional import Net

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

LINEAR = ((3, 5, 8), (6, 8), (6,))
CONVOLUTION = ((2, 4, 7, 6), (6, 2, 3, 3))
STEPS = {"stride": 2, "padding": (1, 0, 1, 2), "groups": 2}
# name of the function, the operator, shapes of its tensors, its keywords, what the operator has instead of them
CASES = [
    ("conv2d", "Conv2d", CONVOLUTION, STEPS, None),
    ("conv2d", "Conv2dBias", (*CONVOLUTION, (6,)), {**STEPS, "dilation": 2}, None),
    ("conv2d", "Conv2dBias", (*CONVOLUTION, (6,)), {**STEPS, "padding": "same", "lowering": "im2col"}, None),
    ("matmul_bias_relu", "MatMulBiasReLU", LINEAR, {}, None),
    ("matmul_bias_gelu", "MatMulBiasGELU", LINEAR, {}, None),
    ("matmul_bias_gelu", "MatMulBiasGELU", LINEAR, {"approximate": False}, {"activation": "gelu"}),
    ("matmul_bias_silu", "MatMulBiasSiLU", LINEAR, {}, None),
    ("linear_residual", "LinearResidual", (*LINEAR, (3, 5, 6)), {}, None),
    ("layer_norm_linear", "LayerNormLinear", ((3, 5, 8), (8,), (8,), (6, 8), (6,)), {"epsilon": 1e-3}, None),
]  # fmt: skip


@pytest.mark.parametrize("route", ["native", "composite"])
@pytest.mark.parametrize(("name", "operator", "shapes", "keywords", "attributes"), CASES)
def test_a_function_is_its_operator(name, operator, shapes, keywords, attributes, route):
    spec = all_specs()[operator]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    wide = [one.astype(np.float64) for one in arrays]
    given = spec.with_defaults(keywords if attributes is None else attributes)
    want = spec.formula(*wide, **given)
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        ms.set_context(mode=mode)
        got = Net(name, {**keywords, "route": route})(*map(ms.Tensor, arrays))
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4)
