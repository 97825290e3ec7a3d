"""Capture with real MindSpore: the result, and no side effects."""

import ast
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ms = pytest.importorskip("mindspore", reason="needs MindSpore")
from mindspore import nn, ops  # noqa: E402

from ms_fusion.capture import explain_net  # noqa: E402
from ms_fusion.capture.dump_ledger import read  # noqa: E402
from ms_fusion.capture.explain_net import explain, explain_target  # noqa: E402
from ms_fusion.capture.fusion_assertion import (  # noqa: E402
    assert_fused,
    check_group,
)
from ms_fusion.why_not.suggest import add_flags  # noqa: E402
from tbe_impl.errors import CaptureError, FusionNotFound, InputError, UnsafeError  # noqa: E402
from tests import nets  # noqa: E402
from tests.cases import FULL, cases  # noqa: E402

pytestmark = pytest.mark.mindspore

QUICK = {"only_flags": "--opt_level=2", "measure": False, "accuracy": False}
NEARLY_LINES = (
    "y = self.norm(self.norm(0.5 * x * (1 + y)))",
    "return centred / ops.sqrt(variance + 1e-5)",
    "return ops.softmax(0.125 * y, 0)",
)
"""Lines of `nets.NearlyNorms`."""
HERE = QUICK | {"isolate": False}
"""In this process: a child that imports MindSpore takes four seconds of processor time."""


@pytest.fixture(scope="module")
def seen():
    """Cached requests and ledgers of `here`, by kind of net and options."""
    return {}


@pytest.fixture
def here(monkeypatch, seen, full):
    """`assert_fused` captures each kind of net once; in `make test` in this process."""

    def looked(net, *inputs, **asked):
        question = (type(net), str(inputs), *sorted(asked.items()))
        if question not in seen:
            seen[question] = explain(net, *inputs, isolate=full, **asked)
        return seen[question]

    monkeypatch.setattr(explain_net, "explain", looked)


@pytest.fixture
def working_directory(tmp_path, monkeypatch):
    """An empty working directory."""
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def test_a_near_miss_of_a_rule_is_one_line_with_its_place():
    ledger = explain(nets.NearlyNorms(), nets.floats(4, 8, 16), **HERE)
    assert [(one.rule, one.reason, one.source.code) for one in ledger.rejected] == [
        ("GELU", "a constant is 0.05, not 0.044715", NEARLY_LINES[0]),
        *[("LayerNorm", "the variance is over axis 1, not over the last axis", NEARLY_LINES[1])]
        * 2,
        ("ScaleMaskSoftmax", "softmax is over axis 0, not over the last axis", NEARLY_LINES[2]),
    ]
    for report in (str(ledger), ledger.to_html()):
        _, _, section = report.partition("Near misses of rules")
        assert section.count("the variance is over axis 1") == 1 and "×2" in section
        assert all(f"nets.py:{one.source.line}" in section for one in ledger.rejected)
    assert "Fusions not made" not in str(ledger)


def test_launches_of_my_net_are_the_profilers(working_directory):
    ledger = explain(nets.MyNet(), nets.floats(64, 128))
    (kernel,) = ledger.kernels
    assert kernel.operators == ("Mul", "Add")
    assert kernel.body == ("Mul", "Add")
    assert [source.code for source in kernel.sources] == [
        "a = ops.mul(x, 2.0)",
        "return ops.add(a, 1.0)",
    ]
    assert not ledger.unfused
    assert (ledger.before.nodes, ledger.before.edges, ledger.before.launches) == (2, 1, 2)
    assert (ledger.after.nodes, ledger.after.edges, ledger.after.launches) == (1, 0, 1)
    assert ledger.before.bytes_moved == 4 * 64 * 128 * 4  # two reads, two writes
    assert ledger.after.bytes_moved == 2 * 64 * 128 * 4  # one of each
    assert kernel.launches == 1, "the profiler's count"
    assert kernel.time_us > 0 and kernel.unfused_time_us > 0
    assert os.listdir(working_directory) == []
    assert [found.inputs for found in kernel.accuracy] == ["captured", "seeded", "edges"]
    assert all(found.fused_max_ulp <= 1.0 for found in kernel.accuracy[:2])


