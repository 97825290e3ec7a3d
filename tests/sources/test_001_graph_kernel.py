"""Document 001: graph kernel fusion by one switch, and user-defined composite operators."""

from __future__ import annotations

from typing import Any

import pytest

from ms_fusion.cli import main
from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

pytestmark = pytest.mark.mindspore


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = ROOT / "tests" / "programs" / "sources" / "enable_graph_kernel.py"
    return run(program, tmp_path_factory.mktemp("graph_kernel") / "work").result


def test_samples_compute_what_they_say(seen: dict[str, Any]) -> None:
    wanted = [0.5 * 2 + 1, (0.4**3 - 0.3) * 0.4**3]
    assert seen["results"] == pytest.approx(wanted)
    assert seen["graphs saved"] == [".ir"]


def test_mul_and_add_are_one_kernel(seen: dict[str, Any]) -> None:
    ((operators, _, _),) = seen["kernels"][0]
    assert operators == ["Mul", "Add"]


def test_a_composite_operator_fuses_with_the_graph_around(seen: dict[str, Any]) -> None:
    ((operators, _, _),) = seen["kernels"][1]
    assert operators == ["Mul", "Pow", "Sub", "Mul"]


def test_a_net_that_was_called_is_not_said_to_be_compiled(seen: dict[str, Any]) -> None:
    assert seen["checked"] == [["tiny"], ["tiny"]]


@cases("preset", ["basic", "aggressive", "expert"])
def test_levels_build_the_same_kernels_on_cpu(
    seen: dict[str, Any], preset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    level = "auto" if preset == "aggressive" else preset  # it has the same flags
    assert seen["levels"][level] == seen["levels"]["auto"] != []
    assert main.run(["presets"]) == 0
    (line,) = (one for one in capsys.readouterr().out.splitlines() if one.startswith(preset))
    assert "on CPU the kernels of auto" in line
