"""Direct calls of one-kernel nets: DIRECT_CALLS CHANGES NETS, both lists of names in JSON."""

import copy
import gc
import json
import os
import pickle
import sys
import tempfile
import threading
import warnings
import weakref

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer
from mindspore.profiler import ProfilerActivity, profile, tensorboard_trace_handler

import ms_fusion as mf
from ms_fusion.kernel_server.launch_log import watch_launches
from ms_fusion.mindspore.calls import direct_kernel_calls
from tests.programs.presets.child import RESULT, answer

gc.freeze()  # collections skip imported objects
mf.enable()
ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
CALLS = []
called = direct_kernel_calls.DirectKernel.__call__


def counted(self, args):
    result = called(self, args)
    CALLS.append(result is not None)
    return result


direct_kernel_calls.DirectKernel.__call__ = counted
rng = np.random.default_rng(5)


def random(*shape):
    return Tensor(rng.standard_normal(shape).astype(np.float32))


class Gate(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w, self.b = Parameter(random(16), name="w"), Parameter(random(16), name="b")

    def construct(self, x):
        return ops.tanh(x * self.w + self.b)


def formula(net, x):
    x, w, b = (one.asnumpy().astype(np.float64) for one in (x, net.w, net.b))
    return np.tanh(x * w + b)


def error(result, wanted):
    return float(np.abs(result.asnumpy() - wanted).max())


def direct(net, *args):
    "What a call gives, and whether MindSpore was spared."
    CALLS.clear()
    result = net(*args)
    return result, CALLS == [True]


def warm(net, *args):
    for _ in range(30):
        net(*args)
    return direct(net, *args)


x = random(8, 16)
net = Gate()
RESULT["first"] = [(direct(net, x)[1]) for _ in range(12)]
RESULT["result"] = [error(net(x), formula(net, x)), str(net(x).dtype), type(net(x)).__name__]


# the current values of the net's parameters count
def another_training():
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.1)
    )
    for _ in range(3):
        step(x, random(8, 16))


def in_numpy():
    net.w.asnumpy()[:] = 0.5


def one_number():
    net.w[3] = 7.0


CHANGES = {
    "set_data": lambda: net.w.set_data(random(16)),
    "assign_value": lambda: net.w.assign_value(random(16)),
    "assign": lambda: ops.assign(net.w, random(16)),
    "in_numpy": in_numpy,
    "one_number": one_number,
    "added": lambda: ops.assign_add(net.w, random(16)),
    "loaded": lambda: ms.load_param_into_net(net, {"w": Parameter(random(16), name="w")}),
    "initialized": lambda: net.w.set_data(initializer("one", (16,))),
    "trained": another_training,
}
RESULT["changes"] = {}
for name in json.loads(sys.argv[2]):
    change = CHANGES[name]
    before = formula(net, x)
    change()
    found = []
    for result, straight in (direct(net, x), warm(net, x)):
        found.append([straight, error(result, formula(net, x)), error(result, before)])
    RESULT["changes"][name] = found

# results do not alias
given = [random(8, 16) for _ in range(9)]
wanted = [formula(net, one) for one in given]
kept = [net(one) for one in given]
RESULT["tensors kept"] = max(map(error, kept, wanted))
kept = [net(one).asnumpy() for one in given]
for one in given:
    net(one)
RESULT["arrays kept"] = max(
    float(np.abs(one - two).max()) for one, two in zip(kept, wanted, strict=True)
)


def places(count, held):
    "Where results lie of which some are held."
    found = []
    for _ in range(count):
        held.append(net(x))
        found.append(held.pop(0).data_ptr())
    return found


RESULT["held"] = {}
for number in (1, 2, 3):
    held = [net(x) for _ in range(number)]
    places(10, held)
    RESULT["held"][number] = len(set(places(40, held)))