@FULL
def test_composite_operator_is_fused_across_its_boundary():
    ledger = explain(
        nets.CompositeNet(), nets.floats(64, 128), nets.floats(64, 128, seed=1), measure=False
    )
    assert [kernel.operators for kernel in ledger.kernels] == [("Mul", "Pow", "Sub", "Mul")]


@FULL
@cases("isolate", [False, True])
def test_training_leaves_weights_random_state_and_context_alone(working_directory, isolate):
    step, net, optimizer = nets.training_step()
    inputs = nets.floats(128, 32), nets.floats(128, 8, seed=1)
    before = [
        parameter.asnumpy().copy()
        for parameter in (*net.get_parameters(), *optimizer.get_parameters())
    ]
    mode, random_state = ms.get_context("mode"), ms.get_rng_state().asnumpy()
    variable = os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS")
    ledger = explain(step, *inputs, isolate=isolate, **QUICK)
    assert any("Adam" in kernel.operators for kernel in ledger.kernels)
    after = [
        parameter.asnumpy() for parameter in (*net.get_parameters(), *optimizer.get_parameters())
    ]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    assert ms.get_context("mode") == mode
    assert np.array_equal(ms.get_rng_state().asnumpy(), random_state)
    assert os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS") == variable
    assert os.listdir(working_directory) == []
    assert not net.compile_cache


def test_a_class_is_not_a_net():
    with pytest.raises(InputError, match="the class MyNet"):
        explain(nets.MyNet, nets.floats(8, 8))


def test_a_net_without_operators_has_an_empty_ledger():
    def nothing(x):
        return x

    ledger = explain(nothing, nets.floats(8, 8), **HERE)
    assert (ledger.before.nodes, ledger.kernels, ledger.unfused) == (0, (), ())
    assert any("no operator at all" in note for note in ledger.notes)


def test_outputs_of_a_net_that_draws_are_not_compared():
    def noisy(x):
        return ms.ops.dropout(x, p=0.5, training=True) * 2.0

    ledger = explain(noisy, nets.floats(64, 64), **HERE)
    assert ledger.output_max_ulp is None and ledger.output_max_abs is None
    assert any(note.startswith("Dropout") for note in ledger.notes)


@pytest.mark.usefixtures("here")
def test_assert_fused_passes_in_any_order():
    assert_fused(nets.MyNet(), (nets.floats(8, 8),), [("Add", "Mul")])


@cases(
    "group, words",
    [
        (
            ("Mul", "Sub"),
            ["Mul + Sub is not in one fused kernel", "no operator Sub", "nearest is Fused_Mul_Add"],
        ),
        (("Mul", "Mul"), ["Mul + Mul is not in one fused kernel"]),
    ],
)
@pytest.mark.usefixtures("here")
def test_assert_fused_names_the_nearest_kernel_and_the_reason(group, words):
    with pytest.raises(FusionNotFound) as caught:
        assert_fused(nets.MyNet(), (nets.floats(8, 8),), [group])
    assert isinstance(caught.value, AssertionError)
    for word in words:
        assert word in str(caught.value)


def test_assert_fused_gives_the_reason_of_the_edge():
    net, inputs = nets.make_case("MatMulBiasReLU")
    ledger = explain(net, *inputs, **HERE)
    assert check_group(ledger, ("BiasAdd", "ReLU")).operators == ("BiasAdd", "ReLU")
    with pytest.raises(FusionNotFound, match="MatMul → BiasAdd: "):
        check_group(ledger, ("MatMul", "BiasAdd"))


TARGET = """
import mindspore as ms
from mindspore import nn, ops

class MyNet(nn.Cell):
    def construct(self, x):
        return ops.add(ops.mul(x, 2.0), 1.0)

class Dies(nn.Cell):
    def construct(self, x):
        import os
        return ops.mul(x, 2.0)

def dies(x):
    return ops.mul(x, "text")
"""


