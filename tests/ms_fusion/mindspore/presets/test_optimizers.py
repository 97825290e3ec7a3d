"""Training steps with MindSpore's optimizers, built by us, have the unfused losses and weights."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, rows, run, some

OPTIMIZERS = (
    "Adam",
    "Adam with decay",
    "AdamWeightDecay",
    "AdamWeightDecay, a rate for each step",
    "Momentum",
    "SGD",
    "RMSProp",
    "Adagrad",
)
SLOW = tuple(name for name in OPTIMIZERS if name not in ("Adam", "AdamWeightDecay"))
"""Further optimizers of `make test-all`."""


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("optimizers") / "work"
    return run(PROGRAMS / "optimizers.py", place, *some(request, OPTIMIZERS, *SLOW)).result


@pytest.mark.mindspore
@cases("name", rows(OPTIMIZERS, *SLOW))
def test_losses_and_weights_are_those_of_the_unfused_step(found: Any, name: str) -> None:
    unfused, fused, _ = found[name]
    assert len(unfused[0]) == 4 and unfused[0][-1] < unfused[0][0]
    for one, other in zip(fused, unfused, strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)


@pytest.mark.mindspore
@cases("name", rows(["Adam", "AdamWeightDecay"], *SLOW))
def test_steps_of_adam_are_kernels_of_ours(found: Any, name: str) -> None:
    *_, groups = found[name]
    assert sum(group.count("Assign") == 3 and "Sqrt" in group for group in groups) >= 4
