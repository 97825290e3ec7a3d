"""Repeated calls bypass MindSpore, all others do not; both give MindSpore's results."""

from __future__ import annotations

from typing import Any

import pytest

from ms_fusion.mindspore.calls import repeated_calls
from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, rows, run, some

pytestmark = pytest.mark.mindspore


@pytest.fixture(scope="module")
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("repeated") / "work"
    return run(PROGRAMS / "repeated_calls.py", place, *some(request, SCENES, *SLOW)).result


STRAIGHT = {
    "same": [0, 1, 1, 1],
    "shapes": [0, 1, 0, 1, 1, 0, 1],
    "ranks": [0, 1, 0, 1, 0, 1],
    "dtypes": [0, 1, 0, 1, 0, 1, 0],
    "two_outputs": [0, 1, 1],
    "arguments_change_places": [0, 1, 1, 1],
    "weights": [0, 1, 1],
    "training": [0, 1, 0, 1, 0, 1],
    "scalars": [0] * 6,
    "nothing_given": [0, 0, 0, 1, 0, 1],
    "parameters": [0] * 5,
    "constants": [0] * 6,
    "mutable": [0] * 3,
    "not_there_yet": [0, 1, 1, 0],
    "copies": [0, 1, 0, 1, 1, 1, 1],
    "compiled_between": [0, 1, 0, 0, 1],
    "forgotten": [0, 1, 0],
    "declared": [0, 1, 0, 0, 0],
    "equal": [0] * 5,
    "own_compile": [0] * 3,
    "own_arguments": [0] * 3,
    "compile_replaced": [0, 1, 0, 0],
    "nothing": [0] * 3,
    "without_arguments": [0, 1, 1],
    "only_compiles": [0, 1, 0, 1],
    "step": [0, 1, 1, 1, 1, 1, 0, 1],
}
"""Calls of each scene that use the cached graph."""
SCENES = (*STRAIGHT, "called_inside", "wrong")
QUICK = (
    "same",
    "shapes",
    "arguments_change_places",
    "training",
    "scalars",
    "nothing_given",
    "not_there_yet",
    "copies",
    "compiled_between",
    "forgotten",
    "declared",
    "compile_replaced",
    "without_arguments",
    "only_compiles",
    "wrong",
)
SLOW = tuple(scene for scene in SCENES if scene not in QUICK)
"""Further scenes of `make test-all`, similar to the others."""


@cases("scene", rows(SCENES, *SLOW))
def test_every_call_gives_what_mindspore_gives(found: dict[str, Any], scene: str) -> None:
    wanted, got = ([answer for answer, _ in found[who][scene]] for who in ("mindspore", "ours"))
    assert got == wanted
    assert len({str(one) for one in wanted}) > 1 or scene in ALIKE


ALIKE = (
    "training",
    "own_compile",
    "own_arguments",
    "compile_replaced",
    "nothing",
    "forgotten",
    "not_there_yet",
    "mutable",
)


@cases("scene", rows([*STRAIGHT], *SLOW))
def test_only_calls_like_the_last_go_straight(found: dict[str, Any], scene: str) -> None:
    assert [straight for _, straight in found["ours"][scene]] == [*map(bool, STRAIGHT[scene])]
    assert not any(straight for _, straight in found["mindspore"][scene])


def test_a_call_by_name_goes_as_mindspore_has_it(found: dict[str, Any]) -> None:
    assert found["by name"] == [["Float32", 2, 5.0], ["Float32", 2, 3.0]]
    assert found["ways by name"] == 2


def test_neither_inputs_nor_nets_are_kept(found: dict[str, Any]) -> None:
    assert not found["input kept"] and not found["net kept"]


def test_another_way_of_running_is_not_replaced() -> None:
    from mindspore import nn

    own = nn.Cell.compile_and_run
    assert repeated_calls.is_known_compile_and_run(getattr(own, "__wrapped__", own))

    def compile_and_run(self: Any, *args: Any) -> Any:
        return self.compile(*args)

    assert not repeated_calls.is_known_compile_and_run(compile_and_run)
    assert not repeated_calls.is_known_compile_and_run(print)
