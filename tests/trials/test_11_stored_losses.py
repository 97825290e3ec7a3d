"""Tuning stores a loss only after two measurements outside the noise, and reports it later."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from ms_fusion.capture import tune as tuning
from ms_fusion.capture.tuned_net import CallComparison, TunedNet, Variant
from ms_fusion.cli import main
from ms_fusion.mindspore.presets import net_choices
from ms_fusion.mindspore.presets.net_choices import NetChoice
from tbe_impl import tuning_store
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

PRODUCTS = ("MatMul",)


def calls(one: float, other: float, *, spread: float = 0.02, turns: int = 60) -> CallComparison:
    """This time in µs, with a random addition."""
    source = random.Random(f"{one}{other}")

    def about(time: float) -> float:
        return time * (1 + spread * source.random())

    return CallComparison(tuple((about(one), about(other)) for _ in range(turns)))


def disturbed(one: float, other: float) -> CallComparison:
    """One takes three times as long in most rounds, because of other load."""
    return CallComparison(tuple((one * (1 if turn % 5 == 0 else 3), other) for turn in range(60)))


def in_half(one: float, other: float) -> CallComparison:
    """A call alternates randomly between two times; 1000 µs unfused."""
    return CallComparison(tuple((one if turn % 9 < 5 else other, 1000.0) for turn in range(60)))


LOSS = calls(1300, 1000)


@cases(
    "first, again, choice",
    [
        (LOSS, LOSS, NetChoice(fused=False)),
        (LOSS, None, NetChoice()),
        (LOSS, calls(465, 1400), NetChoice()),
        (LOSS, calls(1300, 1000, turns=7), NetChoice()),
        (calls(1300, 1000, turns=7), LOSS, NetChoice()),
        (calls(1300, 1000, spread=9.0), LOSS, NetChoice()),
        (disturbed(500, 1000), LOSS, NetChoice()),
        (LOSS, disturbed(500, 1000), NetChoice()),
        (calls(1050, 1000), LOSS, NetChoice()),
    ],
    ids=[
        "twice",
        "once",
        "not again",
        "few turns again",
        "few turns",
        "within the noise",
        "least times",
        "least times again",
        "by little",
    ],
)
def test_a_net_stays_unfused_only_if_it_was_slower_twice(
    first: CallComparison, again: CallComparison | None, choice: NetChoice
) -> None:
    found = TunedNet("Net", (), (Variant("everything", (), first),), 1.0, again)
    assert found.choice.fused == choice.fused
    assert ("stays unfused" in found.choice.why) != found.choice.fused
    assert ("Not kept" in str(found)) == (found.choice.fused and not found.is_default)


@cases(
    "without, again, kept_out",
    [
        (calls(400, 1000), calls(500, 400), PRODUCTS),
        (calls(400, 1000), None, ()),
        (calls(400, 1000), calls(500, 500), ()),
        (in_half(400, 600), calls(500, 400), ()),
        (calls(480, 1000), calls(500, 400), ()),
    ],
    ids=["twice", "once", "not again", "within the noise", "by little"],
)
def test_operators_are_kept_out_only_if_that_was_quicker_twice(
    without: CallComparison, again: CallComparison | None, kept_out: tuple[str, ...]
) -> None:
    everything = Variant("everything", (), calls(500, 1000))
    variants = everything, Variant("without products", PRODUCTS, without)
    assert TunedNet("Net", (), variants, 1.0, again).kept_out == kept_out


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Records of one net with two sets of inputs, of another net, and of three kernels."""
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    net, other = (
        SimpleNamespace(
            get_parameters=lambda number=number: [
                SimpleNamespace(name="w", shape=(number,), dtype="float32")
            ]
        )
        for number in (1, 2)
    )
    x, y = (SimpleNamespace(shape=(rows, 4), dtype="Float32") for rows in (2, 3))
    keys = [f"{number:064x}" for number in (10, 11, 12)]
    for key in keys:
        times = {"default_us": 2.0, "tuned_us": 1.0, "ratio": 0.5, "bound": 0.6}
        made = {
            "name": "exp",
            "choice": {"unroll": 2},
            "steps": 1,
            "seconds": 1.0,
            **times,
        }
        tuning_store.save(key, msgspec.convert(made, tuning_store.Tuning))
    net_choices.remember(
        net, [x], NetChoice(fused=False, why="the net stays unfused."), kernels=keys[:1]
    )
    net_choices.remember(net, [y], NetChoice(), kernels=keys[1:2])
    net_choices.remember(other, [x], NetChoice())
    return {"net": net, "other": other, "x": x, "y": y}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main.run(["cache", *arguments]) == 0
    return capsys.readouterr().out


def test_the_cache_lists_the_records(
    records: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line.partition("  ")[2] for line in said(capsys, "ls").splitlines()]
    assert lines[:3] == ["tuned kernel exp: unroll=2, 0.50 × the time of the default."] * 3
    assert sorted(lines[3:]) == [
        "tuned net SimpleNamespace (2x4:float32): all is fused.",
        "tuned net SimpleNamespace (2x4:float32): the net stays unfused. 1 of its kernels were "
        "measured.",
        "tuned net SimpleNamespace (3x4:float32): all is fused. 1 of its kernels were measured.",
    ]


def test_the_records_can_be_removed_without_the_kernels(
    records: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "clear") == "removed 0 kernels\n"
    assert net_choices.recall(records["net"], [records["x"]]) is not None
    assert said(capsys, "clear", "--tuned") == "removed 6 records of tuning\n"
    assert said(capsys, "ls") == "" and net_choices.recall(records["net"], [records["x"]]) is None


@pytest.mark.parametrize("inputs, removed", [(("x",), 2), ((), 4)])
def test_a_net_is_forgotten_with_its_kernels(
    records: dict[str, Any], inputs: tuple[str, ...], removed: int
) -> None:
    assert net_choices.forget(records["net"], [records[name] for name in inputs]) == removed
    assert net_choices.recall(records["net"], [records["x"]]) is None
    assert (net_choices.recall(records["net"], [records["y"]]) is None) == (not inputs)
    assert net_choices.recall(records["other"], [records["x"]]) is not None


def test_without_time_a_loss_is_measured_once_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The whole path except the captures, whose times are fixed."""
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(
        tuning,
        "_tune_net",
        lambda *_, **__: TunedNet("Net", (), (Variant("everything", (), LOSS),), 1.0),
    )
    monkeypatch.setattr(tuning, "require_mindspore", lambda: None)
    monkeypatch.setattr(tuning.presets, "compile_anew", lambda net: None, raising=False)

    def net(x: Any) -> Any:
        return x

    assert "no time to measure it again" in str(tuning.tune(net, 1))
    assert net_choices.recall(net, [1]) == NetChoice(
        losses=("everything is a loss: a call took 1.30 × the unfused time.",)
    )
    assert tuning.tune(net, forget=True) == 1 and net_choices.recall(net, [1]) is None


@FULL
@pytest.mark.mindspore
def test_a_record_holds_at_once_is_said_and_forgotten(tmp_path: Path) -> None:
    program = ROOT / "tests" / "programs" / "trials" / "stored_loss.py"
    seen = run(program, tmp_path / "work", own_cache=True).result
    assert seen["fused"] == [True, False, True]
    (text,) = seen["said"]
    assert text.startswith(
        "Net: by what tuning found, the net stays unfused: fused it took 1.31 × as long."
    )
    assert text.endswith("`mf.tune(net, forget=True)` forgets it.")
    assert seen["forgotten"] == 1 and seen["said later"] == []
