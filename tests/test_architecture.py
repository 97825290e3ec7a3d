"""Rooms, files and functions named on the architecture pages exist."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from tbe_impl.codegen.options import Options
from tbe_impl.runtime.store_kinds import KINDS
from tests.cases import cases

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("ms_fusion", "custom_ops", "tbe_impl")
PAGES = ("architecture", "codegen", "what_to_touch")
FOLDERS = (*PACKAGES, "tests", "docs", "benchmarks")
QUESTIONS_MIN = 40
ROWS_MIN = 100
COLUMNS_MAX = 120
_BLOCK = re.compile(r"^```.*?^```", re.M | re.S)
_QUOTED = re.compile(r"`([^`]+)`")
_PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*\w/?")
_NAME = re.compile(r"[A-Za-z_]\w*")
_IN_PYTHON = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)|^\s*(\w+)(?:: [^=\n]+)? = ", re.M)
_IN_C = re.compile(r"^#define (\w+)|\b(\w+)(?=\s?\()", re.M)


def text_of(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text("utf-8")


def rows_of(text: str, *head: str) -> list[list[str]]:
    """The cells of all tables with this header, without the header."""
    rows, is_inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            is_inside = False
        elif tuple(cells) == head:
            is_inside = True
        elif is_inside and not set(line) <= set("|- "):
            rows.append(cells)
    return rows


def quoted(text: str) -> list[str]:
    """The text between backticks, without code blocks."""
    return _QUOTED.findall(_BLOCK.sub("", text))


def paths_in(text: str) -> list[str]:
    return [one for one in quoted(text) if _PATH.fullmatch(one)]


def names_in(text: str) -> list[str]:
    return [one for one in quoted(text) if _NAME.fullmatch(one)]


@functools.cache
def defined_in(name: str) -> frozenset[str]:
    """Functions, classes, methods and constants of a Python file; calls, declarations and macros of
    a C file.
    """
    found = (_IN_PYTHON if name.endswith(".py") else _IN_C).findall(
        (ROOT / name).read_text("utf-8")
    )
    return frozenset(one for pair in found for one in pair if one)


@functools.cache
def words_of(name: str) -> frozenset[str]:
    """All words of a file; none of a folder."""
    place = ROOT / name
    text = place.read_text("utf-8") if place.is_file() else ""
    return frozenset(re.findall(r"\w+", text))


def absent_words(row: str) -> list[str]:
    """The names in a row that no file of the row contains."""
    here = frozenset().union(*map(words_of, paths_in(row)))
    return [name for name in names_in(row) if name not in here]


def missing_names(files: str, names: str) -> list[str]:
    """The names that none of the files defines."""
    here = frozenset().union(*(defined_in(file) for file in paths_in(files)))
    return [name for name in names_in(names) if name not in here]


def the_table_of_rooms_is_whole() -> None:
    (head, *_) = text_of("architecture").split("## Rooms\n")[1:]
    listed = [paths_in(cells[0]) for cells in rows_of(head.split("\n## ")[0], "room", "in", "out")]
    rooms = {
        place.parent.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for place in (ROOT / package).rglob("__init__.py")
    }
    assert sorted(name for (name,) in listed) == sorted(rooms - set(PACKAGES))


INDEX = rows_of(text_of("architecture"), "question", "files", "begin with")


def the_index_answers_many_questions() -> None:
    questions = [cells[0] for cells in INDEX]
    assert len(set(questions)) == len(questions) >= QUESTIONS_MIN
    incomplete = [cells for cells in INDEX if len(cells) != 3 or not paths_in(cells[1])]
    assert incomplete == []
    assert [cells for cells in INDEX if not names_in(cells[2])] == []


def the_index_names_functions_of_its_files() -> None:
    wrong = {cells[0]: gone for cells in INDEX if (gone := missing_names(cells[1], cells[2]))}
    assert wrong == {}


KINDS_HEAD = ("kind", "content", "parts of the key", "written and read by", "function", "size")
TABLES = [
    ("architecture", ("step", "file", "begin with"), 1, 2),
    ("architecture", ("question", "file", "function"), 1, 2),
    ("architecture", ("route", "file", "begin with"), 1, 2),
    ("architecture", KINDS_HEAD, 3, 4),
    ("codegen", ("step", "file", "begin with"), 1, 2),
    ("codegen", ("pass", "recognises", "does", "file", "begin with", "flag"), 3, 4),
]
"""Page, head of the table, column of the files, column of the names."""


@cases("page, head, files, names", TABLES)
def test_other_tables_name_functions_of_their_files(
    page: str, head: tuple[str, ...], files: int, names: int
) -> None:
    rows = rows_of(text_of(page), *head)
    assert rows
    wrong = {
        cells[0]: gone
        for cells in rows
        if (gone := missing_names(f"{cells[files]} {cells[names]}", cells[names]))
    }
    assert wrong == {}


def every_kind_of_the_store_is_listed() -> None:
    rows = rows_of(text_of("architecture"), *KINDS_HEAD)
    assert [names_in(cells[0])[0] for cells in rows] == [kind.name for kind in KINDS]


def every_option_of_the_generator_is_told() -> None:
    known = {one.name for one in fields(Options)}
    flags = {
        name for cells in rows_of(text_of("codegen"), *TABLES[-1][1]) for name in names_in(cells[5])
    }
    assert flags <= known
    assert known <= set(re.findall(r"`(\w+)", text_of("codegen")))


def test_the_program_that_shows_a_group_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", text_of("codegen"), re.M | re.S)
    recorded = sorted((ROOT / "tests/data/ms_2_10/MyNet_f").rglob("*.info"))[0]
    monkeypatch.setattr(sys, "argv", ["show_group.py", str(recorded)])
    exec(compile(program, "docs/codegen.md", "exec"), {"__name__": "__page__"})  # noqa: S102
    assert "threads share it" in (printed := capsys.readouterr().out) and "int k_Fused_" in printed


def names_of_a_change_stand_in_the_files_of_their_row() -> None:
    rows = [line for line in text_of("what_to_touch").splitlines() if line.startswith("| ")]
    rows = [row for row in rows if paths_in(row)]
    assert len(rows) > ROWS_MIN
    assert {row: gone for row in rows if (gone := absent_words(row))} == {}


def the_rows_of_each_change_are_counted_right() -> None:
    page = text_of("what_to_touch")
    counted = [
        tuple(0 if cell == "–" else int(cell) for cell in cells[1:])
        for cells in rows_of(page, "change", "rows required", "rows that may apply")
    ]
    tail = "change", "enforced by"
    assert counted == [
        (len(rows_of(text, "file", *tail)), len(rows_of(text, "condition", "file", *tail)))
        for text in page.split("\n## ")[1:]
    ]


@cases(
    "holds",
    [
        the_table_of_rooms_is_whole,
        the_index_answers_many_questions,
        the_index_names_functions_of_its_files,
        every_kind_of_the_store_is_listed,
        every_option_of_the_generator_is_told,
        names_of_a_change_stand_in_the_files_of_their_row,
        the_rows_of_each_change_are_counted_right,
    ],
    ids=lambda check: check.__name__,
)
def test_the_maps_of_the_code_agree_with_it(holds: Callable[[], None]) -> None:
    holds()


@cases("page", PAGES)
def test_files_exist(page: str) -> None:
    named = {one for one in quoted(text_of(page)) if one.split("/")[0] in FOLDERS and "/" in one}
    assert len(named) > 20
    assert sorted(one for one in named if not _PATH.fullmatch(one)) == []
    assert sorted(one for one in named if not (ROOT / one).exists()) == []


@cases("page", PAGES)
def test_names_before_in_and_a_file_are_defined_there(page: str) -> None:
    """`name` in `file`, in the form of the pages."""
    text = " ".join(text_of(page).split())
    found = re.findall(r"`(\w+)` (?:in|of) `([\w./]+\.(?:py|c|h))`", text)
    wrong = [(name, file) for name, file in found if name not in defined_in(file)]
    assert wrong == []


@cases("page", PAGES)
def test_lines_of_text_are_short(page: str) -> None:
    lines = text_of(page).splitlines()
    assert [line for line in lines if len(line) > COLUMNS_MAX and not line.startswith("|")] == []


def test_a_name_that_is_gone_is_seen() -> None:
    assert missing_names("`tbe_impl/backends.py`", "`Backend`, `BACKENDS`, `plan`") == []
    assert missing_names("`tbe_impl/backends.py`", "`Backend`, `no_such_name`") == ["no_such_name"]
    assert missing_names("`tbe_impl/codegen/include/thread_pool.h`", "`shared_from`") == []
    row = "| `tbe_impl/backends.py` | a row of `BACKENDS`, and `no_such_name` | nothing |"
    assert absent_words(row) == ["no_such_name"]
