"""Notebooks execute without errors, and their stored outputs are clean and complete."""

from __future__ import annotations

import doctest
import importlib
import shutil

import pytest
from nbformat import NotebookNode

from tests import notebooks
from tests.cases import FULL, cases

NAMES = notebooks.names()


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell: NotebookNode) -> set[str]:
    """Output kinds of a cell: stream names and MIME types."""
    return {
        kind
        for output in cell.outputs
        for kind in ([output.name] if output.output_type == "stream" else output.get("data", {}))
    }


def test_the_notebooks_are_there() -> None:
    assert NAMES == ["1_see", "2_enable", "3_write_an_operator", "4_onnx", "5_case_studies"]


@cases("name", NAMES)
def test_what_is_kept_is_clean_and_can_be_read(name: str) -> None:
    kept = notebooks.read(name)
    assert notebooks.cleaned(kept) == kept, (
        f"run `make notebooks`, or python -m tests.notebooks {name}"
    )
    assert kept.cells[0].cell_type == "markdown" and kept.cells[0].source.startswith(
        f"# {name[0]} · "
    )
    cells = code_cells(kept)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [
        output for cell in cells for output in cell.outputs if output.output_type == "error"
    ]
    shown = set[str]().union(*map(kinds, cells))
    assert {"stdout", "text/plain"} <= shown and shown & {"image/svg+xml", "image/png"}
    for cell in cells:
        if cell.source.splitlines()[-1].lstrip().startswith("print("):
            assert "stdout" in kinds(cell), cell.source


@FULL
@pytest.mark.mindspore
@pytest.mark.timeout(1500)
@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
@cases(
    "name",
    NAMES,
    per_item=1,
)
def test_a_notebook_runs_and_shows_the_stored_kinds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GLOG_v", raising=False)
    kept, again = notebooks.read(name), notebooks.executed(name)
    assert [kinds(cell) for cell in code_cells(again)] == [kinds(cell) for cell in code_cells(kept)]


def test_what_is_cleaned_names_no_place_and_joins_its_pieces() -> None:
    def said(text: str) -> dict[str, object]:
        return {"output_type": "stream", "name": "stdout", "text": text}

    pieces = [said(f"see {notebooks.ROOT}/docs, "), said("/tmp/ipykernel_12/34.py:5\n")]
    cell = {
        "cell_type": "code",
        "id": "a",
        "execution_count": 7,
        "metadata": {"time": 1},
        "outputs": pieces,
        "source": "1",
    }
    whole = {"cells": [cell], "metadata": {"x": 1}, "nbformat": 4, "nbformat_minor": 5}
    clean = notebooks.cleaned(notebooks.nbformat.from_dict(whole))
    (found,) = clean.cells
    assert clean.metadata == notebooks.METADATA and found.metadata == {}
    assert found.execution_count == 1
    assert [output.text for output in found.outputs] == ["see docs, notebook cell:5\n"]


def test_the_helpers_of_the_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(notebooks.NOTEBOOKS)
    showing = importlib.import_module("showing")
    assert doctest.testmod(showing) == (0, 1)
    drawing = showing.Bars("a < b", {"one": 2.0, "two": 1.0}, "ms")._repr_svg_()
    assert "a &lt; b, ms" in drawing and drawing.count("<rect") == 3
    assert set(showing.in_turns({"x": lambda: None}, rounds=3)) == {"x"}
