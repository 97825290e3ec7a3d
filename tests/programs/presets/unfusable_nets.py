"""Unfusable nets, unfused and fused, with their warnings and ledgers.

UNFUSABLE_NETS OPTIMIZERS NETS, both lists of names in JSON.
"""

import json
import os
import sys
import warnings

import mindspore as ms
import numpy as np
from mindspore import COOTensor, Parameter, Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
random = np.random.default_rng(0)


def tensor(*shape, dtype=np.float32):
    return Tensor(random.standard_normal(shape).astype(dtype))


class Half(nn.Cell):
    def construct(self, x):
        return (x * 2 + 1) * 4


class Complex(nn.Cell):
    def construct(self, x):
        y = x * x + x
        return y, ops.abs(y) * 2.0 + 1.0, ops.real(y) * ops.imag(y) + 1.0


class Mixed(nn.Cell):
    def construct(self, x):
        return ops.exp(x) * 2.0 + ops.cast(x, ms.complex64), ops.tanh(x) * x


class Told(nn.Cell):
    def construct(self, x, how):
        return x * 2.0 + 1.0 if how == "twice" else x


class Sparse(nn.Cell):
    def construct(self, indices, values, x):
        sparse = COOTensor(indices, values * 2.0 + 1.0, (3, 4))
        return sparse.values * 2.0 + 1.0, sparse.to_dense() * x + x


