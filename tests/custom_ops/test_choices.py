"""The table of choices in the documentation equals the measurements and the code."""

from __future__ import annotations

import json

import custom_ops
from benchmarks.choices import PAGE, RESULTS, TIE, with_table
from custom_ops.core.cell import resolve_route
from custom_ops.operators import all_specs

RECORD = json.loads(RESULTS.read_text("utf-8"))


def test_the_table_is_the_record():
    page = PAGE.read_text("utf-8")
    assert with_table(page, RECORD) == page


def test_what_is_quicker_is_taken():
    specs = all_specs()
    assert len(RECORD["operators"]) >= 18
    for label, entry in RECORD["operators"].items():
        name = label.split(" ")[0]
        assert name in custom_ops.__all__
        assert all(one >= TIE for many in entry["times"].values() for one in many), label
        assert entry["taken"] == "native"
        if name in specs:
            assert resolve_route(specs[name], "") == "native"


def test_memory_bound_operators_win_at_the_largest_size():
    for name in ("Softmax", "LayerNorm", "GELU", "Swish"):
        assert all(many[-1] > 1 for many in RECORD["operators"][name]["times"].values())
