"""What a process built another finds: neither its compile server nor itself loads the generator again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ms_fusion.presets.mindspore_child import run

STEP = """
ms.set_context(mode=ms.GRAPH_MODE)

class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(3, 8, 3, pad_mode="pad", padding=1)
        self.pool, self.dense = nn.MaxPool2d(2, 2), nn.Dense(8 * 8 * 8, 10)
    def construct(self, x):
        found = self.pool(ops.relu(self.filter(x)))
        return -ops.mean(ops.log_softmax(self.dense(ops.reshape(found, (4, -1))), -1)[:, 0])

def losses():
    random, net = np.random.default_rng(0), Loss()
    for one in net.trainable_params():
        one.set_data(Tensor(random.standard_normal(one.shape).astype(np.float32) * 0.1))
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-2)).set_train()
    x = Tensor(random.standard_normal((4, 3, 16, 16)).astype(np.float32))
    return [float(step(x).asnumpy()) for _ in range(3)]

def servers():
    \"\"\"What the compile servers of this process have in memory.\"\"\"
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"kernel_build_server" in (place / "cmdline").read_bytes():
                found.append((place / "maps").read_text())
        except OSError:
            continue
    return found

RESULT["unfused"] = losses()
RESULT["generator"] = mf.enable().generator
RESULT["to enable"] = [name for name in ("ms_fusion.graph", "ms_fusion.flag_lint", "ms_fusion.target", "ms_fusion.presets.compiling", "ms_fusion.presets.net_checks") if name in sys.modules]
RESULT["fused"] = losses()
from ms_fusion.kernel_server import records
built = records.read(presets.kernel_directory() / "akg_kernel_meta")
RESULT["cached"] = [one.cached for one in built.values()]
RESULT["steps"] = sorted([name, step.by, *step.operators] for name, one in built.items() for step in one.steps)
RESULT["server"] = ["numpy" in maps for maps in servers()]
RESULT["own"] = [name for name in ("tbe_impl.dsl", "tbe_impl.compat", "ms_fusion.kernel_server.hosted") if name in sys.modules]
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    place = tmp_path_factory.mktemp("warm")
    cache = {"MS_FUSION_CACHE_DIR": str(place / "cache")}
    return [run(STEP, place / name, environment=cache).result for name in ("cold", "warm")]


@pytest.mark.mindspore
def test_both_are_right_and_the_same(seen: list[dict[str, Any]]) -> None:
    cold, warm = seen
    assert cold["generator"] == warm["generator"] == "ms_fusion"
    assert cold["fused"] == warm["fused"]
    assert cold["fused"] == pytest.approx(cold["unfused"], rel=1e-4, abs=1e-4)


@pytest.mark.mindspore
def test_the_ledger_is_told_the_same_and_that_it_came_from_the_cache(seen: list[dict[str, Any]]) -> None:  # fmt: skip
    cold, warm = seen
    assert cold["steps"] == warm["steps"]
    assert cold["cached"] and not all(cold["cached"])
    assert warm["cached"] and all(warm["cached"])


@pytest.mark.mindspore
def test_the_generator_is_loaded_by_nobody_who_needs_it_not(seen: list[dict[str, Any]]) -> None:
    cold, warm = seen
    assert (cold["server"], warm["server"]) == ([True], [False])
    assert cold["own"] == warm["own"] == []


@pytest.mark.mindspore
def test_enabling_loads_nothing_that_compiling_or_messages_need(seen: list[dict[str, Any]]) -> None:
    assert seen[1]["to enable"] == []


@pytest.mark.mindspore
def test_the_compile_server_knows_onednn_as_the_user_s_process_does(seen: list[dict[str, Any]]) -> None:  # fmt: skip
    called = {operator for _, by, *operators in seen[0]["steps"] for operator in operators if by == "onednn"}  # fmt: skip
    assert {"MatMul", "Conv2D", "MaxPoolGrad"} <= called
