"""Random networks with gradients, fused by our generator, beside the same unfused and float64; `network_runs` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ms_fusion.kernel_server.random_networks import draw
from tests.ms_fusion.presets.mindspore_child import run

SEEDS = (3, 7, 11, 45, 46, 65, 166, 284)
"""Among them one of each dtype of floats, softmax under a sum of everything, a sigmoid in float64, `x + -x` of integers, and a
product with a number."""

BODY = f"""
from ms_fusion.presets.served import served
from tests.ms_fusion.kernel_server.network_runs import run as run_one
ms.set_context(mode=ms.GRAPH_MODE)
flags = served(2).render()
RESULT["seen"] = [[one.network.seed, one.wrong, one.skipped] for one in (run_one(seed, Path.cwd(), flags) for seed in {SEEDS})]
"""


@pytest.mark.mindspore
def test_random_networks_are_right(tmp_path: Path) -> None:
    seen = run(BODY, tmp_path / "work").result["seen"]
    assert seen == [[seed, "", ""] for seed in SEEDS]


def test_a_seed_always_draws_the_same_network() -> None:
    first, again = draw(65), draw(65)
    assert first.text(exact=False) == again.text(exact=False)
    assert 2 <= first.operators <= 40 and "softmax" in first.text(exact=False)
