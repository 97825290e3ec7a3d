"""Reports which requests of a schedule the C code for this CPU follows, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tbe_impl.codegen.options import Options
from tbe_impl.codegen.planning.partition import LoopNest
from tbe_impl.codegen.program import Layout
from tbe_impl.codegen.schedule_options import is_attached_to_row
from tbe_impl.scheduling.loop_requests import (
    ScheduleRequest,
    collect_requests,
    is_for_device,
    is_reduction_axis,
    placement_of,
)
from tbe_impl.scheduling.records import ScheduleRecord, StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE

VERDICT_FOLLOWED, VERDICT_DEVICE, VERDICT_NOT_FOLLOWED = "followed", "device", "not followed"
STAGE_ADDING_VERBS = ("cache_read", "cache_write", "rfactor")
LOOP_ORDER_VERBS = ("split", "fuse", "reorder")
PLACE_OF_VERB = {"compute_inline": "inline", "compute_at": "row", "compute_root": "memory"}
MARK_VERBS = ("parallel", "bind", "unroll", "vectorize", "pragma")


@dataclass(frozen=True)
class Outcome:
    """The result of one request.

    Attributes:
        verb: method of the schedule that made the request.
        stage: name of the stage.
        what: arguments of the method, as text.
        place: file and line of the call.
        verdict: ``followed``, ``device`` (has an effect on a device only) or ``not followed``.
        why: why the request was not followed, or a remark on its effect; may be empty.
    """

    verb: str
    stage: str
    what: str
    place: str
    verdict: str
    why: str = ""

    def __str__(self) -> str:
        what = f" ({self.what})" if self.what else ""
        return f"{self.verdict}: {self.place}: {self.verb} of {self.stage}{what}" + (
            f": {self.why}" if self.why else ""
        )


def outcomes(
    record: ScheduleRecord, layout: Layout, options: Options, *, has_memories: bool = True
) -> tuple[Outcome, ...]:
    """Returns the outcome of each request of a schedule.

    Args:
        record: record of the schedule.
        layout: loop structure of the program that was generated with `options`.
        options: code generation options.
        has_memories: whether the schedule targets a chip with on-chip memories.
    """
    judge = _Judge(record, layout, options, has_memories=has_memories)
    return tuple(
        Outcome(asked.verb, asked.stage.op.name, asked.what, asked.place, *judge.verdict(asked))
        for asked in collect_requests(record)
    )


def outcome_lines(found: Sequence[Outcome]) -> Iterator[str]:
    """Yields a line for each outcome; outcomes with the verdict ``device`` are only counted."""
    for one in found:
        if one.verdict != VERDICT_DEVICE:
            yield f"  {one}"
    device = Counter(one.verb for one in found if one.verdict == VERDICT_DEVICE)
    if device:
        counted = ", ".join(f"{count} × {verb}" for verb, count in device.items())
        yield f"  for the device only: {counted}"


class _Judge:
    def __init__(
        self, record: ScheduleRecord, layout: Layout, options: Options, *, has_memories: bool
    ):
        self.record, self.layout, self.options = record, layout, options
        self.for_device = is_for_device(record, has_memories=has_memories)

    def verdict(self, asked: ScheduleRequest) -> tuple[str, str]:
        """Returns `Outcome.verdict` and `Outcome.why` for a request."""
        verb, stage = asked.verb, asked.stage
        if verb in MARK_VERBS and not asked.mark:
            return VERDICT_DEVICE, ""
        if verb in PLACE_OF_VERB:
            return self._place(verb, stage)
        added = verb in STAGE_ADDING_VERBS or (verb == "set_scope" and not self.for_device)
        if not added and verb not in (*LOOP_ORDER_VERBS, *MARK_VERBS):
            return VERDICT_DEVICE, ""
        if self.for_device:
            shared = verb in ("parallel", "bind") and self._is_shared(asked)
            return (VERDICT_FOLLOWED, "threads share this loop") if shared else (VERDICT_DEVICE, "")
        if added:
            if self._is_tile(stage):
                return VERDICT_FOLLOWED, "a tile of it lies in memory"
            stored = self._nest(stage) is not None
            return VERDICT_FOLLOWED, "it is stored" if stored else "it is computed where it is read"
        return self._loops(asked)

    def _nest(self, stage: StageRecord) -> LoopNest | None:
        stored = self.layout.nest_of_stored
        nests = stored | {key: tile.nest for key, tile in self.layout.tiles.items()}
        return next((nests[id(t)] for t in stage.op.outputs if id(t) in nests), None)

    def _is_tile(self, stage: StageRecord) -> bool:
        return any(id(tensor) in self.layout.tiles for tensor in stage.op.outputs)

    def _place(self, verb: str, stage: StageRecord) -> tuple[str, str]:
        if self.for_device and stage.scope != GLOBAL_SCOPE:
            return VERDICT_DEVICE, ""
        if self._is_tile(stage) and verb == "compute_at":
            return VERDICT_FOLLOWED, "a tile of it is computed there"
        stored = self._nest(stage) is not None
        kept = any(id(item) in self.layout.stages_with_row_buffers for item in stage.op.outputs)
        if placement_of(stage) != PLACE_OF_VERB[verb]:
            return VERDICT_NOT_FOLLOWED, "a later call says otherwise"
        if self.for_device and verb != "compute_inline":
            return VERDICT_DEVICE, ""
        if verb == "compute_root":
            why = "each element is read once, where it can be computed as well"
            return (VERDICT_FOLLOWED, "it is stored") if stored else (VERDICT_NOT_FOLLOWED, why)
        if stored:
            return VERDICT_NOT_FOLLOWED, "it would be computed again and again, so it is stored"
        if kept:
            why = "a row of it is kept for the next loop over the row"
            return (VERDICT_FOLLOWED if verb == "compute_at" else VERDICT_NOT_FOLLOWED), why
        if verb == "compute_inline":
            return VERDICT_FOLLOWED, "it is computed where it is read"
        if stage.op.reduce_axis:
            return VERDICT_FOLLOWED, "it is computed in the loop that knows its indices"
        if is_attached_to_row(self.record, stage):
            return VERDICT_NOT_FOLLOWED, "one loop over the row reads it, and computes it"
        return (
            VERDICT_NOT_FOLLOWED,
            "one element or more than a row: it is computed where it is read",
        )

    def _is_shared(self, asked: ScheduleRequest) -> bool:
        nest = self._nest(asked.stage)
        if nest is None or not asked.axes or not nest.levels:
            return False
        return nest.runs.get(asked.axes[0].serial) in nest.levels[nest.shared].variables

    def _loops(self, asked: ScheduleRequest) -> tuple[str, str]:
        stage, nest = asked.stage, self._nest(asked.stage)
        exact = nest is not None and nest.exact is not None
        if asked.axes and not exact and all(map(is_reduction_axis, asked.axes)):
            return self._sums(asked, nest)
        if nest is None:
            return (
                VERDICT_NOT_FOLLOWED,
                "it has no loops of its own: it is computed where it is read",
            )
        if self.options.inplace:
            return VERDICT_NOT_FOLLOWED, "a kernel in place has its own loops"
        if nest.asker is not None and all(nest.asker.op is not t.op for t in stage.op.outputs):
            return (
                VERDICT_NOT_FOLLOWED,
                "another result asks for the loops that both are computed in",
            )
        index = nest.runs.get(asked.axes[0].serial) if asked.axes else None
        for refusal in nest.refusals:
            if refusal.verb == (asked.mark or asked.verb) and refusal.axis in (None, index):
                return VERDICT_NOT_FOLLOWED, refusal.why
        if asked.verb in LOOP_ORDER_VERBS:
            slow = asked.verb == "reorder" and nest.exact is not None and nest.exact.jumps
            return (
                VERDICT_FOLLOWED,
                "in another order neighbours in memory would be read together" if slow else "",
            )
        if index is None:
            return VERDICT_NOT_FOLLOWED, "it takes one step"
        return self._mark_verdict(asked.mark, nest, index)

    def _sums(self, asked: ScheduleRequest, nest: LoopNest | None) -> tuple[str, str]:
        """Returns the verdict on a request about reduction loops, and the reason for it.

        The two strings become `Outcome.verdict` and `Outcome.why`.
        """
        origin = asked.stage.origin
        found = [
            self.layout.sums[id(t)]
            for t in (origin.outputs if origin else ())
            if id(t) in self.layout.sums
        ]
        if not found:
            return (
                (VERDICT_FOLLOWED, "")
                if asked.verb in LOOP_ORDER_VERBS
                else (VERDICT_NOT_FOLLOWED, "it is one loop")
            )
        sums, index = found[0], found[0].runs.get(asked.axes[0].serial)
        for refusal in sums.refusals:
            if refusal.verb == asked.verb and refusal.axis in (None, index):
                return VERDICT_NOT_FOLLOWED, refusal.why
        if asked.verb in LOOP_ORDER_VERBS:
            return VERDICT_FOLLOWED, ""
        if index is None:
            return VERDICT_NOT_FOLLOWED, "it takes one step"
        if asked.mark == "parallel":
            alone = nest is not None and (
                not nest.levels or nest.levels[nest.shared].variables <= {*sums.runs.values()}
            )
            fits = alone and index in sums.levels[0].variables
            why = "threads would add to the same results: rfactor gives each its own"
            return (VERDICT_FOLLOWED, "") if fits else (VERDICT_NOT_FOLLOWED, why)
        vector = sums.levels[sums.vector].variables
        lanes = nest is not None and nest.levels and not nest.along
        if asked.mark == "vectorize":
            fits = index in vector and not lanes
            return (
                (VERDICT_FOLLOWED, "")
                if fits
                else (VERDICT_NOT_FOLLOWED, "neighbours in memory are steps of another loop")
            )
        along = index in vector and not lanes
        if not along and any(
            level.unroll for level in sums.levels if index in level.final_variables
        ):
            return VERDICT_FOLLOWED, ""
        return VERDICT_NOT_FOLLOWED, "several sums of their own are added to in turn"

    def _mark_verdict(self, mark: str, nest: LoopNest, index: int) -> tuple[str, str]:
        if mark == "parallel":
            fits = index in nest.levels[nest.shared].variables
            return (
                (VERDICT_FOLLOWED, "")
                if fits
                else (VERDICT_NOT_FOLLOWED, "threads share another loop")
            )
        if mark == "vectorize":
            fits = nest.vector is not None and index in nest.levels[nest.vector].variables
            return (
                (VERDICT_FOLLOWED, "")
                if fits
                else (VERDICT_NOT_FOLLOWED, "neighbours in memory are steps of another loop")
            )
        unrolled = [
            place
            for place, level in enumerate(nest.levels)
            if level.unroll and index in level.final_variables
        ]
        if nest.exact is not None and unrolled == [nest.vector]:
            return VERDICT_NOT_FOLLOWED, "vectors run over it, one after the other"
        if unrolled:
            return VERDICT_FOLLOWED, ""
        whole = sum(one == index for one in nest.runs.values()) == len(nest.roots)
        why = "it takes too few steps" if whole else "one loop runs over it and its neighbours"
        return VERDICT_NOT_FOLLOWED, why
