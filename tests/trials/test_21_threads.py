"""Several threads may call compiled nets under `enable(lock=True)` or through `specialize`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

pytestmark = pytest.mark.mindspore
GRAPH, PYNATIVE = "0", "1"


@cases(
    "way, preset, mode",
    [
        ("lock", "auto", GRAPH),
        pytest.param("lock", "off", GRAPH, marks=FULL),
        ("specialize", "auto", GRAPH),
        pytest.param("jit", "auto", PYNATIVE, marks=FULL),
        pytest.param("jit", "auto", GRAPH, marks=FULL),
    ],
)
def test_threads_that_wait_for_each_other_get_right_results(
    tmp_path: Path, way: str, preset: str, mode: str
) -> None:
    program = ROOT / "tests" / "programs" / "trials" / "threads_under_a_lock.py"
    seen = run(program, tmp_path / "work", way, preset, mode).result
    assert seen["wrong"] == []
