"""Normalisations, losses and embeddings.

Covers Cells, and arguments at their defaults in the operator table.
"""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops import AddLayerNorm, SoftmaxCrossEntropy
from custom_ops.core.cell import FusedCell
from custom_ops.core.gradient import gradient_of
from custom_ops.operators import (
    batch_norm,
    group_norm,
    layer_norm,
    linear_cross_entropy,
    rotary_embedding,
    softmax,
    softmax_cross_entropy,
    softmax_cross_entropy_dense,
    token_embedding,
)
from custom_ops.operators.batch_norm_training import BATCH_NORM_TRAINING
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.spec_cases import run_by

RNG = np.random.default_rng(5)
LABELS = np.array([3, -1, 0, 6, -1, 2], np.int32)


def _numbers(*shape):
    return RNG.standard_normal(shape)


CASES = [
    (
        layer_norm.LAYER_NORM,
        (_numbers(2, 3, 4, 5), _numbers(4, 5), _numbers(4, 5)),
        {"begin_norm_axis": 1, "begin_params_axis": 2, "epsilon": 1e-3},
    ),
    (
        layer_norm.LAYER_NORM,
        (_numbers(2, 3, 4), _numbers(2, 3, 4), _numbers(2, 3, 4)),
        {"begin_norm_axis": 1, "begin_params_axis": 0},
    ),
    (group_norm.GROUP_NORM, (_numbers(2, 6, 5, 3), _numbers(6), _numbers(6)), {"num_groups": 3}),
    (softmax.SOFTMAX, (_numbers(3, 7, 5),), {"axis": 1}),
    (softmax.LOG_SOFTMAX, (_numbers(3, 7, 5),), {"axis": 0}),
    (
        rotary_embedding.ROTARY_EMBEDDING,
        (_numbers(2, 3, 4, 10), _numbers(4, 10), _numbers(4, 10)),
        {"layout": "interleaved"},
    ),
    (
        token_embedding.TOKEN_EMBEDDING,
        (np.array([[1, 3, 1], [0, 1, 1]], np.int64), _numbers(5, 9)),
        {"scale": 3.0},
    ),
    *(
        (
            softmax_cross_entropy.SOFTMAX_CROSS_ENTROPY,
            (_numbers(6, 7), LABELS),
            {"ignore_index": -1, "reduction": reduction, "label_smoothing": smoothing},
        )
        for reduction in ("none", "mean", "sum")
        for smoothing in (0.0, 0.2)
    ),
    *(
        (
            softmax_cross_entropy.SOFTMAX_CROSS_ENTROPY_WEIGHTED,
            (_numbers(6, 7), LABELS, RNG.uniform(0.5, 2, 7)),
            {"ignore_index": -1, "reduction": reduction, "label_smoothing": smoothing},
        )
        for reduction in ("none", "mean", "sum")
        for smoothing in (0.0, 0.2)
    ),
    *(
        (
            softmax_cross_entropy_dense.SOFTMAX_CROSS_ENTROPY_DENSE,
            (_numbers(6, 7), RNG.uniform(0, 1, (6, 7))),
            {"reduction": reduction, "label_smoothing": 0.1},
        )
        for reduction in ("none", "mean", "sum")
    ),
    *(
        (
            linear_cross_entropy.LINEAR_CROSS_ENTROPY,
            (_numbers(6, 4), _numbers(7, 4), LABELS),
            {"ignore_index": -1, "reduction": reduction, "label_smoothing": 0.2},
        )
        for reduction in ("none", "mean", "sum")
    ),
    *(
        (
            batch_norm.BATCH_NORM_TRAINING,
            (_numbers(3, 4, 5), _numbers(4), _numbers(4)),
            {"activation": activation},
        )
        for activation in ("relu", "leaky_relu", "silu")
    ),
    (
        batch_norm.BATCH_NORM_TRAINING,
        (_numbers(3, 5, 4), _numbers(4), _numbers(4)),
        {"data_format": "NHWC"},
    ),
    (
        batch_norm.BATCH_NORM_INFERENCE,
        (_numbers(3, 4, 5), _numbers(4), _numbers(4), _numbers(4), RNG.uniform(1, 2, 4)),
        {"activation": "silu"},
    ),
]


