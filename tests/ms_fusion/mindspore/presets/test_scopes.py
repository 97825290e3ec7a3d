"""Scopes of presets: precedence, reports, PyNative mode, restoration, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, rows, run, some

pytestmark = pytest.mark.mindspore


SCOPES = [f"{u}{p}{b}{c}" for u in "-u" for p in "-p" for b in "-b" for c in "-c"]
SLOW = [one for one in SCOPES if one not in ("----", "up--", "-pb-", "u-bc")]
"""The selected scopes, each by its letter; `make test-all` also tries these."""
NARROWEST = {"c": "Cell", "b": "block", "p": "process", "u": "user"}


@pytest.fixture(scope="module")
def scopes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("scopes") / "work"
    return run(PROGRAMS / "scopes.py", place, *some(request, SCOPES, *SLOW)).result


@cases("which", rows(SCOPES, *SLOW))
def test_the_narrower_scope_wins(scopes: dict[str, Any], which: str) -> None:
    want = next((NARROWEST[letter] for letter in "cbpu" if letter in which), None)
    assert scopes[which] == ([want, want] if want else ["none"])


def test_blocks_nest_and_restore_also_after_an_exception(scopes: dict[str, Any]) -> None:
    assert scopes["values"] == [
        None,
        "aggressive",
        "off",
        "aggressive",
        "basic",
        None,
        "precise",
        None,
    ]


def test_a_copied_cell_keeps_its_preset_and_its_own_weights(scopes: dict[str, Any]) -> None:
    assert scopes["copy"] == ["Cell", 4.0, 2.0] and scopes["fused"]


def test_patch_compiles_anew(scopes: dict[str, Any]) -> None:
    assert scopes["checked"] == ["tiny"] and scopes["late"] == 1 and scopes["unpatched"] == "none"


def test_a_call_of_what_is_compiled_looks_nothing_up(scopes: dict[str, Any]) -> None:
    assert scopes["asked"] == 4


def test_a_number_beside_bfloat16_stays_unfused_and_is_said(scopes: dict[str, Any]) -> None:
    assert scopes["bfloat16"] == [[1.0, 3.0, 5.0, 7.0], 1]


def test_environment_flags_stand_above_a_patched_cell(scopes: dict[str, Any]) -> None:
    assert scopes["fixed"] == []


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(
        PROGRAMS / "pynative_training.py", tmp_path_factory.mktemp("training") / "work"
    ).result


@FULL
def test_a_stock_pynative_training_script_is_fused_by_its_step(training: dict[str, Any]) -> None:
    plain, fused = training["plain"], training["enabled"]
    assert plain["mode"] == fused["mode"] == "pynative" and plain["operators"] == []
    assert fused["fused"] is True and fused["warnings"] == []
    assert sum(count >= 2 for count in fused["operators"]) >= 5
    assert fused["losses"] == pytest.approx(plain["losses"], rel=1e-4)
    assert fused["losses"][-1] < fused["losses"][0]


@FULL
def test_a_patched_cell_is_fused_with_gradients_in_pynative(training: dict[str, Any]) -> None:
    plain, fused = training["plain"], training["patched"]
    assert fused["mode"] == "pynative" and training["in force"] == [True, [], "none"]
    assert training["phases"] == 0
    # forward and backward
    assert sum(count >= 4 for count in fused["operators"]) >= 2
    assert fused["losses"] == pytest.approx(plain["losses"], rel=1e-4)
    # only code that records a gradient may compile one
    assert training["flags set"][0] == 0 < training["flags set"][1]
    # graphs of the first preset are discarded, and all graphs after the last
    assert training["again"] == ["basic", True] and training["undone"] is False


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(PROGRAMS / "what_is_said.py", tmp_path_factory.mktemp("said") / "work").result


def test_pynative_mode_names_the_remedies(said: dict[str, Any]) -> None:
    fused, mode, remedy, text = said["pynative"]
    assert (fused, mode) == (True, "pynative") and "fusion on for what is compiled" in text
    for way in ("@ms.jit", "mf.enable(step=step)", "ms.set_context(mode=ms.GRAPH_MODE)"):
        assert way in remedy and way in text


def test_what_does_nothing_is_said(said: dict[str, Any]) -> None:
    assert said["none"] == ["none", "Call `ms_fusion.enable()`."]
    assert said["O1"][0] is False and "jit_level" in said["O1"][1]
    assert said["no level"] == [False, "user", "Add `--opt_level=2`."]
    assert said["own"][:2] == [True, "user"] and "enable_cse" in said["own"][2]
    assert (
        said["over the user's"] == ["process"]
        and said["the user's"] == "--opt_level=2 --enable_cse=true"
        and said["ours again"] == "process"
    )
    assert (
        said["changed after"][:2] == [False, "user"]
        and "after enable()" in said["changed after"][2]
    )
    assert said["JitConfig"] == [True, "JitConfig"]


@cases(
    "case, error, words",
    [
        ("DVM", "UnsafeError", "--kernel_generator=DVM"),
        ("tuning", "UnsafeError", "--online_tuning=1"),
        ("dynamic", "UnsafeError", "--enable_dynamic_shape_fusion=true"),
        ("generator", "InputError", "expected mindspore or ms_fusion, got 'AKG_V2'"),
        ("Round", "UnsafeError", "`Round`"),
        ("preset", "InputError", "'fast'"),
        ("lint", "InputError", "Write `--opt_level`."),
        ("bfloat16", "UnsafeError", "bfloat16"),
        ("bfloat16 patched", "UnsafeError", "bfloat16"),
        ("function", "InputError", "mf.enable(step=train_step)"),
        ("wrong input", "InputError", "cannot compile Net"),
    ],
)
def test_invalid_requests_are_refused_with_their_reason(
    said: dict[str, Any], case: str, error: str, words: str
) -> None:
    assert said[case][0] == error and words in said[case][1]
    assert said["nothing set"] == "none"


def test_enable_that_is_refused_leaves_fusion_off(said: dict[str, Any]) -> None:
    assert said["step"] == ["InputError", "none"]


@cases(
    "case, value, name",
    [
        ("Pow before a sum", 16385.0, "Sum"),
        ("Pow alone", 8.0, "Alone"),
        ("Pow once more", 8.0, "Alone"),
        ("Pow enabled", 8.0, "Alone"),
        ("Pow in a function", 8.0, "function"),
    ],
)
def test_what_cannot_be_built_runs_unfused_and_is_named(
    said: dict[str, Any], case: str, value: float, name: str
) -> None:
    got, [[text, file]] = said[case]
    assert got == value and file.endswith(".py") and "mindspore" not in file
    assert text.startswith(f"{name}: ") and "it cannot build Pow of int32" in text
    assert "--disable_cluster_ops=Pow" in text


def test_a_first_compilation_says_what_is_not_fused_and_no_more(said: dict[str, Any]) -> None:
    assert said["nothing to say"] == [3.0, []]
    value, [[text, _]] = said["dynamic shape"]
    assert value == 3.0 and "not known before run time" in text
    assert said["after it"] == 3.0 and said["float64 to float16"] == 18.0


def test_check_leaves_no_failed_graph_behind(said: dict[str, Any]) -> None:
    error, text = said["wrong shape"]
    assert error == "InputError" and "cannot compile Wrong" in text and said["left"] == []


def test_check_finds(said: dict[str, Any]) -> None:
    assert said["check"] == ["refused"] and said["tiny"] == ["tiny"] and said["clean"] == []
    assert "dynamic" in said["moving"]
    assert said["patched, in PyNative mode"] == []


@FULL
@cases(
    "preset, flags",
    [
        ("auto", "--disable_pass=combine.parallel_fusion"),
        ("auto", ""),
        ("basic", ""),
        ("auto", "--opt_level=1"),
    ],
)
def test_processes_end_well_and_children_inherit_no_generator(
    preset: str, flags: str, tmp_path: Path
) -> None:
    """At the end MindSpore reads the given passes again, also those that do not exist at this
    level.
    """
    found = run(PROGRAMS / "children.py", tmp_path / f"{preset}{flags}", preset, flags, fresh=True)
    assert found.result["child"][0] == 0, found.result["child"][1]
    assert found.result["kernels"] == 1


def test_ms_fusion_off_changes_nothing_and_says_so_once(tmp_path: Path) -> None:
    """Cells then have no fast call path either (`test_fast_call_path`)."""
    child = run(PROGRAMS / "fusion_off.py", tmp_path / "off", environment={"MS_FUSION": "off"})
    assert child.result["record"][:2] == [False, True]
    assert child.result["variables"] == [None, None] and child.result["hooked"] is False
    assert child.result["enabled"] == child.result["disabled"] == [False] * 3
    assert child.output.count("MS_FUSION=off: ms_fusion changes nothing") == 1


def test_on_ascend_each_scope_brings_its_jit_level(tmp_path: Path) -> None:
    found = run(PROGRAMS / "on_ascend.py", tmp_path / "work").result
    before = found["as it comes"][0]
    off = before or "O0"
    assert found == {
        "as it comes": [before, before, "O1"],
        "block": ["O1", "O1", off],
        "behind": off,
        "off inside": [off, "O1"],
        "process": "O1",
        "disabled": off,
    }
