"""Small training scripts in two sizes, as MindSpore users write them; a net computes its loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


class VariationalAutoencoder(nn.Cell):
    """A variational autoencoder of two dense layers each way; cross entropy and KL divergence."""

    def __init__(self, size: int, hidden: int, code: int):
        super().__init__()
        self.first, self.mean, self.spread = (
            nn.Dense(size, hidden),
            nn.Dense(hidden, code),
            nn.Dense(hidden, code),
        )
        self.third, self.last = nn.Dense(code, hidden), nn.Dense(hidden, size)

    def construct(self, x: Any, noise: Any) -> Any:
        hidden = ops.relu(self.first(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        code = mean + noise * ops.exp(0.5 * spread)
        made = ops.sigmoid(self.last(ops.relu(self.third(code))))
        distance = ops.binary_cross_entropy(made, x, reduction="sum")
        divergence = -0.5 * ops.sum(1 + spread - mean * mean - ops.exp(spread))
        return (distance + divergence) / x.shape[0]


class Dropped(nn.Cell):
    """A perceptron with dropout."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.first, self.second, self.last = (
            nn.Dense(size, hidden),
            nn.Dense(hidden, hidden),
            nn.Dense(hidden, 10),
        )
        self.drop, self.loss = nn.Dropout(p=0.2), nn.CrossEntropyLoss()

    def construct(self, x: Any, wanted: Any) -> Any:
        x = self.drop(ops.relu(self.first(x)))
        return self.loss(self.last(self.drop(ops.relu(self.second(x)))), wanted)


class LeNet(nn.Cell):
    """Two convolutions with pooling and three dense layers."""

    def __init__(self, width: int):
        super().__init__()
        self.first, self.second = (
            nn.Conv2d(1, 6 * width, 5),
            nn.Conv2d(6 * width, 16 * width, 5, pad_mode="valid"),
        )
        self.pool, self.flat, self.loss = nn.MaxPool2d(2, 2), nn.Flatten(), nn.CrossEntropyLoss()
        sizes = (400 * width, 120 * width, 84 * width)
        self.third, self.fourth, self.last = (
            nn.Dense(*sizes[:2]),
            nn.Dense(*sizes[1:]),
            nn.Dense(sizes[2], 10),
        )

    def construct(self, x: Any, wanted: Any) -> Any:
        x = self.pool(ops.relu(self.second(self.pool(ops.relu(self.first(x))))))
        x = ops.relu(self.fourth(ops.relu(self.third(self.flat(x)))))
        return self.loss(self.last(x), wanted)


class Sentences(nn.Cell):
    """A recurrent layer over tokens and a classifier of four classes on its last state."""

    def __init__(self, kind: type[nn.Cell], words: int, size: int, hidden: int):
        super().__init__()
        self.table, self.layer = nn.Embedding(words, size), kind(size, hidden, batch_first=True)
        self.last, self.loss = nn.Dense(hidden, 4), nn.CrossEntropyLoss()

    def construct(self, words: Any, wanted: Any) -> Any:
        return self.loss(self.last(self.layer(self.table(words))[0][:, -1]), wanted)


class Unrolled(nn.Cell):
    """A loop over the steps of an LSTMCell."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.cell, self.hidden = nn.LSTMCell(size, hidden), hidden
        self.last, self.loss = nn.Dense(hidden, 4), nn.CrossEntropyLoss()

    def construct(self, x: Any, wanted: Any) -> Any:
        state = memory = ops.zeros((x.shape[0], self.hidden), ms.float32)
        for step in range(x.shape[1]):
            state, memory = self.cell(x[:, step], (state, memory))
        return self.loss(self.last(state), wanted)


class SkipGram(nn.Cell):
    """Skip-gram with five negative samples."""

    def __init__(self, words: int, size: int):
        super().__init__()
        self.table, self.around = nn.Embedding(words, size), nn.Embedding(words, size)

    def construct(self, word: Any, near: Any, far: Any) -> Any:
        given = self.table(word)
        likely = ops.sum(given * self.around(near), -1)
        unlikely = ops.sum(ops.expand_dims(given, 1) * self.around(far), -1)
        found = ops.log(ops.sigmoid(likely) + 1e-9).mean()
        return -(found + ops.log(ops.sigmoid(-unlikely) + 1e-9).sum(-1).mean())


class Factors(nn.Cell):
    """Matrix factorisation: ratings of users for items."""

    def __init__(self, users: int, items: int, size: int):
        super().__init__()
        self.users, self.items = nn.Embedding(users, size), nn.Embedding(items, size)
        self.mild, self.good = nn.Embedding(users, 1), nn.Embedding(items, 1)

    def construct(self, user: Any, item: Any, wanted: Any) -> Any:
        found = ops.sum(self.users(user) * self.items(item), -1) + self.mild(user).squeeze(-1)
        return ops.mean(ops.square(found + self.good(item).squeeze(-1) - wanted))


class Logistic(nn.Cell):
    """Logistic regression."""

    def __init__(self, size: int):
        super().__init__()
        self.only, self.loss = nn.Dense(size, 1), nn.BCEWithLogitsLoss()

    def construct(self, x: Any, wanted: Any) -> Any:
        return self.loss(self.only(x).squeeze(-1), wanted)


class MaskedEncoder(nn.Cell):
    """MindSpore's transformer encoder over padded sentences; the masked mean predicts a class."""

    def __init__(self, words: int, size: int, heads: int, layers: int):
        super().__init__()
        layer = nn.TransformerEncoderLayer(size, heads, 4 * size, dropout=0.0, batch_first=True)
        self.table, self.encoder = nn.Embedding(words, size), nn.TransformerEncoder(layer, layers)
        self.last, self.loss = nn.Dense(size, 4), nn.CrossEntropyLoss()

    def construct(self, words: Any, padding: Any, wanted: Any) -> Any:
        x = self.encoder(self.table(words), src_key_padding_mask=padding)
        kept = ops.expand_dims(ops.logical_not(padding).astype(ms.float32), -1)
        return self.loss(self.last(ops.sum(x * kept, 1) / ops.sum(kept, 1)), wanted)


