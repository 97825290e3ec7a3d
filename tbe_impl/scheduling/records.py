"""Frozen records of a schedule: loops, placement, memory and instruction of every stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tbe_impl.dsl.expr import Expr, IterVar
from tbe_impl.dsl.tensor import Operation, Tensor


@dataclass(frozen=True, eq=False)
class Split:
    """The split of a loop: ``parent = outer · factor + inner``.

    Attributes:
        parent: the loop that is split.
        outer, inner: the resulting loops.
        factor: extent of `inner`. The factor is an expression if a size is known only at run time.
        nparts: extent of `outer` if the schedule specifies this extent; `factor` is then derived
            from `nparts`. None if the schedule specifies `factor`.
        place: source location of the call.
    """

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Expr
    nparts: Expr | None
    place: str


@dataclass(frozen=True, eq=False)
class Fuse:
    """The fusion of two loops: ``fused = outer · extent(inner) + inner``."""

    outer: IterVar
    inner: IterVar
    fused: IterVar
    place: str


@dataclass(frozen=True, eq=False)
class Attach:
    """The request to compute a stage inside a loop of another stage (``compute_at``).

    Attributes:
        parent: the operation of the other stage.
        axis: the loop of the other stage.
        place: source location of the call.
    """

    parent: Operation
    axis: IterVar
    place: str


@dataclass(frozen=True, eq=False)
class Directive:
    """A decision that changes neither loops nor placement: an instruction, an alignment, a pragma.

    Attributes:
        name: the schedule method that recorded the decision, such as ``emit_insn``.
        axis: the axis or loop to which the decision applies. None if the decision applies to the
            whole stage.
        value: the other arguments of the method, in order.
        place: source location of the call.
    """

    name: str
    axis: IterVar | None
    value: tuple[Any, ...]
    place: str


@dataclass(frozen=True, eq=False)
class StageRecord:
    """The schedule of one stage.

    Attributes:
        op: the current operation of the stage. ``cache_read``, ``cache_write`` and ``rfactor``
            replace the original operation by a new one.
        origin: the original operation, which belongs to the operator's graph. None for a stage that
            the schedule added.
        leaves: the loops, outermost first.
        relations: splits and fusions that derived the loops from the axes of `op`, oldest first.
        attach: the loop in which the stage is computed; None if the stage has its own loop nest.
        inlined: whether the expression of the stage is inlined into its consumers.
        scope: the memory of the outputs, such as ``local.UB``; ``global`` is main memory.
        scope_place: source location of the call that set the scope; empty for the default scope.
        directives: all other decisions about the stage, in the order of the calls.
        is_output: whether the stage computes an output of the kernel.
        versions: all operations that the stage has had, oldest first. Output number i is the same
            tensor in every version.
        made_by: the schedule method that added the stage, such as ``rfactor``. Empty for a stage of
            the operator's own graph.
    """

    op: Operation
    origin: Operation | None
    leaves: tuple[IterVar, ...]
    relations: tuple[Split | Fuse, ...]
    attach: Attach | None
    inlined: bool
    scope: str
    scope_place: str
    directives: tuple[Directive, ...]
    is_output: bool
    versions: tuple[Operation, ...]
    made_by: str = ""

    def find_directives(self, *names: str) -> Iterator[Directive]:
        """Yields the directives whose name is in `names`."""
        return (directive for directive in self.directives if directive.name in names)

    def has(self, name: str) -> bool:
        """Whether the stage has a directive called `name`."""
        return any(directive.name == name for directive in self.directives)

    @property
    def is_input(self) -> bool:
        """Whether the stage is an input of the kernel."""
        return self.op.kind == "placeholder"


@dataclass(frozen=True, eq=False)
class ScheduleRecord:
    """A whole schedule.

    Attributes:
        stages: all stages. Inputs come first, and every stage comes after its producers.
        outputs: the outputs of the operator's graph.
        directives: decisions about the schedule as a whole, such as the range of a variable.
    """

    stages: tuple[StageRecord, ...]
    outputs: tuple[Tensor, ...]
    directives: tuple[Directive, ...] = ()

    def stage(self, op: Operation) -> StageRecord:
        """Returns the stage that has `op` among its versions."""
        return next(stage for stage in self.stages if op in stage.versions)

    @property
    def has_added_stages(self) -> bool:
        """Whether the schedule added stages to those of the operator."""
        return any(stage.made_by for stage in self.stages)

    def latest_tensors(self) -> dict[int, Tensor]:
        """Maps the outputs of all versions of the stages to the outputs of the current version.

        The keys of the dict are the ``id`` of the tensors.
        """
        return {
            id(old): new
            for stage in self.stages
            for op in stage.versions
            for old, new in zip(op.outputs, stage.op.outputs, strict=True)
        }

    def producers(self) -> dict[int, StageRecord]:
        """A dict: ``id`` of a tensor → the stage that computes the tensor."""
        found: dict[int, StageRecord] = {}
        for stage in self.stages:
            for op in stage.versions:
                found.update((id(tensor), stage) for tensor in op.outputs)
        return found
