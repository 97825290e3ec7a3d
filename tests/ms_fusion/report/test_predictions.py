"""Predicted against measured savings: dots, strokes for unmeasured ones, small output."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ms_fusion.ledger import Ledger, RejectedCandidate
from ms_fusion.report.predictions import predictions
from tests.cases import cases
from tests.ms_fusion.report.ledgers import minimal_ledger, transformer_ledger


def ledger_of(*savings: tuple[float, float | None], rejected: tuple[float, ...] = ()) -> Ledger:
    whole = transformer_ledger(200)
    kernels = tuple(
        replace(
            kernel,
            predicted_saving_us=predicted,
            unfused_time_us=None if measured is None else 1000.0 + measured,
            time_us=None if measured is None else 1000.0,
        )
        for kernel, (predicted, measured) in zip(whole.kernels, savings, strict=False)
    )
    assert len(kernels) == len(savings)
    not_made = tuple(
        RejectedCandidate("Cluster", "intra-operator", ("Add", "Mul"), ("a", "b"), us, "no")
        for us in rejected
    )
    return replace(whole, kernels=kernels, rejected=not_made)


def test_a_dot_for_each_kernel_that_was_measured() -> None:
    found = predictions(
        ledger_of((10.0, 10.0), (100.0, 20.0), (5.0, -3.0), (7.0, None), rejected=(1.0, -4.0))
    )
    assert found is not None
    assert [dot.kernel for dot in found.dots] == [0, 1, 2]
    assert (found.right, found.near) == (2, 1)
    assert found.counts == (1, 2)
    assert (len(found.made), len(found.not_made)) == (1, 2)
    assert found.line is not None
    # exact predictions lie on the line
    x1, y1, x2, y2 = found.line
    dot = found.dots[0]
    assert (dot.y - y1) * (x2 - x1) == pytest.approx((y2 - y1) * (dot.x - x1), abs=200)
    assert found.dots[2].y > found.dots[0].y > found.dots[1].y, "less saved is lower"
    assert found.dots[1].x > found.dots[0].x > found.dots[2].x, "more promised is further right"
    assert "10.0 µs promised, 10.0 µs saved" in dot.title


def test_without_measurements_the_predictions_alone() -> None:
    page = str(ledger_of((10.0, None), (3.0, None), rejected=(-2.0,)).to_html())
    assert "Predicted savings" in page
    assert "2 kernels that were not measured" in page
    assert "1 fusion not made" in page
    assert "measured saving, µs" not in page


def test_nothing_predicted_is_no_drawing() -> None:
    assert predictions(minimal_ledger()) is None
    assert "promised-title" not in str(minimal_ledger().to_html())


@cases("saving", [float("inf"), float("nan"), 0.0, 1e30])
def test_odd_numbers_are_left_out_or_have_a_place(saving: float) -> None:
    found = predictions(ledger_of((saving, 1.0), (2.0, saving), rejected=(saving, 1.0)))
    assert found is not None
    for dot in found.dots:
        assert 0 <= dot.x <= 560
        assert 0 <= dot.y <= 320


def test_ten_thousand_strokes_are_a_few_hundred() -> None:
    found = predictions(
        ledger_of((1.0, None), rejected=tuple(number / 7 for number in range(10_000)))
    )
    assert found is not None
    assert found.counts[1] == 10_000
    assert len(found.not_made) <= 501


def test_the_drawing_is_markup_that_can_be_read() -> None:
    page = str(ledger_of((10.0, 10.0), (7.0, None), rejected=(1.0,)).to_html())
    start = page.index("<svg", page.index("promised-title"))
    drawing = ElementTree.fromstring(page[start : page.index("</svg>", start) + 6])
    assert len(drawing.findall("circle")) == 1
