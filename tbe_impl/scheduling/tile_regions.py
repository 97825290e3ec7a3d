"""Infers tile sizes from a schedule: the region of each stage that a loop iteration needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tbe_impl.dsl.expr import Binary, Cast, Const, Expr, IterVar, Read, Select, reads
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.scheduling.records import Attach, ScheduleRecord, Split, StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE

RUNTIME_SIZE = 1 << 40
"""Number that stands for a size known only at run time; the number is larger than any memory."""

Interval = tuple[int, int]


def size_of(expression: Expr) -> int:
    """Returns a size as an int, or `RUNTIME_SIZE` if the size is known only at run time."""
    return int(expression.value) if isinstance(expression, Const) else RUNTIME_SIZE


def sizes_of(tensor: Tensor) -> tuple[int, ...]:
    """Returns the shape of a tensor as integers, each converted by `size_of`."""
    return tuple(size_of(size) for size in tensor.shape)


class Regions:
    """Infers the regions that the stages of a schedule compute and read per loop iteration.

    Attributes:
        record: the schedule.
        producers: a dict from the ``id`` of a tensor to the stage that computes the tensor.
    """

    def __init__(self, record: ScheduleRecord, *, factors: Mapping[int, int] | None = None):
        """
        Args:
            record: the schedule.
            factors: a dict from the ``id`` of the inner loop of a split to an extent. This extent
                replaces the split factor of the schedule.
        """
        self.record = record
        self._factors = factors or {}
        self.producers = record.producers()
        self._consumers: dict[int, list[StageRecord]] = {}
        for stage in record.stages:
            for tensor in stage.op.input_tensors:
                maker = self.producers[id(tensor)]
                self._consumers.setdefault(id(maker), []).append(stage)
        self._known: dict[tuple[int, int, int], tuple[int, ...]] = {}

    def consumers(self, stage: StageRecord) -> list[StageRecord]:
        """Returns the stages that read the outputs of a stage."""
        return self._consumers.get(id(stage), [])

    def parent(self, stage: StageRecord) -> StageRecord | None:
        """Returns the stage in whose loop nest `stage` is computed.

        Returns None if `stage` has its own loop nest.
        """
        return None if stage.attach is None else self.record.stage(stage.attach.parent)

    def tile(self, stage: StageRecord) -> tuple[int, ...]:
        """Returns the shape of the region that one execution of a stage computes."""
        return self.required_shape(stage, stage.attach)

    def full_shape(self, stage: StageRecord) -> tuple[int, ...]:
        """Returns the shape of the whole first output of a stage."""
        return sizes_of(stage.op.outputs[0])

    def required_shape(self, stage: StageRecord, level: Attach | None) -> tuple[int, ...]:
        """Returns the shape of the region of a stage that one iteration of the loop `level` needs.

        If `level` is None, returns the shape of the whole output.
        """
        if level is None:
            return self.full_shape(stage)
        key = (id(stage), id(level.parent), id(level.axis))
        if key not in self._known:
            self._known[key] = self.full_shape(stage)  # ends the recursion for a cyclic schedule
            self._known[key] = self._infer_required_shape(stage, level)
        return self._known[key]

    def _infer_required_shape(self, stage: StageRecord, level: Attach) -> tuple[int, ...]:
        full = self.full_shape(stage)
        spans: list[Interval | None] = [None] * len(full)
        for consumer in self.consumers(stage):
            steps = self.axis_steps(consumer, level)
            if steps is None and stage.scope == GLOBAL_SCOPE:
                continue  # the consumer runs after the loop and reads main memory
            if steps is None or not consumer.op.body:
                return full
            for span in self._spans(consumer, stage, steps):
                spans = [_hull(one, other) for one, other in zip(spans, span, strict=True)]
        return tuple(
            size if span is None else min(size, span[1] - span[0] + 1)
            for size, span in zip(full, spans, strict=True)
        )

    def _spans(
        self, consumer: StageRecord, producer: StageRecord, steps: Mapping[int, int]
    ) -> list[list[Interval]]:
        """Returns the regions of `producer` that `consumer` reads, one for each read.

        `steps` maps the ``id`` of an axis of `consumer` to the number of values that this axis
        takes.
        """
        made = {id(tensor) for op in producer.versions for tensor in op.outputs}
        full = self.full_shape(producer)
        found = [
            [
                _index_interval(index, steps, size)
                for index, size in zip(read.indices, full, strict=True)
            ]
            for body in consumer.op.body
            for read in reads(body)
            if id(read.tensor) in made
        ]
        if not found:  # the consumer depends on the producer, but no expression reads it
            same = [steps.get(id(axis), RUNTIME_SIZE) for axis in consumer.op.axis]
            sizes = [min(*pair) for pair in zip(same, full, strict=False)]
            return [[(0, size - 1) for size in (sizes if len(sizes) == len(full) else full)]]
        return found

    def axis_steps(self, stage: StageRecord, level: Attach | None) -> dict[int, int] | None:
        """Counts the values that each axis of a stage takes in one iteration of the loop `level`.

        Returns:
            A dict from the ``id`` of each axis of the stage's operation to the number of values of
            the axis. None if the stage is not computed inside the loop.
        """
        axes = [*stage.op.axis, *stage.op.reduce_axis]
        if level is None or level.parent not in stage.versions:
            inside = level is None or stage.inlined or self._is_inside(stage, level)
            if not inside:
                return None
            made = self.full_shape(stage) if level is None else self.required_shape(stage, level)
            sizes = {id(axis): size_of(axis.extent) for axis in axes}
            sizes.update((id(axis), size) for axis, size in zip(stage.op.axis, made, strict=False))
            return sizes
        extents = self.loops(stage)
        position = self.position(stage, level.axis)
        inner = {
            id(leaf): 1 if at <= position else extents[id(leaf)]
            for at, leaf in enumerate(stage.leaves)
        }
        return _steps_of_roots(stage, inner, extents)

    def _is_inside(self, stage: StageRecord, level: Attach) -> bool:
        parent = self.parent(stage)
        seen = 0
        while parent is not None and seen <= len(self.record.stages):
            if level.parent in parent.versions:
                return True
            parent, seen = self.parent(parent), seen + 1
        return False

    def loops(self, stage: StageRecord) -> dict[int, int]:
        """Maps the ``id`` of each axis and loop to its extent in one execution of the stage."""
        extents = {
            id(axis): size_of(axis.extent) for axis in (*stage.op.axis, *stage.op.reduce_axis)
        }
        made = self.tile(stage)
        extents.update((id(axis), size) for axis, size in zip(stage.op.axis, made, strict=False))
        # loops that are derived from no axis, such as a loop of one iteration
        for leaf in (*stage.leaves, *(item.outer for item in stage.relations)):
            extents.setdefault(id(leaf), size_of(leaf.extent))
        for relation in stage.relations:
            if isinstance(relation, Split):
                whole = extents[id(relation.parent)]
                if relation.nparts is not None:
                    outer = max(min(size_of(relation.nparts), whole), 1)
                    extents[id(relation.inner)] = -(-whole // outer)
                else:
                    factor = self._factors.get(id(relation.inner)) or size_of(relation.factor)
                    extents[id(relation.inner)] = max(min(factor, whole), 1)
                    outer = -(-whole // extents[id(relation.inner)])
                extents[id(relation.outer)] = outer
            else:
                extents[id(relation.fused)] = (
                    extents[id(relation.outer)] * extents[id(relation.inner)]
                )
        return extents

    def position(self, stage: StageRecord, axis: IterVar) -> int:
        """Returns the position of the loop `axis` among the current loops of a stage.

        If `axis` was split or fused later, returns the position of the innermost loop that is
        derived from `axis`. Returns −1 if no current loop is derived from `axis`.
        """
        parts = {id(axis)}
        for relation in stage.relations:
            if isinstance(relation, Split) and id(relation.parent) in parts:
                parts |= {id(relation.outer), id(relation.inner)}
            elif (
                not isinstance(relation, Split) and {id(relation.outer), id(relation.inner)} & parts
            ):
                parts.add(id(relation.fused))
        return max((at for at, leaf in enumerate(stage.leaves) if id(leaf) in parts), default=-1)

    def executions(self, stage: StageRecord) -> int:
        """Returns how often a stage is executed, summed over all cores."""
        parent, times, seen = stage, 1, 0
        while parent.attach is not None and seen <= len(self.record.stages):
            outer = self.record.stage(parent.attach.parent)
            times *= self._steps_around(outer, self.position(outer, parent.attach.axis))
            parent, seen = outer, seen + 1
        return times

    def _steps_around(self, stage: StageRecord, position: int) -> int:
        """Counts the iterations of the loop nest that ends with the loop at `position`.

        The nest contains this loop of the stage and all loops outside of it.

        Iterations past the end of an axis are not counted.
        """
        extents = self.loops(stage)
        steps = {
            id(leaf): extents[id(leaf)] if at <= position else 1
            for at, leaf in enumerate(stage.leaves)
        }
        for relation in reversed(stage.relations):
            outer, inner = id(relation.outer), id(relation.inner)
            if isinstance(relation, Split):
                whole = steps[outer] == extents[outer] and steps[inner] == extents[inner]
                parent = id(relation.parent)
                steps[parent] = extents[parent] if whole else steps[outer] * steps[inner]
            else:
                whole = steps[id(relation.fused)] == extents[id(relation.fused)]
                steps[outer] = extents[outer] if whole else steps[id(relation.fused)]
                steps[inner] = extents[inner] if whole else 1
        return math.prod(steps[id(axis)] for axis in (*stage.op.axis, *stage.op.reduce_axis))

    def has_whole_tiles(self, stage: StageRecord) -> bool:
        """Whether every split in the enclosing stages of `stage` produces whole tiles only.

        `stage` is computed, directly or indirectly, inside a loop of each enclosing stage.
        """
        parent, seen = self.parent(stage), 0
        while parent is not None and seen <= len(self.record.stages):
            extents = self.loops(parent)
            for relation in parent.relations:
                parts = extents[id(relation.outer)] * extents[id(relation.inner)]
                if isinstance(relation, Split) and parts != extents[id(relation.parent)]:
                    return False
            parent, seen = self.parent(parent), seen + 1
        return True

    def footprint(self, stage: StageRecord) -> dict[int, tuple[Tensor, tuple[int, ...]]]:
        """Finds the regions of tensors that one execution of a stage reads.

        The reads of an inlined producer count as reads of the stage.

        Returns:
            A dict from the ``id`` of each tensor that the stage reads to a pair (tensor, shape of
            the region).
        """
        found: dict[int, tuple[Tensor, tuple[int, ...]]] = {}
        steps = {id(axis): size_of(axis.extent) for axis in (*stage.op.axis, *stage.op.reduce_axis)}
        steps.update(
            (id(axis), size) for axis, size in zip(stage.op.axis, self.tile(stage), strict=False)
        )
        self._collect(stage, steps, found, 0)
        return found

    def _collect(
        self,
        stage: StageRecord,
        steps: Mapping[int, int],
        found: dict[int, tuple[Tensor, tuple[int, ...]]],
        depth: int,
    ) -> None:
        for tensor in stage.op.input_tensors:
            producer = self.producers[id(tensor)]
            full = self.full_shape(producer)
            sizes = full
            if stage.op.body:
                spans: list[Interval | None] = [None] * len(full)
                for span in self._spans(stage, producer, steps):
                    spans = [_hull(one, other) for one, other in zip(spans, span, strict=True)]
                sizes = tuple(
                    size if span is None else min(size, span[1] - span[0] + 1)
                    for size, span in zip(full, spans, strict=True)
                )
            if producer.inlined and depth < len(self.record.stages):
                inner = {id(axis): size_of(axis.extent) for axis in producer.op.reduce_axis}
                inner.update(
                    (id(axis), size) for axis, size in zip(producer.op.axis, sizes, strict=False)
                )
                self._collect(producer, inner, found, depth + 1)
            else:
                before = found.get(id(tensor), (tensor, sizes))[1]
                found[id(tensor)] = (tensor, tuple(map(max, before, sizes)))


def _steps_of_roots(
    stage: StageRecord, inner: dict[int, int], extents: Mapping[int, int]
) -> dict[int, int]:
    """Converts the number of values per loop to the number of values per axis of the operation.

    Args:
        stage: the stage that has the loops.
        inner: a dict from the ``id`` of each loop to the number of values that the loop takes.
        extents: a dict from the ``id`` of each axis and loop to its extent.

    Returns:
        A copy of `inner` that also has an entry for each axis, and for each former loop that was
        split or fused.
    """
    steps = dict(inner)
    for relation in reversed(stage.relations):
        outer, low = id(relation.outer), id(relation.inner)
        if isinstance(relation, Split):
            whole = (steps[outer] - 1) * extents[low] + steps[low]
            steps[id(relation.parent)] = max(min(whole, extents[id(relation.parent)]), 0)
            continue
        if not extents[low]:
            steps[outer], steps[low] = min(steps[id(relation.fused)], extents[outer]), 0
            continue
        together, width = steps[id(relation.fused)], extents[low]
        if together % width == 0 or together >= width:
            exact = together % width == 0
            rows = together // width if exact else -(-together // width) + 1
            steps[outer], steps[low] = min(rows, extents[outer]), width
        elif width % together == 0:
            steps[outer], steps[low] = 1, together
        else:
            steps[outer], steps[low] = min(2, extents[outer]), width
    return steps


def _hull(one: Interval | None, other: Interval) -> Interval:
    return other if one is None else (min(one[0], other[0]), max(one[1], other[1]))


def _index_interval(index: Expr, steps: Mapping[int, int], size: int) -> Interval:
    found = interval(index, steps)
    return (0, size - 1) if found is None else found


def interval(expression: Expr, steps: Mapping[int, int]) -> Interval | None:
    """Returns the least and the greatest value of an index expression.

    Returns None if these values cannot be determined.

    Args:
        expression: the index.
        steps: a dict from the ``id`` of an axis to n, the number of its values. The values are 0 to
            n − 1. Every axis that is not in the dict and every run-time scalar counts as 0.
    """
    if isinstance(expression, Const):
        return (int(expression.value), int(expression.value))
    if isinstance(expression, IterVar):
        return (0, steps.get(id(expression), 1) - 1)
    if isinstance(expression, Cast):
        return interval(expression.value, steps)
    if isinstance(expression, Select):
        return _join_intervals(expression.a, expression.b, steps)
    if isinstance(expression, Binary):
        left, right = interval(expression.a, steps), interval(expression.b, steps)
        if left is None or right is None:
            return None
        return _combine_intervals(expression.op, left, right)
    return None if isinstance(expression, Read) or expression.children else (0, 0)


def _join_intervals(one: Expr, other: Expr, steps: Mapping[int, int]) -> Interval | None:
    left, right = interval(one, steps), interval(other, steps)
    return None if left is None or right is None else _hull(left, right)


def _combine_intervals(op: str, left: Interval, right: Interval) -> Interval | None:
    if op == "add":
        return (left[0] + right[0], left[1] + right[1])
    if op == "sub":
        return (left[0] - right[1], left[1] - right[0])
    if op == "mul":
        ends = [a * b for a in left for b in right]
        return (min(ends), max(ends))
    if op in ("max", "min"):
        pick = max if op == "max" else min
        return (pick(left[0], right[0]), pick(left[1], right[1]))
    divisor = right[0]
    if right[0] != right[1] or divisor <= 0:
        return None
    if op in ("floordiv", "truncdiv", "div"):
        return (left[0] // divisor, left[1] // divisor)
    if op in ("floormod", "truncmod"):
        if left[0] // divisor == left[1] // divisor:
            return (left[0] % divisor, left[1] % divisor)
        return (0, divisor - 1)
    return None


def elements(sizes: Sequence[int]) -> int:
    """Returns the number of elements of a region of the given sizes."""
    return math.prod(sizes)
