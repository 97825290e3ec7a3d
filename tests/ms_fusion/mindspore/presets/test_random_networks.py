"""Random networks with gradients, and operator tables: fused against unfused and float64.

`network_runs` and `table_runs` run more.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases import FULL
from tests.ms_fusion.kernel_server.any_vocabulary import DTYPES
from tests.ms_fusion.kernel_server.random_cells import LEVELS, WAYS, draw_cell
from tests.ms_fusion.kernel_server.random_networks import draw
from tests.ms_fusion.kernel_server.tables import networks
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

SEEDS = (3, 7, 11, 45, 46, 65, 166, 284)
"""Includes each float dtype, softmax under a sum of everything, a sigmoid in float64, `x + -x` of
integers, and a product with a scalar.
"""

CELLS = (1, 2, 5, 7)
"""Includes each way."""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("networks") / "work"
    numbers = [json.dumps(every) for every in (SEEDS, CELLS)]
    return run(PROGRAMS / "random_networks.py", place, *numbers).result


@FULL
@pytest.mark.mindspore
def test_random_networks_are_right(result: dict[str, Any]) -> None:
    assert result["seen"] == [[seed, "", ""] for seed in SEEDS]


@FULL
@pytest.mark.mindspore
def test_random_cells_are_right(result: dict[str, Any]) -> None:
    assert result["cells"] == [[seed, "", ""] for seed in CELLS]


@FULL
@pytest.mark.mindspore
def test_operators_of_a_table_are_right(result: dict[str, Any]) -> None:
    right, wrong, handed_over = result["table"]
    assert wrong == [] and right >= 60
    seen = {dtype for _, dtype in handed_over}
    assert {"float32", "int32", "uint16", "bool", "int8"} <= seen
    assert ["LogicalXor", "int32"] in handed_over and ["Addcmul", "int32"] in handed_over


def test_a_table_has_every_form_of_every_dtype() -> None:
    for dtype in DTYPES:
        lines = [line.partition(" = ")[2] for one in networks(dtype) for line in one.body]
        for part in ("ops.maximum", "ops.sum(", "row", "ops.cast(", "ops.greater(", "ops.tan("):
            assert any(part in line for line in lines), (dtype, part)


def test_a_seed_always_draws_the_same_network() -> None:
    first, again = draw(65), draw(65)
    assert first.text(exact=False) == again.text(exact=False)
    assert 2 <= first.operators <= 40 and "softmax" in first.text(exact=False)


def test_cells_are_of_every_kind() -> None:
    cells = [draw_cell(seed) for seed in range(60)]
    assert {one.way for one in map(draw_cell, CELLS)} == set(WAYS)
    assert {one.level for one in cells} == {"O0", *LEVELS}
    text = "".join(one.text(exact=False) for one in cells)
    for part in (
        "self.l",
        "recurrent(",
        "one_by_one(",
        "until(",
        "attended(",
        "polynomial(",
        "ops.gather_elements(",
        "ops.stack(",
        "ops.masked_fill(",
    ):
        assert part in text, part
