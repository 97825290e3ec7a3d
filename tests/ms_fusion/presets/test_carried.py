"""A net that brings kernels of ours along, of `custom_ops`, patched in or of an ONNX model, keeps them under `enable()`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ms_fusion as mf
from tests.ms_fusion.onnx_fusion.models import Builder
from tests.ms_fusion.presets.mindspore_child import run

BODY = """
import custom_ops
from custom_ops import dispatch
ms.set_context(mode=ms.GRAPH_MODE)

def given(*shape, by=1.0):
    return Tensor((np.random.default_rng(7).standard_normal(shape) * by).astype(np.float32))

class Gated(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.norm = nn.Dense(12, 16), nn.Dense(16, 3), custom_ops.LayerNorm((16,), route="native")
        self.gate = mf.from_onnx(sys.argv[1].replace("work.json", "gate.onnx"))
    def construct(self, x, y):
        return ops.mean(ops.square(ops.tanh(self.last(self.norm(self.gate(ops.gelu(self.first(x)))))) - y))

class Attending(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.LayerNorm((8,))
        self.q, self.k, self.last = nn.Dense(8, 8), nn.Dense(8, 8), nn.Dense(8, 3)
    def construct(self, x, y):
        x = ops.relu(self.bn(self.conv(x)))
        x = self.norm(x.reshape(x.shape[0], 8, -1).transpose(0, 2, 1))
        part = ops.softmax(ops.matmul(self.q(x), self.k(x).transpose(0, 2, 1)) / 8 ** 0.5, -1)
        return ops.mean(ops.square(self.last(ops.mean(x + ops.matmul(part, x), 1)) - y))

def step_of(net, optimizer):
    for one in net.trainable_params():
        if one.ndim > 1:
            one.set_data(given(*one.shape, by=0.3))
    return nn.TrainOneStepCell(net, optimizer(net.trainable_params(), learning_rate=1e-2)).set_train()

def gated():
    return step_of(Gated(), nn.Adam), (given(6, 12), given(6, 3))

def patched():
    net = Attending()
    RESULT["changed"] = len(custom_ops.patch(net).replaced)
    return step_of(net, custom_ops.Adam), (given(2, 3, 6, 6), given(2, 3))

RESULT["losses"] = {}
for way in ("off", "auto"):
    with mf.fusion(way):
        for make in (gated, patched):
            ms.set_seed(1)
            step, inputs = make()
            before = dispatch.calls()
            losses = [float(step(*inputs).asnumpy()) for _ in range(5)]
            RESULT["losses"][make.__name__ + " " + way] = [losses, dispatch.calls() - before]

def told(ledger):
    return {
        "carried": [[one.name, one.by, list(one.operators)] for one in ledger.carried],
        "generators": sorted({one.generator for one in ledger.kernels}),
        "texts": [ledger.to_json(), ledger.to_html(), str(ledger), ledger._repr_html_()],
    }

step, inputs = gated()
RESULT["training"] = told(mf.explain(step, *inputs, measure=False, accuracy=False, isolate=False))
RESULT["apart"] = told(mf.explain(Gated(), *inputs, measure=False, accuracy=False))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("carried")
    b = Builder({"x": ("n", 16)})
    gate = b.add("Sigmoid", b.add("Add", "x", b.weight(16)))
    b.save(place / "plain.onnx", b.add("Mul", b.add("Tanh", "x"), gate))
    assert len(mf.auto_fuse(place / "plain.onnx", place / "gate.onnx").kernels) == 1
    return run(BODY, place / "work").result


@pytest.mark.mindspore
@pytest.mark.parametrize("name", ["gated", "patched"])
def test_it_trains_as_it_does_without_fusion_with_the_same_kernels(seen: dict[str, Any], name: str) -> None:  # fmt: skip
    losses, calls = seen["losses"][f"{name} auto"]
    wanted, wanted_calls = seen["losses"][f"{name} off"]
    np.testing.assert_allclose(losses, wanted, rtol=2e-5)
    assert calls == wanted_calls > 0
    assert seen["changed"] > 0


@pytest.mark.mindspore
def test_the_ledger_says_who_fused_what(seen: dict[str, Any]) -> None:
    operators = ["Tanh", "Add", "Sigmoid", "Mul"]
    for where in ("training", "apart"):
        found = {by: (name, made_of) for name, by, made_of in seen[where]["carried"] if not name.endswith("_grad")}  # fmt: skip
        assert found["custom_ops"] == ("LayerNorm", [])
        name, made_of = found["auto_fuse"]
        assert sorted(made_of) == sorted(operators)
        assert seen[where]["generators"] == ["ms_fusion"]
        for text in seen[where]["texts"]:
            assert "auto_fuse" in text and "custom_ops" in text and name in text
    gradients = [one for one in seen["training"]["carried"] if one[0].endswith("_grad")]
    assert sorted(by for _, by, _ in gradients) == ["auto_fuse", "custom_ops"]
