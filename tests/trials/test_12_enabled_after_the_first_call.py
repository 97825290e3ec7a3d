"""A net compiled before its flags changed is recompiled at its next call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

pytestmark = pytest.mark.mindspore
ALL = ("Cell", "function", "generator", "specialized")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = ROOT / "tests" / "programs" / "trials" / "enabled_late.py"
    return run(program, tmp_path_factory.mktemp("late") / "work").result


def test_enable_holds_for_nets_that_were_called_before(seen: dict[str, Any]) -> None:
    assert seen["before"] == [False] * len(ALL)
    assert seen["first line"].startswith("fusion on: ")
    assert seen["enabled"] == {name: [True, True] for name in ALL}


def test_a_patched_cell_keeps_its_own(seen: dict[str, Any]) -> None:
    assert seen["patched"] == [False, 1]
    assert seen["patched again"] == [False, True, False]


def test_disable_and_another_preset_hold_too(seen: dict[str, Any]) -> None:
    assert seen["disabled"] == dict.fromkeys(ALL, False)
    assert seen["basic"] and seen["again"]


def test_a_block_holds_for_the_calls_in_it(seen: dict[str, Any]) -> None:
    assert seen["inside"] == dict.fromkeys(ALL, False)
    assert seen["outside"] == dict.fromkeys(ALL, True)
    assert seen["past MindSpore"] == [False, True]


def test_what_is_made_in_a_block_keeps_its_flags(seen: dict[str, Any]) -> None:
    assert seen["made in a block"] == [False, True, False, 2]


def test_each_set_of_flags_has_one_graph(seen: dict[str, Any]) -> None:
    unfused_and_auto, and_basic, and_off = seen["graphs"]
    assert (unfused_and_auto, and_basic, and_off) == (2, 3, 4)


def test_training_goes_on_where_it_was(seen: dict[str, Any]) -> None:
    plain, switched = seen["losses"]
    assert switched == pytest.approx(plain, rel=1e-5)


def test_no_check_and_no_ledger_says_compiled_already(seen: dict[str, Any]) -> None:
    assert seen["checked"] == [] and seen["said"] == []
    assert not [note for note in seen["notes"] if "compiled" in note]
