"""The gradient for a convolution's x is not computed if unused."""

import numpy as np
import pytest

from tests.cases import FULL, cases

ms = pytest.importorskip("mindspore")
pytestmark = pytest.mark.mindspore

from mindspore import Tensor  # noqa: E402

import custom_ops  # noqa: E402
from custom_ops.core import dispatch  # noqa: E402


@cases("has_bias", [pytest.param(False, marks=FULL), True])
def test_a_first_layer_computes_gradients_of_weights_alone(has_bias):
    ms.set_context(mode=ms.GRAPH_MODE)
    net = custom_ops.Conv2d(3, 4, 3, has_bias=has_bias)
    x = Tensor(np.random.default_rng(0).standard_normal((2, 3, 6, 5)).astype(np.float32))
    weights = net.trainable_params()
    of_weights, of_all = ms.grad(net, None, weights), ms.grad(net, 0, weights)
    alone, (of_x, both) = of_weights(x), of_all(x)
    for one, other in zip(alone, both, strict=True):
        assert np.allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-5)
    want = net.backward(
        np.ones((2, 4, 6, 5), np.float32), x.asnumpy(), *(w.asnumpy() for w in weights)
    )
    assert np.allclose(of_x.asnumpy(), want[0], rtol=1e-4, atol=1e-5)
    before = dispatch.count_calls()
    of_weights(x)[0].asnumpy()
    first = dispatch.count_calls()
    of_all(x)[0].asnumpy()
    assert (dispatch.count_calls() - first) - (first - before) == 1
