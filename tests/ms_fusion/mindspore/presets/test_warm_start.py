"""A process finds kernels of another; neither it nor its compile server loads the generator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import FULL
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

pytestmark = FULL


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    place = tmp_path_factory.mktemp("warm")
    cache = {"MS_FUSION_CACHE_DIR": str(place / "cache")}
    return [
        run(PROGRAMS / "warm_start.py", place / name, name, environment=cache, fresh=True).result
        for name in ("cold", "warm")
    ]


@pytest.mark.mindspore
def test_cold_and_warm_results_are_right_and_equal(seen: list[dict[str, Any]]) -> None:
    cold, warm = seen
    assert cold["generator"] == warm["generator"] == "ms_fusion"
    assert cold["fused"] == warm["fused"]
    assert cold["fused"] == pytest.approx(cold["unfused"], rel=1e-4, abs=1e-4)


@pytest.mark.mindspore
def test_the_ledger_is_told_that_it_came_from_the_cache(seen: list[dict[str, Any]]) -> None:
    cold, warm = seen
    assert cold["steps"] == warm["steps"]
    assert cold["cached"] and not all(cold["cached"])
    assert warm["cached"] and all(warm["cached"])


@pytest.mark.mindspore
def test_the_generator_is_loaded_by_nobody_who_needs_it_not(seen: list[dict[str, Any]]) -> None:
    cold, warm = seen
    assert (cold["server"], warm["server"]) == ([True], [False])
    assert cold["own"] == warm["own"] == []


@pytest.mark.mindspore
def test_enabling_loads_nothing_that_compiling_or_messages_need(seen: list[dict[str, Any]]) -> None:
    assert seen[1]["to enable"] == []


@pytest.mark.mindspore
def test_the_compile_server_knows_onednn_as_the_user_does(seen: list[dict[str, Any]]) -> None:
    called = {
        operator
        for _, by, *operators in seen[0]["steps"]
        for operator in operators
        if by == "onednn"
    }
    assert {"MatMul", "Conv2D", "MaxPoolGrad"} <= called