@FULL
def test_target_is_explained_in_a_child(working_directory, tmp_path):
    file = tmp_path / "user.py"
    file.write_text(TARGET)
    ledger = explain_target(f"{file}:MyNet", ["64x128:float32"], measure=False)
    assert [kernel.operators for kernel in ledger.kernels] == [("Mul", "Add")]
    assert ledger.kernels[0].sources[-1].line == 7
    assert os.listdir(working_directory) == []
    assert sorted(os.listdir(tmp_path)) == ["here", "user.py"]


@cases(
    "target, inputs, error, words",
    [
        ("absent.py:Net", ["4:float32"], InputError, "absent.py"),
        pytest.param("user.py:Absent", ["4:float32"], InputError, "Absent", marks=FULL),
        ("", ["4:float32"], InputError, "this does not name a net"),
        pytest.param("user.py:MyNet", ["4:float33"], InputError, "float33", marks=FULL),
        pytest.param(
            "user.py:MyNet",
            ["4:float32", "4:float32"],
            InputError,
            "expected 1 (x), got 2",
            marks=FULL,
        ),
        pytest.param("user.py:dies", ["4:float32"], CaptureError, "dies", marks=FULL),
    ],
)
def test_wrong_targets_are_one_sentence(working_directory, target, inputs, error, words):
    Path("user.py").write_text(TARGET)
    with pytest.raises(error) as caught:
        explain_target(target, inputs)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir() == ["user.py"]


@cases(
    "asked, word",
    [
        ({"preset": "agressive"}, "aggressive"),
        ({"flags": "--opt_level=2 --kernel_generator=DVM"}, "kernel_generator"),
    ],
)
def test_presets_and_flags_are_refused_before_compiling(asked, word):
    with pytest.raises((InputError, UnsafeError), match=word):
        explain(nets.MyNet(), nets.floats(8, 8), isolate=False, **asked)


def test_dumps_of_a_run_without_fusion_say_that_it_was_off():
    ledger = read(Path(__file__).parents[2] / "data" / "ms_2_10" / "MyNet_u")
    assert [edge.reason for edge in ledger.unfused] == ["fusion-off"]
    assert ledger.flags == "--opt_level=0"
    assert any("it was off" in note for note in ledger.notes)


def test_what_mindspore_moves_behind_its_reader_is_said():
    class Moved(nn.Cell):
        def construct(self, x):
            return ops.ReduceSum()(ops.neg(ops.floor(x)), 1)

    asked = HERE | {"only_flags": None, "preset": "auto", "generator": "mindspore"}
    ledger = explain(Moved(), nets.floats(64, 128), **asked)
    reasons = {(edge.producer_op, edge.consumer_op): edge.reason for edge in ledger.unfused}
    assert reasons[("Neg", "ReduceSum")] == "moved"


@FULL
def test_random_states_of_python_and_numpy_are_left_alone():
    python_state, numpy_state = random.getstate(), np.random.get_state()
    explain(nets.MyNet(), nets.floats(8, 8), isolate=False, **QUICK | {"measure": True})
    assert random.getstate() == python_state
    assert np.array_equal(np.random.get_state()[1], numpy_state[1])


@cases("profile", [pytest.param(True, marks=FULL), False])
def test_operators_are_profiled_where_that_is_wanted(tmp_path, profile):
    from ms_fusion.capture.capture_run import CaptureOrder, run_capture

    order = CaptureOrder(
        title="MyNet", only_flags=QUICK["only_flags"], profile=profile, accuracy=False
    )
    place = tmp_path / f"profile_{profile}"
    place.mkdir()
    inputs = (nets.floats(64, 128),)
    python_state, numpy_state = random.getstate(), np.random.get_state()
    found = run_capture(nets.MyNet(), inputs, place, order)
    assert random.getstate() == python_state
    assert np.array_equal(np.random.get_state()[1], numpy_state[1])
    assert found.step_fused_us and found.step_unfused_us
    assert bool(found.operators_fused) is bool(found.operators_unfused) is profile


