"""Dense layers with epilogues, as a replacement of nn.Dense and an activation."""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from custom_ops.operators import matmul_bias
from custom_ops.operators.matmul_bias import MATMUL_BIAS_GELU
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.core.test_operator_specs import close, run

KINDS = ("MatMulBiasReLU", "MatMulBiasGELU", "MatMulBiasSiLU")


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@cases("kind", KINDS)
def test_sizes_that_do_not_fit(kind):
    with pytest.raises(
        InputError, match=rf"{kind}: weight does not fit x; expected \(channels out, 5\)"
    ):
        getattr(custom_ops, kind)(4, 3).forward(floats(2, 5))
    with pytest.raises(InputError, match=rf"{kind}: bias does not fit; expected \(3,\) float32"):
        getattr(custom_ops, kind)(4, 3).forward(floats(2, 4), floats(3, 4), floats(4))


def test_gelu_with_erf():
    from custom_ops.core.arrays import attribute_key, computation_of

    arrays = floats(5, 8), floats(3, 8, seed=1), floats(3, seed=2)
    got = computation_of(MATMUL_BIAS_GELU, attribute_key(MATMUL_BIAS_GELU, {"activation": "gelu"}))(
        *arrays
    )
    wide = [one.astype(np.float64) for one in arrays]
    close(got, MATMUL_BIAS_GELU.formula(*wide, activation="gelu", lowering="auto"), "float32")
    tanh = run(MATMUL_BIAS_GELU, {}, *arrays)[0]
    assert 1e-6 < np.abs(tanh - got).max() < 1e-2


ms = pytest.importorskip("mindspore")
from mindspore import Tensor, nn, ops  # noqa: E402

from tests.custom_ops.operators.modes import MODE_NAMES, MODES  # noqa: E402
from tests.custom_ops.squares import gradients  # noqa: E402


class Theirs(nn.Cell):
    def __init__(self, dense, kind):
        super().__init__()
        self.dense = dense
        self.kind = kind

    def construct(self, x):
        z = self.dense(x)
        if self.kind == "MatMulBiasReLU":
            return ops.relu(z)
        if self.kind == "MatMulBiasGELU":
            return z * ops.sigmoid(1.5957691216 * (z + 0.044715 * z * z * z))
        return z * ops.sigmoid(z)


def near(got, want, tolerance=2e-5):
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(np.abs(want).max(), 1))


@pytest.mark.mindspore
@cases("train", [False, True], sample=3, per_item=12)
@cases("has_bias", [False, True])
@cases("kind", KINDS)
@cases("mode", [pytest.param(ms.GRAPH_MODE, marks=FULL), ms.PYNATIVE_MODE], ids=MODE_NAMES)
def test_a_replacement_has_results_and_gradients_of_2_cells(mode, kind, has_bias, train):
    ms.set_context(mode=mode)
    dense = nn.Dense(24, 17, has_bias=has_bias)
    theirs = Theirs(dense, kind)
    ours = getattr(custom_ops, kind).from_cells(dense)
    assert ours.weight is dense.weight
    ours.set_train(train)
    x = floats(4, 5, 24)
    near(ours(Tensor(x)).asnumpy(), theirs(Tensor(x)).asnumpy())
    for got, want in zip(gradients(ours, x), gradients(theirs, x), strict=True):
        near(got, want)


@pytest.mark.mindspore
@cases("has_bias", [pytest.param(False, marks=FULL), True])
@cases("mode", [pytest.param(MODES[0], marks=FULL), MODES[1]], ids=MODE_NAMES)
def test_a_residual(mode, has_bias):
    ms.set_context(mode=mode)
    dense = nn.Dense(24, 17, has_bias=has_bias)

    class Added(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = dense

        def construct(self, x, residual):
            return self.dense(x) + residual

    ours = custom_ops.LinearResidual.from_cells(dense)
    given = floats(4, 5, 24), floats(4, 5, 17, seed=1)
    near(ours(*map(Tensor, given)).asnumpy(), Added()(*map(Tensor, given)).asnumpy())
    for got, want in zip(gradients(ours, *given), gradients(Added(), *given), strict=True):
        near(got, want)


@pytest.mark.mindspore
def test_weights_begin_as_mindspore_has_it():
    made = []
    for kind in (nn.Dense, custom_ops.MatMulBiasReLU):
        ms.set_seed(7)
        made.append(kind(4, 6))
    for theirs, ours in zip(*(net.get_parameters() for net in made), strict=True):
        assert theirs.name == ours.name
        np.testing.assert_array_equal(theirs.asnumpy(), ours.asnumpy())


@pytest.mark.mindspore
def test_in_training_the_product_is_kept():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    net = custom_ops.MatMulBiasSiLU(4, 3)
    net.set_train()
    assert net.in_two and net.product.spec is matmul_bias.MATMUL_BIAS
