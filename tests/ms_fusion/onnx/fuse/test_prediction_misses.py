"""Causes of wrong predictions: the first matching cause, each candidate once."""

from __future__ import annotations

from typing import Any

from benchmarks.prediction_misses import is_miss, table


def row(predicted: float, measured: float, *operators: str, apart: float = 100.0) -> dict[str, Any]:
    return {
        "case": "net Rule",
        "operators": operators,
        "predicted_us": predicted,
        "measured_us": measured,
        "apart_us": apart,
        "fused_us": apart - measured,
    }


def test_twice_and_half_are_misses() -> None:
    assert [is_miss(row(10.0, saved)) for saved in (19.9, 20.1, 5.1, 4.9, -10.0, 0.0)] == [
        False,
        True,
        False,
        True,
        True,
        True,
    ]


def test_each_miss_stands_under_the_first_cause_that_holds() -> None:
    rows = [
        row(10, 9, "Exp", "Neg"),
        row(10, 4, "MatMul", "Add"),
        row(10, 40, "MatMul", "Transpose"),
        row(10, 40, "Split", "Softmax"),
        row(10, 40, "Softmax", "Exp"),
        row(10, 41, "Exp", "Neg"),
        row(30, 12, "MatMul", "Add"),
    ]
    lines = [line.split(" | ") for line in table(rows)][2:]
    assert [line[1:3] for line in lines] == [
        ["1", "1"],
        ["2", "1"],
        ["1", "0"],
        ["1", "0"],
        ["1", "0"],
        ["6 of 7", "2"],
    ]
    assert lines[1][3] == "24.0 µs"
    assert "net Rule (Exp, Neg): 10.0 promised, 41.0 saved of 100.0 µs" in lines[4][4]
