"""Text generation by a small causal net: growing sequences, and sequences that are padded."""

import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf

WIDTH, WORDS, HEADS, LONGEST = 16, 40, 2, 32
LENGTHS = (8, 16)
compilations = []
for owner in (ms._c_expression.GraphExecutor_, ms._c_expression.JitExecutor_):

    def compile(self, *args, original=owner.compile, **kwargs):
        compilations.append(1)
        return original(self, *args, **kwargs)

    owner.compile = compile


class Net(nn.Cell):
    """One layer of a causal transformer."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.before, self.after = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.projected, self.back = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
        self.head = nn.Dense(WIDTH, WORDS)

    def construct(self, ids):
        batch, length = ids.shape
        x = self.words(ids) + self.places(ops.arange(length))
        parts = self.projected(self.before(x)).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = (parts[:, :, index].transpose(0, 2, 1, 3) for index in range(3))
        hidden = ops.triu(ops.full((length, length), -1e9, dtype=ms.float32), 1)
        scores = ops.softmax(ops.matmul(q, k.transpose(0, 1, 3, 2)) * 0.35 + hidden, -1)
        joined = ops.matmul(scores, v).transpose(0, 2, 1, 3).reshape(batch, length, WIDTH)
        return self.head(self.after(x + self.back(joined)))


net, random = Net(), np.random.default_rng(int(sys.argv[1]))
for parameter in net.get_parameters():
    parameter.set_data(Tensor(random.standard_normal(parameter.shape).astype(np.float32)))


def grown(tokens):
    """The next token in PyNative mode, without compilation."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    return int(ops.argmax(net(Tensor([tokens], ms.int32))[0, -1]))


class Step(nn.Cell):
    """One token of the same net, with keys and values of the earlier tokens in parameters."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        kept = np.zeros((1, HEADS, LONGEST, WIDTH // HEADS), np.float32)
        self.keys = ms.Parameter(Tensor(kept), name="keys", requires_grad=False)
        self.values = ms.Parameter(Tensor(kept), name="values", requires_grad=False)
        self.places = Tensor(np.arange(LONGEST).reshape(1, 1, LONGEST, 1), ms.int32)

    def construct(self, token, place):
        x = self.net.words(token) + self.net.places(place)
        parts = self.net.projected(self.net.before(x)).reshape(1, 1, 3, HEADS, WIDTH // HEADS)
        q, k, v = (parts[:, :, index].transpose(0, 2, 1, 3) for index in range(3))
        here = ops.equal(self.places, place)
        keys, values = ops.select(here, k, self.keys), ops.select(here, v, self.values)
        ops.assign(self.keys, keys)
        ops.assign(self.values, values)
        later = ops.cast(ops.greater(self.places, place), ms.float32) * -1e9
        scores = ops.matmul(q, keys.transpose(0, 1, 3, 2)) * 0.35 + later.transpose(0, 1, 3, 2)
        joined = ops.matmul(ops.softmax(scores, -1), values).transpose(0, 2, 1, 3)
        y = self.net.head(self.net.after(x + self.net.back(joined.reshape(1, 1, WIDTH))))
        return ops.argmax(y[:, 0], -1)


@ms.jit
def next_token(ids, last):
    logits = net(ids)
    return ops.argmax(ops.gather(logits, last, 1)[:, 0], -1)


def padded(tokens):
    length = next(size for size in LENGTHS if size >= len(tokens))
    ids = np.zeros((1, length), np.int32)
    ids[0, : len(tokens)] = tokens
    return int(next_token(Tensor(ids), Tensor([len(tokens) - 1], ms.int32))[0])


def generated(step, tokens):
    tokens = list(tokens)
    while len(tokens) < LENGTHS[-1]:
        tokens.append(step(tokens))
    return tokens


def resident_mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4 / 1024


prompts = [(1, 2, 3), (5, 7), (11,)]
expected = [generated(grown, prompt) for prompt in prompts]
print("compiled unfused;", len(compilations))
mf.enable()
print("same tokens;", generated(padded, prompts[0]) == expected[0])
print("compiled;", len(compilations))
before = resident_mib()
print("same again;", [generated(padded, prompt) for prompt in prompts] == expected)
print("compiled again;", len(compilations) - len(LENGTHS))
print("grown by MiB;", resident_mib() - before)
ms.set_context(mode=ms.GRAPH_MODE)
one, count = Step(net), len(compilations)
cached = []
for prompt in prompts:
    tokens = list(prompt)
    for place in range(LENGTHS[-1] - 1):
        token = int(one(Tensor([[tokens[place]]], ms.int32), Tensor([place], ms.int32))[0])
        if place == len(tokens) - 1:
            tokens.append(token)
    cached.append(tokens)
print("same cached;", cached == expected)
print("compiled cached;", len(compilations) - count)
