"""Training losses with our operators and with MindSpore's differ by less than 1e-4 in float32."""

import numpy as np
import pytest

import custom_ops
from custom_ops.core import dispatch
from tests.cases import FULL, cases
from tests.custom_ops.modes import set_mode

ms = pytest.importorskip("mindspore")
nn, ops = ms.nn, ms.ops

pytestmark = pytest.mark.mindspore
STEPS = 200
PYNATIVE_STEPS = 20
QUICK_STEPS = 4
RELATIVE = 1e-4
TOKENS, WIDTH, HEADS = 12, 32, 4
CLASSES = 10


class Mlp(nn.Cell):
    """Two hidden layers."""

    def __init__(self, ours):
        super().__init__()
        kit = custom_ops if ours else nn
        self.first, self.second, self.third = (
            nn.Dense(16, 64),
            nn.Dense(64, 64),
            nn.Dense(64, CLASSES),
        )
        self.norm = kit.LayerNorm((64,))
        self.activation = kit.GELU(False)
        self.swish = custom_ops.Swish() if ours else nn.SiLU()

    def construct(self, x):
        hidden = self.activation(self.norm(self.first(x)))
        return self.third(self.swish(self.second(hidden)))


class Attention(nn.Cell):
    """Scaled dot-product attention from MindSpore's operators."""

    def construct(self, q, k, v):
        scores = ops.matmul(q, k.swapaxes(-1, -2)) * (WIDTH // HEADS) ** -0.5
        return ops.matmul(ops.softmax(scores, -1), v)


class AddNorm(nn.Cell):
    """A sum and its layer normalisation from MindSpore's operators."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((WIDTH,))

    def construct(self, x, residual):
        both = x + residual
        return self.norm(both), both


class OurAddNorm(nn.Cell):
    """The same with one operator and weights of the same names."""

    def __init__(self):
        super().__init__()
        self.norm = custom_ops.AddLayerNorm((WIDTH,))

    def construct(self, x, residual):
        return self.norm(x, residual)


class Block(nn.Cell):
    """A transformer block between an embedding and a classifier of each token."""

    def __init__(self, ours):
        super().__init__()
        kit = custom_ops if ours else nn
        self.embedding = nn.Dense(16, WIDTH)
        self.before = kit.LayerNorm((WIDTH,))
        self.query, self.key, self.value = (nn.Dense(WIDTH, WIDTH) for _ in range(3))
        self.attention = custom_ops.ScaledDotProductAttention() if ours else Attention()
        self.out = nn.Dense(WIDTH, WIDTH)
        self.add_norm = OurAddNorm() if ours else AddNorm()
        self.wide, self.narrow = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
        self.activation = kit.GELU(True)
        self.gate = kit.Softmax(-1)
        self.head = nn.Dense(WIDTH, CLASSES)

    def heads(self, x):
        return x.reshape((-1, TOKENS, HEADS, WIDTH // HEADS)).swapaxes(1, 2)

    def construct(self, x):
        x = self.embedding(x)
        normal = self.before(x)
        q, k = self.heads(self.query(normal)), self.heads(self.key(normal))
        seen = (
            self.attention(q, k, self.heads(self.value(normal)))
            .swapaxes(1, 2)
            .reshape((-1, TOKENS, WIDTH))
        )
        normal, x = self.add_norm(self.out(seen), x)
        x = x + self.narrow(self.activation(self.wide(normal)))
        return self.head(x * self.gate(x)).reshape((-1, CLASSES))


def _weights(net, seed):
    """The same initial weights for both; normalisations keep theirs."""
    rng = np.random.default_rng(seed)
    for one in net.trainable_params():
        if one.name.endswith(("weight", "bias")):
            one.set_data(
                ms.Tensor(
                    (rng.standard_normal(one.shape) / one.shape[-1] ** 0.5).astype(np.float32)
                )
            )


def _losses(made, shape, ours, steps):
    """The loss of each step; the data follow a learnable rule."""
    net = made(ours)
    _weights(net, 1)
    loss = custom_ops.SoftmaxCrossEntropy() if ours else nn.CrossEntropyLoss()
    optimizer = (custom_ops if ours else nn).Adam(net.trainable_params(), 1e-3)

    def forward(x, labels):
        return loss(net(x), labels)

    step = ms.value_and_grad(forward, None, optimizer.parameters)
    rng = np.random.default_rng(2)
    rule = rng.standard_normal((16, CLASSES))
    losses = []
    for _ in range(steps):
        x = rng.standard_normal(shape).astype(np.float32)
        labels = (x @ rule).argmax(-1).reshape(-1).astype(np.int32)
        value, gradients = step(ms.Tensor(x), ms.Tensor(labels))
        optimizer(gradients)
        losses.append(float(value.asnumpy()))
    return np.array(losses)


OPERATORS = {Mlp: 2 * 4 + 1, Block: 2 * 6 + 1}
"""Kernels in a step: each operator, its gradient, and the optimizer."""


@cases(
    "made, shape, mode, steps",
    [
        (Mlp, (32, 16), "pynative", QUICK_STEPS),
        pytest.param(Mlp, (32, 16), "graph", STEPS, marks=FULL),
        pytest.param(Mlp, (32, 16), "pynative", PYNATIVE_STEPS, marks=FULL),
        pytest.param(Block, (4, TOKENS, 16), "graph", STEPS, marks=FULL),
        pytest.param(Block, (4, TOKENS, 16), "pynative", PYNATIVE_STEPS, marks=FULL),
    ],
    per_item=1,
)
def test_losses_are_those_without_our_operators(made, shape, mode, steps):
    set_mode(mode)
    without = _losses(made, shape, False, steps)
    calls = dispatch.count_calls()
    found = _losses(made, shape, True, steps)
    assert dispatch.count_calls() - calls >= OPERATORS[made] * steps
    if steps == STEPS:
        assert without[-20:].mean() < 0.9 * without[:20].mean()
    np.testing.assert_allclose(found, without, rtol=RELATIVE)
