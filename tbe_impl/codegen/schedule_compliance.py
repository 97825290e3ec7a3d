"""Reports which requests of a schedule were applied on this processor, and why others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tbe_impl.codegen.options import Options
from tbe_impl.codegen.partition import Nest
from tbe_impl.codegen.program import Layout
from tbe_impl.codegen.schedule_options import wants_row
from tbe_impl.scheduling.loop_requests import (
    Asked,
    everything_asked,
    is_for_device,
    is_summed,
    place_of,
)
from tbe_impl.scheduling.records import ScheduleRecord, StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL

FOLLOWED, DEVICE, NOT_FOLLOWED = "followed", "device", "not followed"
ADDED = ("cache_read", "cache_write", "rfactor")
LOOPS = ("split", "fuse", "reorder")
PLACES = {"compute_inline": "inline", "compute_at": "row", "compute_root": "memory"}
MARKED = ("parallel", "bind", "unroll", "vectorize", "pragma")


@dataclass(frozen=True)
class Outcome:
    """One request.

    Attributes:
        verb: the method of the schedule.
        stage: its name.
        what: its arguments as text.
        place: file and line.
        verdict: ``followed``, ``device`` (it means something there only) or ``not followed``.
        why: the reason, or what became of it.
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
    """What became of each request of a schedule.

    Args:
        record: the schedule.
        layout: of the program that was made with its options.
        options: these.
        has_memories: whether it was written for a chip with memories of its own.
    """
    judge = _Judge(record, layout, options, has_memories=has_memories)
    return tuple(
        Outcome(asked.verb, asked.stage.op.name, asked.what, asked.place, *judge.verdict(asked))
        for asked in everything_asked(record)
    )


def outcome_text(found: Sequence[Outcome]) -> Iterator[str]:
    """A line for each request that is about loops; what is for the device only is counted."""
    for one in found:
        if one.verdict != DEVICE:
            yield f"  {one}"
    device = Counter(one.verb for one in found if one.verdict == DEVICE)
    if device:
        counted = ", ".join(f"{count} × {verb}" for verb, count in device.items())
        yield f"  for the device only: {counted}"