del kept, held
one = net(x)
del one
RESULT["given back"] = len({net(x).data_ptr() for _ in range(20)})
SHARES = {
    "slice": lambda y: y[1:],
    "row": lambda y: y[3],
    "reshape": lambda y: y.reshape(-1),
    "transpose": lambda y: y.T,
    "split": lambda y: ops.split(y, 4)[1],
    "tensor": Tensor,
    "parameter": lambda y: Parameter(y, name="p"),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda y: pickle.loads(pickle.dumps(y)),  # noqa: S301 - our own
    "detached": ops.stop_gradient,
    "numpy": lambda y: Tensor.from_numpy(y.asnumpy()[2:]),
    "set_data": lambda y: Parameter(random(8, 16), name="p").set_data(y),
    "pending": lambda y: y * 2.0 + 1.0,
}
RESULT["shares"] = {}
for name, share in SHARES.items():
    one = share(net(x))
    before = one.asnumpy().copy()
    gc.collect()
    for other in given:
        net(other)
    RESULT["shares"][name] = bool(np.array_equal(before, one.asnumpy()))
kept = net(x)
kept[0] = 5.0
again, straight = direct(net, x)
RESULT["written to"] = [straight, error(again, formula(net, x)), float(kept[0, 0])]
fed, wanted = x, x.asnumpy().astype(np.float64)
for _ in range(6):
    fed = net(fed)
    wanted = np.tanh(wanted * net.w.asnumpy() + net.b.asnumpy())
RESULT["fed back"] = error(fed, wanted)

# arguments
RESULT["arguments"] = {}
ARGUMENTS = {
    "transposed": random(16, 8).T,
    "rows": random(9, 16)[1:],
    "parameter": Parameter(random(8, 16), name="q"),
    "numpy": Tensor.from_numpy(rng.standard_normal((8, 16)).astype(np.float32)),
    "shape": random(4, 16),
    "pending": random(8, 16) * 3.0 - 1.0,
}
for name, argument in ARGUMENTS.items():
    warm(net, x)
    result, straight = direct(net, argument)
    RESULT["arguments"][name] = [straight, error(result, formula(net, argument))]
warm(net, x)
worst = []


def calls(seed):
    own = np.random.default_rng(seed)
    for _ in range(200):
        one = Tensor(own.standard_normal((8, 16)).astype(np.float32))
        worst.append(error(net(one), formula(net, one)))


threads = [threading.Thread(target=calls, args=(seed,)) for seed in range(4)]
[one.start() for one in threads], [one.join() for one in threads]
RESULT["threads"] = [len(worst), max(worst)]


# other nets
class Sums(nn.Cell):
    def construct(self, x, y):
        return ops.sum(x * y, -1, keepdim=True) * y


class Scalar(nn.Cell):
    def construct(self, x):
        return ops.sum(x * 2.0)


class Half(nn.Cell):
    def construct(self, x):
        return x.astype(ms.float16) * 2.0


class Normal(nn.Cell):
    def __init__(self):
        super().__init__()
        self.normal = nn.BatchNorm1d(16)

    def construct(self, x):
        return self.normal(x) * 2.0


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Dense(16, 8), nn.Dense(8, 4)

    def construct(self, x):
        return self.two(ops.relu(self.one(x)))


class Counts(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(np.float32(0)), name="count")

    def construct(self, x):
        self.count += 1.0
        return x * 2.0 + self.count


class Random(nn.Cell):
    def construct(self, x):
        return ops.dropout(x, 0.5) * 2.0


class GivesBack(nn.Cell):
    def construct(self, x):
        return x * 2.0, x


class Nested(nn.Cell):
    def construct(self, x):
        return x * 2.0, (x + 1.0,)


class Constant(nn.Cell):
    def construct(self, x):
        return x * Tensor(np.arange(16, dtype=np.float32))


class Sorted(nn.Cell):
    def construct(self, x):
        return ops.sort(x * 2.0)[0]


class Branches(nn.Cell):
    def construct(self, x, first):
        if first:
            return x * 2.0
        return x + 1.0


