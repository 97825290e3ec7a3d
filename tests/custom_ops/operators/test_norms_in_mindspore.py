"""Normalisations, losses and embeddings as replacements of MindSpore's own Cells.

Covers results, weights and moving averages.
"""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from custom_ops import functional
from tests.cases import FULL, cases

ms = pytest.importorskip("mindspore")
from tests.custom_ops.operators.modes import MODE_NAMES, MODES, mostly_pynative  # noqa: E402

nn, ops = ms.nn, ms.ops

pytestmark = pytest.mark.mindspore
RNG = np.random.default_rng(7)


def tensor(*shape):
    return ms.Tensor(RNG.standard_normal(shape).astype(np.float32))


def own_weights(cell):
    for weight in cell.trainable_params():
        weight.set_data(tensor(*weight.shape))
    return cell


PAIRS = [
    (lambda: nn.LayerNorm((5, 6), 1, 2), custom_ops.LayerNorm, (4, 3, 5, 6)),
    (lambda: nn.GroupNorm(2, 6), custom_ops.GroupNorm, (4, 6, 5, 3)),
    (lambda: nn.BatchNorm2d(3), custom_ops.BatchNorm, (4, 3, 5, 6)),
    (lambda: nn.BatchNorm1d(3), custom_ops.BatchNorm, (4, 3)),
    (lambda: nn.Softmax(1), custom_ops.Softmax, (4, 3, 5)),
    (lambda: nn.LogSoftmax(-1), custom_ops.LogSoftmax, (4, 7)),
]


@cases(
    "pair, mode",
    mostly_pynative(PAIRS, [], lambda pair: f"{pair[1].__name__}-{len(pair[2])}"),
    sample=4,
)
def test_a_replacement_has_results_and_gradients_of_its_cell(pair, mode):
    """MindSpore's version always runs in PyNative."""
    make, kind, shape = pair
    ms.set_context(mode=ms.PYNATIVE_MODE)
    theirs = own_weights(make())
    ours = kind.from_cells(theirs)
    for mine, other in zip(ours.trainable_params(), theirs.trainable_params(), strict=True):
        assert mine is other
    x, sens = tensor(*shape), tensor(*shape)
    want = theirs(x).asnumpy()
    ms.set_context(mode=mode)
    np.testing.assert_allclose(ours(x).asnumpy(), want, atol=2e-5)
    weights = ms.ParameterTuple(theirs.trainable_params())
    for training in (False, True):
        backward = ops.GradOperation(get_all=True, get_by_list=len(weights) > 0, sens_param=True)
        found = []
        for cell, its_mode in ((ours, mode), (theirs, ms.PYNATIVE_MODE)):
            ms.set_context(mode=its_mode)
            cell.set_train(training)
            saved = [weight.asnumpy().copy() for weight in cell.get_parameters()]
            call = backward(cell, weights) if len(weights) else backward(cell)
            made = call(x, sens)
            made = (*made[0], *made[1]) if len(weights) else made
            found.append([one.asnumpy() for one in made])
            found[-1] += [weight.asnumpy().copy() for weight in cell.get_parameters()]
            for weight, before in zip(cell.get_parameters(), saved, strict=True):
                weight.set_data(ms.Tensor(before))
        for got, want in zip(*found, strict=True):
            np.testing.assert_allclose(got, want, atol=5e-5)


@cases(
    "theirs, ours",
    [
        (lambda: nn.LayerNorm((6,)), lambda: custom_ops.LayerNorm((6,))),
        (lambda: nn.GroupNorm(2, 6), lambda: custom_ops.GroupNorm(2, 6)),
        (lambda: nn.BatchNorm2d(6), lambda: custom_ops.BatchNorm(6)),
        (lambda: nn.Embedding(5, 6), lambda: custom_ops.TokenEmbedding(5, 6)),
    ],
    ids=["LayerNorm", "GroupNorm", "BatchNorm", "TokenEmbedding"],
)
def test_checkpoints_load(theirs, ours):
    names = [
        {
            name.removeprefix("0."): weight.shape
            for name, weight in nn.SequentialCell(make()).parameters_and_names()
        }
        for make in (theirs, ours)
    ]
    assert names[0] == names[1]


