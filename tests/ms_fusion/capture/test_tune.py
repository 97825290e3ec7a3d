"""`tune` with real MindSpore: later compilations use the measured choices."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ms_fusion as mf
from ms_fusion.capture import tune
from ms_fusion.graph import Graph, Node, Value
from tbe_impl.errors import InputError
from tests.cases import FULL
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

PROGRAMS = ROOT / "tests" / "programs" / "capture"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(
        PROGRAMS / "tuned_net.py", tmp_path_factory.mktemp("tune") / "work", own_cache=True
    ).result


def test_what_is_left_out_in_which_order_and_for_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shapes = {"x": (8,), "y": (64,), "m": (4, 4), "b": (2, 4, 4), "image": (1, 1, 4, 4)}
    values = {name: Value(name, shape, "float32") for name, shape in shapes.items()}
    nodes = tuple(
        Node(op, op, inputs, inputs[:1])
        for op, inputs in {
            "Exp": ("x",),
            "MatMul": ("m", "m"),
            "Conv2D": ("image", "image"),
            "Tanh": ("y",),
            "BatchMatMul": ("b", "b"),
        }.items()
    )
    group: Any = SimpleNamespace(graph=Graph("g", nodes, values, ("x",), ("y",)))
    assert list(tune._exclusion_candidates([group])) == [
        ("without products", ("BatchMatMul", "MatMul")),
        ("without convolutions", ("Conv2D",)),
        *((f"without {op}", (op,)) for op in ("Tanh", "BatchMatMul", "MatMul", "Exp")),
    ]
    monkeypatch.setattr(time, "perf_counter", lambda: 40.0)
    clock = tune._Clock(10.0, 100.0, lambda elapsed, text: None, whole_s=10.0)
    assert (clock.elapsed_s, clock.remaining_s, clock.kernel_budget_s(1)) == (30, 60, 40)
    assert clock.kernel_budget_s(4) == 60 / 2 - 10
    assert (clock.has_room(6), clock.has_room(7)) == (True, False)
    clock.whole_s = 70.0
    assert clock.kernel_budget_s(1) == 60


@FULL
@pytest.mark.mindspore
def test_a_net_is_measured_and_left_as_it_was(seen: dict[str, Any]) -> None:
    assert seen["unchanged"] and seen["known"]
    assert seen["variants"][:2] == ["everything", "without products"] and seen["kernels"]
    assert "without MatMul" not in seen["variants"], "that is without products"
    assert len(set(seen["variants"])) == len(seen["variants"]) >= 2, "more where the time allows"
    assert seen["table"].startswith("Net: tuned in")


@FULL
@pytest.mark.mindspore
def test_without_time_the_net_is_measured_once(seen: dict[str, Any]) -> None:
    variants, kernels = seen["least"]
    assert variants == ["everything"] and not kernels


@FULL
@pytest.mark.mindspore
def test_later_compilations_keep_out_what_tuning_says(seen: dict[str, Any]) -> None:
    assert seen["kept out"] and "MatMul" not in seen["kept out"]
    for notes in (seen["notes"], seen["specialized"]):
        assert "Tuning: products are quicker alone." in notes
        assert "Tuning: everything is a loss." in notes
    assert "MatMul" in seen["not tuned"]


@FULL
@pytest.mark.mindspore
def test_what_was_measured_of_a_group_is_found(seen: dict[str, Any]) -> None:
    assert any(seen["measured"]) and not all(seen["measured"])


@pytest.mark.mindspore
def test_a_small_net_is_measured_once_and_remembered(tmp_path: Path, full: bool) -> None:
    seen = run(PROGRAMS / "tuned_in_this_process.py", tmp_path / "work", own_cache=full).result
    assert seen["variants"] == [["everything", True, True]] and seen["kernels"] == []
    assert seen["built"] == 1 and seen["known"]
    assert seen["table"].startswith("net: tuned in")


def test_a_time_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="seconds=0"):
        mf.tune(lambda x: x, seconds=0)
