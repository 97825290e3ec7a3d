"""Leaky ReLU keeps MindSpore's gradient, computed from its result alone."""

from __future__ import annotations

import json

import pytest

from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

pytestmark = pytest.mark.mindspore

TOLERANCE = {"float32": 2e-6, "float16": 1e-2}


SLOPES = {False: (0.1,), True: (0.1, 0.01, 1, 1.0, 2.5, 0, 0.0, -0.5, 1e-8)}
"""Slopes of `make test`, and all."""


@pytest.fixture(scope="module")
def found(full, tmp_path_factory):
    slopes = SLOPES[full]
    place = tmp_path_factory.mktemp("leaky") / "work"
    return run(PROGRAMS / "leaky_relu.py", place, json.dumps(slopes)).result


def test_gradients_are_those_of_mindspore(full, found):
    assert found["attributes"] == [False, False]
    # MindSpore takes alpha · x for x there
    assert found["infinite"] == pytest.approx([3.0, 1.2])
    compared = {
        name: one
        for name, one in found.items()
        if name not in ("attributes", "infinite", "operators")
    }
    assert len(compared) == len(SLOPES[full]) + 4
    for name, (dtype, expected, distance, same_nan) in compared.items():
        assert dtype == expected, name
        assert same_nan, name
        assert distance <= TOLERANCE["float16" if "16" in name else "float32"], name


def test_a_step_compares_nothing_but_the_result(found):
    assert "Select" in found["operators"]
    assert "Equal" not in found["operators"]


def test_one_inside_of_another_changes_nothing() -> None:
    from ms_fusion.mindspore.patches import leaky_relu

    owner = leaky_relu.OWNER
    with leaky_relu.differentiate_by_result():
        with leaky_relu.differentiate_by_result():
            pass
        assert hasattr(owner(0.1), "bprop")
        assert not hasattr(owner(0.0), "bprop")
    assert "bprop" not in vars(owner)
