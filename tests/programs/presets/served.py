"""Nets built by our kernel server: SERVED full runs more of the expensive ones."""

import os
import sys
import warnings
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import custom_ops
import ms_fusion as mf
from custom_ops.core import dispatch
from ms_fusion.kernel_server import build_records
from ms_fusion.mindspore.flags import own_generator_flags
from tests.programs.presets.child import RESULT, answer, bodies, kernels, ones

FULL = "full" in sys.argv[2:]
ms.set_context(mode=ms.GRAPH_MODE)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(32, 64), nn.Dense(64, 8)
        self.norm, self.gelu = nn.LayerNorm((64,)), nn.GELU(False)

    def construct(self, x):
        return ops.log_softmax(self.second(self.gelu(self.norm(self.first(x)))), -1)


class Loss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x, wanted):
        return -ops.mean(ops.sum(self.net(x) * wanted, -1))


def losses(steps):
    ms.set_seed(1)
    random = np.random.default_rng(0)
    net = Net()
    for one in net.trainable_params():
        one.set_data(
            Tensor(
                random.standard_normal(one.shape).astype(np.float32) * 0.2
                + (one.name == "norm.gamma")
            )
        )
    x = Tensor(random.standard_normal((40, 32)).astype(np.float32))
    wanted = Tensor(np.eye(8, dtype=np.float32)[random.integers(0, 8, 40)])
    step = nn.TrainOneStepCell(Loss(net), nn.Adam(net.trainable_params(), 1e-2)).set_train()
    return [float(step(x, wanted).asnumpy()) for _ in range(steps)]


RESULT["unfused"] = losses(6)
now = mf.enable()
RESULT["in force"] = [now.flags, now.generator, str(now), list(now.warnings)]
RESULT["fused"] = losses(6)
RESULT["groups"] = [[[step["name"] for step in body["op_desc"]], body["op"]] for body in bodies()]
RESULT["built"] = kernels()

ledger = mf.explain(
    Net(), Tensor(np.ones((40, 32), np.float32)), measure=False, accuracy=False, isolate=False
)
RESULT["ledger"] = [
    [one.generator, [[step.by, list(step.operators)] for step in one.build.steps]]
    for one in ledger.kernels
]


