"""Dropout: rate, positions, and the same mask in the gradient."""

from __future__ import annotations

import re

import numpy as np
import pytest

from custom_ops import BiasDropoutAdd
from custom_ops.core.computation import Computation
from custom_ops.core.counter_random import random_bits_in_numpy
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_interface import ArraySpec, program_of
from custom_ops.operators.bias_dropout_add import BIAS_DROPOUT_ADD
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode

ONES, ZERO = np.ones((512, 512), np.float32), np.zeros(512, np.float32)


def keep_mask(op, x=ONES):
    return op.forward(x, ZERO[: x.shape[-1]], 0 * x) != 0


def test_the_share_that_stays():
    for p in (0.1, 0.5, 0.9):
        assert abs(keep_mask(BiasDropoutAdd(p=p, seed=1)).mean() - (1 - p)) < 0.005
    assert abs(keep_mask(BiasDropoutAdd(keep_prob=0.8, seed=1)).mean() - 0.8) < 0.005


def test_draws_are_independent_of_each_other_and_of_neighbours():
    op = BiasDropoutAdd(p=0.5, seed=3)
    draws = [keep_mask(op) - 0.5 for _ in range(3)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert abs((draws[one] * draws[other]).mean()) < 0.003
    for first in draws:
        for step in (1, 2, 64, 512):
            flat = first.reshape(-1)
            assert abs((flat[step:] * flat[:-step]).mean()) < 0.003


def test_every_bit_is_even():
    numbers = random_bits_in_numpy((1 << 18,), np.array([7], np.int32))
    for bit in range(32):
        assert abs((numbers >> np.uint32(bit) & 1).mean() - 0.5) < 0.005


def test_a_seed_gives_the_same_again():
    one, other = BiasDropoutAdd(seed=5), BiasDropoutAdd(seed=5)
    assert np.array_equal(keep_mask(one), keep_mask(other))
    assert np.array_equal(keep_mask(one), keep_mask(other))
    assert not np.array_equal(keep_mask(BiasDropoutAdd(seed=5)), keep_mask(BiasDropoutAdd(seed=6)))


def test_without_training_nothing_is_dropped():
    op = BiasDropoutAdd(p=0.9, seed=1)
    assert np.array_equal(op.forward(ONES, ZERO + 1, ONES, training=False), 3 * ONES)
    assert [grad.sum() for grad in op.backward(ONES)] == [ONES.size] * 3


def test_the_gradient_drops_the_same():
    op = BiasDropoutAdd(p=0.25, seed=1)
    stays = keep_mask(op)
    of_x, of_bias, of_residual = op.backward(ONES)
    assert np.allclose(of_x, stays / 0.75)
    assert np.allclose(of_bias, stays.sum(0) / 0.75)
    assert np.array_equal(of_residual, ONES)


@cases("p", [-0.5, 1.0, 1.5, np.nan])
def test_other_shares_are_refused(p):
    with pytest.raises(
        InputError, match=rf"BiasDropoutAdd: p is out of range; expected 0 <= p < 1, got {p}"
    ):
        BiasDropoutAdd(p=p)
    with pytest.raises(InputError, match="keep_prob is out of range; expected 0 < keep_prob <= 1"):
        BiasDropoutAdd(1.0 - p)
    with pytest.raises(
        InputError, match="BiasDropoutAdd: p is not a number; expected a number, got 'a'"
    ):
        BiasDropoutAdd(p="a")


@pytest.mark.mindspore
@cases(
    "p, mode",
    [
        pytest.param(p, mode, marks=FULL if mode == "graph" else [])
        for p in (-0.5, 1.0, 1.5, "a")
        for mode in MODES
    ],
)
def test_the_function_refuses_them_too(p, mode):
    ms = pytest.importorskip("mindspore")
    from custom_ops import functional

    set_mode(mode)
    x, key = ms.Tensor(ONES), ms.Tensor([1], ms.int32)

    class Net(ms.nn.Cell):
        def construct(self, x):
            return functional.bias_dropout_add(x, x, x, key, p=p)

    with pytest.raises(
        InputError, match=r"BiasDropoutAdd: p is (out of range|not a number); expected"
    ):
        Net()(x)


@pytest.mark.mindspore
@cases(
    "route, mode",
    [
        ("native", "graph"),
        pytest.param("native", "pynative", marks=FULL),
        pytest.param("composite", "graph", marks=FULL),
        pytest.param("composite", "pynative", marks=FULL),
    ],
)
def test_inside_mindspore(mode, route):
    ms = pytest.importorskip("mindspore")

    class Twice(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.op = BiasDropoutAdd(p=0.5, seed=3, route=route)

        def construct(self, x, bias, residual):
            return self.op(self.op(x, bias, residual), bias, residual)

    set_mode(mode)
    x, bias = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)
    bias = bias[0]
    tensors = [ms.Tensor(item) for item in (x, bias, x)]
    first, second = BiasDropoutAdd(p=0.5, seed=3), BiasDropoutAdd(p=0.5, seed=3)
    second.forward(x, bias, x)
    want = second.forward(first.forward(x, bias, x), bias, x)
    net = Twice().set_train()
    assert np.allclose(net(*tensors).asnumpy(), want, atol=1e-5)
    # its gradient belongs to the next two draws; the first is not read from the state after the
    # second
    own, later = BiasDropoutAdd(p=0.5, seed=3), BiasDropoutAdd(p=0.5, seed=3)
    for _ in range(2):
        own.forward(x, bias, x), later.forward(x, bias, x)
    later.forward(x, bias, x)
    middle = own.forward(x, bias, x)
    later.forward(middle, bias, x)
    of_middle, late_bias, late_residual = later.backward(np.ones_like(x))
    of_x, of_bias, of_residual = own.backward(of_middle)
    wanted = (of_x, of_bias + late_bias, of_residual + late_residual)
    for got, one in zip(ms.grad(net, (0, 1, 2))(*tensors), wanted, strict=True):
        assert np.allclose(got.asnumpy(), one, atol=1e-5)
    net.set_train(False)
    assert np.allclose(net(*tensors).asnumpy(), 3 * x + 2 * bias, atol=1e-5)


@cases("p", [0.0, 0.1])
def test_the_gradient_is_one_pass_in_c(p):
    """Unchanged values are copied with the rest; the bias gradient is summed by row."""
    spec = gradient_of(BIAS_DROPOUT_ADD)
    other = {"bias": ArraySpec((32,), "float32"), "key": ArraySpec((1,), "int32")}
    rows = ArraySpec((64, 32), "float32")
    kernel = Computation(spec, {"p": p}).kernel([other.get(name, rows) for name in spec.inputs])
    assert program_of(kernel) is not None
    assert len(re.findall(r"int64_t i\d+ = begin;", kernel.source)) == 1
    assert "_columns(" in kernel.source
