"""Dumps under `enable` have preset and flags beside them, and `read` uses these."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ms_fusion as mf
from ms_fusion.mindspore.state import dump_note
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

PROGRAM = ROOT / "tests" / "programs" / "trials" / "dumps_under_enable.py"
DUMPS = ROOT / "tests" / "data" / "ms_2_10" / "MyNet_f"


def dumped(place: Path, *arguments: str) -> tuple[Path, dict[str, Any]]:
    """The dump directory of a process, and its output."""
    dumps = place / "dumps"
    variables = {"MS_DEV_SAVE_GRAPHS": "2", "MS_DEV_SAVE_GRAPHS_PATH": str(dumps)}
    seen = run(PROGRAM, place / "work", *arguments, environment=variables).result
    return dumps, seen


@pytest.mark.mindspore
def test_read_says_what_explain_says(tmp_path: Path, full: bool) -> None:
    dumps, seen = dumped(tmp_path, "explain")
    ledger = mf.read(dumps)
    assert (ledger.preset, ledger.flags) == ("auto", seen["flags"])
    assert ledger.environment["mindspore"] and ledger.environment["device"] == "CPU"
    assert {one.generator for one in ledger.kernels} == {"ms_fusion"}
    assert "unexplained" not in {one.reason for one in ledger.unfused}
    assert any("left in ms_fusion.json beside the dumps" in note for note in ledger.notes)
    assert not any("assume" in note for note in ledger.notes)
    assert sorted(" ".join(one.operators) for one in ledger.kernels) == seen["kernels"]
    assert sorted(one.reason for one in ledger.unfused) == seen["reasons"]
    if full:
        # in a process without own dumps
        explained = run(PROGRAM, tmp_path / "explained", "explain").result
        assert explained["kernels"] == seen["kernels"]
        assert explained["reasons"] == seen["reasons"]


@pytest.mark.mindspore
@FULL
def test_the_flags_that_fuse_are_taken_and_others_counted(tmp_path: Path) -> None:
    dumps, seen = dumped(tmp_path, "other")
    assert [
        one["preset"] for one in json.loads((dumps / dump_note.FILE).read_text())["compilations"]
    ] == ["auto", "off"]
    ledger = mf.read(dumps)
    assert ledger.flags == seen["flags"]
    assert any("1 more set of flags was compiled under" in note for note in ledger.notes)


def note(**changes: Any) -> bytes:
    one = {
        "net": "Net",
        "preset": "basic",
        "flags": "--opt_level=1",
        "generator": "mindspore",
    } | changes
    return json.dumps({"device": "CPU", "mindspore": "2.10.0", "compilations": [one]}).encode()


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    """A process without ms_fusion."""
    return Path(shutil.copytree(DUMPS, tmp_path / "dumps"))


def test_what_is_asked_stands_above_the_note(dumps: Path) -> None:
    (dumps / dump_note.FILE).write_bytes(note())
    assert (mf.read(dumps).preset, mf.read(dumps).flags) == ("basic", "--opt_level=1")
    asked = mf.read(dumps, flags="--opt_level=3", device="Ascend")
    assert (asked.preset, asked.flags, asked.environment["device"]) == (
        "",
        "--opt_level=3",
        "Ascend",
    )


@cases(
    "spoilt",
    [
        lambda text: text[: len(text) // 2],
        lambda text: b"[" * 100_000,
        lambda text: b"\xff" + text,
        lambda text: text.replace(b'"CPU"', b'"TPU"'),
        lambda text: text.replace(b"[{", b"[").replace(b"}]", b"]"),
        lambda text: b'{"device": "CPU", "mindspore": "2.10.0", "compilations": []}',
        lambda text: note(flags="--opt_level=1 " * 10_000),
        lambda text: note(flags="no flags at all"),
        lambda text: note(net=5),
    ],
    ids=["half", "deep", "bytes", "device", "shape", "empty", "long", "flags", "type"],
)
def test_a_note_that_is_none_is_not_used(dumps: Path, spoilt: Callable[[bytes], bytes]) -> None:
    (dumps / dump_note.FILE).write_bytes(spoilt(note()))
    ledger = mf.read(dumps)
    assert (ledger.preset, ledger.flags) == ("", "--opt_level=2")
    assert any("reasons assume" in text for text in ledger.notes)
