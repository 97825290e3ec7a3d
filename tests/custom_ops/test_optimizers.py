"""Optimizers against float64 formulas and MindSpore's own: groups, schedules, states, modes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from custom_ops.operators.optimizer_steps import adam_step, adam_weight_decay_step, momentum_step
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode

SHAPES = [(), (1,), (7,), (0,), (3, 5), (64, 33), (0, 2), (70000,), (100,)]
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-14}


def lists(count: int, dtype: str, seed: int = 0, scale: float = 1.0):
    rng = np.random.default_rng(seed)
    kind = dtype_of(dtype).numpy
    return [
        [np.asarray(rng.standard_normal(shape) * scale, kind) for shape in SHAPES]
        for _ in range(count)
    ]


def close(got, want, dtype, steps=1):
    for one, other in zip(got, want, strict=True):
        error = np.abs(one.astype(np.float64) - other)
        assert np.all(error <= steps * TOLERANCE[dtype] * (1 + np.abs(other)))


@cases(
    "decay, nesterov, dtype",
    [
        pytest.param(decay, nesterov, dtype, marks=[] if place == number else FULL)
        for number, (decay, nesterov) in enumerate(
            [(0.1, False), (0.0, True), (0.1, True), (0.0, False)]
        )
        for place, dtype in enumerate(TOLERANCE)
    ],
)
def test_adam(decay, nesterov, dtype):
    w, m, v = lists(3, dtype)
    v = [np.asarray(np.abs(one)) for one in v]
    beta1, beta2 = (float(np.float32(one)) if dtype != "float64" else one for one in (0.9, 0.999))
    right = [[one.astype(np.float64) for one in kind] for kind in (w, m, v)]
    for count in (1, 2, 3):
        (g,) = lists(1, dtype, seed=count)
        adam_step(
            g, w, m, v, count=count, learning_rate=0.01, weight_decay=decay, use_nesterov=nesterov
        )
        rate = (
            0.01
            * np.sqrt(1 - float(np.float32(0.999)) ** count)
            / (1 - float(np.float32(0.9)) ** count)
        )
        for i, one in enumerate(g):
            ww, mm, vv = (kind[i] for kind in right)
            slope = one.astype(np.float64) + decay * ww
            mm = beta1 * mm + (1 - beta1) * slope
            vv = beta2 * vv + (1 - beta2) * slope**2
            mean = beta1 * mm + (1 - beta1) * slope if nesterov else mm
            for kind, value in zip(
                right, (ww - rate * mean / (np.sqrt(vv) + 1e-8), mm, vv), strict=True
            ):
                kind[i] = value
        tolerance = 8 if dtype != "float64" else 1e8  # rates are float32
        for got, want in zip((w, m, v), right, strict=True):
            close(got, want, dtype, steps=count * tolerance)
        right = [[one.astype(np.float64) for one in kind] for kind in (w, m, v)]


@cases("dtype", ["float16", "float32"])
def test_adam_weight_decay(dtype):
    w, m, v, g = lists(4, dtype)
    v = [np.asarray(np.abs(one)) for one in v]
    before = [[one.astype(np.float64) for one in kind] for kind in (w, m, v, g)]
    adam_weight_decay_step(g, w, m, v, learning_rate=0.01, weight_decay=0.1)
    want = []
    for ww, mm, vv, gg in zip(*before, strict=True):
        beta1, beta2 = float(np.float32(0.9)), float(np.float32(0.999))
        mm, vv = beta1 * mm + (1 - beta1) * gg, beta2 * vv + (1 - beta2) * gg * gg
        want.append(ww - 0.01 * (mm / (np.sqrt(vv) + 1e-6) + 0.1 * ww))
    close(w, want, dtype)


@cases("dtype", ["bfloat16", "float32"])
@cases("nesterov", [False, True])
def test_momentum(nesterov, dtype):
    w, m, g = lists(3, dtype)
    before = [[one.astype(np.float64) for one in kind] for kind in (w, m, g)]
    momentum_step(
        g, w, m, learning_rate=0.1, momentum=0.9, weight_decay=0.05, use_nesterov=nesterov
    )
    want = []
    for ww, mm, gg in zip(*before, strict=True):
        gg = gg + 0.05 * ww
        mm = 0.9 * mm + gg
        want.append(ww - 0.1 * (gg + 0.9 * mm if nesterov else mm))
    close(w, want, dtype)


def test_what_does_not_fit():
    a, b = np.ones(4, np.float32), np.ones(5, np.float32)
    with pytest.raises(InputError, match=r"Momentum: tensor 0 does not match its parameter"):
        momentum_step([b], [a], [a.copy()], learning_rate=0.1, momentum=0.9)
    with pytest.raises(InputError, match=r"Momentum: 1\.0 is not an array; .* got float32"):
        momentum_step([a[0]], [np.float32(1)], [a[1]], learning_rate=0.1, momentum=0.9)
    with pytest.raises(InputError, match="an array that is written to has gaps"):
        momentum_step(
            [a[::2]], [np.ones(4, np.float32)[::2]], [a[:2]], learning_rate=0.1, momentum=0.9
        )


ms = pytest.importorskip("mindspore")
from mindspore import nn, ops  # noqa: E402
from mindspore.nn.utils import no_init_parameters  # noqa: E402

import custom_ops  # noqa: E402
from custom_ops.core import pynative_fast_path  # noqa: E402


class Net(nn.Cell):
    def __init__(self, dtype):
        super().__init__()
        rng = np.random.default_rng(1)
        self.one = nn.Dense(
            6,
            40,
            weight_init=ms.Tensor(rng.standard_normal((40, 6)), ms.float32),
            bias_init="zeros",
        )
        self.norm = nn.LayerNorm((40,))
        self.two = nn.Dense(
            40,
            3,
            weight_init=ms.Tensor(rng.standard_normal((3, 40)), ms.float32),
            bias_init="zeros",
        )
        if dtype is not None:
            self.two.to_float(dtype)
            for one in self.two.get_parameters():
                one.set_dtype(dtype)

    def construct(self, x):
        return self.two(ops.relu(self.norm(self.one(x))))


def groups(net, **values):
    return [
        {"params": [net.one.weight, net.two.weight], **values},
        {"params": [net.one.bias, net.norm.gamma, net.norm.beta, net.two.bias], "lr": 0.02},
        {"order_params": net.trainable_params()},
    ]


class Falling(nn.learning_rate_schedule.LearningRateSchedule):
    def construct(self, global_step):
        return 0.05 / (1.0 + ops.cast(global_step, ms.float32).sum())


CASES = {
    "plain": {},
    "decay": {"weight_decay": 0.1},
    "scale": {"loss_scale": 8.0, "weight_decay": 0.1},
    "nesterov": {"use_nesterov": True, "weight_decay": 0.1},
    "list": {"learning_rate": [0.1, 0.05, 0.01, 0.005]},
    "schedule": {"learning_rate": Falling, "weight_decay": 0.1},
    "groups": {"grouped": {"weight_decay": 0.2, "lr": 0.05}},
    "centred": {"grouped": {"weight_decay": 0.2, "grad_centralization": True}},
    "grouped schedules": {"grouped": {"weight_decay": 0.2, "lr": Falling}},
    "two dtypes": {"dtype": ms.float16, "weight_decay": 0.1},
}


class Whole(nn.Cell):
    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer

    def construct(self, *gradients):
        return self.optimizer(gradients)


def trained(kind, name, case, steps, whole=False):
    """All parameters after some steps of an optimizer, called directly or in a graph."""
    case = dict(case)
    net = Net(case.pop("dtype", None))
    grouped = case.pop("grouped", None)
    if name == "AdamWeightDecay":
        case = {
            key: value for key, value in case.items() if key not in ("loss_scale", "use_nesterov")
        }
    case = {"learning_rate": 0.1, **case}
    if isinstance(case["learning_rate"], type):
        case["learning_rate"] = case["learning_rate"]()
    if grouped:
        grouped = {
            key: value() if isinstance(value, type) else value for key, value in grouped.items()
        }
    params = groups(net, **grouped) if grouped else net.trainable_params()
    if name == "Momentum":
        case["momentum"] = 0.9
    optimizer = kind(params, **case)
    step = Whole(optimizer)
    rng = np.random.default_rng(4)
    for _ in range(steps):
        gradients = tuple(
            ms.Tensor(rng.standard_normal(one.shape), one.dtype) for one in optimizer.parameters
        )
        if whole:
            step(*gradients)
        else:
            optimizer(gradients)
    return {one.name: one.asnumpy() for one in (*net.get_parameters(), *optimizer.get_parameters())}


@cache
def of_mindspore(case, name, steps):
    return trained(getattr(nn, name), name, CASES[case], steps)


NAMES = ("Adam", "AdamWeightDecay", "Momentum")
HOW = {
    "alone in graph mode": (False, "graph"),
    "in a graph": (True, "graph"),
    "alone": (False, "pynative"),
}
TRAINED = [
    pytest.param(
        case,
        name,
        how,
        marks=[]
        if (number + place) % 3 == 0 and how == ("alone" if number else "alone in graph mode")
        else FULL,
    )
    for number, case in enumerate(CASES)
    for place, name in enumerate(NAMES)
    for how in HOW
    if (case, name) != ("nesterov", "Momentum")  # MindSpore on CPU ignores it
]


@pytest.mark.mindspore
@cases("case, name, how", TRAINED)
def test_trained_states_agree_with_mindspores(case, name, how, full):
    """After four steps; in ``make test`` two, and `test_a_net_trains` has a graph."""
    steps = 4 if full else 2
    whole, mode = HOW[how]
    set_mode(mode)
    want = of_mindspore(case, name, steps)
    got = trained(getattr(custom_ops, name), name, CASES[case], steps, whole)
    assert got.keys() == want.keys()
    for key, value in want.items():
        assert got[key].dtype == value.dtype, key
        # MindSpore rounds each operation to float16 and is less accurate than ours
        tolerance = 1e-5 if value.dtype != np.float16 else 0.1
        np.testing.assert_allclose(
            got[key].astype(np.float64),
            value.astype(np.float64),
            rtol=tolerance,
            atol=tolerance,
            err_msg=key,
        )


@pytest.mark.mindspore
@cases("mode", MODES)
def test_a_direct_call_bypasses_mindspore_and_sees_writes(mode):
    set_mode(mode)
    weights = [
        ms.Parameter(np.float32(values), name=f"w{i}")
        for i, values in enumerate(([1, 2], [[3, 5], [4, 6]]))
    ]
    ours = custom_ops.Momentum(weights, 0.5, 0.0)
    step = Whole(ours)
    given = ms.Tensor(np.float32([1, -1])), ms.Tensor(np.float32([[2, 2], [0, 0]]))
    ours.construct = None  # the fast call path bypasses it
    done = ours(given)
    del ours.construct
    assert [one.shape for one in done] == [()]
    step(*given)
    weights[0].set_data(ms.Tensor(np.float32([7, 7])))
    (weights[0] * 2).asnumpy()
    ours((given[0], ops.transpose(given[1], (1, 0))))  # unchanged memory layout
    assert [one.asnumpy().tolist() for one in weights] == [[6.5, 7.5], [[0, 3], [3, 6]]]
    assert ours.global_step.asnumpy().tolist() == [3]


@pytest.mark.mindspore
@cases("mode", [pytest.param("graph", marks=FULL), "pynative"])
def test_a_direct_call_checks_and_converts_its_arguments(mode):
    set_mode(mode)

    class Resting(custom_ops.Momentum):
        def construct(self, gradients):
            return gradients

    weight, one = ms.Parameter(np.float32([1, 2]), name="weight"), ms.Tensor(np.float32([1, 1]))
    Resting([weight], 0.25, 0.0)((one,))
    assert weight.asnumpy().tolist() == [1.0, 2.0]
    ours = custom_ops.Momentum([weight], 0.25, 0.0)
    ours((ms.Tensor(np.float16([1, 1])),))
    ours((one,))
    assert weight.asnumpy().tolist() == [0.5, 1.5]
    with pytest.raises(InputError, match="Momentum: tensor 0 does not match its parameter"):
        custom_ops.Momentum([weight], 0.25, 0.0)((ms.Tensor(np.float32([1, 1, 1])),))


@pytest.mark.mindspore
@cases("mode", [pytest.param("graph", marks=FULL), "pynative"])
def test_a_direct_call_works_with_delayed_initial_values(mode):
    set_mode(mode)
    weight, one = ms.Parameter(np.float32([1, 2]), name="weight"), ms.Tensor(np.float32([1, 1]))
    with no_init_parameters():
        ours = custom_ops.Momentum([weight], 0.25, 0.0)
    assert pynative_fast_path.address_of(ours.global_step) == 0
    for _ in range(2):
        ours((one,))
    assert weight.asnumpy().tolist() == [0.5, 1.5] and ours.global_step.asnumpy().tolist() == [2]


@pytest.mark.mindspore
@cases("mode", MODES)
def test_momentum_of_nesterov(mode):
    set_mode(mode)
    weight = ms.Parameter(np.float32([1, 2]), name="weight")
    optimizer = custom_ops.Momentum([weight], 0.1, 0.9, use_nesterov=True)
    for want in ([0.81, 2.19], [0.539, 2.461]):
        optimizer((ms.Tensor(np.float32([1, -1])),))
        np.testing.assert_allclose(weight.asnumpy(), want, rtol=1e-6)


@pytest.mark.mindspore
@cases("mode", ["graph", pytest.param("pynative", marks=FULL)])
def test_a_net_trains(mode, full):
    """Twenty steps; ten in ``make test``, where MindSpore's own runs in PyNative."""
    steps = 20 if full else 10

    def losses(kind):
        net = Net(None)
        optimizer = kind(net.trainable_params(), learning_rate=0.01)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
        rng = np.random.default_rng(0)
        x = rng.standard_normal((16, 6)).astype(np.float32)
        y = x[:, :3] * 2
        return [float(step(ms.Tensor(x), ms.Tensor(y)).asnumpy()) for _ in range(steps)]

    set_mode(mode)
    got = losses(custom_ops.Adam)
    set_mode(mode if full else "pynative")
    want = losses(nn.Adam)
    np.testing.assert_allclose(got, want, rtol=1e-4)
    assert got[-1] < got[0] / 2


@pytest.mark.mindspore
@cases("mode", MODES)
def test_what_is_not_fused_is_refused(mode):
    set_mode(mode)
    net = Net(None)
    with pytest.raises(
        InputError, match=r"Adam: use_amsgrad is not fused; expected False, got True"
    ):
        custom_ops.Adam(net.trainable_params(), use_amsgrad=True)
