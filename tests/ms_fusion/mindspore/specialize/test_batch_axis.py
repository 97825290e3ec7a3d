"""The padding proof for batches: MindSpore front-end graphs, and results for each verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ms_fusion.mindspore.presets import net_checks
from ms_fusion.mindspore.specialize import padding
from ms_fusion.mindspore.specialize.batch_axis import BatchAxis, prove
from ms_fusion.mindspore.state import mindspore_state
from tests.cases import FULL, cases

mindspore = pytest.importorskip("mindspore")
ops = mindspore.ops

SAMPLES, PADDED = 3, 8
RNG = np.random.default_rng(7)
WEIGHT = RNG.standard_normal((5, 4)).astype(np.float32)
ROW = RNG.standard_normal((1, 5)).astype(np.float32)


def chain(x):
    return ops.tanh(x) * 2.0 + ops.exp(-x)


def rows_normalised(x):
    return x / x.sum(-1, keepdims=True), ops.softmax(x, -1)


def reshaped(x):
    n, s, d = x.shape
    return x.reshape(n * s, d), x.reshape(n, s * d), x.transpose(1, 0, 2), ops.expand_dims(x, 0)


def heads(x):
    n, s, d = x.shape
    y = x.reshape(n, s, 2, d // 2).transpose(0, 2, 1, 3)
    return ops.matmul(y, y.transpose(0, 1, 3, 2)).reshape(n * 2, s, s)


def taken(x):
    return x[:, 0], x[:, 1:, ::1], x[..., -1:]


def made(x):
    zeros = ops.broadcast_to(x.new_ones((1, 1, 2)), (x.shape[0], x.shape[1], 2))
    return ops.concat((x, zeros), axis=-1)


def along_others(x):
    return ops.cumsum(x, 1), ops.max(x, axis=2)[0], ops.split(x, 2, axis=1)[0]


def images(x):
    return (
        ops.max_pool2d(x, 2, return_indices=True),
        ops.adaptive_avg_pool2d(x, 1),
        ops.stack((x, x), 0),
    )


def minor(x):
    """After this reshape the samples are the inner part of an axis, not contiguous."""
    y = x.transpose(1, 0, 2)
    return y.reshape(-1, y.shape[2])


def over_batch(x):
    return ops.softmax(x, 0)


def normed_from(x, axis):
    norm = ops.LayerNorm(begin_norm_axis=axis, begin_params_axis=2)
    return norm(x, x.new_ones(6), x.new_zeros(6))[0]


def each_normed(x):
    return normed_from(x, 1)


def all_normed(x):
    return normed_from(x, 0)


def summed(x):
    return x.sum(0)


def mean_of_all(x):
    return x - x.mean()


def reversed_batch(x):
    return x[::-1]


def first_sample(x):
    return x - x[0]


def one_row(x):
    return x[0, : x.shape[0], 0]


def counted(x):
    return x / x.shape[0]


def numbered(x):
    return x + ops.arange(x.shape[0]).reshape(-1, 1, 1)


def picked(x):
    """By a constant tensor of the graph with one value per sample."""
    numbers = ()
    for number in range(x.shape[0]):
        numbers = (*numbers, number)
    return ops.gather(x, mindspore.Tensor(numbers), 0) * 2.0


def tiled(x):
    return ops.tile(x, (2, 1, 1))


def beside(x):
    return ops.concat((x, x), axis=0)


def cumulated(x):
    return ops.cumsum(x, 0)


def gram(x):
    y = x.reshape(x.shape[0], -1)
    return ops.matmul(y, y.T)


def contracted(x):
    y = x.reshape(x.shape[0], -1)
    return ops.matmul(y.T, y)


def branched(x):
    if x.shape[0] > 4:
        return x * 2.0
    return x + 0.0


def sorted_samples(x):
    return ops.sort(x, axis=0)[0]


def together(x):
    return (
        chain(x),
        rows_normalised(x),
        each_normed(x),
        reshaped(x),
        heads(x),
        taken(x),
        made(x),
        along_others(x),
    )


APART = (chain, rows_normalised, each_normed, reshaped, heads, taken, made, along_others)
MIXED = (
    minor,
    over_batch,
    all_normed,
    summed,
    mean_of_all,
    reversed_batch,
    first_sample,
    one_row,
    counted,
    numbered,
    picked,
    tiled,
    beside,
    cumulated,
    gram,
    contracted,
    branched,
    sorted_samples,
)
ALIKE = (
    summed,
    first_sample,
    counted,
    one_row,
    cumulated,
    contracted,
    sorted_samples,
    mean_of_all,
    numbered,
    beside,
)
"""Further cases of `make test-all`: others have the same refusal."""


@pytest.fixture(autouse=True)
def graph_mode() -> None:
    mindspore_state.set_mode(mindspore_state.mindspore_module().GRAPH_MODE)


def proof_of(function: Callable[..., Any], inputs: np.ndarray) -> tuple[Any, Any, Any]:
    """The proof, the inputs and the padded inputs."""
    inputs = mindspore_state.mindspore_module().Tensor(inputs)
    longer = padding.pad_batch((inputs,), (0,), PADDED)[0]
    small, large = (
        net_checks.front_end_graph(function, (item,), mindspore_state.dump_front_end_graph)
        for item in (inputs, longer)
    )
    return prove(small, large, SAMPLES, PADDED), inputs, longer


def tensors_of(result: Any) -> list[Any]:
    if not isinstance(result, tuple | list):
        return [result]
    return [tensor for item in result for tensor in tensors_of(item)]


@cases(
    "function, shape",
    [
        (together, (SAMPLES, 4, 6)),
        (images, (SAMPLES, 2, 4, 4)),
        *(pytest.param(function, (SAMPLES, 4, 6), marks=FULL) for function in APART),
    ],
)
def test_samples_that_stay_apart_are_proved_to(function, shape):
    proof, inputs, longer = proof_of(function, RNG.standard_normal(shape).astype(np.float32))
    assert not proof.reason
    # for any content of the other samples
    others = longer.asnumpy().copy()
    others[SAMPLES:] = np.nan
    result = function(mindspore_state.mindspore_module().Tensor(others))
    got = padding.cut(result, iter(proof.results), SAMPLES)
    for ours, wanted in zip(tensors_of(got), tensors_of(function(inputs)), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted.asnumpy(), rtol=1e-6, atol=1e-6)


@cases("function", [pytest.param(one, marks=FULL) if one in ALIKE else one for one in MIXED])
def test_samples_that_meet_are_found(function):
    proof, *_ = proof_of(function, RNG.standard_normal((SAMPLES, 4, 6)).astype(np.float32))
    assert proof.reason
    assert not proof.results


def test_a_reason_names_the_operator_and_its_place():
    proof, *_ = proof_of(over_batch, RNG.standard_normal((SAMPLES, 4)).astype(np.float32))
    assert proof.reason.startswith("Softmax")
    assert "test_batch_axis.py:" in proof.reason


def test_where_a_result_carries_the_batch():
    proof, *_ = proof_of(heads, RNG.standard_normal((SAMPLES, 4, 6)).astype(np.float32))
    assert proof.results == (BatchAxis(0, 2),)