@FULL
def test_dumps_are_read_without_mindspore(tmp_path):
    file = tmp_path / "user.py"
    file.write_text(TARGET)
    from ms_fusion.capture.capture_run import CaptureOrder, run_capture

    captured = tmp_path / "capture"
    captured.mkdir()
    net, inputs = nets.make_case("Block")
    run_capture(
        net,
        inputs,
        captured,
        CaptureOrder(title="Block", only_flags=QUICK["only_flags"], measure=False),
    )
    brought_home = tmp_path / "home"
    shutil.copytree(captured / "fused", brought_home)
    code = (
        "import sys; sys.modules['mindspore'] = None; import ms_fusion.capture.dump_ledger as c; "
        f"l = c.read({str(brought_home)!r}); print([' '.join(k.operators) for k in l.kernels])"
    )
    seen = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3]
    )
    assert seen.returncode == 0, seen.stderr
    expected = explain(net, *inputs, **QUICK)
    assert ast.literal_eval(seen.stdout) == [
        " ".join(kernel.operators) for kernel in expected.kernels
    ]
    assert len(read(brought_home).kernels) == len(expected.kernels)


@FULL
@cases("isolate", [False, True])
@pytest.mark.filterwarnings("ignore::ms_fusion.mindspore.presets.FusionWarning")
def test_what_is_in_force_is_explained(isolate):
    from ms_fusion.mindspore import presets

    net, inputs = nets.MyNet(), (nets.floats(64, 128),)
    asked = {"measure": False, "accuracy": False, "isolate": isolate}
    with presets.fusion("precise"):
        inside = explain(net, *inputs, **asked)
    assert (inside.preset, inside.kernels) == ("precise", ())
    patched = explain(presets.patch(nets.MyNet(), "basic"), *inputs, **asked)
    assert (patched.preset, len(patched.kernels)) == ("basic", 1)
    outside = explain(net, *inputs, **asked)
    assert (outside.preset, len(outside.kernels)) == ("auto", 1)
    assert any("PyNative mode fuses nothing" in note for note in outside.notes)


class Normed(nn.Cell):
    """A convolution and its normalisation, which MindSpore passes as basic operators only."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)

    def construct(self, x):
        return ops.relu(self.norm(self.conv(x)))


@FULL
@pytest.mark.filterwarnings("ignore::ms_fusion.mindspore.presets.FusionWarning")
def test_flags_in_force_fuse_in_a_child_what_they_fuse_here():
    from ms_fusion.mindspore import presets

    with presets.fusion("auto", generator="ms_fusion"):
        inside = explain(Normed(), nets.floats(2, 4, 8, 8), measure=False, accuracy=False)
    (kernel,) = inside.kernels
    assert {"Conv2D", "Rsqrt", "ReLU"} <= set(kernel.operators)


class Integers(nn.Cell):
    """An integer chain with a division, which MindSpore's own generator must not build."""

    def construct(self, x, y):
        return ((x + y) * x - y) // (y + 1) + x


def test_a_kernel_not_built_is_explained_and_mended():
    inputs = [ms.Tensor(np.arange(4096).reshape(64, 64) % 7, ms.int32) for _ in range(2)]
    asked = QUICK | {"only_flags": "--opt_level=2 --enable_cluster_ops=FloorDiv"}
    before = explain(Integers(), *inputs, isolate=False, **asked)
    assert not before.kernels
    assert {edge.reason for edge in before.unfused} == {"not-built"}
    assert "a division of integers by 0 ends the process" in before.unfused[0].detail
    (flags,) = {edge.suggestion.flags for edge in before.unfused if edge.suggestion}
    mended = QUICK | {"only_flags": add_flags(asked["only_flags"], flags)}
    after = explain(Integers(), *inputs, isolate=False, **mended)
    assert [kernel.operators for kernel in after.kernels] == [("Add", "Mul", "Sub")]
    assert after.output_max_abs == 0


