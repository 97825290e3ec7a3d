"""specialize(): changing shapes run fused, through real MindSpore."""

from __future__ import annotations

import pytest

import ms_fusion as mf
from ms_fusion.ledger import SeenShape
from tbe_impl.errors import InputError
from tests.ms_fusion.presets.mindspore_child import run

BODY = """
from mindspore.graph import api
from ms_fusion.presets import mindspore_state

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm, self.drop = nn.Dense(16, 16), nn.LayerNorm((16,)), nn.Dropout(p=0.5)
    def construct(self, x):
        return self.norm(x + self.drop(ops.gelu(self.dense(x)))), ops.sum(x, -1)

def numbers(result):
    return [item.asnumpy().astype(np.float64) for item in result]

def worst(net, run, sizes):
    found = 0.0
    for size in sizes:
        x = Tensor(random.standard_normal((size, 16)).astype(np.float32))
        for ours, wanted in zip(numbers(run(x)), numbers(net(x))):
            assert ours.shape == wanted.shape
            found = max(found, float(np.abs(ours - wanted).max()))
    return found

random = np.random.default_rng(0)
mf.enable()
plain = Net().set_train(False)
for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
    ms.set_context(mode=mode)
    net = Net().set_train(False)
    for one, other in zip(net.get_parameters(), plain.get_parameters()):
        one.set_data(other)
    net.set_inputs(Tensor(shape=[None, 16], dtype=ms.float32))
    run = mf.specialize(net, buckets=(4, 8))
    RESULT[f"error {mode}"] = worst(plain, run, (1, 3, 4, 7, 3, 9))
    RESULT[f"seen {mode}"] = [[item.shapes, item.padded_to, item.calls, item.compilations, item.reason] for item in run.seen]
    RESULT[f"names {mode}"] = [one.name for one in net.get_parameters()]

    few = mf.specialize(net, keep=2)
    worst(plain, few, (2, 3))
    phases = [set(item._phases) | set(item._cell.compile_cache) for item in few._compiled.values()]
    first = next(iter(few._compiled.values()))._cell
    worst(plain, few, (5, 2))
    RESULT[f"kept {mode}"] = [item.kept for item in few.seen]
    RESULT[f"freed {mode}"] = not first.compile_cache and not (phases[0] & mindspore_state.compiled_functions())

ms.set_context(mode=ms.GRAPH_MODE)
RESULT["bodies"] = len(bodies())
net.set_train()
run(Tensor(np.ones((3, 16), np.float32)))
RESULT["training"] = run.seen[-1].reason
ledger = mf.explain(run, Tensor(np.ones((3, 16), np.float32)), measure=False, accuracy=False, isolate=False)
RESULT["ledger"] = [ledger.title, len(ledger.shapes), len(ledger.kernels), str(ledger), ledger.to_html()]
RESULT["again"] = mf.Ledger.from_json(ledger.to_json()).shapes == ledger.shapes
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return run(BODY, tmp_path_factory.mktemp("specialised")).result


@pytest.mark.mindspore
@pytest.mark.parametrize("mode", [0, 1])
def test_results_are_the_nets_own(seen, mode):
    assert seen[f"error {mode}"] < 2e-6
    assert seen[f"names {mode}"] == ["dense.weight", "dense.bias", "norm.gamma", "norm.beta"]


@pytest.mark.mindspore
@pytest.mark.parametrize("mode", [0, 1])
def test_a_bucket_is_compiled_once(seen, mode):
    assert seen[f"seen {mode}"] == [
        ["1x16:float32", 4, 1, 1, ""],
        ["3x16:float32", 4, 2, 0, ""],
        ["4x16:float32", 0, 1, 0, ""],
        ["7x16:float32", 8, 1, 1, ""],
        ["9x16:float32", 0, 1, 1, "no bucket holds 9"],
    ]


@pytest.mark.mindspore
@pytest.mark.parametrize("mode", [0, 1])
def test_what_was_used_least_recently_goes_first_and_is_freed(seen, mode):
    assert seen[f"kept {mode}"] == [True, False, True]
    assert seen[f"freed {mode}"]


@pytest.mark.mindspore
def test_it_runs_fused(seen):
    assert seen["bodies"] > 0


@pytest.mark.mindspore
def test_training_is_not_padded(seen):
    assert seen["training"].startswith("Dropout")


@pytest.mark.mindspore
def test_the_ledger_says_which_shapes_were_seen(seen):
    title, shapes, kernels, text, page = seen["ledger"]
    assert title == "Net"
    assert shapes == 6
    assert kernels > 0
    assert "9x16:float32: 1 call, not padded: no bucket holds 9, compiled in" in text
    assert "Shapes seen" in page
    assert seen["again"]


MEANWHILE = """
import threading
from ms_fusion.presets import mindspore_state
ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()

class Net(nn.Cell):
    def construct(self, x):
        return ops.tanh(x) * 2 + x

net, x, found = Net(), ones(3, 16), []
net(x)

def and_meanwhile(compile):
    def compiled(*given):
        # while MindSpore runs something it compiles nothing, so the calls come just before
        other = threading.Thread(target=lambda: found.append(net(x) is not None))
        other.start()
        other.join()
        return compile(*given)
    return compiled

for owner in mindspore_state.compilers():
    owner.compile = and_meanwhile(owner.compile)
mf.check(Net(), ones(5, 16))
run = mf.specialize(Net(), buckets=(8,))
run(ones(5, 16))
RESULT["padded to"] = run.seen[0].padded_to
RESULT["ran"] = found
"""


@pytest.mark.mindspore
def test_what_another_thread_calls_meanwhile_runs(tmp_path):
    found = run(MEANWHILE, tmp_path / "work").result
    assert found["padded to"] == 8
    assert len(found["ran"]) >= 4 and all(found["ran"])


def test_a_line_for_each_set_of_shapes():
    assert str(SeenShape("3x4:float32", padded_to=8, calls=1)) == "3x4:float32: 1 call, padded to 8"
    seen = SeenShape("3x4:float32", calls=2, compilations=2, seconds=3.04, kept=False)
    assert str(seen) == "3x4:float32: 2 calls, compiled 2 × in 3.0 s, dropped"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [({"buckets": (0,)}, "bucket"), ({"buckets": (2.5,)}, "bucket"), ({"keep": 0}, "kept")],
)
def test_bad_arguments(arguments, word):
    with pytest.raises(InputError, match=word):
        mf.specialize(abs, **arguments)


@pytest.mark.parametrize("net", [3, dict, None])
def test_what_is_no_net(net):
    with pytest.raises(InputError, match="specialised"):
        mf.specialize(net)
