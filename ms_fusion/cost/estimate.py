"""Estimates the saving of fusing two operators into one kernel from the operators' costs.

The caller states these costs. `ms_fusion.cost.benefit` derives costs from a graph instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ms_fusion.devices import check_device
from ms_fusion.devices import device as device_named
from ms_fusion.spelling import near_names
from tbe_impl.errors import InputError

FUSION_TYPES: Mapping[str, Any] = {
    "operator_inner": "intra-operator",
    "cross_operator": "cross-operator",
    "pipeline": "pipeline",
}
"""A dict from a fusion type, an argument of `estimate_benefit`, to the kind of a fusion rule."""
COSTS = ("hbm_read", "hbm_write", "schedule_cost", "tiling_loss")


@dataclass(frozen=True)
class Estimate:
    """The saving of a fusion of two operators.

    Attributes:
        hbm_save_gb: saved reads and writes, GB.
        schedule_save_ms: saved launch time, ms.
        performance_loss_gb: repeated reads, GB. Reads are repeated because the tiles of one kernel
            are not optimal for both operators.
        us: total saving, µs, or None if no device is given, since bytes and times have no common
            unit.
        device: name of the device; empty if no device is given.
    """

    hbm_save_gb: float
    schedule_save_ms: float
    performance_loss_gb: float
    us: float | None = None
    device: str = ""

    @property
    def is_worth_it(self) -> bool:
        """Whether fusion saves time.

        If no device is given, the result is whether fusion saves bytes and does not increase the
        launch time.
        """
        if self.us is not None:
            return self.us > 0
        return self.hbm_save_gb > self.performance_loss_gb and self.schedule_save_ms >= 0

    def __str__(self) -> str:
        total = f"; {self.us:.0f} µs on {self.device}" if self.us is not None else ""
        return (
            f"{self.hbm_save_gb:g} GB less HBM traffic, "
            f"{self.schedule_save_ms:g} ms less scheduling, "
            f"{self.performance_loss_gb:g} GB read again{total}"
        )


def estimate_benefit(
    op1: Mapping[str, float],
    op2: Mapping[str, float],
    fusion_type: str = "operator_inner",
    *,
    device: str | None = None,
) -> Estimate:
    """Estimates the saving of fusing two operators of known costs into one kernel.

    The reads of the fused kernel are assumed to be the larger of the reads of both operators. The
    same holds for its writes and its schedule cost. Its tiling loss is the sum of the losses of
    both operators. The saved bytes, without the tiling loss, are:

        saved = read₁ + write₁ + read₂ + write₂ − max(read₁, read₂) − max(write₁, write₂)

    Args:
        op1, op2: costs of each operator: ``hbm_read`` and ``hbm_write`` in GB (10⁹ bytes),
            ``schedule_cost`` in ms, and ``tiling_loss``, the re-read data, in GB.
        fusion_type: ``operator_inner``, ``cross_operator`` or ``pipeline``; the estimate is the
            same for all three types.
        device: name of a device, such as ``ascend910b``. The bandwidth of the device converts bytes
            to µs.

    Raises:
        InputError: a cost is missing, unknown or not a number, or the device or type is unknown.

    >>> op1 = {"hbm_read": 4.3, "hbm_write": 4.3, "schedule_cost": 0.015, "tiling_loss": 0.5}
    >>> op2 = {"hbm_read": 2.1, "hbm_write": 2.1, "schedule_cost": 0.015, "tiling_loss": 0.3}
    >>> print(estimate_benefit(op1, op2, "operator_inner", device="ascend910b"))
    4.2 GB less HBM traffic, 0.015 ms less scheduling, 0.8 GB read again; 2474 µs on ascend910b
    """
    if fusion_type not in FUSION_TYPES:
        raise InputError(
            "unknown type of fusion",
            place="fusion_type",
            expected=" or ".join(FUSION_TYPES),
            got=repr(fusion_type),
        )
    name = "" if device is None else check_device(device)
    costs = [_check_costs(place, op) for place, op in (("op1", op1), ("op2", op2))]
    read, written, scheduled, loss = (tuple(one[key] for one in costs) for key in COSTS)
    saved = sum(read) + sum(written) - max(read) - max(written)
    schedule = sum(scheduled) - max(scheduled)
    us = None
    if name:
        bandwidth = device_named(name).bandwidth_bytes_per_s
        us = (saved - sum(loss)) * 1e9 / bandwidth * 1e6 + schedule * 1e3
    return Estimate(saved, schedule, sum(loss), us, name)


def _check_costs(place: str, op: Mapping[str, float]) -> Mapping[str, float]:
    missing = [key for key in COSTS if key not in op] if isinstance(op, Mapping) else [*COSTS]
    unknown = [key for key in op if key not in COSTS] if isinstance(op, Mapping) else []
    if missing or unknown:
        near = near_names(str(unknown[0]), COSTS) if unknown else ()
        raise InputError(
            "these are not the costs of an operator",
            place=place,
            expected=f"a dict with {', '.join(COSTS)}",
            got=repr(op)[:120],
            remedy=f"Did you mean {near[0]}?" if near else None,
        )
    for key in COSTS:
        if not isinstance(op[key], Real) or not 0 <= op[key] < math.inf:
            raise InputError(
                "this is not a cost",
                place=f"{place}, {key}",
                expected="a number of 0 or more",
                got=repr(op[key]),
            )
    return op