def several(made):
    return made if isinstance(made, tuple) else (made,)


LIKE_ANOTHER = ("LinearCrossEntropy 6-4 none 0.2", "LinearCrossEntropy 6-4 mean 0.2")
"""Rows of ``make test-all`` only: every back end compiles this operator."""


def named(spec, arrays, attributes):
    """The row with its own name."""
    told = [
        attributes[name]
        for name in ("reduction", "label_smoothing", "activation")
        if name in attributes
    ]
    name = " ".join(map(str, [spec.name, "-".join(map(str, arrays[0].shape)), *told]))
    return pytest.param(
        spec, arrays, attributes, id=name, marks=FULL if name in LIKE_ANOTHER else ()
    )


@cases("spec, arrays, attributes", [named(*case) for case in CASES])
def test_attributes_keep_results_and_gradients_right(spec, arrays, attributes, full):
    """``make test`` uses the NumPy back end, which compiles no kernels."""
    backend = "cpu" if full else "numpy"
    given = spec.with_defaults(attributes)
    made = run_by(backend, spec, attributes, *arrays)
    want = several(spec.formula(*arrays, **given))
    for got, one in zip(made[: len(want)], want, strict=True):
        np.testing.assert_allclose(got, one, rtol=1e-12, atol=1e-12)
    grads = [RNG.standard_normal(np.shape(one)) for one in want]
    gradient = gradient_of(spec)
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    saved = (known[name] for name in gradient.inputs if name in known)
    found = run_by(backend, gradient, attributes, *saved, *grads)

    def loss(changed):
        outputs = several(spec.formula(*changed, **given))
        return sum(float(np.sum(one * grad)) for one, grad in zip(outputs, grads, strict=True))

    for place, got in zip(spec.differentiable_inputs, found, strict=True):
        direction = RNG.standard_normal(arrays[place].shape)
        up, down = (
            loss([*arrays[:place], arrays[place] + step * direction, *arrays[place + 1 :]])
            for step in (1e-6, -1e-6)
        )
        np.testing.assert_allclose(
            np.sum(got * direction), (up - down) / 2e-6, rtol=1e-6, atol=1e-7
        )


@pytest.mark.usefixtures("compiled_in_full")
def test_no_class_gives_nan_and_an_ignored_row_does_not_count():
    logits, labels = _numbers(3, 4), np.array([7, -100, 1], np.int32)
    op = SoftmaxCrossEntropy(reduction="none")
    found = op.forward(logits, labels)
    assert np.isnan(found[0])
    assert found[1] == 0
    logits[1] = np.nan
    assert op.forward(logits, labels)[1] == 0


@cases("rows", [0, 1, 63, 64, 65, 5000, 100_000])
def test_chunks_cover_every_row_once(rows):
    found = [row for part in linear_cross_entropy.chunks_of(rows) for row in range(rows)[part]]
    assert found == list(range(rows))


