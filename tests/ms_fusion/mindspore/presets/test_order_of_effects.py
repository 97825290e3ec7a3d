"""Reads and in-place writes of parameters keep program order with either generator."""

from __future__ import annotations

import json

import pytest

from ms_fusion.mindspore.flags.order_preserving_passes import ORDER_LOSING_PASSES, ORDER_RELINK_PASS
from ms_fusion.mindspore.flags.preset_table import PRESETS, resolve
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

SEEDS = {False: (), True: (*range(12), 16, 20, 43, 59)}
"""Besides four short ones, which are all of `make test`."""

SOME = [("auto", "ms_fusion")]
ALL = [
    *((preset, "ms_fusion") for preset in ("auto", "basic")),
    *((preset, "mindspore") for preset in ("auto", "aggressive", "precise")),
]


@pytest.mark.mindspore
def test_every_value_is_that_of_its_place(
    full: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("order") / "work"
    given = (json.dumps(SEEDS[full]), json.dumps(ALL if full else SOME))
    seen = run(PROGRAMS / "order_of_effects.py", place, *given).result
    assert len(seen) == len(ALL if full else SOME)
    for way, distances in seen.items():
        # MindSpore's tanh is off by up to 2.8e-4; a wrong order costs more than 0.1
        wrong = {name: one for name, one in distances.items() if not one < 5e-4}
        assert len(distances) == len(SEEDS[full]) + 4 and not wrong, (way, wrong)


def test_no_preset_on_cpu_runs_a_pass_that_loses_the_order() -> None:
    for preset in PRESETS:
        for generator in ("ms_fusion", "mindspore"):
            flags = resolve(preset, generator=generator)
            left_out = set(flags.disable_pass or ())
            assert set(ORDER_LOSING_PASSES) <= left_out or (flags.opt_level or 0) < 2, preset
            assert ORDER_RELINK_PASS in left_out or not flags.opt_level, preset
