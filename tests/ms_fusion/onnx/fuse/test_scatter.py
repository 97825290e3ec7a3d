"""The scatter plot of predictions is self-contained and labels each point."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.onnx_predictions import rank_correlation
from benchmarks.scatter import SIDE, scatter


def test_points_lie_inside_and_are_named() -> None:
    drawing = ElementTree.fromstring(scatter([(1.0, -2.0, "a<b"), (-300.0, 40.0, "c")], "x", "y"))
    dots = [one for one in drawing.iter() if one.tag.endswith("circle")]
    assert [dot[0].text for dot in dots] == ["a<b", "c"]
    assert all(0 < float(dot.get(name, "0")) < SIDE for dot in dots for name in ("cx", "cy"))
    assert float(dots[0].get("cy", "0")) > SIDE / 2 > float(dots[1].get("cy", "0"))


def test_rank_correlation_sees_order_and_shares_ties() -> None:
    one = np.array([1.0, 5.0, 3.0, 3.0])
    assert rank_correlation(one, one**3) == pytest.approx(1.0)
    assert rank_correlation(one, -one) == pytest.approx(-1.0)
