"""The benefit of a fusion with given costs."""

from __future__ import annotations

from typing import Any

import pytest

from ms_fusion.cost import device, estimate_benefit
from tbe_impl.errors import InputError
from tests.cases import cases

COSTS = {"hbm_read": 4.0, "hbm_write": 3.0, "schedule_cost": 0.02, "tiling_loss": 0.5}
LESS = {"hbm_read": 2.0, "hbm_write": 1.0, "schedule_cost": 0.01, "tiling_loss": 0.25}


def test_the_larger_operator_remains() -> None:
    for one in (estimate_benefit(COSTS, LESS), estimate_benefit(LESS, COSTS, "pipeline")):
        terms = one.hbm_save_gb, one.schedule_save_ms, one.performance_loss_gb
        assert terms == pytest.approx((3.0, 0.01, 0.75))
        assert one.is_worth_it and (one.us, one.device) == (None, "")
        assert str(one) == "3 GB less HBM traffic, 0.01 ms less scheduling, 0.75 GB read again"


def test_a_device_makes_one_number_of_it() -> None:
    found = estimate_benefit(COSTS, LESS, device="ascend")
    bandwidth = device("ascend910b").bandwidth_bytes_per_s
    assert found.us == pytest.approx(2.25e9 / bandwidth * 1e6 + 10)
    assert str(found).endswith("µs on ascend910b")
    losing = estimate_benefit({**COSTS, "tiling_loss": 3.0}, LESS, device="ascend910b")
    assert not losing.is_worth_it and losing.us is not None and losing.us < 0


@cases(
    "op1, options, says",
    [
        (
            {"hbm_reed": 1},
            {},
            "a dict with hbm_read, hbm_write, schedule_cost, tiling_loss, got {'hbm_reed': 1}. "
            "Did you mean hbm_read?",
        ),
        ([4.3, 4.3], {}, "op1: these are not the costs of an operator"),
        (
            {**COSTS, "hbm_read": -1},
            {},
            "op1, hbm_read: this is not a cost; expected a number of 0 or more, got -1",
        ),
        ({**COSTS, "tiling_loss": "0.5"}, {}, "op1, tiling_loss: this is not a cost"),
        (COSTS, {"fusion_type": "inner"}, "unknown type of fusion; expected operator_inner or"),
        (COSTS, {"device": "nothing"}, "unknown device; expected cpu or ascend910a"),
    ],
    ids=lambda row: row[2],
)
def test_what_is_no_cost_is_said(op1: Any, options: dict[str, str], says: str) -> None:
    with pytest.raises(InputError) as raised:
        estimate_benefit(op1, LESS, **options)  # type: ignore[arg-type]
    assert says in str(raised.value)
