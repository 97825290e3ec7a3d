"""Dense and cross entropy as in MindSpore's Cells: any activation, class weights."""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from custom_ops import functional
from tbe_impl.errors import InputError
from tests.cases import FULL, cases

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")
from tests.custom_ops.operators.modes import MODE_NAMES, MODES, mostly_pynative  # noqa: E402

nn, ops = ms.nn, ms.ops

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 5, 8)).astype(np.float32)
ACTIVATIONS = {
    "none": lambda: None,
    "relu": lambda: "relu",
    "gelu": lambda: "gelu",
    "silu": lambda: "silu",
    "tanh": lambda: "tanh",
    "Cell of erf": lambda: nn.GELU(approximate=False),
    "Cell with weights": nn.PReLU,
    "primitive": ops.ReLU,
    "our own": lambda: custom_ops.Swish(),
}


def gradients(net, *inputs):
    weights = net.trainable_params()

    def total(*given):
        return net(*given).sum()

    made = ms.value_and_grad(total, 0, weights)(*inputs)
    flat = [made[0], made[1][0], *made[1][1]]
    return [one.asnumpy() for one in flat]


@cases("name, mode", mostly_pynative(ACTIVATIONS, []), per_item=9)
def test_dense_is_that_of_mindspore(name, mode, full):
    """In training and inference; ``make test`` alternates between the two."""
    turn = list(ACTIVATIONS).index(name) % 2 == 0
    ms.set_context(mode=mode)
    theirs = nn.Dense(8, 6, activation=ACTIVATIONS[name]())
    names = [one.name for one in theirs.get_parameters()]
    ours = custom_ops.Dense.from_cells(theirs)
    assert [one.name for one in ours.get_parameters()] == names
    assert list(ours.parameters_dict()) == list(theirs.parameters_dict())
    x = ms.Tensor(X)
    for training in (False, True) if full else (turn,):
        theirs.set_train(training)
        ours.set_train(training)
        for got, want in zip(gradients(ours, x), gradients(theirs, x), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


def test_a_product_ends_with_its_activation():
    assert custom_ops.Dense(2, 2, activation="silu").spec.name == "MatMulBiasSiLU"
    assert custom_ops.Dense(2, 2, activation=nn.GELU(False)).attributes["activation"] == "gelu"
    assert custom_ops.Dense(2, 2, activation=custom_ops.Swish(2.0)).is_followed


@cases(
    "make, said",
    [
        (lambda: custom_ops.Dense(2, 2, activation="thanh"), "Dense: activation is unknown"),
        (lambda: custom_ops.Dense(2, 2, activation=3), "Dense: activation is unknown"),
        (lambda: custom_ops.Dense(2, 2, activation="tanh").forward(X), "on arrays"),
        (
            lambda: custom_ops.MatMulBiasReLU(2, 2, activation="gelu"),
            "the dense layer has a different activation",
        ),
        (
            lambda: custom_ops.LinearResidual(2, 2, activation="relu"),
            "the dense layer has a different activation",
        ),
        (
            lambda: custom_ops.MatMulBiasReLU.from_cells(nn.Dense(2, 2, activation="tanh")),
            "has a different",
        ),
        (
            lambda: custom_ops.LayerNormLinear.from_cells(
                nn.LayerNorm((2,)), nn.Dense(2, 2, activation="tanh")
            ),
            "the dense layer has an activation",
        ),
        (lambda: functional.dense(X, X, activation="tanh"), "dense: activation is unknown"),
    ],
)
def test_other_activations_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_the_activation_of_the_operator_may_be_named():
    assert custom_ops.MatMulBiasReLU(2, 2, activation="relu").spec.name == "MatMulBiasReLU"
    assert custom_ops.MatMulBiasGELU(2, 2, activation=nn.GELU(False), approximate=False).in_two


@cases("has_bias", [False, True])
def test_dense_as_a_function(has_bias):
    weight, bias = (
        RNG.standard_normal((6, 8)).astype(np.float32),
        RNG.standard_normal(6).astype(np.float32),
    )
    given = [ms.Tensor(one) for one in (X, weight, bias)[: 2 + has_bias]]
    want = np.maximum(X @ weight.T + (bias if has_bias else 0), 0)
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        ms.set_context(mode=mode)

        @ms.jit
        def call(*tensors):
            return functional.dense(*tensors, activation="relu")

        np.testing.assert_allclose(call(*given).asnumpy(), want, rtol=1e-5, atol=1e-5)


LOGITS = RNG.standard_normal((6, 7, 4)).astype(np.float32)
INDICES = RNG.integers(0, 7, (6, 4)).astype(np.int32)
SHARES = RNG.uniform(0, 1, (6, 7, 4)).astype(np.float32)
WEIGHT = RNG.uniform(0.5, 2, 7).astype(np.float32)


class Loss(nn.Cell):
    def __init__(self, function, **keywords):
        super().__init__()
        self.function, self.keywords = function, keywords

    def construct(self, logits, labels, weight):
        return self.function(logits, labels, weight, **self.keywords)


QUICK = {
    ("pynative", "indices", "mean", "composite"),
    ("pynative", "shares", "sum", "native"),
}
"""Rows of the cross entropy in ``make test``: compiling a graph takes seconds."""


@cases(
    "mode, labels, reduction, smoothing, route",
    [
        pytest.param(
            mode,
            labels,
            *how,
            route,
            id=f"{name}-{of}-{how[0]}-{route}",
            marks=() if (name, of, how[0], route) in QUICK else FULL,
        )
        for mode, name in zip(MODES, MODE_NAMES, strict=True)
        for labels, of in ((INDICES, "indices"), (SHARES, "shares"))
        for how in (("none", 0.2), ("mean", 0.0), ("sum", 0.2))
        for route in ("native", "composite")
    ],
    per_item=12,
)
def test_cross_entropy_is_that_of_mindspore(mode, labels, reduction, smoothing, route):
    ignored = {"ignore_index": 3, "reduction": reduction, "label_smoothing": smoothing}
    weight = ms.Tensor(WEIGHT)
    theirs = nn.CrossEntropyLoss(weight, **ignored)
    ours = custom_ops.SoftmaxCrossEntropy.from_cells(theirs, route=route)
    named = Loss(functional.softmax_cross_entropy, **ignored, route=route)
    tensors = ms.Tensor(LOGITS), ms.Tensor(labels)

    def slopes(net, *more):
        def total(*given):
            return net(*given).sum()

        return ms.value_and_grad(total, 0)(*tensors, *more)

    ms.set_context(mode=ms.PYNATIVE_MODE)
    want = [one.asnumpy() for one in slopes(theirs)]
    ms.set_context(mode=mode)
    for made in (slopes(ours), slopes(named, weight)):
        for got, one in zip(made, want, strict=True):
            np.testing.assert_allclose(got.asnumpy(), one, rtol=1e-4, atol=1e-5)
    loss = ours.forward(LOGITS, labels)
    np.testing.assert_allclose(np.sum(loss), want[0], rtol=1e-4)
    of_logits = ours.backward(np.ones_like(loss))
    np.testing.assert_allclose(of_logits, want[1], rtol=1e-4, atol=1e-5)
