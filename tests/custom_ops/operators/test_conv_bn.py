"""Convolution with batch normalisation and activation.

Folded, in training, on arrays, and as a replacement of three Cells.
"""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from custom_ops import FusedConvBN, fold_batch_norm
from custom_ops.onednn import im2col
from custom_ops.onednn.epilogues import EMPTY_EPILOGUE
from custom_ops.onednn.geometry import geometry
from custom_ops.operators import epilogues
from tbe_impl.errors import InputError
from tests.cases import FULL, cases

KINDS = {"ConvBNReLU": "relu", "ConvBNLeakyReLU": "leaky_relu", "ConvBNSiLU": "silu"}


def weights(channels=6, out=8, dtype=np.float32, bias=True):
    rng = np.random.default_rng(1)
    conv = rng.standard_normal((out, channels, 3, 3)).astype(dtype)
    gamma, beta, mean, other = (rng.standard_normal(out).astype(dtype) for _ in range(4))
    variance = rng.uniform(0.5, 2, out).astype(dtype)
    return conv, other if bias else None, gamma, beta, mean, variance


def formula(x, conv, bias, gamma, beta, mean, variance, activation, eps):
    sizes = geometry("Conv2d", x.shape, conv.shape, padding=1)
    z = im2col.forward(sizes, EMPTY_EPILOGUE, x, conv)
    z = z if bias is None else z + bias.reshape(-1, 1, 1)
    column = lambda one: one.reshape(-1, 1, 1)  # noqa: E731
    z = (z - column(mean)) / np.sqrt(column(variance) + eps) * column(gamma) + column(beta)
    return epilogues.formula(z, activation)


