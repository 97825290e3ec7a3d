"""Operators that MindSpore passes alone to our generator: its default clusters, but one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ms_fusion.ops import selections
from tests.cases import FULL
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place: Path = tmp_path_factory.mktemp("reshape")
    return run(ROOT / "tests" / "programs" / "why_not" / "handed_over.py", place / "work").result


@FULL
@pytest.mark.mindspore
def test_what_mindspore_clusters_by_itself_for_another_generator(seen: dict[str, Any]) -> None:
    missing = selections.CPU_CLUSTER_OPS - set(seen["handed over"])
    assert missing == selections.MINDSPORE_GENERATOR_ONLY_OPS


@FULL
@pytest.mark.mindspore
def test_a_suggestion_for_a_reshape_fuses_both_edges(seen: dict[str, Any]) -> None:
    edges, error = seen["kept out"]
    assert [reason for reason, _ in edges] == ["disabled-by-flag"] * 2
    assert len({flags for _, flags in edges}) == 1 and error < 1e-5
    assert seen["as suggested"][0] == [] and seen["as suggested"][1] < 1e-5
