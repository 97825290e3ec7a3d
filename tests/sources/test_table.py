"""The commands and names of the tutorial page exist."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from pathlib import Path
from typing import Any

from ms_fusion.cli.main import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from_a_tutorial.md"
PACKAGES = {"cop": "custom_ops", "ms_fusion": "ms_fusion", "tbe_impl": "tbe_impl"}


def spans() -> list[str]:
    """The code in the right column."""
    rows = (line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| "))
    columns = (re.split(r"(?<!\\) \| ", row.strip("| ")) for row in rows)
    return [code for _, *right in columns for code in re.findall(r"`([^`]+)`", " | ".join(right))]


def test_each_name_is_there() -> None:
    named = [
        (package, path)
        for code in spans()
        for package, path in re.findall(r"\b(cop|ms_fusion|tbe_impl)\.([A-Za-z0-9_.]+)", code)
    ]
    assert len(named) >= 20
    missing = []
    for package, path in named:
        names = path.rstrip(".").split(".")
        try:
            home = importlib.import_module(PACKAGES[package])
            reduce(lambda owner, name: getattr(owner, name), names, home)
        except AttributeError:
            missing.append(f"{package}.{path}")
    assert missing == []


def test_each_option_is_there() -> None:
    commands = [code.split() for code in spans() if code.startswith("ms-fusion ")]
    assert {"fuse", "read", "tbe"} <= {words[1] for words in commands}
    unknown = []
    for _, *words in commands:
        command: Any = cli
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        known = {option for one in command.params for option in one.opts}
        unknown += [word for word in words if word.startswith("--") and word not in known]
    assert unknown == []
