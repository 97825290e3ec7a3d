"""`enable` reports active fusion, and names nets that PyNative mode runs uncompiled."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

pytestmark = pytest.mark.mindspore
CALLS = ("function", "compiled", "uncompiled", "patched", "step")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = ROOT / "tests" / "programs" / "trials" / "said_in_pynative.py"
    return run(program, tmp_path_factory.mktemp("pynative") / "work").result


@cases("call", CALLS)
def test_fusion_is_on_for_what_is_compiled(seen: dict[str, Any], call: str) -> None:
    fused, line, said = seen[f"{call} auto"]
    assert fused and line.startswith("fusion on for what is compiled: preset auto, CPU, ")
    if call == "uncompiled":
        (text,) = said
        assert text.startswith("Net: PyNative mode fuses nothing. Write `@ms.jit` on ")
    else:
        assert said == []


@cases("call", CALLS)
def test_off_is_off_and_nothing_is_said(seen: dict[str, Any], call: str) -> None:
    fused, line, said = seen[f"{call} off"]
    assert not fused and line.startswith("fusion off: preset off") and said == []


def test_of_a_net_it_is_known_whether_it_is_compiled(seen: dict[str, Any]) -> None:
    assert seen["in force"] == [True, True, False]
    assert seen["found"] == {"function": [], "compiled": [], "uncompiled": ["pynative"]}
    assert seen["in graph mode"] == []
