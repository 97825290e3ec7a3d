"""The table of replaced functions equals the changes in a process and the documentation page."""

from __future__ import annotations

from pathlib import Path

import pytest

from ms_fusion.mindspore.patches import replaced_functions as table
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, ROOT, run

PAGE = ROOT / "docs" / "mindspore_patches.md"


def test_the_page_is_the_table(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(table.page(), "utf-8")
    assert PAGE.read_text("utf-8") == table.page(), "pytest --update-golden writes it"


def test_every_file_of_the_table_exists() -> None:
    for replacements in table.REPLACED.values():
        assert [one.file for one in replacements if not (ROOT / one.file).is_file()] == []


def names(when: str) -> list[str]:
    return sorted(one.name for one in table.REPLACED[when])


@pytest.mark.mindspore
def test_the_table_is_what_changes_in_a_process(tmp_path: Path) -> None:
    found = run(PROGRAMS / "replaced_functions.py", tmp_path / "run", fresh=True).result
    assert found["import"] == names(table.IMPORT)
    assert found["operators"] == names(table.OPERATORS)
    assert found["preset"] == names(table.FIRST_PRESET)
    assert found["lock"] == names(table.LOCK)
    assert found["watching"] == names(table.WARNING)
    assert found["compilation"] == names(table.COMPILATION)
    assert found["left"] == []
    assert found["patched"] == names(table.PATCHED_NETS)
