"""Commands reject wrong arguments before they import NumPy, ONNX, SymPy or MindSpore."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from ms_fusion.cli import main
from ms_fusion.onnx.fuse.arguments import RUNTIME_RULES
from ms_fusion.onnx.fuse.ort.table import EQUIVALENTS
from tests.cases import cases

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "trials" / "refusals.py"

FUSE = ["fuse", "--input", "model.onnx"]
EXPLAIN = ["explain", "net.py:Net", "--input", "4x4"]
TBE = ["net.py:op", "--input", "4x4"]
REFUSED: list[tuple[list[str], str]] = [
    (
        ["fuse", "--input", "absent.onnx", "--dry-run"],
        "absent.onnx: the model cannot be opened; got No such file",
    ),
    (["fuse", "--input", ".", "--dry-run"], "."),
    (["fuse", "--input", "/dev/null", "--dry-run"], "/dev/null: the model is not a regular file"),
    (FUSE, "output: no path is given for the fused model"),
    ([*FUSE, "--output", "absent/x.onnx"], "absent: the directory of the output does not exist"),
    ([*FUSE, "--output", "model.onnx"], "model.onnx: the output cannot be written there"),
    (
        [*FUSE, "--dry-run", "--report", "absent/x.html"],
        "absent/x.html: there is no such directory",
    ),
    (
        [*FUSE, "--dry-run", "--report", "model.onnx"],
        "model.onnx: the report cannot be written there",
    ),
    ([*FUSE, "--dry-run", "--assume", "n"], "'n' is not of the form NAME=SIZE"),
    ([*FUSE, "--dry-run", "--fusion-rules", "Nothing"], "unknown rule; expected all, GELU"),
    ([*FUSE, "--dry-run", "--fusion-rules", "GELU,absent.py:RULE"], "absent.py: no such file"),
    (
        [*FUSE, "--dry-run", "--target", "ort", "--fusion-rules", "Cluster"],
        "expected all, Attention, AddLayerNorm",
    ),
    ([*FUSE, "--dry-run", "--target", "ort", "--device", "ascend910b"], "are timed on a CPU"),
    ([*FUSE, "--dry-run", "--debug", "maybe"], "'maybe' is not a valid boolean"),
    (["explain", "absent.py:Net"], "absent.py: no such file"),
    (["explain", "net.py"], "this does not name a net; expected FILE.py:NAME"),
    (["explain", "net.py:Net", "--input", "4xa"], "--input 4xa: not a shape"),
    (["explain", "net.py:Net", "--input", "4:float31"], "Did you mean float32?"),
    (["explain", "net.py:Net", "--input", "absent.npy"], "--input absent.npy: no such file"),
    ([*EXPLAIN, "--preset", "agressive"], "there is no such preset; expected auto or off"),
    ([*EXPLAIN, "--flags", "--opt_lvel=2"], "MindSpore has no such flag; got --opt_lvel"),
    ([*EXPLAIN, "--html", "absent/x.html"], "absent/x.html: there is no such directory"),
    (
        ["read", "absent"],
        "absent: there is no such directory; expected a directory of MindSpore dumps",
    ),
    (["read", ".", "--json", "absent/x.json"], "absent/x.json: there is no such directory"),
    (["presets", "agressive"], "Did you mean aggressive?"),
    (["presets", "auto", "--version", "two"], "this is not a version of MindSpore"),
    (["demo", "--output", "model.onnx/demo"], "the directory cannot be made; got Not a directory"),
    *(
        ([*command, *rest], says)
        for command in (["tbe", "run"], ["tbe", "show"], ["tbe", "bench"])
        for rest, says in (
            (["absent.py"], "absent.py: there is no such operator file"),
            (["."], ".: this is a directory; expected FILE.py:operator"),
            (["net.py", "--input", "4xa"], "--input 4xa: not a shape"),
            ([*TBE, "--output", "4xk"], "--output 4xk: not a shape"),
            (["net.py", "--input", "absent.npy"], "--input absent.npy: no such file"),
            ([*TBE, "--attr", "beta"], "--attr beta: not an attribute"),
            ([*TBE, "--attr", "a=1", "--attr", "a=2"], "an attribute is given twice"),
            ([*TBE, "--soc", "Nothing"], "--soc Nothing: unknown chip; expected cpu, Ascend310"),
            ([*TBE, "--search-path", "absent"], "Directory 'absent' does not exist"),
        )
    ),
    (["tbe", "run", *TBE, "--formula", "x+"], "--formula: this is not a formula"),
    ([*FUSE, "--dry-run", "--lower", "Conv,"], "expected Conv or Gemm, got ''"),
    ([*FUSE, "--dry-run", "--lower", ""], "it is blank; expected: Operators to decompose"),
    (["lint-flags", " "], "'FLAGS...': it is blank"),
]


@functools.cache
def answers() -> dict[str, tuple[int, str, list[str]]]:
    """Command line → exit code, message, and heavy modules; all run in one process without earlier
    imports.
    """
    with tempfile.TemporaryDirectory() as work:
        for name in ("model.onnx", "net.py"):
            Path(work, name).touch()
        done = subprocess.run(
            [sys.executable, str(PROGRAM), json.dumps([row[0] for row in REFUSED])],
            cwd=work,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {" ".join(row[0]): tuple(one) for row, one in zip(REFUSED, found, strict=True)}


@cases("arguments, says", REFUSED, ids=lambda row: " ".join(row[0]))
def test_a_refusal_imports_nothing_heavy(arguments: list[str], says: str) -> None:
    code, said, heavy = answers()[" ".join(arguments)]
    assert (code, heavy) == (2, [])
    assert says in said
    assert said.startswith("ms-fusion: ") and said.count("\n") == 1, said


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[Any]:
    """Yields each command of a group and of its groups, with its words."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name, part in command.commands.items():
        yield from commands(part, (*path, name))


def lines() -> Iterator[list[str]]:
    """Yields a command line for each parameter with a value, and {} in place of the value."""
    for path, command in commands(main.cli):
        required = [one for one in command.params if one.required]
        for parameter in command.params:
            if getattr(parameter, "is_flag", False):
                continue
            line = list(path)
            for one in {*required, parameter}:
                option = [one.opts[0]] if isinstance(one, click.Option) else []
                line += [*option, "{}" if one is parameter else "given"]
            yield line


@cases("line", list(lines()), ids=" ".join)
def test_a_blank_text_is_no_value(capsys: pytest.CaptureFixture[str], line: list[str]) -> None:
    for blank in ("", " ", "\t"):
        assert main.run([blank if word == "{}" else word for word in line]) == 2
        said = capsys.readouterr().err
        assert "Invalid value for" in said and said.count("\n") == 1, said


def test_rules_of_onnx_runtime_are_those_of_its_table() -> None:
    assert tuple(one.rule.name for one in EQUIVALENTS) == RUNTIME_RULES
