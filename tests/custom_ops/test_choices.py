"""The table of choices in the documentation is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import custom_ops
from custom_ops.cell import possible_route
from custom_ops.operators import all_specs

PAGE = Path(__file__).parents[2] / "docs" / "custom_ops.md"


def test_what_is_taken():
    section = PAGE.read_text("utf-8").split("## What is chosen")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \|.*\| (\w+) \|$", section, re.MULTILINE)[1:]
    specs = all_specs()
    assert len(rows) >= 3
    for name, taken in rows:
        assert name in custom_ops.__all__
        if name in specs:
            assert possible_route(specs[name], "") == taken
