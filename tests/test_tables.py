"""The test tools themselves: table items, room lines, forks, seeded faults."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from tests.cases import FULL, Row, cases, spread
from tests.docstring_examples import failures, modules_with_examples
from tests.fault_seeding import LAYOUT, mutations, ordered_tests, random_faults, rooms_of
from tests.fork_server import ROOT, run_program
from tests.room_lines import room_of
from tests.seeded_faults import FAULTS

TABLE = """
import pytest
from tests.cases import FULL, cases

@cases("a", [1, 2, pytest.param(3, marks=FULL)])
@cases("b", range(10), quick=5)
def test_product(a, b):
    assert (a, b) not in ((1, 4), (2, 6), (3, 1))

@FULL
def test_slow():
    pass
"""


def run_table(place: Path, *options: str) -> tuple[int, str]:
    """Exit code and output of pytest on `TABLE`."""
    (place / "test_table.py").write_text(TABLE)
    (place / "conftest.py").write_text(
        "import pytest\n"
        "pytest_plugins = ('tests.cases', 'tests.room_lines')\n"
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--full', action='store_true')\n"
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'full: slow')\n"
    )
    runner = place / "runner.py"
    runner.write_text("import sys, pytest\nsys.exit(pytest.main(sys.argv[1:]))\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    ended = run_program(
        runner,
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "verbosity_subtests=0",
        *options,
        cwd=place,
        environment=environment,
        fresh=True,
    )
    return ended.returncode, ended.output


def test_each_failing_row_is_reported_with_its_label(tmp_path: Path) -> None:
    code, output = run_table(tmp_path, "--rooms")
    assert code == 1
    assert "[1-4]" in output and "[2-6]" in output and "[3-1]" not in output
    assert "contains 2 failed subtests" in output
    assert "failed rows" in output and "slowest 10" in output


@FULL
def test_the_full_run_has_every_row(tmp_path: Path) -> None:
    code, output = run_table(tmp_path, "--full")
    assert code == 1
    assert all(label in output for label in ("[1-4]", "[2-6]", "[3-1]"))
    assert "contains 3 failed subtests" in output


def test_the_full_table_has_every_row() -> None:
    rows = [1, 2, pytest.param(3, marks=FULL)]
    table = cases("a", rows, per_item=9)(cases("b", range(10), quick=5)(lambda a, b: None)).table
    assert [len(group) for group in table.groups(full=True)] == [9, 9, 9, 3]
    assert {row.arguments["a"] for row in table.rows(full=True)} == {1, 2, 3}
    assert [len(group) for group in table.groups(full=False)] == [10]


def test_a_sample_varies_all_axes() -> None:
    rows = [Row({"a": a, "b": b}, f"{a}-{b}") for a in range(12) for b in range(4)]
    chosen = spread(rows, 12)
    assert len({row.arguments["a"] for row in chosen}) >= 6
    assert {row.arguments["b"] for row in chosen} == {0, 1, 2, 3}
    assert spread(rows, 100) == rows


@cases(
    "nodeid, room",
    [
        ("tests/tbe_impl/dsl/test_graph_listing.py::test_a", "tests/tbe_impl/dsl"),
        ("tests/tbe_impl/codegen/test_a.py::test_a[x::y]", "tests/tbe_impl/codegen"),
        ("tests/test_docs.py::test_a", "tests"),
    ],
)
def test_an_item_belongs_to_the_room_of_its_folder(nodeid: str, room: str) -> None:
    assert room_of(nodeid) == room


@cases("name", modules_with_examples("tests"))
def test_examples_show_what_comes_out(name: str) -> None:
    report = failures(name)
    assert not report, report


@cases("fault", FAULTS, ids=lambda fault: fault.what)
def test_a_planted_fault_is_a_text_that_stands_once(fault) -> None:
    assert (ROOT / fault.path).read_text("utf-8").count(fault.before) == 1
    assert fault.before != fault.after
    rooms = [room for room in fault.rooms if not (ROOT / room).exists()]
    assert not rooms


@cases(
    "source, texts",
    [
        ("a <= b", ["a < b"]),
        ("(a) == (b)", ["(a) != (b)"]),
        ("a - (b * c)", ["a + (b * c)", "a - (b + c)"]),
        ("x and y and z", ["x or y and z", "x and y or z"]),
        ("a if b else c", ["a if not (b) else c"]),
        ("f(1, True)", ["f(2, True)", "f(1, False)"]),
        ("é + b", ["é - b"]),
        ("x: int = 3", ["x: int = 4"]),
        ("'text'", []),
        # product code reads the first sample only
        ("SAMPLES = (3, (4, 5))", ["SAMPLES = (4, (4, 5))"]),
        (
            "f(samples=(3, 4), more=(5,))",
            ["f(samples=(4, 4), more=(5,))", "f(samples=(3, 4), more=(6,))"],
        ),
    ],
)
def test_mutations_change_one_place(source: str, texts: list[str]) -> None:
    data = source.encode()
    found = [
        data[: one.begin] + one.text + data[one.end :]
        for one in mutations(data, "custom_ops/operators/a.py")
        if not one.unread
    ]
    assert sorted(one.decode() for one in found) == sorted(texts)


def test_random_faults_follow_from_the_seed() -> None:
    one, equal = random_faults(2, seed=5, packages=["ms_fusion/cost"])
    again, _ = random_faults(2, seed=5, packages=["ms_fusion/cost"])
    assert one == again and len(one) == 2
    for fault in one:
        ast.parse(fault.after)
        assert fault.before != fault.after
    assert all(text.endswith("the byte code is the same") for text in equal)


@cases(
    "path, room, first, elsewhere",
    [
        (
            "tbe_impl/codegen/planning/partition.py",
            "tests/tbe_impl/codegen",
            "",
            "tests/ms_fusion/lowering/test_nest_partition.py",
        ),
        ("custom_ops/operators/swish.py", "tests/custom_ops/operators", "", ""),
        (
            "ms_fusion/readers/composite.py",
            "tests/ms_fusion/readers",
            "test_composite.py",
            "tests/ms_fusion/lowering/test_image_operators.py",
        ),
        (
            "ms_fusion/target.py",
            "tests/ms_fusion",
            "test_target.py",
            "tests/golden_code/test_commands.py",
        ),
    ],
)
def test_a_file_has_a_room_and_importing_tests(
    path: str, room: str, first: str, elsewhere: str
) -> None:
    rooms = rooms_of(path)
    order = ordered_tests(path, rooms)
    assert rooms[0] == room
    assert order[0].startswith(f"{room}/{first}")
    assert not elsewhere or elsewhere in order
    assert len(order) == len(set(order)) and LAYOUT in order
    assert all((ROOT / one).is_file() for one in order)


def test_a_fork_is_a_process_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, os, sys\n"
        "print(__name__, sys.argv[1:], os.getcwd(), os.environ['NUMBER'])\n"
        "atexit.register(print, 'ended')\n"
        "sys.exit(7)\n"
    )
    for fresh in (False, True):
        ended = run_program(
            program, "a", cwd=tmp_path, environment={**os.environ, "NUMBER": "3"}, fresh=fresh
        )
        assert ended.returncode == 7
        assert f"__main__ ['a'] {tmp_path} 3" in ended.output and "ended" in ended.output


def test_a_program_that_hangs_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import time\ntime.sleep(100)\n")
    with pytest.raises(TimeoutError, match=r"program\.py: not ended after 0\.5 s"):
        run_program(program, cwd=tmp_path, environment=os.environ, timeout_s=0.5)
    program.write_text("import sys\nsys.exit(3)\n")
    ended = run_program(program, cwd=tmp_path, environment=os.environ)
    assert ended.returncode == 3, "the next one answers for itself"


@cases("text", ["\ud800", "a\0b", "\u2028", "模型"])
def test_labels_of_rows_can_be_printed(text: str) -> None:
    """A lone surrogate in a label ends the sending process."""
    table = cases("text", [text])(lambda text: None).table
    (row,) = table.rows(full=True)
    assert row.arguments == {"text": text}
    assert row.label.isprintable() and row.label.encode("utf-8")
