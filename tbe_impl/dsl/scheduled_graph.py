"""The graph that a schedule computes: with its copies, and with its reductions in two steps."""

from __future__ import annotations

from collections.abc import Mapping

from tbe_impl.dsl.schedule_copies import redirected
from tbe_impl.dsl.schedule_records import ScheduleRecord
from tbe_impl.dsl.tensor import Tensor


def adds_stages(record: ScheduleRecord) -> bool:
    """Whether a schedule computes anything that the operator does not."""
    return any(stage.made_by for stage in record.stages)


def scheduled_graph(record: ScheduleRecord) -> Mapping[int, Tensor]:
    """``id`` of a tensor of any stage, as it was at any time → the tensor that is computed for it.

    A stage that nothing was put before is the operator's own.
    """
    found: dict[int, Tensor] = {}
    for stage in record.stages:
        moved = {
            id(tensor): found[id(tensor)]
            for tensor in stage.op.input_tensors
            if found.get(id(tensor), tensor) is not tensor
        }
        op = redirected(stage.op, moved) if moved else stage.op
        for version in stage.versions:
            found.update(
                (id(old), new) for old, new in zip(version.outputs, op.outputs, strict=True)
            )
    return found