@cases("dtype", ["float16", pytest.param("bfloat16", marks=FULL)])
def test_weights_of_float32_beside_narrow_inputs(dtype, full):
    """In graph mode; ``make test`` takes PyNative, which compiles no graphs."""
    ms.set_context(mode=ms.GRAPH_MODE if full else ms.PYNATIVE_MODE)
    cell = own_weights(custom_ops.LayerNorm((32,)))
    x = tensor(4, 32)
    made = cell(x.astype(getattr(ms, dtype)))
    assert str(made.dtype).lower() == dtype
    got = made.astype(ms.float32).asnumpy()
    np.testing.assert_allclose(got, cell(x).asnumpy(), atol=0.06 if dtype == "bfloat16" else 6e-3)
    weights = ms.ParameterTuple(cell.trainable_params())
    for one in ops.GradOperation(get_by_list=True)(cell, weights)(x.astype(getattr(ms, dtype))):
        assert one.dtype == ms.float32


@cases("reduction", [pytest.param("none", marks=FULL), "mean", pytest.param("sum", marks=FULL)])
def test_cross_entropy_as_mindspore_has_it(reduction, full):
    """In graph mode; ``make test`` takes PyNative, which compiles no graphs.

    Only class indices are accepted.
    """
    ms.set_context(mode=ms.GRAPH_MODE if full else ms.PYNATIVE_MODE)
    logits, shares = tensor(6, 7), ms.Tensor(RNG.uniform(0, 1, (6, 7)).astype(np.float32))
    labels = ms.Tensor(np.array([1, -100, 0, 6, 3, -100], np.int32))
    theirs = nn.CrossEntropyLoss(reduction=reduction, label_smoothing=0.1)
    ours = custom_ops.SoftmaxCrossEntropy.from_cells(theirs)
    for goal in (labels, shares) if full else (labels,):
        np.testing.assert_allclose(
            ours(logits, goal).asnumpy(), theirs(logits, goal).asnumpy(), atol=1e-5
        )
        got, want = (ms.grad(cell)(logits, goal).asnumpy() for cell in (ours, theirs))
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_a_second_derivative_that_does_not_exist_is_refused():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    cell, labels = custom_ops.LinearCrossEntropy(8, 5), ms.Tensor(np.int32([1, 4]))
    with pytest.raises(RuntimeError, match="LinearCrossEntropy has no derivative of order 2"):
        ms.grad(lambda x: ms.grad(cell)(x, labels).sum())(tensor(2, 8))


class Both(nn.Cell):
    """Functions inside a graph."""

    def __init__(self, route):
        super().__init__()
        self.route = route

    def construct(self, x, gamma, labels):
        made = functional.layer_norm(x, gamma, gamma, epsilon=1e-5, route=self.route)
        made = functional.rms_norm(made, gamma, route=self.route)
        return functional.softmax_cross_entropy(made, labels, reduction="sum", route=self.route)


@cases("mode", [pytest.param(MODES[0], marks=FULL), MODES[1]], ids=MODE_NAMES)
def test_functions_inside_of_a_graph(mode):
    """``make test`` uses PyNative only.

    `tests/custom_ops/test_functional.py` compiles the graph of a function.
    """
    x, gamma, labels = tensor(6, 9), tensor(9), ms.Tensor(np.arange(6, dtype=np.int32))
    ms.set_context(mode=mode)
    other_value, want = ms.value_and_grad(Both("composite"), (0, 1))(x, gamma, labels)
    value, got = ms.value_and_grad(Both("native"), (0, 1))(x, gamma, labels)
    np.testing.assert_allclose(value.asnumpy(), other_value.asnumpy(), rtol=1e-5)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), atol=2e-5)
