"""`enable()` on CPU: MindSpore's groups, built by our kernel server, through real MindSpore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion import operators
from ms_fusion.generator_limits import GENERATOR, KEPT_OUT
from ms_fusion.kernel_server.meanings import MEANINGS
from ms_fusion.kernel_server.onednn_steps import LIBRARY
from ms_fusion.presets import handshake
from ms_fusion.presets.served import CLUSTERED, EXPANDED, OF_LIBRARY, without_kept_out
from ms_fusion.presets.table import resolve
from tests.ms_fusion.presets.mindspore_child import run

BODY = """
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
        one.set_data(Tensor(random.standard_normal(one.shape).astype(np.float32) * 0.2 + (one.name == "norm.gamma")))
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

ledger = mf.explain(Net(), Tensor(np.ones((40, 32), np.float32)), measure=False, accuracy=False, isolate=False)
RESULT["ledger"] = [[one.generator, [[step.by, list(step.operators)] for step in one.build.steps]] for one in ledger.kernels]

class Centred(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((16,))
    def construct(self, x):
        return ops.sum(self.norm(x * 2.0) * x)

slope = ms.jit(ms.grad(Centred(), 0))
ledger = mf.explain(slope, Tensor(np.arange(64, dtype=np.float32).reshape(4, 16) % 7), measure=False, isolate=False)
RESULT["slope"] = [[one.op for one in ledger.after.graph if not one.is_fused_kernel], ledger.output_max_abs]

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
        one.set_data(Tensor(random.standard_normal(one.shape).astype(np.float32) * 0.3 + (one.name == "norm.gamma")))
    x = Tensor(random.standard_normal((6, 3, 10, 11)).astype(np.float32))
    wanted = Tensor(np.eye(5, dtype=np.float32)[random.integers(0, 5, 6)])
    step = nn.TrainOneStepCell(Loss(net), nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
    found = [float(step(x, wanted).asnumpy()) for _ in range(steps)]
    RESULT["moving"] = RESULT.get("moving", [])
    RESULT["moving"].append([one.asnumpy().tolist() for one in (net.norm.moving_mean, net.norm.moving_variance)])
    return found + net.set_train(False)(x).asnumpy().reshape(-1).tolist()

RESULT["images fused"] = image_losses(5)
RESULT["all groups"] = [[step["name"] for step in body["op_desc"]] for body in bodies()]
RESULT["all built"] = [len(bodies()), len(kernels())]
class Norms(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rows, self.half = nn.BatchNorm1d(4, eps=0.1, momentum=0.7, gamma_init="uniform"), nn.BatchNorm2d(4, eps=0.01)
        self.own = nn.BatchNorm2d(4, use_batch_statistics=True)
    def construct(self, x, y):
        return ops.tanh(self.rows(x)) * 2.0, ops.tanh(self.half(y.astype(ms.float16))), ops.tanh(self.own(y))

def norms():
    ms.set_seed(3)
    random = np.random.default_rng(1)
    x, y = (Tensor(random.standard_normal(shape).astype(np.float32) * 3 + 1) for shape in ((6, 4), (2, 4, 3, 5)))
    net, found = Norms(), []
    for training in (True, False):
        net.set_train(training)
        found += [one.astype(ms.float32).asnumpy().reshape(-1).tolist() for one in net(x, y)]
    return found + [one.asnumpy().tolist() for one in net.get_parameters()]

RESULT["norms fused"] = norms()

class Spelled(nn.Cell):
    def __init__(self, way):
        super().__init__()
        self.conv, self.way = nn.Conv2d(3, 4, 3, pad_mode="pad", padding=1), way
        self.of_nn, self.of_mint = nn.BatchNorm2d(4, eps=0.1, momentum=0.7), ms.mint.nn.BatchNorm2d(4, eps=0.1, momentum=0.3)
        self.bare = ms.mint.nn.BatchNorm2d(4, eps=0.1, affine=False, track_running_stats=False)
        self.gamma, self.beta, self.mean, self.variance = (ms.Parameter(np.full(4, one, np.float32), name=str(one)) for one in (1, 0, 0.0, 1.0))
    def construct(self, x):
        y = self.conv(x)
        if self.way == "nn":
            y = self.of_nn(y)
        elif self.way == "mint":
            y = self.of_mint(y)
        elif self.way == "bare":
            y = self.bare(y)
        else:
            y = ops.batch_norm(y, self.mean, self.variance, self.gamma, self.beta, self.training, 0.3, 0.1)
        return ops.relu(y)

from ms_fusion.kernel_server import records

def spelled(way):
    random = np.random.default_rng(5)
    net = Spelled(way)
    net.conv.weight.set_data(Tensor(random.standard_normal((4, 3, 3, 3)).astype(np.float32)))
    x, found, told = Tensor(random.standard_normal((2, 3, 5, 6)).astype(np.float32)), [], []
    place = Path(os.environ["MS_COMPILER_CACHE_PATH"], "akg_kernel_meta")
    for training in (True, False):
        before = records.read(place)
        net.set_train(training)
        found.append(net(x).asnumpy().reshape(-1).tolist())
        new = [one for name, one in records.read(place).items() if name not in before]
        told += [[[step.by, list(step.operators)] for step in one.steps] for one in new]
    moved = {"nn": (net.of_nn.moving_mean, net.of_nn.moving_variance), "mint": (net.of_mint.running_mean, net.of_mint.running_var)}
    found += [one.asnumpy().tolist() for one in moved.get(way, (net.mean, net.variance)) if way != "bare"]
    return found, told

RESULT["spelled"] = {way: spelled(way) for way in ("nn", "ops", "mint", "bare")}
in_one = mf.explain(Spelled("ops").set_train(False), ones(2, 3, 5, 6), measure=False, accuracy=False, isolate=False)
RESULT["in one"] = [[[step.by, list(step.operators)] for step in one.build.steps] for one in in_one.kernels]
with mf.fusion("off"):
    RESULT["images unfused"] = image_losses(5)
    RESULT["norms unfused"] = norms()
    RESULT["spelled unfused"] = {way: spelled(way)[0] for way in ("nn", "ops")}

import custom_ops
from custom_ops import dispatch

class Carrying(nn.Cell):
    def __init__(self):
        super().__init__()
        self.add_relu, self.swish = custom_ops.AddReLU(route="native"), custom_ops.Swish(route="native")
    def construct(self, x, y):
        return ops.exp(self.swish(self.add_relu(x * 2.0, y) - 0.5) * 0.1)

def gradients():
    net = Carrying()
    def loss(x, y):
        return ops.sum(net(x, y) * y)
    step = ops.value_and_grad(loss, (0, 1))
    random = np.random.default_rng(3)
    x, y = (Tensor(random.standard_normal((9, 33)).astype(np.float32)) for _ in range(2))
    before = dispatch.calls()
    value, (of_x, of_y) = step(x, y)
    return [one.asnumpy().tolist() for one in (value, of_x, of_y)], dispatch.calls() - before

RESULT["carrying"], RESULT["carried calls"] = gradients()
with mf.fusion("off"):
    RESULT["carrying unfused"], RESULT["carried calls unfused"] = gradients()
found = mf.explain(Carrying(), ones(9, 33), ones(9, 33), measure=False, accuracy=False, isolate=False)
RESULT["carried"] = [[one.name, one.by] for one in found.carried]
RESULT["beside carried"] = sorted(one.generator for one in found.kernels)

class Odd(nn.Cell):
    def construct(self, x, y, wide):
        return ops.round(x / 2.0), ops.pow(y, y), ops.cast(wide, ms.float16), ops.log(x), -y

@ms.jit
def more_odd(x, y, truths, unsigned):
    return (ops.exp(x * 60.0), ops.sqrt(y * y), ops.sum(truths, 1), -unsigned, ops.cast(ops.cast(x, ms.bfloat16) * ops.cast(x, ms.bfloat16), ms.float32),
            ops.tanh(x), ops.sigmoid(x * 50.0), y + (-y), ops.reciprocal(y), ops.not_equal(x, x))

def seen_more():
    x = Tensor(np.float32([[1, 3, -90, 0], [-1, np.nan, np.inf, -np.inf]]))
    found = more_odd(x, Tensor(np.int32([1, 2, 3])), Tensor([[True, True, False], [True, True, True]]), Tensor(np.uint32([1, 7])))
    return [[str(one.asnumpy().dtype), one.asnumpy().astype(float).tolist()] for one in found]
x = np.float32([[1, 3, 5, 0], [-1, np.nan, np.inf, 2.5]])
found = Odd()(Tensor(x), Tensor(np.int32([1, 2, 3])), Tensor(np.float64([1e-3, 70000.0, 2.0])))
RESULT["more odd"] = seen_more()
RESULT["odd"] = [one.asnumpy().astype(float).tolist() for one in found]

RESULT["all finite"] = [bool(ms.amp.all_finite((Tensor(one), Tensor(x[:1]))).asnumpy()) for one in (x, x[:1])]

from ms_fusion.presets import served

class Running(nn.Cell):
    def construct(self, x):
        return ops.sum(ops.cumsum(ops.exp(x), 1) * 2.0, 1)

running = dict(flags="--enable_cluster_ops=CumSum", generator="ms_fusion")
with warnings.catch_warnings(record=True) as said, mf.fusion(**running):
    warnings.simplefilter("always")
    Running()(Tensor(x))
RESULT["kept out"] = [str(one.message) for one in said]
served.without_kept_out = lambda flags, library: flags
with mf.fusion(**running) as now, warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    RESULT["running"] = Running()(Tensor(x[:1])).asnumpy().tolist()
    found = mf.explain(Running(), Tensor(x[:, :3]), measure=False, accuracy=False, isolate=False)
RESULT["said"] = [str(one.message) for one in said if "CumSum" in str(one.message)]
RESULT["not built"] = [[one.build.steps[0].by, one.build.why] for one in found.kernels] + [list(found.notes)]
RESULT["left"] = os.listdir()
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(BODY, tmp_path_factory.mktemp("served") / "work").result


@pytest.mark.mindspore
def test_it_is_proved_and_in_force(seen: dict[str, Any]) -> None:
    flags, generator, text, warnings = seen["in force"]
    assert f"--kernel_generator={GENERATOR}" in flags and warnings == []
    assert generator == "ms_fusion" and "kernels built by ms_fusion" in text
    assert seen["left"] == []


@pytest.mark.mindspore
def test_training_gives_the_same_losses(seen: dict[str, Any]) -> None:
    assert seen["fused"] == pytest.approx(seen["unfused"], rel=1e-4)
    assert seen["fused"][-1] < 0.8 * seen["fused"][0]


@pytest.mark.mindspore
def test_whole_clusters_are_built(seen: dict[str, Any]) -> None:
    assert {name for _, name in seen["groups"]} == set(seen["built"])
    # a sum inside, and work behind it, in one kernel: MindSpore's own generator stops at the sum
    assert any(
        {"ReduceSum", "ReduceMean", "LogSoftmax"} & set(body[:-1]) and len(body) > 4
        for body, _ in seen["groups"]
    )


@pytest.mark.mindspore
def test_the_ledger_says_who_built_a_kernel_and_how(seen: dict[str, Any]) -> None:
    ((generator, steps),) = seen["ledger"]
    assert generator == "ms_fusion"
    assert [by for by, _ in steps] == ["onednn", "c", "onednn", "c"]
    assert steps[0][1][0] == "MatMul" and "Erf" in steps[1][1]


@pytest.mark.mindspore
def test_convolutions_and_products_are_part_of_the_groups(seen: dict[str, Any]) -> None:
    assert seen["images fused"] == pytest.approx(seen["images unfused"], rel=1e-4, abs=1e-4)
    assert seen["images fused"][4] < 0.9 * seen["images fused"][0]
    names = {name for body in seen["all groups"] for name in body}
    assert {"Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "MatMul"} <= names
    assert any(body[0] == "Conv2D" and "Maximum" in body for body in seen["all groups"])
    groups, built = seen["all built"]
    assert groups == built


@pytest.mark.mindspore
def test_operators_of_custom_ops_stay_as_they_are(seen: dict[str, Any]) -> None:
    for found, wanted in zip(seen["carrying"], seen["carrying unfused"], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    # forward and backward of two operators
    assert seen["carried calls"] == seen["carried calls unfused"] == 4
    assert seen["carried"] == [["AddReLU", "custom_ops"], ["Swish", "custom_ops"]]
    assert set(seen["beside carried"]) == {"ms_fusion"}


@pytest.mark.mindspore
def test_batch_norms_are_part_of_the_groups_and_move_as_mindspores_do(seen: dict[str, Any]) -> None:
    for fused, unfused in zip(*seen["moving"], strict=True):
        assert fused == pytest.approx(unfused, rel=1e-5)
    for fused, unfused in zip(seen["norms fused"], seen["norms unfused"], strict=True):
        assert fused == pytest.approx(unfused, rel=1e-5, abs=2e-3 if len(unfused) == 120 else 1e-5)
    bodies = [set(body) for body in seen["all groups"]]
    assert any({"Conv2D", "Rsqrt", "Maximum"} <= body for body in bodies)
    assert any({"Conv2DBackpropFilter", "ReduceSum"} <= body for body in bodies)


@pytest.mark.mindspore
def test_batch_norms_of_ops_and_of_mint_are_part_of_the_groups(seen: dict[str, Any]) -> None:
    for fused, _ in (seen["spelled"][way] for way in ("nn", "ops", "mint")):
        for way in ("nn", "ops"):
            for found, wanted in zip(fused, seen["spelled unfused"][way], strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    bare, _ = seen["spelled"]["bare"]
    # without moving values the batch's own are taken, whatever the mode
    np.testing.assert_allclose(bare, [seen["spelled"]["nn"][0][0]] * 2, rtol=1e-5, atol=1e-5)


@pytest.mark.mindspore
def test_convolution_batch_norm_and_relu_are_one_kernel(seen: dict[str, Any]) -> None:
    _, kernels = seen["spelled"]["nn"]
    (in_training, in_inference) = (one for one in kernels if len(one) > 1)
    assert [by for by, _ in in_training] == ["onednn", "c"]
    assert {"ReduceMean", "Rsqrt", "Maximum", "Assign"} <= set(in_training[1][1])
    ((by, operators),) = in_inference[1:]
    assert by == "onednn"
    assert [one for one in operators if one != "Reshape"] == ["Conv2D", "Mul", "Add", "Maximum"]
    # however it is spelled, it is the same kernels, and the ledger has one; mint counts its batches besides
    assert seen["spelled"]["ops"][1] == []
    assert {name for one in seen["spelled"]["mint"][1] for _, names in one for name in names} <= {
        "Add",
        "Mul",
    }
    assert seen["in one"] == [in_inference]


@pytest.mark.mindspore
def test_what_kills_mindspores_own_generator_or_is_wrong_in_it_is_right(
    seen: dict[str, Any],
) -> None:
    rounded, powers, half, logarithm, negative = seen["odd"]
    nan, inf = float("nan"), float("inf")
    assert rounded[0] == [0, 2, 2, 0]
    assert rounded[1] == pytest.approx([0, nan, inf, 1], nan_ok=True)
    assert powers == [1, 4, 27] and negative == [-1, -2, -3]
    assert half == pytest.approx([1e-3, inf, 2], rel=1e-3)
    assert logarithm[0] == pytest.approx([0, 1.0986123, 1.6094379, -inf])
    assert logarithm[1] == pytest.approx([nan, nan, inf, 0.9162907], nan_ok=True)


@pytest.mark.mindspore
def test_gradients_are_looked_over_as_loss_scaling_does(seen: dict[str, Any]) -> None:
    assert seen["all finite"] == [False, True]


@pytest.mark.mindspore
def test_every_other_wrong_result_of_mindspores_own_generator_is_right(
    seen: dict[str, Any],
) -> None:
    x = np.float32([[1, 3, -90, 0], [-1, np.nan, np.inf, -np.inf]]).astype(np.float64)
    kinds, found = zip(*seen["more odd"], strict=True)
    exp, roots, sums, negative, half, tanh, gates, nothing, parts, unequal = found
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(exp, np.exp(x * 60).astype(np.float32), rtol=1e-6)
        np.testing.assert_allclose(tanh, np.tanh(x), rtol=1e-6)
        np.testing.assert_allclose(gates, 1 / (1 + np.exp(-x * 50)), rtol=1e-6, atol=1e-45)
        np.testing.assert_allclose(half, x * x, rtol=2**-8)
    assert roots == [1, 2, 3] and sums == [2, 3] and negative == [2**32 - 1, 2**32 - 7]
    assert nothing == [0, 0, 0] and kinds[7] == "int32"
    assert parts == pytest.approx([1, 1 / 2, 1 / 3])
    assert np.array_equal(unequal, np.isnan(x))


@pytest.mark.mindspore
def test_what_cannot_be_built_is_kept_out_or_said_and_computed(seen: dict[str, Any]) -> None:
    (kept_out,) = seen["kept out"]
    assert "`CumSum` stays out of the groups: a running sum is no loop nest" in kept_out
    assert seen["running"] == pytest.approx([2 * np.cumsum(np.exp([1, 3, 5, 0])).sum()])
    (said,) = seen["said"]
    assert said.startswith("Running: a kernel is right, but slow, computed without C")
    assert "CumSum of float32 [1, 4]" in said and "`--disable_cluster_ops=CumSum`" in said
    (by, why), notes = seen["not built"]
    assert by == "numpy" and "CumSum of float32 [2, 3]" in why
    assert any("in vain" in note and "CumSum of float32 [2, 3]" in note for note in notes)


def test_what_comes_by_itself_stays_out_whatever_else_is_taken_out() -> None:
    flags = without_kept_out(
        resolve("auto", flags="--disable_cluster_ops=Exp", generator="ms_fusion")
    )
    assert flags.disable_cluster_ops == ("Exp", "ReduceAll")


def test_every_operator_that_may_come_is_known() -> None:
    asked = set(CLUSTERED) | operators.CPU_CLUSTERED
    assert asked <= MEANINGS.keys() and not KEPT_OUT.keys() & asked
    assert not set(EXPANDED) & (operators.CPU_EXPANDED | asked)


@pytest.mark.parametrize("preset", ["auto", "aggressive", "basic", "expert"])
def test_presets_that_it_builds(preset: str) -> None:
    assert resolve(preset, generator="ms_fusion").kernel_generator == GENERATOR
    assert resolve(preset, device="GPU", generator="ms_fusion").kernel_generator is None


def test_without_the_library_products_and_convolutions_stay_mindspores() -> None:
    assert {"MaxPoolGrad"} == LIBRARY.keys() - OF_LIBRARY and LIBRARY.keys() > OF_LIBRARY
    given = resolve("auto", generator="ms_fusion")
    without = without_kept_out(given, library=False)
    assert given.enable_cluster_ops and without.enable_cluster_ops
    assert set(given.enable_cluster_ops) - set(without.enable_cluster_ops) == OF_LIBRARY
    assert without_kept_out(given) == given


def test_without_a_compiler_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_FUSION_CC", "/no/such/compiler")
    assert "/no/such/compiler is not there" in handshake.why_not("2.10.0")


@pytest.mark.mindspore
def test_what_cannot_be_proved_is_not_used(tmp_path: Path) -> None:
    body = """
from ms_fusion.presets import handshake
RESULT["why"] = handshake.why_not("2.10.0")
RESULT["again"] = handshake.why_not("2.10.0")
"""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "mindspore.py").write_text("raise ImportError('another MindSpore')")
    variables = {"PYTHONPATH": f"{broken}:{Path(__file__).resolve().parents[3]}"}
    found = run(
        body,
        tmp_path / "work",
        environment=variables,
        own_cache=True,
        head="from pathlib import Path\nimport json, sys\nRESULT = {}\n",
    ).result
    assert found["why"] == found["again"] == "ImportError: another MindSpore"


@pytest.mark.mindspore
def test_the_gradient_of_a_layer_norm_is_in_the_group(seen):
    outside, difference = seen["slope"]
    assert outside == []
    assert difference < 1e-5