@cases("bias", [False, True])
@cases("activation", ["", "relu", "leaky_relu", "silu"])
def test_on_arrays(activation, bias):
    given = weights(bias=bias)
    x = np.random.default_rng(2).standard_normal((2, 6, 7, 5)).astype(np.float32)
    op = FusedConvBN(*given, 1e-3, padding=1, activation=activation)
    wide = [None if one is None else one.astype(np.float64) for one in given]
    want = formula(x.astype(np.float64), *wide, activation, 1e-3)
    np.testing.assert_allclose(op.forward(x), want, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("compiled_in_full")
@cases("bias", [pytest.param(False, marks=FULL), True])
def test_gradients_by_finite_differences(bias):
    given = weights(dtype=np.float64, bias=bias)
    rng = np.random.default_rng(3)
    x, grad = rng.standard_normal((2, 6, 7, 5)), rng.standard_normal((2, 8, 7, 5))
    op = FusedConvBN(*given, 1e-3, padding=1, activation="silu")
    found = op.backward(grad, x)
    inputs = [x, *given]
    places = [i for i in range(5) if inputs[i] is not None]
    assert len(found) == len(places)
    for place, got in zip(places, found, strict=True):
        at = tuple(size // 2 for size in inputs[place].shape)
        sums = []
        for step in (1e-6, -1e-6):
            moved = [None if one is None else one.copy() for one in inputs]
            moved[place][at] += step
            sums.append((formula(*moved, "silu", 1e-3) * grad).sum())
        assert got[at] == pytest.approx((sums[0] - sums[1]) / 2e-6, rel=1e-5, abs=1e-6)


def test_backward_comes_after_forward():
    with pytest.raises(InputError, match="FusedConvBN: backward was called before forward"):
        FusedConvBN(*weights()).backward(np.zeros((1, 8, 1, 1), np.float32))


def test_arrays_that_do_not_fit():
    conv, _, gamma, beta, mean, variance = weights()
    with pytest.raises(InputError, match="FoldBatchNorm: gamma has a wrong shape"):
        fold_batch_norm(conv, (gamma[1:], beta, mean, variance))
    with pytest.raises(InputError, match="a Cell and arrays do not go together"):
        fold_batch_norm(conv, object())
    with pytest.raises(InputError, match="unknown activation; expected relu, leaky_relu, silu"):
        FusedConvBN(*weights(), activation="gelu")


ms = pytest.importorskip("mindspore")
from mindspore import Tensor, nn, ops  # noqa: E402

from tests.custom_ops.operators.modes import MODE_NAMES, MODES  # noqa: E402
from tests.custom_ops.squares import gradients  # noqa: E402


class Theirs(nn.Cell):
    def __init__(self, activation, has_bias):
        super().__init__()
        self.conv = nn.Conv2d(6, 8, 3, stride=2, has_bias=has_bias)
        self.bn = nn.BatchNorm2d(8)
        self.activation, self.alpha = activation, 0.1
        rng = np.random.default_rng(4)
        for one in (self.bn.gamma, self.bn.beta, self.bn.moving_mean, self.bn.moving_variance):
            one.set_data(Tensor(rng.uniform(0.5, 2, 8).astype(np.float32)))

    def construct(self, x):
        z = self.bn(self.conv(x))
        if self.activation == "relu":
            return ops.relu(z)
        if self.activation == "leaky_relu":
            return ops.leaky_relu(z, self.alpha)
        return z * ops.sigmoid(z)


QUICK = {("pynative", "ConvBNReLU", False, True), ("pynative", "ConvBNSiLU", True, False)}
"""Rows of three Cells in ``make test``: compiling a graph takes seconds.

`test_the_slope_of_leaky_relu_is_kept` has the third.
"""


def near(got, want, tolerance=1e-4):
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(np.abs(want).max(), 1))


@pytest.mark.mindspore
@cases(
    "mode, kind, has_bias, train",
    [
        pytest.param(
            mode,
            kind,
            has_bias,
            train,
            id=f"{name}-{kind}-bias {has_bias}-train {train}",
            marks=() if (name, kind, has_bias, train) in QUICK else FULL,
        )
        for mode, name in zip(MODES, MODE_NAMES, strict=True)
        for kind in KINDS
        for has_bias in (False, True)
        for train in (False, True)
    ],
    per_item=12,
)
def test_a_replacement_has_results_and_gradients_of_3_cells(mode, kind, has_bias, train):
    ms.set_context(mode=mode)
    theirs = Theirs(KINDS[kind], has_bias)
    theirs.set_train(train)
    known = [one.name for one in theirs.get_parameters()]
    x = np.random.default_rng(5).standard_normal((3, 6, 9, 8)).astype(np.float32)
    ours = getattr(custom_ops, kind).from_cells(theirs.conv, theirs.bn)
    assert ours.training == train and [one.name for one in theirs.get_parameters()] == known
    moving = [one for one in theirs.get_parameters() if "moving" in one.name]
    before = [Tensor(one.asnumpy()) for one in moving]
    want, kept = theirs(Tensor(x)).asnumpy(), [one.asnumpy() for one in moving]
    for one, value in zip(moving, before, strict=True):
        one.set_data(value)
    near(ours(Tensor(x)).asnumpy(), want)
    for one, value in zip(moving, kept, strict=True):
        near(one.asnumpy(), value)
    slopes = gradients(theirs, x)
    for got, one in zip(gradients(ours, x), slopes, strict=True):
        near(got, one, 2e-3 if train else 1e-4)
    on_arrays = ours.forward(x)
    near(on_arrays, want)
    found = ours.backward(2 * on_arrays)
    assert len(found) == len(slopes)
    for got, one in zip(found, slopes, strict=True):
        near(got, one, 2e-3 if train else 1e-4)


@pytest.mark.mindspore
@cases("train", [pytest.param(False, marks=FULL), True])
@cases("mode", [pytest.param(ms.GRAPH_MODE, marks=FULL), ms.PYNATIVE_MODE], ids=MODE_NAMES)
def test_the_slope_of_leaky_relu_is_kept(mode, train):
    ms.set_context(mode=mode)
    theirs = Theirs("leaky_relu", False)
    theirs.alpha = 0.3
    theirs.set_train(train)
    ours = custom_ops.ConvBNLeakyReLU.from_cells(theirs.conv, theirs.bn, alpha=0.3)
    x = np.random.default_rng(5).standard_normal((3, 6, 9, 8)).astype(np.float32)
    want, slopes = theirs(Tensor(x)).asnumpy(), gradients(theirs, x)
    near(ours(Tensor(x)).asnumpy(), want)
    for got, one in zip(gradients(ours, x), slopes, strict=True):
        near(got, one, 2e-3 if train else 1e-4)
    near(ours.forward(x), want)
    new = custom_ops.ConvBNLeakyReLU(1, 1, 1, weight_init="ones", eps=0.0, alpha=0.5)
    assert new.forward(np.float32([[[[-1, 2]]]])).tolist() == [[[[-0.5, 2.0]]]]


def test_a_leak_below_0_is_refused():
    with pytest.raises(InputError, match=r"alpha is negative; expected 0 or more, got -0.1"):
        FusedConvBN(*weights(), activation="leaky_relu", alpha=-0.1)


@pytest.mark.mindspore
@cases("has_bias", [False, True])
def test_fold_of_cells(has_bias):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    theirs = Theirs("relu", has_bias)
    x = Tensor(np.random.default_rng(5).standard_normal((3, 6, 9, 8)).astype(np.float32))
    folded = fold_batch_norm(theirs.conv, theirs.bn)
    assert isinstance(folded, custom_ops.Conv2d) and folded.weight is not theirs.conv.weight
    near(np.maximum(folded(x).asnumpy(), 0), theirs(x).asnumpy())


@pytest.mark.mindspore
def test_a_new_one_trains(full):
    """Ten steps in graph mode; ``make test`` takes five in PyNative, which compiles no graph."""
    ms.set_context(mode=ms.GRAPH_MODE if full else ms.PYNATIVE_MODE)
    net = custom_ops.ConvBNReLU(3, 4, 3)
    names = [one.name for one in net.get_parameters()]
    assert names == [
        "conv.weight",
        "bn.moving_mean",
        "bn.moving_variance",
        "bn.gamma",
        "bn.beta",
    ], names
    net.set_train()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9)
    )
    rng = np.random.default_rng(0)
    x, y = (Tensor(rng.random(shape).astype(np.float32)) for shape in ((4, 3, 6, 6), (4, 4, 6, 6)))
    losses = [float(step(x, y).asnumpy()) for _ in range(10 if full else 5)]
    assert losses[-1] < losses[0]
