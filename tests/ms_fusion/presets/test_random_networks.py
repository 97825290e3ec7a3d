"""Random networks with gradients, fused by our generator, beside the same unfused and float64; `network_runs` runs more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ms_fusion.kernel_server.random_networks import draw
from tests.ms_fusion.presets.mindspore_child import run

SEEDS = (3, 7, 11, 45, 46, 65, 166, 284)
"""Among them one of each dtype of floats, softmax under a sum of everything, a sigmoid in float64, `x + -x` of integers, and a
product with a number."""

BODY = f"""
from ms_fusion.presets.served import served
from tests.ms_fusion.kernel_server.network_runs import run as run_one
from tests.ms_fusion.kernel_server.random_networks import draw
ms.set_context(mode=ms.GRAPH_MODE)
from itertools import islice
from tests.ms_fusion.kernel_server.tables import of_floats, of_whole, wrong
flags = served(2).render()
RESULT["table"] = wrong([*islice(of_floats("float32"), 1, 2), *of_whole("int32")])
RESULT["seen"] = [[one.network.seed, one.wrong, one.skipped] for one in (run_one(draw(seed), Path.cwd(), flags) for seed in {SEEDS})]
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(BODY, tmp_path_factory.mktemp("networks") / "work").result


@pytest.mark.mindspore
def test_random_networks_are_right(result: dict[str, Any]) -> None:
    assert result["seen"] == [[seed, "", ""] for seed in SEEDS]


@pytest.mark.mindspore
def test_operators_of_a_table_are_right(result: dict[str, Any]) -> None:
    assert result["table"] == []


def test_a_seed_always_draws_the_same_network() -> None:
    first, again = draw(65), draw(65)
    assert first.text(exact=False) == again.text(exact=False)
    assert 2 <= first.operators <= 40 and "softmax" in first.text(exact=False)