def test_chunks_agree_with_the_whole():
    hidden, weight = _numbers(200, 8).astype(np.float32), _numbers(11, 8).astype(np.float32)
    labels = RNG.integers(0, 11, 200).astype(np.int32)
    op = linear_cross_entropy.LinearCrossEntropy(8, 11, weight)
    found = op.forward(hidden, labels)
    want = linear_cross_entropy.formula(
        hidden.astype(np.float64), weight.astype(np.float64), labels
    )
    np.testing.assert_allclose(found, want, rtol=1e-5)
    of_hidden, of_weight = op.backward(np.float32(1))
    logits = hidden.astype(np.float64) @ weight.T
    share = np.exp(logits - logits.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    share[np.arange(200), labels] -= 1
    np.testing.assert_allclose(of_hidden, share @ weight / 200, atol=1e-6)
    np.testing.assert_allclose(of_weight, share.T @ hidden / 200, atol=1e-6)


def test_the_second_gradient_plans_no_kernel(monkeypatch):
    op = linear_cross_entropy.LinearCrossEntropy(
        8, 11, RNG.standard_normal((11, 8)).astype(np.float32)
    )
    hidden, labels = _numbers(200, 8).astype(np.float32), RNG.integers(0, 11, 200).astype(np.int32)
    op.forward(hidden, labels)
    first = op.backward(np.float32(1))
    monkeypatch.setattr(linear_cross_entropy.Kernel, "with_options", None)
    for one, other in zip(op.backward(np.float32(1)), first, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("compiled_in_full")
@cases("layout", rotary_embedding.LAYOUTS)
def test_rotary_backward_is_the_rotation_by_the_opposite_angle(layout):
    cos, sin = rotary_embedding.rotary_tables(6, 8, layout=layout)
    x = _numbers(3, 6, 8).astype(np.float32)
    op = rotary_embedding.RotaryEmbedding(layout)
    turned = op.forward(x, cos, sin)
    np.testing.assert_allclose(op.backward(turned), x, atol=1e-6)
    np.testing.assert_allclose(op.backward(x, x, cos, sin), op.forward(x, cos, -sin), atol=1e-6)


REFUSED = [
    (
        lambda: layer_norm.LayerNorm((4,)).forward(np.zeros((2, 3), np.float32)),
        "gamma has a wrong shape",
    ),
    (
        lambda: layer_norm.LayerNorm((3,), begin_norm_axis=2).forward(np.zeros((2, 3), np.float32)),
        "begin_norm_axis",
    ),
    (lambda: softmax.Softmax(3).forward(np.zeros((2, 3), np.float32)), "axis is out of range"),
    (
        lambda: softmax.Softmax((0, 1)),
        r"^Softmax: axis is not an integer; expected an integer, got \(0, 1\)",
    ),
    (
        lambda: softmax.LogSoftmax(1.0),
        r"^LogSoftmax: axis is not an integer; expected an integer, got 1\.0",
    ),
    (lambda: group_norm.GroupNorm(3, 4), "make no such groups"),
    (
        lambda: FusedCell(group_norm.GROUP_NORM, {"num_groups": 0}).forward(
            *[np.zeros((2, 3), np.float32)] * 3
        ),
        "^GroupNorm: num_groups is out of range; expected 1 or more, got 0",
    ),
    (
        lambda: FusedCell(BATCH_NORM_TRAINING, {}).forward(*[np.zeros(3, np.float32)] * 3),
        "^BatchNormTraining: x has no channels; expected two axes or more",
    ),
    (lambda: batch_norm.BatchNorm(3, activation="elu"), "unknown activation"),
    (lambda: batch_norm.BatchNorm(3).forward(np.zeros((2, 4), np.float32)), "a wrong shape"),
    (lambda: SoftmaxCrossEntropy(reduction="max"), "unknown reduction"),
    (lambda: SoftmaxCrossEntropy(label_smoothing=2), "label_smoothing"),
    (lambda: SoftmaxCrossEntropy(np.zeros((2, 2), np.float32)), "weight is not a vector"),
    (
        lambda: SoftmaxCrossEntropy(np.ones(3, np.float32)).forward(
            np.zeros((2, 4), np.float32), np.zeros(2, np.int32)
        ),
        "weight has a wrong shape",
    ),
    (lambda: rotary_embedding.RotaryEmbedding("thirds"), "unknown layout"),
    (
        lambda: rotary_embedding.RotaryEmbedding().forward(*[np.zeros((2, 3), np.float32)] * 3),
        "make no pairs",
    ),
    (lambda: token_embedding.TokenEmbedding(3, 4, padding_idx=3), "padding_idx"),
    (
        lambda: linear_cross_entropy.LinearCrossEntropy(3, 4).forward(
            np.zeros((2, 5), np.float32), np.zeros(2, np.int32)
        ),
        "the weight does not fit",
    ),
]


@cases("call, message", REFUSED)
def test_bad_input_names_operator_and_argument(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.usefixtures("compiled_in_full")
@cases("dtype", ["float16", "bfloat16"])
def test_a_sum_is_as_far_from_its_mean_as_it_is_when_rounded(dtype):
    """The gradient reads the rounded sum: in a row of one it vanishes."""
    kind = dtype_of(dtype).numpy
    x, residual = np.float32([[1.0]]).astype(kind), np.float32([[0.0037]]).astype(kind)
    one = np.ones(1, kind)
    op = AddLayerNorm((1,))
    op.forward(x, residual, one, one)
    _, _, of_gamma, _ = op.backward((np.ones((1, 1), kind), np.zeros((1, 1), kind)))
    assert of_gamma == 0