class Quantised(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(
            Tensor(np.ones((4, 4), np.int8), dtype=ms.qint4x2), requires_grad=False, name="weight"
        )

    def construct(self, x):
        whole = ops.cast(ops.clamp(ops.round(x / 0.25), -8.0, 7.0), ms.int8)
        return ops.cast(whole, ms.float32) * 0.25, self.weight


class Open(nn.Cell):
    def construct(self, x):
        return ops.exp(x) * 2.0 + x, ops.sum(x * x + 1.0, -1)


class Chosen(nn.Cell):
    def construct(self, x):
        chosen = ops.masked_select(x, x > 0)
        values, places = ops.unique(ops.cast(x * 2.0, ms.int32))
        return chosen * 2.0 + 1.0, ops.nonzero(x > 0) * 2 + 1, values * 2 + 1, places * 3 + 1


class Several(nn.Cell):
    def __init__(self):
        super().__init__()
        self.pool, self.places = (
            nn.MaxPool2d(3, 2, pad_mode="pad", padding=1),
            nn.MaxPool2d(2, 2, pad_mode="pad", return_indices=True),
        )
        self.norm = ops.BatchNorm(is_training=True)
        self.weights = [
            Parameter(np.full(4, one, np.float32), name=str(at))
            for at, one in enumerate((1, 0, 0, 1))
        ]
        self.gamma, self.beta, self.mean, self.variance = self.weights

    def construct(self, x):
        a, b = ops.split(x * 2.0 + 1.0, 2, 1)
        most, at = ops.topk(ops.exp(a) * b, 2)
        y, places = self.places(x * 2.0)
        c, d, e = ops.unstack(ops.reshape(b, (3, -1)), 0)
        return (
            ops.relu(a) * b + 1.0,
            most * 2.0,
            at + 1,
            self.pool(ops.tanh(x) * 2.0) * 2.0 + 1.0,
            y + 1.0,
            places + 1,
            c * d + e,
            self.norm(x * 2.0, self.gamma, self.beta, self.mean, self.variance)[0] * 2.0 + 1.0,
        )


class Step(nn.Cell):
    def __init__(self, make):
        super().__init__()
        self.net = nn.Dense(
            4,
            3,
            Tensor(np.arange(12).reshape(3, 4) / 8, ms.float16),
            Tensor(np.ones(3), ms.float16),
            dtype=ms.float16,
        )
        self.update, self.gradient = (
            make(self.net.trainable_params()),
            ops.GradOperation(get_by_list=True),
        )

    def construct(self, x):
        return self.update(self.gradient(self.net, self.update.parameters)(x))


STEPS = {
    "SGD": lambda p: nn.SGD(p, 0.1),
    "Momentum": lambda p: nn.Momentum(p, 0.1, 0.5),
    "Adam": lambda p: nn.Adam(p, 0.1),
}


def steps():
    x = Tensor(np.arange(8).reshape(2, 4) / 4, ms.float16)
    found = {}
    for name in json.loads(sys.argv[2]):
        step = Step(STEPS[name])
        for _ in range(3):
            step(x)
        found[name] = [
            one.asnumpy().astype(np.float64).tolist() for one in (step.net.weight, step.net.bias)
        ]
    return found


def open_rank():
    net = Open()
    net.set_inputs(Tensor(shape=None, dtype=ms.float32))
    return net


NETS = {
    "bfloat16": (Half, [tensor(4, 5).astype(ms.bfloat16)]),
    "complex128": (Complex, [Tensor((random.standard_normal((3, 4)) + 1j).astype(np.complex128))]),
    "complex and real": (Mixed, [tensor(3, 4)]),
    "string": (Told, [tensor(3, 4), "twice"]),
    "sparse": (Sparse, [Tensor(np.int32([[0, 1], [2, 3]])), tensor(2), tensor(3, 4)]),
    "quantised": (Quantised, [tensor(3, 4)]),
    "open rank": (open_rank, [tensor(3, 4)]),
    "sizes by content": (Chosen, [tensor(5, 6)]),
    "several results": (Several, [tensor(2, 4, 6, 6)]),
}


def flat(found):
    if isinstance(found, (list, tuple)):
        return [item for one in found for item in flat(one)]
    if not hasattr(found, "asnumpy"):
        return [found]
    try:
        return [found.asnumpy().astype(np.complex128)]
    except Exception:  # noqa: BLE001 - no array of NumPy is like it
        return [str(found)]


def alike(found, wanted):
    return len(found) == len(wanted) and all(
        np.allclose(a, b, rtol=1e-5, atol=1e-5) if isinstance(a, np.ndarray) else a == b
        for a, b in zip(found, wanted, strict=True)
    )


NETS = {name: NETS[name] for name in json.loads(sys.argv[3])}
unfused = {name: flat(make()(*inputs)) for name, (make, inputs) in NETS.items()}
RESULT["unfused steps"] = steps()
mf.enable()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    RESULT["steps"] = steps()
RESULT["of steps"] = [
    str(one.message) for one in said if issubclass(one.category, presets.FusionWarning)
]
RESULT["nets"], RESULT["whole"] = {}, {}
for name, (make, inputs) in NETS.items():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        net = make()
        right = alike(flat(net(*inputs)), unfused[name]) and alike(
            flat(net(*inputs)), unfused[name]
        )
    RESULT["nets"][name] = [
        right,
        [str(one.message) for one in said if issubclass(one.category, presets.FusionWarning)],
    ]


def ledger(name):
    make, inputs = NETS[name]
    return mf.explain(make(), *inputs, measure=False, accuracy=False, isolate=False)


for name in ("bfloat16", "complex and real", "several results"):
    found = ledger(name)
    RESULT["nets"][name] += [
        list(found.notes),
        len(found.kernels),
        [[one.producer, one.consumer, one.detail] for one in found.unfused],
    ]

half = NETS["bfloat16"][1][0]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    net = Half()
    for x in (half, half[:2], half[:1]):
        net(x)
RESULT["other shapes"] = len(
    [one for one in said if issubclass(one.category, presets.FusionWarning)]
)


def wrong(x):
    return ops.matmul(x, x)


try:
    ms.jit(wrong)(Tensor(np.ones((3, 5), np.float32)))
except Exception as error:  # noqa: BLE001 - whatever it raises
    RESULT["own mistake"] = f"{type(error).__name__}: {error}"

ms.set_context(mode=ms.PYNATIVE_MODE)
patched = mf.patch(Half())


def summed(x):
    return ops.cast(patched(x), ms.float32).sum()


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    value, slope = ms.value_and_grad(summed)(half)
RESULT["slope"] = slope.asnumpy().astype(float).tolist()
RESULT["left"] = os.listdir()

answer()
