"""Training steps with MindSpore's optimizers, their groups built by us: the losses and weights of the unfused steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ms_fusion.presets.mindspore_child import run

OPTIMIZERS = {
    "Adam": "nn.Adam(params, 1e-2)",
    "Adam with decay": "nn.Adam(params, 1e-2, weight_decay=0.1)",
    "AdamWeightDecay": "nn.AdamWeightDecay(params, 1e-2, weight_decay=0.1)",
    "AdamWeightDecay, a rate for each step": "nn.AdamWeightDecay(params, [0.02, 0.01, 0.01, 0.005], weight_decay=0.1)",
    "Momentum": "nn.Momentum(params, 0.05, 0.9, weight_decay=0.1)",
    "SGD": "nn.SGD(params, 0.05, momentum=0.9, nesterov=True)",
    "RMSProp": "nn.RMSProp(params, 1e-2, momentum=0.9)",
    "Adagrad": "nn.Adagrad(params, learning_rate=0.05)",
}
BODY = (
    f"""
OPTIMIZERS = {OPTIMIZERS!r}
"""
    + """
ms.set_context(mode=ms.GRAPH_MODE)

class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(24, 40), nn.Dense(40, 3)
    def construct(self, x):
        return ops.mean(ops.square(self.second(ops.tanh(self.first(x))) - 1.0))

def trained(text):
    random = np.random.default_rng(0)
    net = Loss()
    for one in net.trainable_params():
        one.set_data(Tensor(random.standard_normal(one.shape).astype(np.float32) * 0.2))
    x = Tensor(random.standard_normal((32, 24)).astype(np.float32))
    step = nn.TrainOneStepCell(net, eval(text, {"nn": nn, "params": net.trainable_params()})).set_train()
    losses = [float(step(x).asnumpy()) for _ in range(4)]
    return [losses, *(one.asnumpy().reshape(-1).tolist() for one in net.trainable_params())]

for name, text in OPTIMIZERS.items():
    RESULT[name] = [trained(text)]
mf.enable(generator="ms_fusion")
known = set()
for name, text in OPTIMIZERS.items():
    RESULT[name].append(trained(text))
    new = {body["op"]: [step["name"] for step in body["op_desc"]] for body in bodies() if body["op"] not in known}
    known |= new.keys()
    RESULT[name].append(list(new.values()))
"""
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(BODY, Path(tmp_path_factory.mktemp("optimizers"), "work")).result


@pytest.mark.mindspore
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_and_weights_are_those_of_the_unfused_step(found: Any, name: str) -> None:
    unfused, fused, _ = found[name]
    assert len(unfused[0]) == 4 and unfused[0][-1] < unfused[0][0]
    for one, other in zip(fused, unfused, strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)


@pytest.mark.mindspore
@pytest.mark.parametrize("name", ["Adam", "AdamWeightDecay"])
def test_steps_of_adam_are_kernels_of_ours(found: Any, name: str) -> None:
    *_, groups = found[name]
    assert sum(group.count("Assign") == 3 and "Sqrt" in group for group in groups) >= 4
