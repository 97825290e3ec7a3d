"""Nets with dtypes, shapes and operators that cannot be fused: they run as they do unfused, with one warning at most."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.generator_limits import Refusal
from ms_fusion.presets import again
from ms_fusion.presets.compile_server import refusals
from ms_fusion.presets.served import served
from tests.ms_fusion.presets.mindspore_child import run

BODY = """
ms.set_context(mode=ms.GRAPH_MODE)
from mindspore import COOTensor, Parameter
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
        self.weight = Parameter(Tensor(np.ones((4, 4), np.int8), dtype=ms.qint4x2), requires_grad=False, name="weight")
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
        self.pool, self.places = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1), nn.MaxPool2d(2, 2, pad_mode="pad", return_indices=True)
        self.norm = ops.BatchNorm(is_training=True)
        self.weights = [Parameter(np.full(4, one, np.float32), name=str(at)) for at, one in enumerate((1, 0, 0, 1))]
        self.gamma, self.beta, self.mean, self.variance = self.weights
    def construct(self, x):
        a, b = ops.split(x * 2.0 + 1.0, 2, 1)
        most, at = ops.topk(ops.exp(a) * b, 2)
        y, places = self.places(x * 2.0)
        c, d, e = ops.unstack(ops.reshape(b, (3, -1)), 0)
        return (ops.relu(a) * b + 1.0, most * 2.0, at + 1, self.pool(ops.tanh(x) * 2.0) * 2.0 + 1.0, y + 1.0, places + 1, c * d + e,
                self.norm(x * 2.0, self.gamma, self.beta, self.mean, self.variance)[0] * 2.0 + 1.0)

class Step(nn.Cell):
    def __init__(self, make):
        super().__init__()
        self.net = nn.Dense(4, 3, Tensor(np.arange(12).reshape(3, 4) / 8, ms.float16), Tensor(np.ones(3), ms.float16), dtype=ms.float16)
        self.update, self.gradient = make(self.net.trainable_params()), ops.GradOperation(get_by_list=True)
    def construct(self, x):
        return self.update(self.gradient(self.net, self.update.parameters)(x))

STEPS = {"SGD": lambda p: nn.SGD(p, 0.1), "Momentum": lambda p: nn.Momentum(p, 0.1, 0.5), "Adam": lambda p: nn.Adam(p, 0.1)}

def steps():
    x = Tensor(np.arange(8).reshape(2, 4) / 4, ms.float16)
    found = {}
    for name, make in STEPS.items():
        step = Step(make)
        for _ in range(3):
            step(x)
        found[name] = [one.asnumpy().astype(np.float64).tolist() for one in (step.net.weight, step.net.bias)]
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
    except Exception:
        return [str(found)]

def alike(found, wanted):
    return len(found) == len(wanted) and all(
        np.allclose(a, b, rtol=1e-5, atol=1e-5) if isinstance(a, np.ndarray) else a == b for a, b in zip(found, wanted))

unfused = {name: flat(make()(*inputs)) for name, (make, inputs) in NETS.items()}
RESULT["unfused steps"] = steps()
mf.enable()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    RESULT["steps"] = steps()
RESULT["of steps"] = [str(one.message) for one in said if issubclass(one.category, presets.FusionWarning)]
RESULT["nets"], RESULT["whole"] = {}, {}
for name, (make, inputs) in NETS.items():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        net = make()
        right = alike(flat(net(*inputs)), unfused[name]) and alike(flat(net(*inputs)), unfused[name])
    RESULT["nets"][name] = [right, [str(one.message) for one in said if issubclass(one.category, presets.FusionWarning)]]

def ledger(name):
    make, inputs = NETS[name]
    return mf.explain(make(), *inputs, measure=False, accuracy=False, isolate=False)

for name in ("bfloat16", "complex and real", "several results"):
    found = ledger(name)
    RESULT["nets"][name] += [list(found.notes), len(found.kernels), [[one.producer, one.consumer, one.detail] for one in found.unfused]]

half = NETS["bfloat16"][1][0]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    net = Half()
    for x in (half, half[:2], half[:1]):
        net(x)
RESULT["other shapes"] = len([one for one in said if issubclass(one.category, presets.FusionWarning)])

def wrong(x):
    return ops.matmul(x, x)
try:
    ms.jit(wrong)(Tensor(np.ones((3, 5), np.float32)))
except Exception as error:
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
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(BODY, tmp_path_factory.mktemp("again") / "work").result


@pytest.mark.mindspore
def test_every_net_runs_as_it_does_unfused_with_one_warning_at_most(seen: dict[str, Any]) -> None:
    assert {name: found[0] for name, found in seen["nets"].items()} == dict.fromkeys(
        seen["nets"], True
    )
    assert all(len(found[1]) <= 1 for found in seen["nets"].values()), seen["nets"]
    assert seen["other shapes"] == 0, "said already"
    # where a net cannot be compiled at all MindSpore writes its graph
    assert set(seen["left"]) <= {"rank_0"}


