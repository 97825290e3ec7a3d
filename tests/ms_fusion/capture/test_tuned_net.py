"""Decisions of net tuning, and their storage and display."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ms_fusion.capture.tuned_net import CallComparison, TunedKernel, TunedNet, Variant
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.preset_table import resolve
from ms_fusion.mindspore.presets import net_choices
from ms_fusion.mindspore.presets.net_choices import NetChoice
from ms_fusion.mindspore.state.preset_record import FusionWarning
from tests.cases import cases

PRODUCTS = ("BatchMatMul", "MatMul")


def compared(one: float, other: float) -> CallComparison:
    """Calls of equal duration, µs."""
    return CallComparison(((one, other),) * 20)


def tuned(everything: float, without: float, again: CallComparison | None = None) -> TunedNet:
    """A net that takes 1000 µs unfused."""
    kernel = TunedKernel("Fused_1", ("Exp", "Mul"), "accumulators=2", 20.0, 15.0, 0.75)
    variants = (
        Variant("everything", (), compared(everything, 1000.0)),
        Variant("without products", PRODUCTS, compared(without, 1000.0)),
    )
    return TunedNet("Net", (kernel,), variants, 12.3, again)


def test_the_clearly_quickest_variant_is_chosen() -> None:
    assert tuned(500.0, 490.0).choice == NetChoice()
    found = tuned(500.0, 400.0, compared(500.0, 400.0))
    assert found.kept_out == PRODUCTS and found.losses == ()
    assert "0.40 × the unfused time, and 0.50 ×" in found.choice.why

    found = tuned(1300.0, 1200.0, compared(1300.0, 1000.0))
    assert not found.choice.fused and "1.20 ×" in found.choice.why
    assert [one.name for one in found.losses] == ["everything", "without products"]
    assert found.choice.losses == (
        "everything is a loss: a call took 1.30 × the unfused time.",
        "without products is a loss: a call took 1.20 × the unfused time.",
    )
    assert "taken" not in str(found)


EVEN, RISING = (
    CallComparison(((1.0, 4.0),) * 20),
    CallComparison(((1.0, 2.0), (4.0, 1.0), (3.0, 4.0))),
)
LONG = CallComparison(((2.0, 1.0),) * 16 + ((8.0, 2.0),) * 4)


@cases(
    "calls, step, other, ratio, least, most",
    [
        (EVEN, 1.0, 4.0, 0.25, 0.25, 0.25),
        # too few turns for a bound: any ratio is possible
        (RISING, 3.0, 2.0, 0.75, 0.0, math.inf),
        (LONG, 2.0, 1.0, 2.0, 2.0, 4.0),
        # the least times, 1 and 2, decide
        (CallComparison(((4.0, 2.0),) * 19 + ((1.0, 2.0),)), 4.0, 2.0, 2.0, 0.5, 2.0),
    ],
    ids=["even", "few turns", "many turns", "least times"],
)
def test_comparisons_against_values_by_hand(calls, step, other, ratio, least, most) -> None:
    assert (calls.step_us, calls.other_us, calls.ratio) == (step, other, ratio)
    assert (calls.least_ratio, calls.most_ratio) == (least, most)
    variant = Variant("v", (), calls)
    assert (variant.step_us, variant.unfused_us, variant.ratio) == (step, other, ratio)


TABLE = """\
Net: tuned in 12 s

kernel                                          default      tuned  choice
Exp + Mul                                         20 µs      15 µs  accumulators=2

whole net                                        a call    unfused
everything                                       500 µs    1000 µs  2.00 × unfused
without products                                 400 µs    1000 µs  2.50 × unfused  taken

BatchMatMul, MatMul stay out of the clusters: a call took 0.40 × the unfused time, and 0.50 × \
with them."""
DEFAULT = """
everything                                       500 µs    1000 µs  2.00 × unfused  taken
without products                                 490 µs    1000 µs  2.04 × unfused"""
NOT_AGAIN = """
everything                                       500 µs    1000 µs  2.00 × unfused  taken
without products                                 400 µs    1000 µs  2.50 × unfused

Not kept, since there was no time to measure it again: BatchMatMul, MatMul stay out of the \
clusters: a call took 0.40 × the unfused time, and 0.50 × with them."""
IN_THE_NOISE = """
everything                                      1300 µs    1000 µs  0.77 × unfused  taken
without products                                1300 µs    1000 µs  0.77 × unfused

Not kept, since it is within the noise: measured again, everything took 1.09 × as long. The net \
stays unfused: fused it took 1.30 × as long."""
UNFUSED = """
everything                                      1300 µs    1000 µs  0.77 × unfused
without products                                1300 µs    1000 µs  0.77 × unfused

