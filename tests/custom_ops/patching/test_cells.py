"""`patch` on networks.

Covers replaced and skipped Cells, the check, and unpatching.
"""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from custom_ops.patching import patch, rules
from tbe_impl.errors import InputError
from tests.cases import FULL, cases

ms = pytest.importorskip("mindspore")
from mindspore import Tensor, nn, ops  # noqa: E402

pytestmark = pytest.mark.mindspore
MODES = (ms.GRAPH_MODE, ms.PYNATIVE_MODE)
mostly_pynative = cases(
    "mode", [pytest.param(MODES[0], id="graph", marks=FULL), pytest.param(MODES[1], id="pynative")]
)


class OwnNorm(nn.LayerNorm):
    """A subclass: `patch` must not replace it."""


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.front = nn.SequentialCell(
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, has_bias=True),
            nn.BatchNorm2d(8),
            nn.LeakyReLU(0.2),
            nn.Conv2d(8, 6, 1),
        )
        self.norm = nn.LayerNorm((6,))
        self.own = OwnNorm((6,))
        self.unused = nn.GELU()
        self.rest = nn.SequentialCell(nn.Dense(6, 12), nn.GELU(), nn.Dense(12, 4))
        self.softmax = nn.Softmax()

    def construct(self, x):
        y = ops.transpose(self.front(x), (0, 2, 3, 1))
        return self.softmax(self.rest(self.own(self.norm(y))))


def net_and_input():
    ms.set_seed(3)
    net = Net()
    rng = np.random.default_rng(5)
    for one in net.get_parameters():
        if "moving_variance" in one.name:
            one.set_data(Tensor(rng.uniform(0.5, 2, one.shape).astype(np.float32)))
    return net, Tensor(rng.standard_normal((2, 3, 8, 8)).astype(np.float32))


def kinds(record):
    return {one.place: type(one.after).__name__ for one in record.replaced}


def names(net):
    return {one.name: id(one) for one in net.get_parameters()}


@mostly_pynative
def test_dense_layers_with_an_activation_of_their_own(mode):
    ms.set_context(mode=mode)
    x = Tensor(np.random.default_rng(2).standard_normal((3, 6)).astype(np.float32))
    net = nn.SequentialCell(
        nn.Dense(6, 5, activation="gelu"), nn.Dense(5, 4, activation="tanh"), nn.Dense(4, 4)
    )
    known, want = names(net), net(x).asnumpy()
    record = patch(net, x)
    assert kinds(record) == {"0": "Dense"} and not record.refused
    assert net[0].spec.name == "MatMulBiasGELU" and names(net) == known
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)


@mostly_pynative
def test_what_is_replaced_and_the_way_back(mode):
    ms.set_context(mode=mode)
    net, x = net_and_input()
    known, want, text = names(net), net(x).asnumpy(), str(net)
    record = patch(net, x)
    assert kinds(record) == {
        "front.0": "ConvBNReLU",
        "front.3": "ConvBNLeakyReLU",
        "front.6": "Conv2d",
        "norm": "LayerNorm",
        "rest.0": "MatMulBiasGELU",
        "softmax": "Softmax",
    }
    assert isinstance(net.front[0], custom_ops.ConvBNReLU) and isinstance(net.front[1], nn.Identity)
    assert [(one.place, one.reason) for one in record.refused] == [
        ("unused", "the sample inputs do not reach it")
    ]
    assert net.front[3].alpha == 0.2
    assert names(net) == known
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert "front.0: Conv2d + BatchNorm2d + ReLU → ConvBNReLU" in str(record)
    record.undo()
    record.undo()
    assert str(net) == text and names(net) == known
    np.testing.assert_array_equal(net(x).asnumpy(), want)


@mostly_pynative
def test_without_a_sample_nothing_is_run(mode):
    ms.set_context(mode=mode)
    net, x = net_and_input()
    want = net(x).asnumpy()
    record = patch(net)
    assert kinds(record)["unused"] == "GELU" and not record.refused
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert not patch(net, x).replaced


@FULL  # `tests/custom_ops/patching/test_sources.py` trains a patched net in `make test`
@cases("mode", MODES, ids=["graph", "pynative"])
def test_a_patched_net_trains_as_before(mode):
    ms.set_context(mode=mode)

    def trained(patched):
        net, x = net_and_input()
        net.set_train()
        if patched:
            patch(net, x)
        assert all(cell.training for cell in (net, net.norm, net.front))
        step = nn.TrainOneStepCell(
            nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9)
        )
        target = Tensor(np.full((2, 8, 8, 4), 0.25, np.float32))
        losses = [float(step(x, target).asnumpy()) for _ in range(4)]
        return losses, {one.name: one.asnumpy() for one in net.get_parameters()}

    got, want = trained(True), trained(False)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4)
    assert got[1].keys() == want[1].keys()
    for name, value in want[1].items():
        np.testing.assert_allclose(got[1][name], value, rtol=2e-3, atol=2e-4, err_msg=name)


@mostly_pynative
def test_what_is_frozen_stays_so(mode):
    ms.set_context(mode=mode)
    net, x = net_and_input()
    net.set_train()
    net.front[1].set_train(False)
    record = patch(net, x)
    assert not net.front[0].training and net.front[3].training and net.norm.training
    record.undo()
    assert not net.front[1].training and net.front[4].training


@mostly_pynative
def test_cells_with_hooks_stay(mode):
    ms.set_context(mode=mode)
    net, x = net_and_input()
    net.norm.register_forward_hook(lambda cell, inputs, output: None)
    net.front[2].register_forward_pre_hook(lambda cell, inputs: None)
    record = patch(net, x)
    assert "norm" not in kinds(record)
    assert kinds(record)["front.0"] == "ConvBN"


@mostly_pynative
def test_cells_of_another_precision_stay(mode):
    ms.set_context(mode=mode)
    net, _ = net_and_input()
    net.norm.to_float(ms.float16)
    assert "norm" not in kinds(patch(net))


@mostly_pynative
def test_a_replacement_that_disagrees_is_refused(mode):
    ms.set_context(mode=mode)
    net, x = net_and_input()
    wrong = rules.Rule(("Softmax",), lambda s: custom_ops.LogSoftmax())
    table = tuple(wrong if rule.classes == ("Softmax",) else rule for rule in rules.RULES)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rules, "RULES", table)
        record = patch(net, x)
    (softmax,) = (one for one in record.refused if one.place == "softmax")
    assert " off where " in softmax.reason and type(net.softmax) is nn.Softmax


@mostly_pynative
def test_a_cell_that_is_used_twice_has_one_replacement(mode):
    ms.set_context(mode=mode)

    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.one = nn.LayerNorm((4,))
            self.other = self.one

        def construct(self, x):
            return self.other(self.one(x) + x)

    net = Twice()
    x = Tensor(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
    want = net(x).asnumpy()
    patch(net, x)
    assert net.one is net.other and isinstance(net.one, custom_ops.LayerNorm)
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)


@mostly_pynative
def test_patch_refuses_a_function(mode):
    ms.set_context(mode=mode)
    with pytest.raises(InputError, match=r"patch: this is not a Cell; expected an nn\.Cell"):
        patch(lambda x: x)