@pytest.mark.mindspore
def test_the_ledger_and_one_warning_say_what_stays_out(seen: dict[str, Any]) -> None:
    _, (warning,), notes, _, _ = seen["nets"]["bfloat16"]
    sentence = "Mul and Add stay out of the groups, since MindSpore's fusion fails: it cannot hand over a number of bfloat16"
    assert warning == f"Half: {sentence}."
    assert f"Left to MindSpore's own operators: {sentence}" in notes
    _, (warning,), notes, kernels, _ = seen["nets"]["complex and real"]
    assert "compiled without fusion" in warning and "CReal of complex64 is not built" in warning
    assert any("CReal of complex64 is not built" in note for note in notes) and kernels == 0


@pytest.mark.mindspore
def test_operators_with_several_results_are_kept_out_and_the_ledger_says_why(
    seen: dict[str, Any],
) -> None:
    right, said, _, kernels, edges = seen["nets"]["several results"]
    assert right and said == [] and kernels >= 4
    for operator in ("Split", "MaxPool3DWithArgmax"):
        said = [detail for producer, consumer, detail in edges if operator in f"{producer} {consumer}"]  # fmt: skip
        assert any("it has several results" in detail for detail in said), (operator, said)


@pytest.mark.mindspore
def test_a_mistake_in_the_net_is_told_as_ever(seen: dict[str, Any]) -> None:
    assert seen["own mistake"].startswith(("ValueError", "RuntimeError"))
    assert "must be equal to shape2[-2]" in seen["own mistake"]


@pytest.mark.mindspore
def test_a_gradient_in_bfloat16_is_taken_in_pynative_mode(seen: dict[str, Any]) -> None:
    assert seen["slope"] == [[8.0] * 5] * 4


@pytest.mark.mindspore
def test_float16_is_trained_without_casts_in_the_groups(seen: dict[str, Any]) -> None:
    for name, found in seen["steps"].items():
        for one, other in zip(found, seen["unfused steps"][name], strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3, err_msg=name)
    assert seen["of steps"] and all(
        "Cast stays out of the groups" in said for said in seen["of steps"]
    ), seen["of steps"]


FLAGS = served(2).render()
FAILS = "Fail to parse [ValueNode<Primitive> PrimFunc_{}, …], the value type: bfloat16 is not in supported list: [].\n graph_kernel_json.cc"


class Net:
    """Something that a weak reference can be held to."""


def _tried(messages: list[str], place: Path, flags: str = FLAGS) -> list[str]:
    """The flags of each attempt of a net that fails with one message after the other."""
    tried: list[str] = []

    def once(attempt: again.Attempt) -> None:
        with again.looked_over(attempt, flags, place):
            tried.append(attempt.over(flags))
            if len(tried) <= len(messages):
                raise RuntimeError(messages[len(tried) - 1])

    again.until_compiled(once, Net())
    return tried


def test_operators_are_taken_out_one_by_one_and_at_last_all(tmp_path: Path) -> None:
    first, second, third, last = _tried([FAILS.format("Mul"), FAILS.format("Add"), FAILS.format("Add")], tmp_path)  # fmt: skip
    assert first == FLAGS
    assert "=ReduceAll,Mul " in f"{second.partition('--disable_cluster_ops')[2]} "
    assert "ReduceAll,Mul,Add" in third and "--opt_level=0" in last
    (recorded,) = refusals.since(tmp_path, 0)
    assert recorded.left and "compiled without fusion" in recorded.reason


def test_what_a_full_disk_cut_off_of_the_record_is_left_out(tmp_path: Path) -> None:
    refusals.record(tmp_path, [Refusal("Mul", "why")])
    with (tmp_path / refusals.FILE).open("a") as stream:
        stream.write('["Add", "wh')
    (found,) = refusals.since(tmp_path, 0)
    assert found.op == "Mul"


def test_what_another_rank_was_refused_concerns_nobody_else(tmp_path: Path) -> None:
    def compiled(attempt: again.Attempt) -> str:
        with again.looked_over(attempt, FLAGS, tmp_path):
            refusals.record(tmp_path, [Refusal("Mul", "why")], process=os.getppid())
            raise RuntimeError("shapes differ, seen in infer.cc")

    with pytest.raises(RuntimeError, match="shapes"):
        again.until_compiled(compiled, Net())
    assert not refusals.since(tmp_path, 0)


@pytest.mark.parametrize(
    ("message", "flags"),
    [("shapes differ, seen in infer.cc", FLAGS), (FAILS.format("Mul"), "--opt_level=2"), (FAILS.format("Mul"), "")],
)  # fmt: skip
def test_what_is_not_ours_to_mend_is_raised(message: str, flags: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=message[:4]):
        _tried([message], tmp_path, flags)