The net stays unfused: fused it took 1.30 × as long."""
SAME_TIME = """
everything                                      1050 µs    1000 µs  0.95 × unfused  taken
without products                                1051 µs    1000 µs  0.95 × unfused"""


def of_long_name(length: int) -> TunedNet:
    kernel = TunedKernel("k", ("E" * (length - 6), "Exp"), "default", 20.0, 20.0, 1.0)
    return replace(tuned(500.0, 490.0), kernels=(kernel,))


@cases(
    "found, losses, part",
    [
        (tuned(500.0, 400.0, compared(500.0, 400.0)), 0, TABLE),
        (tuned(500.0, 490.0), 0, DEFAULT),
        (tuned(500.0, 400.0), 0, NOT_AGAIN),
        (tuned(1300.0, 1300.0, compared(109.0, 100.0)), 2, IN_THE_NOISE),
        (tuned(1300.0, 1300.0, compared(111.0, 100.0)), 2, UNFUSED),
        (tuned(1050.0, 1051.0), 1, SAME_TIME),
        (of_long_name(44), 0, f"\n{'E' * 38} + Exp      20 µs"),
        (of_long_name(45), 0, f"\n{'E' * 39} …(2)      20 µs"),
    ],
    ids=["taken", "default", "not again", "noise", "unfused", "thresholds", "44", "45"],
)
def test_the_text_lists_measurements_and_the_choice(
    found: TunedNet, losses: int, part: str
) -> None:
    text = str(found)
    assert part in text
    assert len(found.losses) == losses
    assert text.endswith(part) or "E" * 38 in part


def test_flags_of_our_generator_follow_the_choice() -> None:
    flags = resolve("auto", generator="ms_fusion").render()
    known = GraphKernelFlags.parse(NetChoice(kept_out=("MatMul",)).apply_to(flags))
    assert "MatMul" not in known.enable_cluster_ops and "MatMul" in known.disable_cluster_ops
    assert "BatchMatMul" in known.enable_cluster_ops
    assert GraphKernelFlags.parse(NetChoice(fused=False).apply_to(flags)).opt_level == 0
    assert NetChoice().apply_to(flags) == flags
    assert NetChoice(fused=False).apply_to("--opt_level=2") == "--opt_level=2"


def test_a_ledger_tells_what_was_decided_and_every_loss() -> None:
    flags = resolve("auto", generator="ms_fusion").render()
    choice = NetChoice(fused=False, why="so.", losses=("this is a loss.", "that is one."))
    assert choice.notes(flags) == ("Tuning: so.", "Tuning: this is a loss.", "Tuning: that is one.")
    assert choice.notes("--opt_level=2") == ()
    assert NetChoice(losses=("this is a loss.",)).notes(flags) == ("Tuning: this is a loss.",)


def net(*sizes: int) -> object:
    parameters = [
        SimpleNamespace(name=f"w{number}", shape=(size,), dtype="float32")
        for number, size in enumerate(sizes)
    ]
    return SimpleNamespace(get_parameters=lambda: parameters)


def test_a_choice_is_that_of_nets_of_its_kind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    x = SimpleNamespace(shape=(2, 3), dtype="float32")
    flags = resolve("auto", generator="ms_fusion").render()
    assert net_choices.recall(net(4), [x]) is None
    net_choices.remember(net(4), [x], NetChoice(fused=False, why="so."))
    assert net_choices.recall(net(4), [x]) == NetChoice(fused=False, why="so.")
    assert net_choices.recall(net(5), [x]) is None
    assert net_choices.recall(net(4), [x, x]) is None
    with pytest.warns(FusionWarning, match="by what tuning found, so"):
        assert "--opt_level=0" in net_choices.apply_choice(flags, net(4), [x])
    assert "--opt_level=0" in net_choices.apply_choice(flags, net(4), [x])
    assert net_choices.apply_choice(flags, net(4, 4), [x]) == flags
    assert net_choices.apply_choice("--opt_level=2", net(4), [x]) == "--opt_level=2"


def test_another_net_of_the_same_name_has_its_own_choice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))

    def named(construct: Callable[..., object]) -> object:
        return type("Net", (), {"construct": construct})()

    net_choices.remember(named(lambda self, x: x * 2 in {1, 2}), [], NetChoice(fused=False))
    assert net_choices.recall(named(lambda self, x: x * 2 in {2, 1}), []) is not None
    assert net_choices.recall(named(lambda self, x: x * 3 in {1, 2}), []) is None
    assert net_choices.recall(named(lambda self, x: x + 2 in {1, 2}), []) is None
    assert net_choices.recall(named(lambda self, x: [y * 2 for y in x]), []) is None