class Island(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.gate.add_flags(no_inline=True)

    def construct(self, x):
        return self.gate(x)


class Own(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mean = Parameter(Tensor(np.zeros(16, np.float32)), name="mean")

    def construct(self, x):
        ops.assign(self.mean, ops.mean(x, 0))
        return x - self.mean


NETS = {
    "Sums": Sums(),
    "Scalar": Scalar(),
    "Half": Half(),
    "Normal": Normal().set_train(False),
    "Layers": Layers(),
    "Counts": Counts(),
    "Random": Random().set_train(),
    "GivesBack": GivesBack(),
    "Nested": Nested(),
    "Constant": Constant(),
    "Sorted": Sorted(),
    "Branches": Branches(),
    "Island": Island(),
    "Own": Own(),
    "Training": Normal().set_train(),
}
RESULT["nets"] = {}
for name in json.loads(sys.argv[3]):
    one = NETS[name]
    args = (x, *{"Sums": [random(8, 16)], "Branches": [Tensor(True)]}.get(name, []))
    first = one(*args)
    last, straight = warm(one, *args)
    same = isinstance(first, Tensor) and bool(
        np.allclose(first.asnumpy(), last.asnumpy(), rtol=1e-6)
    )
    RESULT["nets"][name] = [
        straight,
        same,
        str(getattr(last, "dtype", "")),
        list(getattr(last, "shape", ())),
    ]
other_branch = NETS["Branches"](x, Tensor(False))
RESULT["branch"] = error(other_branch, x.asnumpy() + 1.0)
RESULT["counted"] = float(NETS["Counts"].count)
y = random(8, 16)
warm(NETS["Sums"], x, y)
twice, straight = direct(NETS["Sums"], y, y)
wanted = y.asnumpy().astype(np.float64)
RESULT["same twice"] = [straight, error(twice, (wanted * wanted).sum(-1, keepdims=True) * wanted)]


# memory layouts that belong to other objects
class Shares(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(random(16), name="w")
        self.before = Tensor(self.w)

    def construct(self, x):
        return x * (self.w - self.before) + x


class Fixed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fixed = random(8, 16)

    def construct(self, x):
        return ops.tanh(x * self.fixed) + x


RESULT["taken for another"] = {}
one = Shares()
warm(one, x)
before, after = one.w.asnumpy().copy(), random(16)
one.w.set_data(after)
wanted = x.asnumpy() * (after.asnumpy().astype(np.float64) - before) + x.asnumpy()
RESULT["taken for another"]["parameter"] = max(
    error(one(x), wanted), error(warm(one, x)[0], wanted)
)
one = Fixed()
warm(one, one.fixed)
wanted = np.tanh(x.asnumpy().astype(np.float64) * one.fixed.asnumpy()) + x.asnumpy()
RESULT["taken for another"]["argument"] = error(one(x), wanted)


class Listed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.numbers = [Parameter(random(16), name="listed")]

    def construct(self, x):
        return x * self.numbers[0] + x


one = Listed()
try:
    warm(one, random(16)), warm(one, Tensor(one.numbers[0]))
    wanted = x.asnumpy()[0].astype(np.float64) * one.numbers[0].asnumpy() + x.asnumpy()[0]
    RESULT["taken for another"]["listed"] = error(one(Tensor(x.asnumpy()[0])), wanted)
except Exception:  # noqa: BLE001 - however it is refused
    RESULT["taken for another"]["listed"] = 0.0
mf.enable(flags="--disable_cluster_ops=Floor,Abs")


class Behind(nn.Cell):
    def construct(self, x):
        return ops.abs(ops.floor(ops.tanh(x) * 2.0 + x))


one, zeros = Behind(), Tensor(np.zeros((8, 16), np.float32))
warm(one, zeros)
given = x.asnumpy().astype(np.float64)
RESULT["taken for another"]["kernel behind"] = error(
    one(x), np.abs(np.floor(np.tanh(given) * 2 + given))
)
mf.enable()


# the environment of a call
def mode_changed():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    found = direct(net, x)
    ms.set_context(mode=ms.GRAPH_MODE)
    return found


def in_environment(name, value):
    def call():
        os.environ[name] = value
        try:
            return direct(net, x)
        finally:
            del os.environ[name]

    return call


def training_ends():
    warm(net.set_train(), x)
    return direct(net.set_train(False), x)


def own_compile():
    net.compile = lambda *args, **kwargs: type(net).compile(net, *args, **kwargs)
    found = direct(net, x)
    del net.compile
    return found


def cache_cleared():
    kept = set(net.compile_cache)
    net.compile_cache.clear()
    found = direct(net, x)
    net.compile_cache.update(kept)
    return found


def too_many():
    CALLS.clear()
    try:
        net(x, x)
    except TypeError:
        return net(x), CALLS == [True]


def by_name():
    CALLS.clear()
    return net(x=x), CALLS == [True]


def in_place_of(name):
    def call():
        seen = []
        before = getattr(nn.Cell, name)

        def other(self, *args, **kwargs):
            seen.append(name)
            return before(self, *args, **kwargs)

        setattr(nn.Cell, name, other)
        try:
            result, _ = direct(net, x)
        finally:
            setattr(nn.Cell, name, before)
        return result, not seen

    return call


def other_construct():
    import types

    net.construct = types.MethodType(lambda self, x, y: x + y, net)
    try:
        return net(x), True
    except TypeError:
        del net.construct
        return net(x), False


def no_cache():
    kept = net.__dict__["_compile_cache"]
    net.__dict__["_compile_cache"] = None
    found = direct(net, x)
    net.__dict__["_compile_cache"] = kept
    return found


class Phase(Gate):
    other = False

    @property
    def phase(self):
        return "other" if self.other else self._phase

    @phase.setter
    def phase(self, value):
        self._phase = value


def own_phase():
    one = Phase()
    warm(one, x)
    one.other = True
    result, straight = direct(one, x)
    one.other = False
    return result - Tensor(formula(one, x).astype(np.float32)) + Tensor(
        formula(net, x).astype(np.float32)
    ), straight


class Straight(Gate):
    def __call__(self, *args):
        return self.compile_and_run(*args)


def by_compile_and_run():
    one = Straight()
    warm(one, x)
    result, straight = direct(one, x)
    return result - Tensor(formula(one, x).astype(np.float32)) + Tensor(
        formula(net, x).astype(np.float32)
    ), straight


class Called(Gate):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


AROUND = {
    "mode": mode_changed,
    "jit": in_environment("MS_JIT", "0"),
    "as usual": in_environment("MS_JIT", "1"),
    "training": training_ends,
    "own compile": own_compile,
    "cache": cache_cleared,
    "too many": too_many,
    "name": by_name,
    "construct": other_construct,
    "no cache": no_cache,
    "own phase": own_phase,
    "compile_and_run": by_compile_and_run,
    **{
        f"other {one}": in_place_of(one)
        for one in ("compile_and_run", "_check_construct_args", "_self_check", "_predict")
    },
}
# where MindSpore's own tanh is accurate enough
net.w.asnumpy()[:] = np.linspace(0.3, 0.9, 16)
net.b.asnumpy()[:] = 0.1
RESULT["around"] = {}
for name, call in AROUND.items():
    assert warm(net, x)[1], name
    result, straight = call()
    RESULT["around"][name] = [straight, error(result, formula(net, x))]
one = Called()
result, straight = warm(one, x)
RESULT["around"]["own call"] = [straight, error(result, formula(one, x))]
once = Gate()
RESULT["watched for its end"] = []
for _ in range(3):
    once.w.set_data(random(16))
    warm(once, x)
    RESULT["watched for its end"].append(weakref.getweakrefcount(once))
held = next(
    cell.cell_contents
    for cell in nn.Cell.__call__.__closure__
    if isinstance(cell.cell_contents, dict) and id(one) in cell.cell_contents
)
number, there, gone = id(one), id(one) in held, weakref.ref(one)
del one
gc.collect()
RESULT["gone"] = [there, gone() is None, number in held]

# observers: hooks, profilers
warm(net, x)
with (
    tempfile.TemporaryDirectory() as place,
    profile(activities=[ProfilerActivity.CPU], on_trace_ready=tensorboard_trace_handler(place)),
):
    RESULT["profiled"] = direct(net, x)[1]
RESULT["profiled after"] = direct(net, x)[1]
other = Gate()
other(x)
with watch_launches() as outer, watch_launches() as inner:
    other(x)
RESULT["watched"] = [len(outer), len(inner), outer[0].name.startswith("Fused_")]
with watch_launches() as outer:
    other(x), other(x)
RESULT["watched twice"] = len(outer)

answer()
