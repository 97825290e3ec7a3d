"""`benchmarks.against` fails where a group or line is slower in two of three runs, only there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.against import __main__ as against
from benchmarks.against.workloads import GROUPS
from tests.cases import cases


@cases(
    "ratios, upper, failed",
    [
        ({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, set()),
        ({"a": 0.9, "b": 1.1}, {"a": 0.9, "b": 1.1}, set()),
        ({"a": 0.97, "b": 0.97}, {"a": 0.98, "b": 1.01}, {"rows"}),
        ({"a": 0.97, "b": 0.97}, {"a": 1.02, "b": 1.0}, set()),
        ({"a": 0.84, "b": 1.3}, {"a": 0.99, "b": 1.4}, {"rows: a"}),
        ({"a": 0.84, "b": 1.3}, {"a": 1.01, "b": 1.4}, set()),
        ({"a": 0.5, "b": 1.0}, {"a": 0.6, "b": 1.0}, {"rows", "rows: a"}),
    ],
)
def test_a_run_fails_by_its_means_and_its_lines(
    ratios: dict[str, float], upper: dict[str, float], failed: set[str]
) -> None:
    assert against.Run({"rows": ratios}, {"rows": upper}).slower_names == failed


@cases(
    "failed, wrong, code, said",
    [
        (Counter(), [], 0, "not slower\n"),
        (Counter({"rows": 1}), [], 0, "not slower\n"),
        (Counter({"rows": 2}), [], 1, "slower in two of three runs: rows\n"),
        (Counter(), ["rows: a: results differ by 1"], 1, "WRONG: rows: a: results differ by 1\n"),
    ],
)
def test_exit_code_and_message_name_the_slower_groups(
    failed, wrong, code, said, capsys: pytest.CaptureFixture
) -> None:
    assert against.conclude(failed, wrong) == code
    assert capsys.readouterr().out == said


def test_ratios_are_taken_in_turns() -> None:
    order: list[str] = []
    seconds = {"before": 2.0, "now": 1.0}

    def timed(side: str) -> float:
        order.append(side)
        return seconds[side]

    assert against.in_turns(("before", "now"), 2, timed) == [2.0, 2.0]
    assert order == ["now", "before", "before", "now"]


def test_a_line_is_the_mean_of_the_medians_of_its_pairs(capsys: pytest.CaptureFixture) -> None:
    run = against.Run()
    against._tell(run, "rows", "a", [[1.0, 4.0, 9.0], [1.0, 1.0, 7.0]], 0.001)
    assert run.ratios == {"rows": {"a": pytest.approx(2.0)}}
    assert run.upper == {"rows": {"a": 7.5}}
    assert "  a   " in capsys.readouterr().out


def test_a_commit_that_is_none_is_an_error(capsys: pytest.CaptureFixture) -> None:
    assert against.main(["no-such-commit"]) == 2
    assert "'no-such-commit' is no commit of this repository" in capsys.readouterr().err


def test_a_commit_is_unpacked_whole_and_once(tmp_path: Path) -> None:
    name, tree = against.unpack("HEAD", tmp_path)
    assert tree == tmp_path / name and (tree / "ms_fusion" / "__init__.py").is_file()
    stamp = tree.stat().st_mtime_ns
    assert against.unpack("HEAD", tmp_path) == (name, tree)
    assert tree.stat().st_mtime_ns == stamp
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_workloads_have_names_of_their_own() -> None:
    lines = [(group, one.name) for group, found in GROUPS.items() for one in found]
    assert len(set(lines)) == len(lines) >= 28
