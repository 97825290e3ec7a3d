"""`auto_fuse(target="ort")` maps groups to ONNX Runtime's operators where that is not slower."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from ms_fusion.cli.main import run
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.ort import mapping, operator_trials
from ms_fusion.onnx.fuse.ort.equivalents import Equivalent
from ms_fusion.onnx.fuse.ort.operator_trials import TrialResult
from ms_fusion.onnx.fuse.ort.table import EQUIVALENTS, UNMAPPED_RULES, lines
from ms_fusion.onnx.fuse.runtime_operators import make_runtime_fuser
from ms_fusion.onnx.fuse.verification import difference
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.rewrite import Op, Rule
from ms_fusion.rules import DEFAULT_RULES
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.corpus import MODELS, transformers
from tests.ms_fusion.onnx.fuse.models import Builder, transformer_layer

PAGE = Path(__file__).resolve().parents[4] / "docs" / "onnx.md"


MEASURED = operator_trials.measure_times


@pytest.fixture(autouse=True)
def _clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """All costs are equal, so that the mapping does not depend on the machine."""
    monkeypatch.setattr(
        operator_trials, "measure_times", lambda paths, *_: dict.fromkeys(paths, 1.0)
    )


def operators(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def mapped(b: Builder, place: Path, *outputs: str, **told: object) -> list[str]:
    """The operators of a model after mapping; also compares with the original at several sizes."""
    source, output = b.save(place / "model.onnx", *outputs), place / "mapped.onnx"
    wanted = {"target": "ort", "verify": True, "force": True, **told}
    ledger = auto_fuse(source, output, **wanted)  # type: ignore[arg-type]
    assert not [note for note in ledger.notes if "WRONG" in note]
    return operators(output)


def gelu_by_halves(n: transformers.Net) -> str:
    gate = n.add("Add", n.add("Erf", n.add("Div", "x", n.number(2**0.5))), n.number(1.0))
    return str(n.add("Mul", "x", n.add("Mul", gate, n.number(0.5))))


CASES: dict[str, tuple[Callable[[transformers.Net], str], set[str]]] = {
    "gelu": (lambda n: n.gelu("x"), {"Gelu"}),
    "gelu, half of the gate": (gelu_by_halves, {"Gelu"}),
    "gelu by tanh": (lambda n: n.gelu("x", by_tanh=True), {"FastGelu"}),
    "silu": (lambda n: n.silu("x"), {"QuickGelu"}),
    "layer norm": (lambda n: n.layer_norm("x"), {"LayerNormalization"}),
    "layer norm of a sum": (
        lambda n: n.layer_norm(n.add("Add", "x", "r")),
        {"SkipLayerNormalization"},
    ),
    "root mean square": (lambda n: n.rms_norm("x"), {"SimplifiedLayerNormalization"}),
    "root mean square of a sum": (
        lambda n: n.rms_norm(n.add("Add", "x", "r")),
        {"SkipSimplifiedLayerNormalization"},
    ),
}


HALF_IN_QUICK = {"gelu", "layer norm of a sum", "root mean square"}
"""One of each kind that `make test` also runs in half precision."""


@cases(
    "case, half",
    [
        pytest.param(case, half, marks=FULL if half and case not in HALF_IN_QUICK else ())
        for half in (False, True)
        for case in CASES
    ],
)
def test_what_is_spelled_out_becomes_one_operator(case: str, half: bool, tmp_path: Path) -> None:
    write, wanted = CASES[case]
    n = transformers.Net(
        transformers.Sizes(spelled=True, half=half), {"x": ("n", "t", 32), "r": ("n", "t", 32)}
    )
    assert set(mapped(n, tmp_path, write(n))) - {"Cast"} == wanted


@cases("half, wanted", [(True, ["Cast", "Softmax", "Cast"]), (False, ["Softmax"])])
def test_a_softmax_in_float16_is_computed_as_one(
    half: bool, wanted: list[str], tmp_path: Path
) -> None:
    n = transformers.Net(transformers.Sizes(half=half), {"x": ("n", "t", 32)})
    assert mapped(n, tmp_path, n.add("Softmax", "x", axis=1)) == wanted


@cases("axes", [(1,), (1, 2)])
def test_a_norm_over_other_axes_stays(
    axes: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = transformers.Net(transformers.Sizes(spelled=True), {"x": (2, 32, 32)})
    monkeypatch.setattr(n, "whole", lambda *_: n.constant(axes, "int64"))
    assert "LayerNormalization" not in mapped(n, tmp_path, n.layer_norm("x"))


def test_a_sum_that_is_read_again_is_kept(tmp_path: Path) -> None:
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32), "r": ("n", "t", 32)})
    total = n.add("Add", "x", "r")
    found = mapped(n, tmp_path, n.add("Mul", n.layer_norm(total), n.add("Relu", total)))
    assert sorted(found) == ["Mul", "Relu", "SkipLayerNormalization"]


def test_what_is_read_on_the_way_is_not_lost(tmp_path: Path) -> None:
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32)})
    gate = n.add("Sigmoid", "x")
    assert mapped(n, tmp_path, n.add("Add", n.add("Mul", "x", gate), gate)) == [
        "Sigmoid",
        "Mul",
        "Add",
    ]


FAMILIES = ("bert", "gpt", "t5", "vit", "llama")
FAMILIES_IN_QUICK = {"gpt", "llama"}
"""Models that `make test` maps: a causal mask, repeated key heads."""


@cases(
    "family",
    [pytest.param(one, marks=() if one in FAMILIES_IN_QUICK else FULL) for one in FAMILIES],
)
def test_attention_is_one_operator_of_a_newer_version(
    family: str, native: NativeWorkers, tmp_path: Path
) -> None:
    source, output = MODELS[f"{family}_small"](tmp_path / "model.onnx"), tmp_path / "mapped.onnx"
    before = onnx.load(source)
    ledger = auto_fuse(source, output, target="ort", force=True)
    after = onnx.load(output)
    assert "Attention" in operators(output)
    assert "Softmax" not in operators(output)[:-1]
    assert any("raised from version 18" in note for note in ledger.notes)
    for one in ("input", "output"):
        assert [value.name for value in getattr(before.graph, one)] == [
            value.name for value in getattr(after.graph, one)
        ]
    # untried sizes, all different
    known = {"n": 3, "t": 5}
    random = np.random.default_rng(0)
    given = {}
    for value in before.graph.input:
        shape = [dim.dim_value or known[dim.dim_param] for dim in value.type.tensor_type.shape.dim]
        given[value.name] = random.standard_normal(shape).astype(np.float32)
    expected, found = (native.run(path, given).outputs for path in (source, output))
    assert all(difference(name, array, found[name]).agrees for name, array in expected.items())


def test_a_model_is_not_raised_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        operator_trials,
        "measure_times",
        lambda paths, *_: {name: 1.0 + (name == "Attention") for name in paths},
    )
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32)})
    source = n.save(tmp_path / "model.onnx", n.attention("x"))
    ledger = auto_fuse(source, tmp_path / "mapped.onnx", target="ort", force=True)
    assert "MultiHeadAttention" in operators(tmp_path / "mapped.onnx")
    assert onnx.load(tmp_path / "mapped.onnx").opset_import[0].version == n.opset
    assert not any("raised" in note for note in ledger.notes)


@cases("is_whole", [True, False])
def test_queries_and_keys_may_be_scaled_apart(is_whole: bool, tmp_path: Path) -> None:
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32), "y": ("n", 4, "t", 8)})
    q, k, v = (n.heads_of(n.linear("x", 32, 32), [0, 2, 1, 3]) for _ in range(3))
    if not is_whole:
        q, k, v = n.add("Relu", q), n.add("Relu", k), "y"
    k = n.add("Transpose", k, perm=[0, 1, 3, 2])
    scores = n.add("MatMul", n.add("Mul", q, n.number(0.5)), n.add("Div", k, n.number(4.0)))
    mixed = n.add("MatMul", n.add("Softmax", scores, axis=-1), v)
    if is_whole:
        mixed = n.add("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = n.add("Reshape", mixed, n.whole(0, 0, 32))
    found = mapped(n, tmp_path, mixed)
    assert "Attention" in found
    assert "Softmax" not in found


def inner_attention(n: transformers.Net, masked: Callable[[str], str], kv: int = 4) -> str:
    """Attention with separate heads; `kv` heads of keys and values repeat for 4 query heads."""
    q, k, v = "q", "k", "v"
    if kv < 4:
        size = n.constant((2, kv, 4 // kv, 6, 8), "int64")
        k, v = (
            n.add(
                "Reshape",
                n.add("Expand", n.add("Unsqueeze", x, n.whole(2)), size),
                n.constant((2, 4, 6, 8), "int64"),
            )
            for x in (k, v)
        )
    scores = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 1, 3, 2]))
    return str(
        n.add("MatMul", n.add("Softmax", masked(n.add("Mul", scores, n.number(0.25))), axis=-1), v)
    )


def heads_apart(kv: int = 4, *, half: bool = False) -> transformers.Net:
    shapes = {"q": (2, 4, 6, 8), "k": (2, kv, 6, 8), "v": (2, kv, 6, 8), "mask": (2, 1, 1, 6)}
    return transformers.Net(transformers.Sizes(half=half), shapes)


@cases("turned", [False, True], sample=7)
@cases(
    "fill, half, taken",
    [
        (-np.inf, False, True),
        (float(np.finfo(np.float32).min), False, True),
        (-1e4, False, False),
        (0.0, False, False),
        (-np.inf, True, True),
        (-65504.0, True, False),
    ],
)
def test_a_mask_that_selects_is_added(
    fill: float, half: bool, taken: bool, turned: bool, tmp_path: Path
) -> None:
    n = heads_apart(half=half)
    keep = n.add("Greater", "mask", n.number(-0.5))
    order = lambda scores: (  # noqa: E731
        (n.number(fill), scores) if turned else (scores, n.number(fill))
    )
    found = mapped(
        n, tmp_path, inner_attention(n, lambda scores: n.add("Where", keep, *order(scores)))
    )
    assert ("Attention" in found) == taken


@cases("kv", [1, 2])
def test_heads_that_are_repeated_are_read_once(kv: int, tmp_path: Path) -> None:
    n = heads_apart(kv)
    found = mapped(n, tmp_path, inner_attention(n, lambda scores: n.add("Add", scores, "mask"), kv))
    assert "Attention" in found
    assert "Softmax" not in found


def tables(n: transformers.Net, *, same: bool = True, known: bool = False) -> list[str]:
    """cos and sin of 6 positions, 8 values each."""
    if known:
        half = np.random.default_rng(2).standard_normal((6, 4)).astype(n.numpy_type)
        return [
            n.constant(np.concatenate([half, half if same else 2 * half], -1)) for _ in range(2)
        ]
    angles = n.add("MatMul", "places", n.weight(1, 4))
    both = n.add("Concat", angles, angles if same else n.add("Neg", angles), axis=-1)
    return [
        n.add("Mul", n.add("Unsqueeze", n.add(op, both), n.whole(0)), n.number(1.5))
        for op in ("Cos", "Sin")
    ]


@cases("half", [False, True])
@cases("known", [False, True])
@cases("same", [True, False], sample=5)
def test_a_rotary_embedding_takes_half_of_equal_tables(
    same: bool, known: bool, half: bool, tmp_path: Path
) -> None:
    n = transformers.Net(
        transformers.Sizes(d=32, heads=4, half=half), {"x": (2, 4, 6, 8), "places": (6, 1)}
    )
    found = mapped(n, tmp_path, n.rotary("x", *tables(n, same=same, known=known)))
    assert ("RotaryEmbedding" in found) == same


def test_another_turn_is_no_rotary_embedding(tmp_path: Path) -> None:
    n = transformers.Net(transformers.Sizes(), {"x": (2, 4, 6, 8)})
    cos, sin = tables(n, known=True)
    first, second = n.add("Split", "x", outputs=2, axis=-1, num_outputs=2)
    turned = n.add("Concat", n.add("Neg", first), second, axis=-1)
    found = mapped(n, tmp_path, n.add("Add", n.add("Mul", "x", cos), n.add("Mul", turned, sin)))
    assert "RotaryEmbedding" not in found


def test_an_old_model_gets_the_operator_of_its_own_domain(tmp_path: Path) -> None:
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32)})
    n.opset = 17
    assert "MultiHeadAttention" in mapped(n, tmp_path, n.attention("x"))


KEPT = ("bert_half", "gpt_half_spelled", "yolo_silu", "lstm_one", "random_3", "torch_layer")
KEPT_IN_QUICK = {"gpt_half_spelled", "yolo_silu", "lstm_one"}
"""Models that `make test` maps: a transformer, a convolutional net, a recurrent one."""


@cases("name", [pytest.param(one, marks=() if one in KEPT_IN_QUICK else FULL) for one in KEPT])
def test_models_of_the_corpus_stay_what_they_are(name: str, tmp_path: Path) -> None:
    source = MODELS[name](tmp_path / "model.onnx")
    ledger = auto_fuse(source, tmp_path / "mapped.onnx", target="ort", verify=True, force=True)
    assert not [note for note in ledger.notes if "WRONG" in note]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mapped.onnx", "model.onnx"]


def test_what_is_slower_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        operator_trials,
        "measure_times",
        lambda paths, *_: {name: 2.0 if name else 1.0 for name in paths},
    )
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32)})
    source = n.save(tmp_path / "model.onnx", n.silu("x"))
    ledger = auto_fuse(source, target="ort", dry_run=True)
    assert ledger.kernels == ()
    assert [one.reason for one in ledger.rejected] == [
        "QuickGelu takes 2.0 µs, and ONNX Runtime 1.0 µs as it is"
    ]


def test_the_quickest_of_several_is_taken() -> None:
    assert operator_trials._choose_fastest({"": 3.0, "a": 2.1, "b": 2.0}) == TrialResult(
        "a", 2.1, 3.0
    )
    assert operator_trials._choose_fastest({"": 3.0, "a": 2.9, "b": 2.0}) == TrialResult(
        "b", 2.0, 3.0
    )
    assert operator_trials._choose_fastest({"": 1.0, "a": 1.05}).written == "a"
    assert operator_trials._choose_fastest({"": 1.0, "a": 1.2}).written is None


def test_times_are_in_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_trials, "measure_times", MEASURED)
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32)})
    source = n.save(tmp_path / "model.onnx", n.silu("x"))
    ledger = auto_fuse(source, target="ort", dry_run=True, assume={"n": 64, "t": 64})
    times = [time for one in ledger.kernels for time in (one.time_us, one.unfused_time_us)]
    assert len(times) == 2 * len(ledger.kernels)
    assert all(time and time > 0 for time in times)
    assert len(ledger.kernels) + len(ledger.rejected) == 1


def test_what_is_wrong_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silu = next(one.rule for one in EQUIVALENTS if one.rule.name == "SiLU")
    wrong = Equivalent(silu, (("Sigmoid", lambda site: site.call_in_float32("Sigmoid", "x")[:0]),))
    monkeypatch.setattr(mapping, "EQUIVALENTS", (wrong,))
    n = transformers.Net(transformers.Sizes(), {"x": ("n", "t", 32)})
    source = n.save(tmp_path / "model.onnx", n.silu("x"))
    ledger = auto_fuse(source, target="ort", dry_run=True)
    assert ledger.kernels == ()
    assert "Sigmoid differs by" in ledger.rejected[0].reason


def test_a_mapping_that_changes_a_result_is_found_and_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = mapping.replace_groups

    def spoilt(model, sites, nodes, values):
        whole(model, sites, nodes, values)
        for node in model.graph:
            if node.op_type == "QuickGelu":
                node.attributes.add(mapping.ir.AttrFloat32("alpha", 2.0))

    monkeypatch.setattr(mapping, "replace_groups", spoilt)
    n = transformers.Net(transformers.Sizes(spelled=True), {"x": ("n", "t", 32)})
    source = n.save(tmp_path / "model.onnx", n.silu(n.rms_norm("x")))
    ledger = auto_fuse(source, tmp_path / "mapped.onnx", target="ort", verify=True, force=True)
    assert [one.name for one in ledger.kernels] == ["SimplifiedLayerNormalization"]
    assert any(one.reason == "the model differs with it" for one in ledger.rejected)


def test_levels_and_names_say_what_is_tried(tmp_path: Path) -> None:
    source = transformer_layer(tmp_path / "layer.onnx")
    names = lambda **told: {  # noqa: E731
        one.name for one in auto_fuse(source, target="ort", dry_run=True, **told).kernels
    }
    assert names(opt_level=0) == set()
    assert "Attention" not in names(opt_level=2)
    assert names(fusion_rules="SiLU,LinearBias") == {"QuickGelu"}
    own = Rule("MyGate", "intra-operator", Op("Mul", "x", Op("Sigmoid", "x")))
    ledger = auto_fuse(source, target="ort", dry_run=True, fusion_rules=[own])
    assert [one.reason for one in ledger.rejected] == ["ONNX Runtime has no operator for it"]
    with pytest.raises(InputError, match="unknown rule"):
        make_runtime_fuser("SiLUU")
    with pytest.raises(InputError, match="a constraint bounds the estimate"):
        auto_fuse(source, target="ort", dry_run=True, fusion_rules=["all", {"constraint": 0.5}])


def test_the_command_says_what_became_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = transformer_layer(tmp_path / "layer.onnx"), tmp_path / "mapped.onnx"
    asked = ["fuse", "--input", str(source), "--target", "ort", "--force"]
    assert run([*asked, "--output", str(output), "--report", str(tmp_path / "report.html")]) == 0
    said = capsys.readouterr().out.splitlines()
    (mapped,) = (line for line in said if "groups are ONNX Runtime's operators: " in line)
    assert "1 × QuickGelu" in mapped
    assert f"[INFO] Wrote {output}" in said
    assert (
        run(
            [
                "fuse",
                "--input",
                str(output),
                "--target",
                "ort",
                "--output",
                str(tmp_path / "again.onnx"),
            ]
        )
        == 3
    )
    assert not (tmp_path / "again.onnx").exists()
    assert run([*asked, "--dry-run", "--device", "ascend910b"]) == 2
    assert "on a CPU" in capsys.readouterr().err
    with pytest.raises(InputError, match="unknown target"):
        auto_fuse(source, dry_run=True, target="nothing")


def test_every_rule_is_mapped_or_has_a_reason() -> None:
    known = {one.rule.name for one in EQUIVALENTS} | set(UNMAPPED_RULES)
    assert {rule.name for rule in DEFAULT_RULES} <= known


def test_the_page_has_the_tables() -> None:
    assert "\n".join(lines()) in PAGE.read_text("utf-8")
