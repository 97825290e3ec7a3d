"""ONNX in, fused ONNX and kernels out: equivalent, marked, complete or unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore
import numpy as np
import onnx
import onnx_ir as ir
import pytest

import ms_fusion
from ms_fusion.cli.main import run
from ms_fusion.onnx.fuse import auto_fuse as module
from ms_fusion.onnx.fuse import decisions
from ms_fusion.onnx.fuse import output_files as written
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.kernels import operator_lowering
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops import ONNX_OPERATORS, OPERATORS
from ms_fusion.ops.op_info import OnnxOperator
from ms_fusion.rewrite import Op, Rule
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import Builder, convolutional_net, transformer_layer


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    return transformer_layer(tmp_path / "layer.onnx")


def nodes_of(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def test_a_transformer_layer_becomes_a_few_kernels(layer: Path, native: NativeWorkers) -> None:
    output = layer.with_name("fused.onnx")
    ledger = ms_fusion.auto_fuse(layer, output, assume={"n": 4, "t": 64}, verify=True)
    rules = {kernel.name.partition("_")[0] for kernel in ledger.kernels}
    assert {"LinearResidual", "LayerNormLinearActivation"} <= rules
    assert any({"MatMul", "Softmax"} <= {*kernel.operators} for kernel in ledger.kernels)
    assert len(nodes_of(output)) < len(nodes_of(layer)) / 2
    assert ledger.output_max_abs is not None
    assert ledger.output_max_abs < 1e-5
    before, after = onnx.load(layer).graph, onnx.load(output).graph
    assert [one.name for one in before.input] == [one.name for one in after.input]
    assert [one.name for one in before.output] == [one.name for one in after.output]
    assert after.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    # other sizes than the assumed ones
    x = np.random.default_rng(0).standard_normal((2, 7, 32)).astype(np.float32)
    expected, found = (native.run(path, {"x": x}).outputs for path in (layer, output))
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)


def gated(place: Path) -> Path:
    """A few operators with a product between them."""
    b = Builder({"x": (64, 77)})
    soft = b.add("Softmax", b.add("Mul", "x", b.add("Sigmoid", "x")))
    return b.save(place / "gated.onnx", b.add("Tanh", b.add("MatMul", soft, b.weight(77, 8))))


@pytest.mark.usefixtures("timed")
@cases("net", ["gated", pytest.param("layer", marks=FULL)])
def test_what_was_verified_was_timed_and_the_report_draws_it(
    net: str, layer: Path, tmp_path: Path
) -> None:
    layer = layer if net == "layer" else gated(tmp_path)
    report = layer.with_name("fusion.html")
    ledger = auto_fuse(layer, dry_run=True, verify=True, report=report, fusion_rules="Cluster")
    assert ledger.kernels
    assert all(kernel.time_us and kernel.unfused_time_us for kernel in ledger.kernels)
    assert "Predicted beside measured" in report.read_text("utf-8")
    quiet = auto_fuse(layer, dry_run=True, report=report, fusion_rules="Cluster")
    assert {kernel.time_us for kernel in quiet.kernels} == {None}
    assert "Predicted savings" in report.read_text("utf-8")


def test_kernels_lie_beside_the_model_and_in_the_manifest(layer: Path) -> None:
    ledger = auto_fuse(layer, layer.with_name("fused.onnx"))
    place = layer.with_name("kernels")
    told = json.loads((place / "manifest.json").read_text())
    assert {f"{one['name']}.c" for one in told["kernels"]} == {
        path.name for path in place.glob("*.c")
    }
    assert len(told["kernels"]) == len({kernel.name for kernel in ledger.kernels})
    assert sorted(path.name for path in layer.parent.iterdir()) == [
        "fused.onnx",
        "kernels",
        "layer.onnx",
    ]


def test_what_was_not_made_has_a_number_and_a_reason(layer: Path) -> None:
    ledger = auto_fuse(layer, dry_run=True)
    reasons = [one.reason for one in ledger.rejected]
    assert any("others that share operators with it save more" in reason for reason in reasons)
    assert all(reasons)
    assert "Fusions not made" in str(ledger)
    assert ms_fusion.Ledger.from_json(ledger.to_json()).rejected == ledger.rejected


def test_an_operator_in_other_shapes_is_no_fusion(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 8, 4, 4)})
    grouped = b.add("Reshape", "x", b.constant([0, 2, -1], "int64"))
    normed = b.add("InstanceNormalization", grouped, b.weight(2), b.weight(2))
    source = b.save(
        tmp_path / "net.onnx", b.add("Reshape", normed, b.constant([-1, 8, 4, 4], "int64"))
    )
    ledger = auto_fuse(source, dry_run=True)
    assert (ledger.kernels, ledger.rejected) == ((), ())


def test_convolutions_become_kernels_with_what_follows_them(tmp_path: Path) -> None:
    source, output = convolutional_net(tmp_path / "net.onnx"), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, verify=True)
    assert "BatchNormalization" not in nodes_of(output)
    begun = {one.operators[:3] for one in ledger.kernels}
    assert {("Conv", "Relu"), ("Conv", "Sigmoid", "Mul")} <= begun
    assert ledger.output_max_abs is not None
    assert ledger.output_max_abs < 1e-5


def test_a_dry_run_writes_nothing(layer: Path) -> None:
    ledger = auto_fuse(layer, dry_run=True)
    assert ledger.kernels
    assert [path.name for path in layer.parent.iterdir()] == ["layer.onnx"]


@cases("level, kinds", [(0, set()), (1, {"intra"}), (2, {"intra", "cross"})])
def test_the_level_says_what_is_tried(layer: Path, level: int, kinds: set[str]) -> None:
    ledger = auto_fuse(layer, dry_run=True, opt_level=level)
    products = [sum(op == "MatMul" for op in kernel.operators) for kernel in ledger.kernels]
    assert bool(products) == bool(kinds)
    assert max(products, default=0) == (1 if "cross" in kinds else 0)
    assert {one.kind.partition("-")[0] for one in ledger.rejected} <= kinds


def test_rules_are_chosen_by_name_and_may_be_ones_own(layer: Path) -> None:
    own = Rule("MyGate", "intra-operator", Op("Mul", "x", Op("Sigmoid", "x")))
    ledger = auto_fuse(layer, dry_run=True, fusion_rules=[own])
    assert [kernel.operators for kernel in ledger.kernels] == [("Sigmoid", "Mul")]
    ledger = auto_fuse(layer, dry_run=True, fusion_rules="AddLayerNorm,LinearBias")
    assert {one.name.partition("_")[0] for one in ledger.kernels} <= {"AddLayerNorm", "LinearBias"}
    with pytest.raises(InputError, match="unknown rule"):
        auto_fuse(layer, dry_run=True, fusion_rules="LinearBiass")
    written = {"pattern": ["Sigmoid", "Mul"], "condition": lambda a, b: a.dtype == "float32"}
    ledger = auto_fuse(layer, dry_run=True, fusion_rules=[written, {"pattern": ["Exp", "Neg"]}])
    assert [kernel.name.partition("_")[0] for kernel in ledger.kernels] == ["SigmoidMul"]
    assert "the rule ExpNeg fits nowhere in the model" in ledger.notes
    few = {"constraint": "UB_usage < 0.001 * UB_capacity"}
    refused = auto_fuse(layer, dry_run=True, fusion_rules=[written, few], device_name="ascend910b")
    assert [one.reason.partition("(")[2][:2] for one in refused.rejected] == ["0%"]


# `test_reproducers` covers a differing result too
@cases("instead", [pytest.param("Tanh", marks=FULL), "NoOperator"])
def test_a_fusion_that_changes_a_result_is_found_and_dropped(instead: str, layer: Path) -> None:
    from ms_fusion.onnx.fuse import functions

    whole = functions.graph_of

    def spoilt(model, group, *rest):
        graph = whole(model, group, *rest)
        if "LinearActivation" in group.function:
            for node in graph:
                if node.op_type == "Sigmoid":
                    node.op_type = instead
        return graph

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "graph_of", spoilt)
        ledger = auto_fuse(layer, layer.with_name("fused.onnx"), verify=True)
    assert not any("LinearActivation" in kernel.name for kernel in ledger.kernels)
    assert len(ledger.kernels) > 1
    assert any(one.reason == "the model differs with it" for one in ledger.rejected)
    assert not any("WRONG" in note for note in ledger.notes)


def without_a_softmax(made: Callable[..., Any]) -> Callable[..., Any]:
    """A step that drops an operator."""

    def wrong(model: ir.Model, *rest: Any) -> Any:
        done = made(model, *rest)
        node = next(one for one in model.graph if one.op_type == "Softmax")
        ir.convenience.replace_all_uses_with(node.outputs[0], node.inputs[0])
        return done

    return wrong


def test_clean_up_that_changes_a_result_is_left_away(
    layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "clean", without_a_softmax(module.clean))
    ledger = auto_fuse(layer, layer.with_name("fused.onnx"), verify=True)
    assert any(
        note.startswith("clean-up would change what the model computes") for note in ledger.notes
    )
    assert not [note for note in ledger.notes if "WRONG" in note]
    assert any("Softmax" in kernel.operators for kernel in ledger.kernels)


def test_what_differs_without_clean_up_too_is_refused(
    layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("clean", "prepare_without_cleanup"):
        monkeypatch.setattr(module, name, without_a_softmax(getattr(module, name)))
    with pytest.raises(InputError, match="other numbers for the same operators"):
        auto_fuse(layer, layer.with_name("fused.onnx"), verify=True)
    assert not layer.with_name("fused.onnx").exists()


@cases("rules", ["Cluster", pytest.param("all", marks=FULL)])
def test_a_kernel_that_is_wrong_is_not_used(
    rules: str, layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt = OnnxOperator("Softmax", lambda call: call.in_form(op="Exp"))
    wrong = {**ONNX_OPERATORS, "Softmax": (OPERATORS["Softmax"], spoilt)}
    monkeypatch.setattr(operator_lowering, "ONNX_OPERATORS", wrong)
    ledger = auto_fuse(layer, dry_run=True, fusion_rules=rules)
    assert not any("Softmax" in kernel.operators for kernel in ledger.kernels)
    assert any("differs from ONNX Runtime" in one.reason for one in ledger.rejected)


# one candidate in `make test`: each refusal lets others in
OWN = Rule("MyGate", "intra-operator", Op("Mul", "x", Op("Sigmoid", "x")))


@cases("rules", [[OWN], pytest.param("all", marks=FULL)], ids=["one", "all"])
def test_a_group_that_cannot_be_checked_is_not_used(
    rules: Any, layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: object) -> None:
        raise decisions.WorkerError("no runtime")

    monkeypatch.setattr(decisions, "check_group", refused)
    ledger = auto_fuse(layer, dry_run=True, fusion_rules=rules)
    assert ledger.kernels == ()
    assert any(one.reason.startswith("not checked") for one in ledger.rejected)


def test_the_command_says_what_it_did(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = layer.with_name("fused.onnx")
    assert (
        run(
            [
                "fuse",
                "--input",
                str(layer),
                "--output",
                str(output),
                "--fusion-rules",
                "all",
                "--opt-level",
                "3",
                "--assume",
                "n=2",
                "--report",
                str(layer.with_name("fusion.html")),
            ]
        )
        == 0
    )
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("[INFO] Found 27 operators, ")
    assert f"[INFO] Wrote {output}" in said
    assert "Fusions not made" in layer.with_name("fusion.html").read_text("utf-8")
    assert (
        run(["fuse", "--input", str(output), "--output", str(layer.with_name("again.onnx"))]) == 3
    )
    assert not layer.with_name("again.onnx").exists()


@cases(
    "compiler, why",
    [("/no/such/compiler", "is not there. Install"), ("false", "the C compiler failed")],
)
def test_the_command_says_why_no_kernel_could_be_built(
    compiler: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MS_FUSION_CC", compiler)
    b = Builder({"x": (64, 77)})
    source = b.save(
        tmp_path / "model.onnx", b.add("Tanh", b.add("Mul", "x", b.add("Sigmoid", "x")))
    )
    assert run(["fuse", "--input", str(source), "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "[INFO] Fused 0 operators into 0 kernels." in said
    (note,) = (one for one in said if "kernels could not be built" in one)
    assert why in note


@cases(
    "options, said",
    [
        (["--output", "{place}/layer.onnx"], "cannot be written there"),
        (
            ["--output", "{place}/no/fused.onnx"],
            "does not exist. Make it first: mkdir -p {place}/no",
        ),
        ([], "no path is given"),
        (["--dry-run", "--assume", "n"], "not of the form NAME=SIZE"),
        (["--dry-run", "--fusion-rules", "nothing"], "unknown rule"),
    ],
)
def test_bad_input_is_one_sentence(
    layer: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = [one.format(place=layer.parent) for one in options]
    assert run(["fuse", "--input", str(layer), *told]) == 2
    assert said.format(place=layer.parent) in capsys.readouterr().err
    assert [path.name for path in layer.parent.iterdir()] == ["layer.onnx"]


def test_a_directory_of_the_users_is_left_alone(layer: Path) -> None:
    place = layer.with_name("kernels")
    place.mkdir()
    (place / "mine.c").write_text("mine")
    with pytest.raises(InputError, match="not written by ms_fusion"):
        auto_fuse(layer, layer.with_name("fused.onnx"))
    assert [path.name for path in place.iterdir()] == ["mine.c"]
    assert not layer.with_name("fused.onnx").exists()


def test_kernels_of_other_models_stay(tmp_path: Path) -> None:
    def gated(name: str, op: str) -> Path:
        b = Builder({"x": (64, 77)})
        return b.save(tmp_path / name, b.add("Softmax", b.add("Mul", "x", b.add(op, "x"))))

    def files() -> set[str]:
        names = {path.name for path in (tmp_path / "kernels").iterdir()}
        return names - {"manifest.json", "include"}

    auto_fuse(gated("sigmoid.onnx", "Sigmoid"), tmp_path / "one.onnx", debug=True)
    first = files()
    layer = gated("tanh.onnx", "Tanh")
    auto_fuse(layer, tmp_path / "two.onnx")
    both = files()
    assert first < both
    told = json.loads((tmp_path / "kernels" / "manifest.json").read_text())
    assert (told["model"], [one["model"] for one in told["others"]]) == ("two.onnx", ["one.onnx"])
    (tmp_path / "one.onnx").unlink()
    auto_fuse(layer, tmp_path / "two.onnx")
    assert files() == both - first
    assert json.loads((tmp_path / "kernels" / "manifest.json").read_text())["others"] == []


def test_names_in_a_manifest_lead_nowhere(layer: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "kernels").mkdir()
    entry = {"name": "../secret"}
    others = [
        {"model": "layer.onnx", "kernels": [entry], "reproducers": ["..", "/", 3]},
        7,
        {"model": "../x", "kernels": []},
    ]
    (tmp_path / "kernels" / "manifest.json").write_text(
        json.dumps({"model": "layer.onnx", "kernels": [entry, 1], "others": others})
    )
    auto_fuse(layer, tmp_path / "fused.onnx")
    assert not list((tmp_path / "kernels").rglob("*secret*"))


def test_several_sizes_are_assumed_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    b = Builder({"x": ("n", "t")})
    source = b.save(tmp_path / "net.onnx", b.add("Relu", b.add("Neg", "x")))
    assert run(["fuse", "--input", str(source), "--dry-run", "--assume", "n=2,t=16"]) == 0
    said = capsys.readouterr().out
    assert "n is assumed to be 2" in said and "t is assumed to be 16" in said


def test_a_size_that_the_model_has_not_is_told(layer: Path) -> None:
    notes = auto_fuse(layer, dry_run=True, opt_level=0, assume={"batch": 8, "t": 4}).notes
    assert "no size of the model is called batch; those of its inputs are n, t" in notes


@cases("size", [0, -1, 2.5, "8", 1 << 31])
def test_a_size_is_a_whole_number_above_0(size: Any, layer: Path) -> None:
    with pytest.raises(InputError, match="assume, n: this is not a size"):
        auto_fuse(layer, dry_run=True, assume={"n": size})


@cases("report", ["layer.onnx", "fused.onnx", "link.html"])
def test_a_report_over_a_model_is_refused(layer: Path, report: str) -> None:
    before = layer.read_bytes()
    link = layer.with_name("link.html")
    if not link.is_symlink():
        link.symlink_to(layer)
    with pytest.raises(InputError, match="the report cannot be written there"):
        auto_fuse(layer, layer.with_name("fused.onnx"), opt_level=0, report=layer.with_name(report))
    assert layer.read_bytes() == before and not layer.with_name("fused.onnx").exists()


def test_weights_of_the_input_are_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = Builder({"x": (4, 8)})
    model = b.model(b.add("Relu", b.add("MatMul", "x", b.weight(8, 8))))
    onnx.save(
        model,
        tmp_path / "m.onnx",
        save_as_external_data=True,
        location="fused.onnx.data",
        size_threshold=0,
    )
    before = (tmp_path / "fused.onnx.data").read_bytes()
    monkeypatch.setattr(written, "INLINE_BYTES_MAX", 0)
    with pytest.raises(InputError, match="would overwrite weights of the input"):
        auto_fuse(tmp_path / "m.onnx", tmp_path / "fused.onnx", opt_level=0)
    assert (tmp_path / "fused.onnx.data").read_bytes() == before
    auto_fuse(tmp_path / "m.onnx", tmp_path / "other.onnx", opt_level=0)
    assert (tmp_path / "other.onnx.data").is_file()


@cases("what", ["output", "report"])
def test_nothing_is_written_where_weights_of_the_input_lie(what: str, tmp_path: Path) -> None:
    place = tmp_path / what
    place.mkdir()
    b = Builder({"x": (4, 8)})
    model = b.model(b.add("Relu", b.add("MatMul", "x", b.weight(8, 8))))
    onnx.save(
        model, place / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    before = (place / "w.bin").read_bytes()
    places = {"output": place / "fused.onnx", what: place / "w.bin"}
    with pytest.raises(InputError, match="the file contains weights of the input model"):
        auto_fuse(place / "m.onnx", opt_level=0, **places)
    assert (place / "w.bin").read_bytes() == before
    assert not (place / "fused.onnx").exists()


def test_links_in_a_circle_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to(tmp_path / "m.onnx")
    with pytest.raises(InputError, match="the model cannot be opened"):
        auto_fuse(tmp_path / "m.onnx", dry_run=True)


def test_texts_cannot_be_compared(tmp_path: Path) -> None:
    b = Builder({"x": (4,)})
    model = b.model(b.add("Cast", "x", to=onnx.TensorProto.STRING))
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(InputError, match=r"could not be compared.*no numbers"):
        auto_fuse(tmp_path / "m.onnx", dry_run=True, verify=True)


def test_the_same_model_gives_the_same_bytes(layer: Path) -> None:
    output = layer.with_name("fused.onnx")
    auto_fuse(layer, output)
    first = output.read_bytes()
    auto_fuse(layer, output)
    assert output.read_bytes() == first


def test_loops_and_branches_are_left_as_they_are(tmp_path: Path) -> None:
    b = Builder({"x": (4,)})
    x = b.add("Relu", b.add("Add", "x", "x"))
    inner = onnx.helper.make_graph(
        [onnx.helper.make_node("Mul", [x, "v0"], ["inner"])],
        "then",
        [],
        [onnx.helper.make_tensor_value_info("inner", 1, [4])],
    )
    other = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", [x], ["other"])],
        "else",
        [],
        [onnx.helper.make_tensor_value_info("other", 1, [4])],
    )
    total = b.add("ReduceSum", "x", keepdims=0)
    truth = b.add("Greater", total, b.constant(0.0, "float32"))
    y = b.add("If", truth, then_branch=inner, else_branch=other)
    source, output = b.save(tmp_path / "branch.onnx", b.add("Tanh", y)), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, verify=True)
    assert "If" in nodes_of(output)
    assert ledger.output_max_abs == 0.0


def test_a_shape_that_a_value_has_already_is_not_given_again(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 8)})
    x = b.add("Reshape", b.add("Relu", "x"), b.constant([0, 8], "int64"))
    source, output = b.save(tmp_path / "net.onnx", b.add("Tanh", x)), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, opt_level=0, verify=True)
    assert nodes_of(output) == ["Relu", "Tanh"]
    assert ledger.output_max_abs == 0.0


@cases("opset", [7, pytest.param(8, marks=FULL), pytest.param(9, marks=FULL)])
def test_old_versions_have_no_constants_of_whole_numbers(
    opset: int, native: NativeWorkers, tmp_path: Path
) -> None:
    b = Builder({"x": ("n", 8, 6)}, opset=opset)
    shape = b.constant([-1, 4, 12], "int64")
    results = []
    for first in ("Sigmoid", "Tanh"):
        turned = b.add("Reshape", b.add(first, b.add("Neg", "x")), shape)
        results.append(b.add("Exp", b.add("Softsign", turned)))
    source, output = b.save(tmp_path / "net.onnx", *results), tmp_path / "fused.onnx"
    ledger = auto_fuse(source, output, verify=True, assume={"n": 4096})
    assert ledger.kernels
    onnx.checker.check_model(onnx.load(output), full_check=True)
    x = np.random.default_rng(0).standard_normal((3, 8, 6)).astype(np.float32)
    expected = native.run(source, {"x": x}).outputs.values()
    found = ms_fusion.from_onnx(output)(mindspore.Tensor(x))
    for one, two in zip(expected, found, strict=True):
        np.testing.assert_allclose(two.asnumpy(), one, rtol=1e-5, atol=1e-6)


def test_sizes_that_the_model_does_not_take_are_told(tmp_path: Path) -> None:
    b = Builder({"x": ("n", "t"), "state": (2, "n", 8)})
    added = b.add("Add", "x", b.constant([1, 2, 3, 4], "float32"))
    source = b.save(tmp_path / "net.onnx", added, b.add("Relu", "state"))
    for assume, message in (
        ({"n": 5}, r"run with n=5,t=3\. Give sizes that the model takes: --assume t=…"),
        ({}, r"run with n=3,t=3\. Give sizes that the model takes: --assume n=…,t=…"),
    ):
        for options in ({"verify": True}, {"target": "ort"}, {"target": "ort-kernels"}):
            with pytest.raises(InputError, match=message):
                auto_fuse(source, dry_run=True, assume=assume, **options)
    assert auto_fuse(source, dry_run=True, verify=True, assume={"t": 4}).output_max_abs == 0


@cases("shape", [(2, 5), ("n", 5), None])
def test_an_input_may_be_a_result_that_says_no_shape(shape: Any, tmp_path: Path) -> None:
    b = Builder({"x": (4, 8)})
    b.inputs.append(onnx.helper.make_tensor_value_info("state", b.dtype, shape))
    source = b.save(tmp_path / "net.onnx", b.add("Mul", "x", b.add("Sigmoid", "x")), "state")
    ledger = auto_fuse(source, tmp_path / "fused.onnx", verify=True)
    assert (ledger.output_max_abs, len(ledger.kernels)) == (0, 1)
    (told,) = (one for one in onnx.load(tmp_path / "fused.onnx").graph.input if one.name == "state")
    assert [one.dim_value or one.dim_param for one in told.type.tensor_type.shape.dim] == list(
        shape or ()
    )
    assert not any("no size of the model" in note for note in ledger.notes)


def test_inputs_without_a_shape_are_named_in_the_error(tmp_path: Path) -> None:
    b = Builder({"x": (4, 8)})
    b.inputs.append(onnx.helper.make_tensor_value_info("weight", b.dtype, None))
    source = b.save(tmp_path / "net.onnx", b.add("MatMul", "x", "weight"))
    with pytest.raises(InputError, match="what shape its inputs have: none is told of weight"):
        auto_fuse(source, dry_run=True, verify=True)
