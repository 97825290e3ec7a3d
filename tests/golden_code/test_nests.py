"""The loop nests of each table graph equal the golden text: stored stages and their loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import cases
from tests.golden_code.comparing import Goldens
from tests.golden_code.graphs import FAMILIES, GRAPHS
from tests.golden_code.writing import nests_text, written


@cases("family", list(FAMILIES))
def test_the_nests_of_a_family(
    family: str, goldens: Goldens, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sections = [
        f"==== {graph.name}: {graph.what}\n{nests_text(written(graph, monkeypatch, tmp_path))}"
        for graph in FAMILIES[family]
    ]
    goldens.compare(f"nests/{family}.txt", "\n".join(sections))


def test_each_golden_text_belongs_to_a_family(goldens: Goldens) -> None:
    goldens.only("nests", FAMILIES)


def test_the_table_is_large_enough() -> None:
    assert len(GRAPHS) >= 60
    assert all(graph.what for graph in GRAPHS.values())