class Centred(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((16,))

    def construct(self, x):
        return ops.sum(self.norm(x * 2.0) * x)


slope = ms.jit(ms.grad(Centred(), 0))
ledger = mf.explain(
    slope, Tensor(np.arange(64, dtype=np.float32).reshape(4, 16) % 7), measure=False, isolate=False
)
RESULT["slope"] = [
    [one.op for one in ledger.after.graph if not one.is_fused_kernel],
    ledger.output_max_abs,
]


class Images(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, pad_mode="pad", padding=1, has_bias=True)
        self.second, self.norm = nn.Conv2d(8, 8, 3, 2, pad_mode="same"), nn.BatchNorm2d(8)
        self.last = nn.Dense(8, 5)

    def construct(self, x):
        x = ops.relu(self.norm(self.second(ops.relu(self.first(x)))))
        return ops.log_softmax(self.last(ops.mean(x, (2, 3))), -1)


def image_losses(steps):
    random = np.random.default_rng(0)
    net = Images()
    for one in net.trainable_params():
        one.set_data(
            Tensor(
                random.standard_normal(one.shape).astype(np.float32) * 0.3
                + (one.name == "norm.gamma")
            )
        )
    x = Tensor(random.standard_normal((6, 3, 10, 11)).astype(np.float32))
    wanted = Tensor(np.eye(5, dtype=np.float32)[random.integers(0, 5, 6)])
    step = nn.TrainOneStepCell(Loss(net), nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
    found = [float(step(x, wanted).asnumpy()) for _ in range(steps)]
    RESULT["moving"] = RESULT.get("moving", [])
    RESULT["moving"].append(
        [one.asnumpy().tolist() for one in (net.norm.moving_mean, net.norm.moving_variance)]
    )
    return found + net.set_train(False)(x).asnumpy().reshape(-1).tolist()


RESULT["images fused"] = image_losses(5)
RESULT["all groups"] = [[step["name"] for step in body["op_desc"]] for body in bodies()]
RESULT["all built"] = [len(bodies()), len(kernels())]


class Norms(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rows, self.half = (
            nn.BatchNorm1d(4, eps=0.1, momentum=0.7, gamma_init="uniform"),
            nn.BatchNorm2d(4, eps=0.01),
        )
        self.own = nn.BatchNorm2d(4, use_batch_statistics=True)

    def construct(self, x, y):
        return (
            ops.tanh(self.rows(x)) * 2.0,
            ops.tanh(self.half(y.astype(ms.float16))),
            ops.tanh(self.own(y)),
        )


def norms():
    ms.set_seed(3)
    random = np.random.default_rng(1)
    x, y = (
        Tensor(random.standard_normal(shape).astype(np.float32) * 3 + 1)
        for shape in ((6, 4), (2, 4, 3, 5))
    )
    net, found = Norms(), []
    for training in (True, False):
        net.set_train(training)
        found += [one.astype(ms.float32).asnumpy().reshape(-1).tolist() for one in net(x, y)]
    return found + [one.asnumpy().tolist() for one in net.get_parameters()]


if FULL:
    RESULT["norms fused"] = norms()


class Spelled(nn.Cell):
    def __init__(self, way):
        super().__init__()
        self.conv, self.way = nn.Conv2d(3, 4, 3, pad_mode="pad", padding=1), way
        self.of_nn, self.of_mint = (
            nn.BatchNorm2d(4, eps=0.1, momentum=0.7),
            ms.mint.nn.BatchNorm2d(4, eps=0.1, momentum=0.3),
        )
        self.bare = ms.mint.nn.BatchNorm2d(4, eps=0.1, affine=False, track_running_stats=False)
        self.gamma, self.beta, self.mean, self.variance = (
            ms.Parameter(np.full(4, one, np.float32), name=str(one)) for one in (1, 0, 0.0, 1.0)
        )

    def construct(self, x):
        y = self.conv(x)
        if self.way == "nn":
            y = self.of_nn(y)
        elif self.way == "mint":
            y = self.of_mint(y)
        elif self.way == "bare":
            y = self.bare(y)
        else:
            y = ops.batch_norm(
                y, self.mean, self.variance, self.gamma, self.beta, self.training, 0.3, 0.1
            )
        return ops.relu(y)


def spelled(way):
    random = np.random.default_rng(5)
    net = Spelled(way)
    net.conv.weight.set_data(Tensor(random.standard_normal((4, 3, 3, 3)).astype(np.float32)))
    x, found, told = Tensor(random.standard_normal((2, 3, 5, 6)).astype(np.float32)), [], []
    place = Path(os.environ["MS_COMPILER_CACHE_PATH"], "akg_kernel_meta")
    for training in (True, False):
        before = build_records.read(place)
        net.set_train(training)
        found.append(net(x).asnumpy().reshape(-1).tolist())
        new = [one for name, one in build_records.read(place).items() if name not in before]
        told += [[[step.by, list(step.operators)] for step in one.steps] for one in new]
    moved = {
        "nn": (net.of_nn.moving_mean, net.of_nn.moving_variance),
        "mint": (net.of_mint.running_mean, net.of_mint.running_var),
    }
    found += [
        one.asnumpy().tolist() for one in moved.get(way, (net.mean, net.variance)) if way != "bare"
    ]
    return found, told


if FULL:
    RESULT["spelled"] = {way: spelled(way) for way in ("nn", "ops", "mint", "bare")}
    in_one = mf.explain(
        Spelled("ops").set_train(False),
        ones(2, 3, 5, 6),
        measure=False,
        accuracy=False,
        isolate=False,
    )
    RESULT["in one"] = [
        [[step.by, list(step.operators)] for step in one.build.steps] for one in in_one.kernels
    ]
with mf.fusion("off"):
    RESULT["images unfused"] = image_losses(5)
    if FULL:
        RESULT["norms unfused"] = norms()
        RESULT["spelled unfused"] = {way: spelled(way)[0] for way in ("nn", "ops")}


class Carrying(nn.Cell):
    def __init__(self):
        super().__init__()
        self.add_relu, self.swish = (
            custom_ops.AddReLU(route="native"),
            custom_ops.Swish(route="native"),
        )

    def construct(self, x, y):
        return ops.exp(self.swish(self.add_relu(x * 2.0, y) - 0.5) * 0.1)


def gradients():
    net = Carrying()

    def loss(x, y):
        return ops.sum(net(x, y) * y)

    step = ops.value_and_grad(loss, (0, 1))
    random = np.random.default_rng(3)
    x, y = (Tensor(random.standard_normal((9, 33)).astype(np.float32)) for _ in range(2))
    before = dispatch.count_calls()
    value, (of_x, of_y) = step(x, y)
    return [one.asnumpy().tolist() for one in (value, of_x, of_y)], dispatch.count_calls() - before


RESULT["carrying"], RESULT["carried calls"] = gradients()
with mf.fusion("off"):
    RESULT["carrying unfused"], RESULT["carried calls unfused"] = gradients()
found = mf.explain(
    Carrying(), ones(9, 33), ones(9, 33), measure=False, accuracy=False, isolate=False
)
RESULT["carried"] = [[one.name, one.by] for one in found.carried]
RESULT["beside carried"] = sorted(one.generator for one in found.kernels)


class Odd(nn.Cell):
    def construct(self, x, y, wide):
        return ops.round(x / 2.0), ops.pow(y, y), ops.cast(wide, ms.float16), ops.log(x), -y


@ms.jit
def more_odd(x, y, truths, unsigned):
    return (
        ops.exp(x * 60.0),
        ops.sqrt(y * y),
        ops.sum(truths, 1),
        -unsigned,
        ops.cast(ops.cast(x, ms.bfloat16) * ops.cast(x, ms.bfloat16), ms.float32),
        ops.tanh(x),
        ops.sigmoid(x * 50.0),
        y + (-y),
        ops.reciprocal(y),
        ops.not_equal(x, x),
    )


def seen_more():
    x = Tensor(np.float32([[1, 3, -90, 0], [-1, np.nan, np.inf, -np.inf]]))
    found = more_odd(
        x,
        Tensor(np.int32([1, 2, 3])),
        Tensor([[True, True, False], [True, True, True]]),
        Tensor(np.uint32([1, 7])),
    )
    return [[str(one.asnumpy().dtype), one.asnumpy().astype(float).tolist()] for one in found]


x = np.float32([[1, 3, 5, 0], [-1, np.nan, np.inf, 2.5]])
found = Odd()(Tensor(x), Tensor(np.int32([1, 2, 3])), Tensor(np.float64([1e-3, 70000.0, 2.0])))
RESULT["more odd"] = seen_more()
RESULT["odd"] = [one.asnumpy().astype(float).tolist() for one in found]

RESULT["all finite"] = [
    bool(ms.amp.all_finite((Tensor(one), Tensor(x[:1]))).asnumpy()) for one in (x, x[:1])
]


class Running(nn.Cell):
    def construct(self, x):
        return ops.sum(ops.cumsum(ops.exp(x), 1) * 2.0, 1)


running = {"flags": "--enable_cluster_ops=CumSum", "generator": "ms_fusion"}
with warnings.catch_warnings(record=True) as said, mf.fusion(**running):
    warnings.simplefilter("always")
    Running()(Tensor(x))
RESULT["kept out"] = [str(one.message) for one in said]
own_generator_flags.drop_excluded_operators = lambda flags, library: flags
with mf.fusion(**running) as now, warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    RESULT["running"] = Running()(Tensor(x[:1])).asnumpy().tolist()
    found = mf.explain(Running(), Tensor(x[:, :3]), measure=False, accuracy=False, isolate=False)
RESULT["said"] = [str(one.message) for one in said if "CumSum" in str(one.message)]
RESULT["not built"] = [[one.build.steps[0].by, one.build.why] for one in found.kernels] + [
    list(found.notes)
]
RESULT["left"] = os.listdir()

answer()
