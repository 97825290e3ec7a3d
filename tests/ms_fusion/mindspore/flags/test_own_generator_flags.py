"""`enable()` on CPU: our kernel server builds MindSpore's groups, through real MindSpore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.lowering.onednn.onednn_steps import LIBRARY
from ms_fusion.mindspore.flags.generator_limits import EXCLUDED_OPERATORS, GENERATOR
from ms_fusion.mindspore.flags.own_generator_flags import (
    CLUSTERED_OPERATORS,
    EXPANDED_OPERATORS,
    LIBRARY_OPERATORS,
    drop_excluded_operators,
)
from ms_fusion.mindspore.flags.preset_table import resolve
from ms_fusion.mindspore.presets import generator_proof
from ms_fusion.ops import operators_where, selections
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run, some


@pytest.fixture(scope="module")
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """`make test` uses no batch norm classes other than `nn.BatchNorm2d`."""
    return run(
        PROGRAMS / "served.py",
        tmp_path_factory.mktemp("served") / "work",
        *some(request, ["full"], "full"),
    ).result


@pytest.mark.mindspore
def test_our_generator_is_proved_and_in_force(seen: dict[str, Any]) -> None:
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
    # one kernel with a sum in the middle: MindSpore's own generator stops at the sum
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
def test_batch_norms_are_in_the_groups_and_move_as_mindspores(seen: dict[str, Any]) -> None:
    for fused, unfused in zip(*seen["moving"], strict=True):
        assert fused == pytest.approx(unfused, rel=1e-5)
    bodies = [set(body) for body in seen["all groups"]]
    assert any({"Conv2D", "Rsqrt", "Maximum"} <= body for body in bodies)
    assert any({"Conv2DBackpropFilter", "ReduceSum"} <= body for body in bodies)


@FULL
@pytest.mark.mindspore
def test_batch_norms_of_other_classes_give_the_unfused_values(seen: dict[str, Any]) -> None:
    for fused, unfused in zip(seen["norms fused"], seen["norms unfused"], strict=True):
        assert fused == pytest.approx(unfused, rel=1e-5, abs=2e-3 if len(unfused) == 120 else 1e-5)


@FULL
@pytest.mark.mindspore
def test_batch_norms_of_ops_and_of_mint_are_part_of_the_groups(seen: dict[str, Any]) -> None:
    for fused, _ in (seen["spelled"][way] for way in ("nn", "ops", "mint")):
        for way in seen["spelled unfused"]:
            for found, wanted in zip(fused, seen["spelled unfused"][way], strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    bare, _ = seen["spelled"]["bare"]
    # without moving averages the batch statistics are used, in any mode
    np.testing.assert_allclose(bare, [seen["spelled"]["nn"][0][0]] * 2, rtol=1e-5, atol=1e-5)


@FULL
@pytest.mark.mindspore
def test_convolution_batch_norm_and_relu_are_one_kernel(seen: dict[str, Any]) -> None:
    _, kernels = seen["spelled"]["nn"]
    (in_training, in_inference) = (one for one in kernels if len(one) > 1)
    assert [by for by, _ in in_training] == ["onednn", "c"]
    assert {"ReduceMean", "Rsqrt", "Maximum", "Assign"} <= set(in_training[1][1])
    ((by, operators),) = in_inference[1:]
    assert by == "onednn"
    assert [one for one in operators if one != "Reshape"] == ["Conv2D", "Mul", "Add", "Maximum"]
    # every spelling gives the same kernels and one ledger; mint also counts its batches
    assert seen["spelled"]["ops"][1] == []
    assert {name for one in seen["spelled"]["mint"][1] for _, names in one for name in names} <= {
        "Add",
        "Mul",
    }
    assert seen["in one"] == [in_inference]


@pytest.mark.mindspore
def test_what_kills_mindspores_own_generator_is_right(
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
def test_what_mindspores_own_generator_gets_wrong_is_right(
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
    assert "`CumSum` stays out of the groups: a running sum is not a loop nest" in kept_out
    assert seen["running"] == pytest.approx([2 * np.cumsum(np.exp([1, 3, 5, 0])).sum()])
    (said,) = seen["said"]
    assert said.startswith("Running: a kernel is right, but slow, computed without C")
    assert "CumSum of float32 [1, 4]" in said and "`--disable_cluster_ops=CumSum`" in said
    (by, why), notes = seen["not built"]
    assert by == "numpy" and "CumSum of float32 [2, 3]" in why
    assert any("in vain" in note and "CumSum of float32 [2, 3]" in note for note in notes)


def test_what_comes_by_itself_stays_out_beside_other_flags() -> None:
    flags = drop_excluded_operators(
        resolve("auto", flags="--disable_cluster_ops=Exp", generator="ms_fusion")
    )
    assert flags.disable_cluster_ops == ("Exp", "ReduceAll")


def test_every_operator_that_may_come_is_known() -> None:
    asked = set(CLUSTERED_OPERATORS) | selections.CPU_CLUSTER_OPS
    lowered = operators_where(lambda operator: operator.lowering_rule is not None)
    assert asked <= lowered and not EXCLUDED_OPERATORS.keys() & asked
    assert not set(EXPANDED_OPERATORS) & (selections.CPU_EXPAND_OPS | asked)


@cases("preset", ["auto", "aggressive", "basic", "expert"])
def test_presets_select_our_generator_on_cpu_only(preset: str) -> None:
    assert resolve(preset, generator="ms_fusion").kernel_generator == GENERATOR
    assert resolve(preset, device="GPU", generator="ms_fusion").kernel_generator is None


def test_without_the_library_its_operators_stay_mindspores() -> None:
    assert {
        "MaxPoolGrad"
    } == LIBRARY.keys() - LIBRARY_OPERATORS and LIBRARY.keys() > LIBRARY_OPERATORS
    given = resolve("auto", generator="ms_fusion")
    without = drop_excluded_operators(given, library=False)
    assert given.enable_cluster_ops and without.enable_cluster_ops
    assert set(given.enable_cluster_ops) - set(without.enable_cluster_ops) == LIBRARY_OPERATORS
    assert drop_excluded_operators(given) == given


def test_a_missing_compiler_excludes_our_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_FUSION_CC", "/no/such/compiler")
    assert "/no/such/compiler is not there" in generator_proof.why_unusable("2.10.0")


@pytest.mark.mindspore
def test_what_cannot_be_proved_is_not_used(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "mindspore.py").write_text("raise ImportError('another MindSpore')")
    variables = {"PYTHONPATH": f"{broken}:{Path(__file__).resolve().parents[4]}"}
    found = run(
        PROGRAMS / "another_mindspore.py",
        tmp_path / "work",
        environment=variables,
        own_cache=True,
        fresh=True,
    ).result
    assert found == ["ImportError: another MindSpore"] * 2


@pytest.mark.mindspore
def test_the_gradient_of_a_layer_norm_is_in_the_group(seen):
    outside, difference = seen["slope"]
    assert outside == []
    assert difference < 1e-5
