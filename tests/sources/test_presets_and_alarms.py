"""Tutorial code around presets raises no false alarm: mixed precision, and `@ms.jit` alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases import FULL
from tests.fork_server import run_program
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

pytestmark = pytest.mark.mindspore


@FULL
def test_a_net_that_amp_rewrote_in_a_script_is_carried(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = ROOT / "tests" / "programs" / "trials" / "amp_net_of_a_script.py"
    done = run_program(program, cwd=tmp_path, environment=variables)
    assert done.returncode == 0, done.output
    (line,) = (one for one in done.output.splitlines() if one.startswith("explained: "))
    _, title, kernels, *notes = line.split(maxsplit=3)
    assert (title.startswith("Net"), int(kernels) > 0, notes) == (True, True, [])


def test_enable_is_on_where_only_a_function_is_compiled(tmp_path: Path) -> None:
    found = run(ROOT / "tests" / "programs" / "sources" / "jit_alone.py", tmp_path / "work").result
    assert found["before"].startswith("fusion on for what is compiled: preset auto")
    assert found["checked"] == [] and found["launches"] == 1 and found["said"] == []
