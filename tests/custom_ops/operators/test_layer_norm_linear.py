"""Layer normalisation and a dense layer as one operator, as a replacement of two Cells."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops import LayerNormLinear
from tbe_impl.errors import InputError
from tests.cases import FULL, cases

ms = pytest.importorskip("mindspore")
from mindspore import Tensor, nn  # noqa: E402

pytestmark = pytest.mark.mindspore


def gradients(net, x, params):
    class Squared(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net = net

        def construct(self, x):
            y = self.net(x)
            return (y * y).sum()

    squared = Squared()
    of_x, of_weights = ms.grad(squared, 0, params)(Tensor(x))
    return [one.asnumpy() for one in (of_x, *of_weights)]


@cases("mode", [pytest.param("graph", marks=FULL), "pynative"])
@cases("has_bias, axes", [(False, {}), (True, {"begin_norm_axis": 2, "begin_params_axis": 2})])
def test_a_replacement_has_results_and_gradients_of_2_cells(has_bias, axes, mode):
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    norm, dense = nn.LayerNorm((24,), **axes), nn.Dense(24, 17, has_bias=has_bias)
    theirs = nn.SequentialCell(norm, dense)
    ours = LayerNormLinear.from_cells(norm, dense)
    assert ours.gamma is norm.gamma and ours.weight is dense.weight
    x = np.random.default_rng(0).standard_normal((3, 5, 24)).astype(np.float32)
    np.testing.assert_allclose(ours(Tensor(x)).asnumpy(), theirs(Tensor(x)).asnumpy(), atol=1e-5)
    params = [norm.gamma, norm.beta, dense.weight, *((dense.bias,) if has_bias else ())]
    for got, want in zip(gradients(ours, x, params), gradients(theirs, x, params), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 * max(np.abs(want).max(), 1))


def test_axes_that_do_not_fit():
    with pytest.raises(
        InputError, match="the normalisation is of other axes; expected the last one, of 24"
    ):
        LayerNormLinear.from_cells(nn.LayerNorm((12,)), nn.Dense(24, 17))
    with pytest.raises(InputError, match=r"got \(24,\) from axis 1\. Call the last axis -1"):
        LayerNormLinear.from_cells(nn.LayerNorm((24,), begin_norm_axis=1), nn.Dense(24, 17))
    with pytest.raises(InputError, match="weight does not fit x"):
        LayerNormLinear(4, 3).forward(np.zeros((2, 5), np.float32))


@FULL
def test_gradients_of_many_numbers_of_rows():
    """From a threshold on, one dynamic kernel serves all batch sizes."""
    linear = LayerNormLinear(8, 3)
    rng = np.random.default_rng(2)
    alone = []
    for rows in range(1, 12):
        x, grad = (rng.standard_normal((rows, size), np.float32) for size in (8, 3))
        slope = linear.backward(grad, x)[0]
        alone.append((x, grad, slope))
    for x, grad, slope in alone:
        one = linear.backward(grad[:1], x[:1])[0]
        np.testing.assert_allclose(slope[:1], one, rtol=1e-4, atol=1e-5)
