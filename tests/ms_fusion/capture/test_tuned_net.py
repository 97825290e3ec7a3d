"""Decisions of net tuning, and their storage and display."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from ms_fusion.capture.tuned_net import CallComparison, TunedKernel, TunedNet, Variant
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.preset_table import resolve
from ms_fusion.mindspore.presets import net_choices
from ms_fusion.mindspore.presets.net_choices import NetChoice
from ms_fusion.mindspore.state.preset_record import FusionWarning

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


def test_everything_is_clustered_unless_less_is_clearly_quicker() -> None:
    assert tuned(500.0, 490.0).choice == NetChoice()
    found = tuned(500.0, 400.0, compared(500.0, 400.0))
    assert found.kept_out == PRODUCTS and found.losses == ()
    assert "0.40 × the unfused time, and 0.50 ×" in found.choice.why


def test_a_net_that_is_quickest_unfused_stays_so() -> None:
    found = tuned(1300.0, 1200.0, compared(1300.0, 1000.0))
    assert not found.choice.fused and "1.20 ×" in found.choice.why
    assert [one.name for one in found.losses] == ["everything", "without products"]
    assert found.choice.losses == (
        "everything is a loss: a call took 1.30 × the unfused time.",
        "without products is a loss: a call took 1.20 × the unfused time.",
    )
    assert "taken" not in str(found)


def test_the_text_lists_measurements_and_the_choice() -> None:
    text = str(tuned(500.0, 400.0, compared(500.0, 400.0)))
    assert "Net: tuned in 12 s" in text
    assert "Exp + Mul" in text and "20 µs" in text and "accumulators=2" in text
    assert "2.50 × unfused  taken" in text and "2.00 × unfused\n" in text
    assert text.endswith("with them.")


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