class NormedAutoencoder(nn.Cell):
    """An autoencoder of dense layers with batch norms."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        sizes = (size, hidden, hidden // 4, hidden)
        layers = [
            layer
            for before, after in pairwise(sizes)
            for layer in (nn.Dense(before, after), nn.BatchNorm1d(after), nn.LeakyReLU(0.1))
        ]
        self.layers = nn.SequentialCell([*layers, nn.Dense(hidden, size)])

    def construct(self, x: Any) -> Any:
        return ops.mean(ops.square(self.layers(x) - x))


class PolicyGradient(nn.Cell):
    """REINFORCE with an entropy bonus."""

    def __init__(self, size: int, hidden: int, actions: int):
        super().__init__()
        self.first, self.second, self.last = (
            nn.Dense(size, hidden),
            nn.Dense(hidden, hidden),
            nn.Dense(hidden, actions),
        )

    def construct(self, seen: Any, done: Any, brought: Any) -> Any:
        x = ops.tanh(self.second(ops.tanh(self.first(seen))))
        likely = ops.log_softmax(self.last(x), -1)
        gain = (brought - brought.mean()) / (brought.std() + 1e-6)
        chosen = ops.gather_elements(likely, 1, ops.expand_dims(done, 1)).squeeze(1)
        return -(chosen * gain).mean() + 0.01 * ops.sum(ops.exp(likely) * likely, -1).mean()


class Contrast(nn.Cell):
    """Contrastive loss: two views of each example attract, all others repel."""

    def __init__(self, size: int, hidden: int, code: int):
        super().__init__()
        self.first, self.second = nn.Dense(size, hidden), nn.Dense(hidden, code)

    def construct(self, one: Any, other: Any, partners: Any) -> Any:
        x = ops.concat((one, other), 0)
        x = self.second(ops.relu(self.first(x)))
        x = x / ops.sqrt(ops.sum(x * x, -1, keepdim=True) + 1e-8)
        alike = ops.matmul(x, x.T) / 0.5 - 1e9 * ops.eye(x.shape[0], x.shape[0], ms.float32)
        return ops.cross_entropy(alike, partners)


def _numbers(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(list(shape)).standard_normal(shape).astype(np.float32))


def _shares(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(list(shape)).random(shape).astype(np.float32))


def _choices(below: int, *shape: int) -> Tensor:
    return Tensor(np.random.default_rng([below, *shape]).integers(0, below, shape).astype(np.int32))


def _padding(sentences: int, words: int) -> Tensor:
    lengths = np.random.default_rng(5).integers(words // 2, words + 1, sentences)
    return Tensor(np.arange(words)[None] >= lengths[:, None])


def _partners(pairs: int) -> Tensor:
    return Tensor(((np.arange(2 * pairs) + pairs) % (2 * pairs)).astype(np.int32))


def _adam(parameters: Any) -> nn.Cell:
    return nn.Adam(parameters, 1e-3)


def _momentum(parameters: Any) -> nn.Cell:
    return nn.Momentum(parameters, 1e-3, 0.9)


def _decaying(parameters: Any) -> nn.Cell:
    return nn.AdamWeightDecay(parameters, 1e-3, weight_decay=0.01)


def _descent(parameters: Any) -> nn.Cell:
    return nn.SGD(parameters, 1e-2)


@dataclass(frozen=True)
class Script:
    """A training script.

    Attributes:
        loss: builds the net that computes the loss.
        optimizer: builds the optimizer for the parameters.
        inputs: builds the inputs of a step.
        draws: whether it uses random numbers; PyNative mode draws other ones than a compiled step.
    """

    loss: Callable[[], nn.Cell]
    optimizer: Callable[[Any], nn.Cell]
    inputs: Callable[[], tuple[Tensor, ...]]
    draws: bool = False

    def build(self) -> tuple[nn.Cell, nn.Cell]:
        """Net and optimizer with deterministic weights and random numbers."""
        ms.set_seed(1)
        net, random = self.loss(), np.random.default_rng(1)
        for one in net.get_parameters():
            if one.ndim > 1:
                spread = (0.5 / np.prod(one.shape[1:])) ** 0.5
                one.set_data(
                    Tensor((random.standard_normal(one.shape) * spread).astype(np.float32))
                )
        return net.set_train(), self.optimizer(net.trainable_params())


SCRIPTS: Mapping[str, Script] = {
    "VAE, small": Script(
        lambda: VariationalAutoencoder(784, 400, 20),
        _decaying,
        lambda: (_shares(64, 784), _numbers(64, 20)),
    ),
    "VAE": Script(
        lambda: VariationalAutoencoder(784, 1024, 64),
        _decaying,
        lambda: (_shares(256, 784), _numbers(256, 64)),
    ),
    "dropout, small": Script(
        lambda: Dropped(64, 64), _adam, lambda: (_numbers(32, 64), _choices(10, 32)), draws=True
    ),
    "dropout": Script(
        lambda: Dropped(784, 1024),
        _adam,
        lambda: (_numbers(128, 784), _choices(10, 128)),
        draws=True,
    ),
    "LeNet, small": Script(
        lambda: LeNet(1), _momentum, lambda: (_numbers(32, 1, 28, 28), _choices(10, 32))
    ),
    "LeNet": Script(
        lambda: LeNet(2), _momentum, lambda: (_numbers(64, 1, 28, 28), _choices(10, 64))
    ),
    "GRU, small": Script(
        lambda: Sentences(nn.GRU, 1000, 32, 64),
        _adam,
        lambda: (_choices(1000, 16, 20), _choices(4, 16)),
    ),
    "GRU": Script(
        lambda: Sentences(nn.GRU, 5000, 128, 256),
        _adam,
        lambda: (_choices(5000, 64, 40), _choices(4, 64)),
    ),
    "LSTM, small": Script(
        lambda: Sentences(nn.LSTM, 1000, 32, 64),
        _adam,
        lambda: (_choices(1000, 16, 20), _choices(4, 16)),
    ),
    "LSTM": Script(
        lambda: Sentences(nn.LSTM, 5000, 128, 256),
        _adam,
        lambda: (_choices(5000, 64, 40), _choices(4, 64)),
    ),
    "LSTMCell, small": Script(
        lambda: Unrolled(32, 64), _adam, lambda: (_numbers(16, 10, 32), _choices(4, 16))
    ),
    "LSTMCell": Script(
        lambda: Unrolled(128, 256), _adam, lambda: (_numbers(64, 10, 128), _choices(4, 64))
    ),
    "skip-gram, small": Script(
        lambda: SkipGram(2000, 32),
        _descent,
        lambda: (_choices(2000, 64), _choices(1999, 64), _choices(2000, 64, 5)),
    ),
    "skip-gram": Script(
        lambda: SkipGram(20000, 128),
        _adam,
        lambda: (_choices(20000, 512), _choices(19999, 512), _choices(20000, 512, 5)),
    ),
    "factors, small": Script(
        lambda: Factors(500, 800, 16),
        _descent,
        lambda: (_choices(500, 128), _choices(800, 128), _numbers(128)),
    ),
    "factors": Script(
        lambda: Factors(6000, 4000, 64),
        _adam,
        lambda: (_choices(6000, 1024), _choices(4000, 1024), _numbers(1024)),
    ),
    "logistic, small": Script(
        lambda: Logistic(30),
        _descent,
        lambda: (_numbers(64, 30), _choices(2, 64).astype(ms.float32)),
    ),
    "logistic": Script(
        lambda: Logistic(1000),
        _descent,
        lambda: (_numbers(4096, 1000), _choices(2, 4096).astype(ms.float32)),
    ),
    "encoder, small": Script(
        lambda: MaskedEncoder(500, 32, 4, 1),
        _adam,
        lambda: (_choices(500, 8, 16), _padding(8, 16), _choices(4, 8)),
    ),
    "encoder": Script(
        lambda: MaskedEncoder(5000, 256, 8, 2),
        _decaying,
        lambda: (_choices(5000, 16, 64), _padding(16, 64), _choices(4, 16)),
    ),
    "autoencoder, small": Script(
        lambda: NormedAutoencoder(64, 32), _adam, lambda: (_numbers(64, 64),)
    ),
    "autoencoder": Script(
        lambda: NormedAutoencoder(784, 512),
        lambda parameters: nn.RMSProp(parameters, 1e-3),
        lambda: (_numbers(256, 784),),
    ),
    "policy, small": Script(
        lambda: PolicyGradient(4, 64, 2),
        _adam,
        lambda: (_numbers(64, 4), _choices(2, 64), _numbers(64)),
    ),
    "policy": Script(
        lambda: PolicyGradient(64, 256, 18),
        _adam,
        lambda: (_numbers(2048, 64), _choices(18, 2048), _numbers(2048)),
    ),
    "contrast, small": Script(
        lambda: Contrast(64, 64, 32),
        _adam,
        lambda: (_numbers(32, 64), _shares(32, 64), _partners(32)),
    ),
    "contrast": Script(
        lambda: Contrast(784, 512, 128),
        _adam,
        lambda: (_numbers(256, 784), _shares(256, 784), _partners(256)),
    ),
}