class DividedByNothing(nn.Cell):
    """MindSpore's own generator folds the divisor to 0 and crashes."""

    def construct(self, x, y):
        half = x * 0.5
        return half * 0.5 / (half - half) * 2.0, ops.neg(ops.abs(y))


@FULL
def test_a_kernel_that_kills_the_generator_is_left_out():
    inputs = [nets.floats(32, 1), nets.floats(32, 64)]
    asked = QUICK | {"only_flags": "--opt_level=2 --enable_cluster_ops=Div"}
    ledger = explain(DividedByNothing(), *inputs, **asked)
    assert [kernel.operators for kernel in ledger.kernels] == [("Abs", "Neg")]
    assert {edge.reason for edge in ledger.unfused} == {"generator-failed"}
    assert not any(edge.suggestion for edge in ledger.unfused)


@cases("groups", ["MulAdd", ("Mul", "Add"), ["Mul"]])
def test_a_forgotten_list_of_groups_is_said(groups):
    with pytest.raises(InputError, match=r"such as \[\(\"Mul\", \"Add\"\)\]"):
        assert_fused(nets.MyNet(), (nets.floats(8, 8),), groups)


class Loop(nn.Cell):
    """Control flow without a branch."""

    def construct(self, x):
        while x.sum() < 100.0:
            x = x * 2.0 + 1.0
        return x - 3.0


@FULL
def test_a_branch_is_advised_on():
    branch = explain(nets.Branch(), nets.floats(64, 128), isolate=False, **QUICK)
    left = [edge for edge in branch.unfused if edge.reason == "control-flow"]
    assert [edge.producer_op for edge in left] == ["Add", "Sub", "Add"], (
        "the result of the program is none"
    )
    # the first decides the branch: the choice after it would wait for a reduction of it
    assert [edge.suggestion and edge.suggestion.kind for edge in left] == [None, "code", "code"]


@FULL
def test_a_loop_is_not_advised_on():
    loop = explain(Loop(), ops.ones((4, 4), ms.float32), isolate=False, **QUICK)
    left = [edge for edge in loop.unfused if edge.reason == "control-flow"]
    assert left and not any(edge.suggestion for edge in left)


@FULL
def test_temporary_directory_with_a_dot_in_its_name(tmp_path, monkeypatch):
    place = tmp_path / "with.dot"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    (kernel,) = explain(nets.MyNet(), nets.floats(8, 8), measure=False).kernels
    assert {found.inputs for found in kernel.accuracy} == {"seeded", "edges"}
    assert list(place.rglob("process-*")) == [], "nothing is left"


class Divided(nn.Cell):
    """Two successive operators that are not clustered by default."""

    def construct(self, x, y):
        return ops.floor(ops.div(ops.maximum(x, y), y)) - x


@FULL
@cases(
    "flags, edge",
    [
        ("--opt_level=2", ("Div", "Floor")),
        ("--opt_level=2 --enable_cluster_ops_only=Maximum", ("Sub", "Maximum")),
        ("--opt_level=2 --disable_cluster_ops=Sub,Maximum", ("Sub", "Maximum")),
    ],
    ids=["two operators let in", "let into the only list", "two taken out of a list"],
)
def test_suggestion_of_several_steps_mends_its_edge(flags, edge):
    def net(x, y):
        return ops.maximum(ops.sub(x, y), x)

    target = Divided() if edge[0] == "Div" else net
    inputs = [nets.floats(64, 128, seed=seed) for seed in range(2)]
    asked = {"measure": False, "accuracy": False, "isolate": False}
    before = explain(target, *inputs, only_flags=flags, **asked)
    (found,) = [one for one in before.unfused if (one.producer_op, one.consumer_op) == edge]
    assert found.suggestion is not None and found.suggestion.kind == "flag"
    after = explain(target, *inputs, only_flags=add_flags(flags, found.suggestion.flags), **asked)
    assert check_group(after, edge)
    assert after.output_max_abs <= 1e-5