class _Judge:
    def __init__(
        self, record: ScheduleRecord, layout: Layout, options: Options, *, has_memories: bool
    ):
        self.record, self.layout, self.options = record, layout, options
        self.for_device = is_for_device(record, has_memories=has_memories)

    def verdict(self, asked: Asked) -> tuple[str, str]:
        """Whether a request is followed, and why."""
        verb, stage = asked.verb, asked.stage
        if verb in MARKED and not asked.mark:
            return DEVICE, ""
        if verb in PLACES:
            return self._place(verb, stage)
        added = verb in ADDED or (verb == "set_scope" and not self.for_device)
        if not added and verb not in (*LOOPS, *MARKED):
            return DEVICE, ""
        if self.for_device:
            shared = verb in ("parallel", "bind") and self._is_shared(asked)
            return (FOLLOWED, "threads share this loop") if shared else (DEVICE, "")
        if added:
            if self._is_tile(stage):
                return FOLLOWED, "a tile of it lies in memory"
            stored = self._nest(stage) is not None
            return FOLLOWED, "it is stored" if stored else "it is computed where it is read"
        return self._loops(asked)

    def _nest(self, stage: StageRecord) -> Nest | None:
        stored = self.layout.stored
        nests = stored | {key: tile.nest for key, tile in self.layout.tiles.items()}
        return next((nests[id(t)] for t in stage.op.outputs if id(t) in nests), None)

    def _is_tile(self, stage: StageRecord) -> bool:
        return any(id(tensor) in self.layout.tiles for tensor in stage.op.outputs)

    def _place(self, verb: str, stage: StageRecord) -> tuple[str, str]:
        if self.for_device and stage.scope != GLOBAL:
            return DEVICE, ""
        if self._is_tile(stage) and verb == "compute_at":
            return FOLLOWED, "a tile of it is computed there"
        stored = self._nest(stage) is not None
        kept = any(id(item) in self.layout.kept for item in stage.op.outputs)
        if place_of(stage) != PLACES[verb]:
            return NOT_FOLLOWED, "a later call says otherwise"
        if self.for_device and verb != "compute_inline":
            return DEVICE, ""
        if verb == "compute_root":
            why = "each element is read once, where it can be computed as well"
            return (FOLLOWED, "it is stored") if stored else (NOT_FOLLOWED, why)
        if stored:
            return NOT_FOLLOWED, "it would be computed again and again, so it is stored"
        if kept:
            why = "a row of it is kept for the next loop over the row"
            return (FOLLOWED if verb == "compute_at" else NOT_FOLLOWED), why
        if verb == "compute_inline":
            return FOLLOWED, "it is computed where it is read"
        if stage.op.reduce_axis:
            return FOLLOWED, "it is computed in the loop that knows its indices"
        if wants_row(self.record, stage):
            return NOT_FOLLOWED, "one loop over the row reads it, and computes it"
        return NOT_FOLLOWED, "one element or more than a row: it is computed where it is read"

    def _is_shared(self, asked: Asked) -> bool:
        nest = self._nest(asked.stage)
        if nest is None or not asked.axes or not nest.levels:
            return False
        return nest.runs.get(asked.axes[0].serial) in nest.levels[nest.shared].variables

    def _loops(self, asked: Asked) -> tuple[str, str]:
        stage, nest = asked.stage, self._nest(asked.stage)
        exact = nest is not None and nest.exact is not None
        if asked.axes and not exact and all(map(is_summed, asked.axes)):
            return self._sums(asked, nest)
        if nest is None:
            return NOT_FOLLOWED, "it has no loops of its own: it is computed where it is read"
        if self.options.inplace:
            return NOT_FOLLOWED, "a kernel in place has its own loops"
        if nest.asker is not None and all(nest.asker.op is not t.op for t in stage.op.outputs):
            return NOT_FOLLOWED, "another result asks for the loops that both are computed in"
        index = nest.runs.get(asked.axes[0].serial) if asked.axes else None
        for refusal in nest.refusals:
            if refusal.verb == (asked.mark or asked.verb) and refusal.axis in (None, index):
                return NOT_FOLLOWED, refusal.why
        if asked.verb in LOOPS:
            slow = asked.verb == "reorder" and nest.exact is not None and nest.exact.jumps
            return (
                FOLLOWED,
                "in another order neighbours in memory would be read together" if slow else "",
            )
        if index is None:
            return NOT_FOLLOWED, "it takes one step"
        return self._marked(asked.mark, nest, index)

    def _sums(self, asked: Asked, nest: Nest | None) -> tuple[str, str]:
        """What is asked of the loops over what is summed up."""
        origin = asked.stage.origin
        found = [
            self.layout.sums[id(t)]
            for t in (origin.outputs if origin else ())
            if id(t) in self.layout.sums
        ]
        if not found:
            return (FOLLOWED, "") if asked.verb in LOOPS else (NOT_FOLLOWED, "it is one loop")
        sums, index = found[0], found[0].runs.get(asked.axes[0].serial)
        for refusal in sums.refusals:
            if refusal.verb == asked.verb and refusal.axis in (None, index):
                return NOT_FOLLOWED, refusal.why
        if asked.verb in LOOPS:
            return FOLLOWED, ""
        if index is None:
            return NOT_FOLLOWED, "it takes one step"
        if asked.mark == "parallel":
            alone = nest is not None and (
                not nest.levels or nest.levels[nest.shared].variables <= {*sums.runs.values()}
            )
            fits = alone and index in sums.levels[0].variables
            why = "threads would add to the same results: rfactor gives each its own"
            return (FOLLOWED, "") if fits else (NOT_FOLLOWED, why)
        vector = sums.levels[sums.vector].variables
        lanes = nest is not None and nest.levels and not nest.along
        if asked.mark == "vectorize":
            fits = index in vector and not lanes
            return (
                (FOLLOWED, "")
                if fits
                else (NOT_FOLLOWED, "neighbours in memory are steps of another loop")
            )
        along = index in vector and not lanes
        if not along and any(level.unroll for level in sums.levels if index in level.settled):
            return FOLLOWED, ""
        return NOT_FOLLOWED, "several sums of their own are added to in turn"

    def _marked(self, mark: str, nest: Nest, index: int) -> tuple[str, str]:
        if mark == "parallel":
            fits = index in nest.levels[nest.shared].variables
            return (FOLLOWED, "") if fits else (NOT_FOLLOWED, "threads share another loop")
        if mark == "vectorize":
            fits = nest.vector is not None and index in nest.levels[nest.vector].variables
            return (
                (FOLLOWED, "")
                if fits
                else (NOT_FOLLOWED, "neighbours in memory are steps of another loop")
            )
        unrolled = [
            place
            for place, level in enumerate(nest.levels)
            if level.unroll and index in level.settled
        ]
        if nest.exact is not None and unrolled == [nest.vector]:
            return NOT_FOLLOWED, "vectors run over it, one after the other"
        if unrolled:
            return FOLLOWED, ""
        whole = sum(one == index for one in nest.runs.values()) == len(nest.roots)
        why = "it takes too few steps" if whole else "one loop runs over it and its neighbours"
        return NOT_FOLLOWED, why
