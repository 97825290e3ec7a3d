"""`ms.amp` on patched nets, and `patch` after `ms.amp`: works, or the error states the order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cases import FULL, cases

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from mindspore import nn, ops  # noqa: E402

from custom_ops import patch  # noqa: E402
from custom_ops.patching import mixed_precision  # noqa: E402
from tbe_impl.errors import InputError  # noqa: E402


class Block(nn.Cell):
    """A convolution, attention, and a product as a function."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.relu = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
        self.query, self.key, self.value = nn.Dense(8, 8), nn.Dense(8, 8), nn.Dense(8, 8)
        self.feed = nn.SequentialCell(nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 8))

    def construct(self, x, scale=None):
        x = self.relu(self.bn(self.conv(x)))
        x = x.reshape(x.shape[0], 8, -1).swapaxes(1, 2)
        scores = ops.matmul(self.query(x), self.key(x).swapaxes(-1, -2)) / 8**0.5
        if scale is not None:
            scores = scores * scale
        return self.feed(ops.matmul(ops.softmax(scores, -1), self.value(x)))


class Product(nn.Cell):
    """A product as a function."""

    def construct(self, x):
        return ops.matmul(x, x)


class Summed(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x):
        return self.net(x).sum()


IMAGE = ms.Tensor(np.random.default_rng(0).standard_normal((2, 3, 4, 4)), ms.float32)


@pytest.fixture(autouse=True)
def _rewritten_nets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MindSpore writes the rewritten nets here


def near(got, want):
    assert got.dtype == ms.float32
    assert np.abs(got.asnumpy() - want).max() <= 0.01 * np.abs(want).max()
    assert not np.array_equal(got.asnumpy(), want)  # part of it was narrow


@cases(
    "level, mode",
    [
        pytest.param("O1", "graph", marks=FULL),
        ("O1", "pynative"),
        pytest.param("O2", "graph", marks=FULL),
        pytest.param("O3", "pynative", marks=FULL),
    ],
)
def test_levels_on_a_patched_net(level, mode, full):
    """In float16: MindSpore's own dense layers lack bfloat16 on CPU.

    ``make test`` has no gradients.
    """
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    net = Block()
    want = net(IMAGE).asnumpy()
    record = patch(net, IMAGE)
    assert len(record.replaced) == 3 and not record.refused
    net = ms.amp.auto_mixed_precision(net, level)
    near(net(IMAGE), want)
    if not full:
        return
    net.set_train()
    weights = net.trainable_params()
    value, grads = ms.value_and_grad(Summed(net), None, weights)(IMAGE)
    assert np.isfinite(value.asnumpy())
    assert all(
        grad.dtype == one.dtype == ms.float32 for grad, one in zip(grads, weights, strict=True)
    )
    assert all(np.isfinite(grad.asnumpy()).all() for grad in grads)


@cases("level", [pytest.param("O1", marks=FULL), "O3"])
def test_a_net_that_has_a_level_stays_and_says_the_order(level):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    net = ms.amp.auto_mixed_precision(Block(), level)
    want = net(IMAGE).asnumpy()
    record = patch(net, IMAGE)
    assert not record.replaced
    assert f"ms.amp has set it to level {level} already; call patch first" in str(record)
    assert np.array_equal(net(IMAGE).asnumpy(), want)


def test_level_o1_narrows_products_and_keeps_names():
    net = Block()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    names = [one.name for one in net.trainable_params()]
    patch(net, IMAGE)
    net = ms.amp.auto_mixed_precision(net, "O1")
    kinds = [
        type(cell.cell).__name__
        for _, cell in net.cells_and_names()
        if isinstance(cell, mixed_precision.NarrowCell)
    ]
    assert sorted(set(kinds)) == [
        "Conv2d",
        "ConvBNReLU",
        "Dense",
        "MatMulBiasReLU",
        "ScaledDotProductAttention",
    ]
    assert net.conv.out_channels == 8
    assert [one.name for one in net.trainable_params()] == names


def test_a_net_that_is_not_patched_is_mindspores_affair():
    patch(nn.SequentialCell(nn.GELU()), ms.Tensor(np.ones(4, np.float32)))
    made = ms.amp.auto_mixed_precision(Product(), "O1")
    assert type(made).__name__.startswith("ProductOpt")


def test_rewriting_with_a_list_of_what_stays_wide_is_refused():
    from mindspore.train import amp

    net = Block()
    patch(net, IMAGE)
    with pytest.raises(InputError, match=r"cannot write a patched net anew.*ms.amp before patch"):
        getattr(amp, mixed_precision.REWRITE_FUNCTION)(net, ms.float16, black_list=[])
