"""The command line as golden text: commands with their options, exit codes and errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from ms_fusion.cli import main
from tests.golden_code.comparing import Goldens
from tests.ms_fusion.onnx.fuse.models import transformer_layer


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and its subcommands, with their paths."""
    yield path, command
    if isinstance(command, click.Group):
        for name, one in sorted(command.commands.items()):
            yield from commands(one, f"{path} {name}")


def described(path: str, command: click.Command) -> Iterator[str]:
    """Description, arguments and options of a command."""
    yield f"==== {path}"
    yield from (line for line in inspect.cleandoc(command.help or "").splitlines() if line)
    for item in command.params:
        yield f"  {_parameter(item)}"
        if isinstance(item, click.Option) and item.help:
            yield f"      {item.help}"


def _parameter(item: click.Parameter) -> str:
    names = " ".join((*item.opts, *item.secondary_opts))
    found = [item.human_readable_name if isinstance(item, click.Argument) else names]
    found.append(_type(item.type))
    found += [word for word, holds in _remarks(item) if holds]
    if item.nargs != 1:
        found.append(f"nargs {item.nargs}")
    default = item.default
    if isinstance(default, (str, int, float, Path)) and not isinstance(default, bool):
        found.append(f"default {default}")
    return "; ".join(found)


def _remarks(item: click.Parameter) -> Iterator[tuple[str, bool]]:
    yield "argument", isinstance(item, click.Argument)
    yield "required", item.required
    yield "several", item.multiple if isinstance(item, click.Option) else False
    yield "flag", item.is_flag if isinstance(item, click.Option) else False
    yield "on", item.default is True


def _type(kind: click.ParamType) -> str:
    if isinstance(kind, click.Choice):
        return f"one of {', '.join(map(str, kind.choices))}"
    if isinstance(kind, click.IntRange):
        return f"integer from {kind.min} to {kind.max}"
    return kind.name


def test_commands_with_their_options(goldens: Goldens) -> None:
    lines = [line for path, one in commands(main.cli, "ms-fusion") for line in described(path, one)]
    goldens.compare("commands/options.txt", "".join(f"{line}\n" for line in lines))


def test_every_command_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    for path, command in commands(main.cli, "ms-fusion"):
        assert main.run([*path.split()[1:], "--help"]) == 0, path
        shown = " ".join(capsys.readouterr().out.split())
        assert f"Usage: {path}" in shown
        for item in command.params:
            if isinstance(item, click.Option):
                assert all(name in shown for name in item.opts), f"{path}: {item.opts}"


OPERATOR = """
from te import tvm
import te.lang.cce
from topi import generic

def twice(x, y, times=2.0, kernel_name="twice"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    with tvm.target.cce():
        res = te.lang.cce.vmuls(data, times)
        sch = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [data, res]})
"""
BY_NUMPY = "--input 4x5:float32 --backend numpy"
CALLS = (
    "",
    "--version",
    "nothing",
    "--nothing",
    "presets",
    "presets auto",
    "presets auto --yaml",
    "presets nothing",
    "presets auto --device Nothing",
    "lint-flags --opt_level=2",
    "lint-flags --opt_levell=2",
    "lint-flags --enable_expand_ops=Nothing --opt_level=9",
    "lint-flags",
    "cache ls",
    "cache info",
    "cache verify",
    "cache clear",
    "cache",
    "read DATA/MyNet_f",
    "read DATA/nothing",
    "read",
    "read DATA/MyNet_f --json nowhere/ledger.json",
    f"tbe run twice.py {BY_NUMPY}",
    f"tbe run twice.py:twice {BY_NUMPY} --check",
    f"tbe run twice.py {BY_NUMPY} --formula data*3",
    f"tbe run twice.py {BY_NUMPY} --attr nothing=1",
    f"tbe run nothing.py {BY_NUMPY}",
    f"tbe run broken.py {BY_NUMPY}",
    "tbe run twice.py --input 4x5:nothing",
    f"tbe run twice.py {BY_NUMPY} --soc Nothing",
    f"tbe bench twice.py {BY_NUMPY} --loop 0",
    "tbe",
    "ascendc",
    "ascendc run",
    "ascendc run nothing.cpp --output 8:float32",
    "ascendc run twice.cpp",
    "ascendc run twice.cpp --output 8:nothing",
    "ascendc run twice.cpp --output 8:float32 --blocks 0",
    "ascendc run twice.cpp --output 8:float32 --function other",
    "fuse",
    "fuse --input nothing.onnx",
    "fuse --input broken.onnx --dry-run",
    "fuse --input model.onnx --dry-run --opt-level 4",
    "fuse --input model.onnx --dry-run --assume n",
    "fuse --input model.onnx --dry-run --fusion-rules Nothing",
    "fuse --input model.onnx",
)

WORDS_OF_OTHERS = (
    (re.compile(r"(?<=^ms-fusion: ).*(?= See: ms-fusion)"), "(a usage error)"),
    # protobuf uses another implementation with other messages once MindSpore is loaded
    (re.compile(r"(?<=this is not an ONNX model; got ).*?(?=\. The)"), "(an error of protobuf)"),
    (re.compile(r"(?<=SyntaxError: ).*"), "(an error of Python)"),
)
"""Messages of other packages, which vary between versions."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the files that the calls name."""
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("COLUMNS", "100")
    Path("twice.py").write_text(OPERATOR)
    Path("broken.py").write_text("def op(x, y):\n    return (\n")
    Path("twice.cpp").write_text("__global__ __aicore__ void twice(GM_ADDR y) {}")
    Path("broken.onnx").write_bytes(b"no model")
    transformer_layer(Path("model.onnx"))
    return directory


def test_exit_codes(
    goldens: Goldens, place: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code of each call, and its message on standard error."""
    data = repository / "tests" / "data" / "ms_2_10"
    hide = hiding(
        {str(data): "DATA", str(place): "HERE", str(place.parent): "TMP", str(repository): "ROOT"}
    )
    lines = []
    for call in CALLS:
        code = main.run([word.replace("DATA", str(data)) for word in call.split()])
        said = [
            line for line in capsys.readouterr().err.splitlines() if line.startswith("ms-fusion:")
        ]
        lines += [f"{code} $ ms-fusion {call}".rstrip(), *(f"    {hide(line)}" for line in said)]
    goldens.compare("commands/exit_codes.txt", "".join(f"{line}\n" for line in lines))


def hiding(places: dict[str, str]) -> Callable[[str], str]:
    """A function that hides directories and messages of other packages."""

    def hide(text: str) -> str:
        for directory in sorted(places, key=len, reverse=True):
            text = text.replace(directory, places[directory])
        for pattern, instead in WORDS_OF_OTHERS:
            text = pattern.sub(instead, text)
        return text

    return hide


def test_exit_codes_that_are_told() -> None:
    """The help of the command or of the module documents every exit code."""
    told: dict[str, Any] = {path: one.help or "" for path, one in commands(main.cli, "ms-fusion")}
    with_codes = {path for path, text in told.items() if re.search(r"Exit code", text)}
    assert with_codes == {
        f"ms-fusion {name}"
        for name in ("ascendc run", "cache verify", "doctor", "fuse", "lint-flags", "tbe run")
    }
    assert main.EXIT_CODES == {"already-fused": 3}
