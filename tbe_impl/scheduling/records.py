"""Frozen records of a schedule: loops, placement, memory and instruction of every stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tbe_impl.dsl.expr import Expr, IterVar
from tbe_impl.dsl.tensor import Operation, Tensor


@dataclass(frozen=True, eq=False)
class Split:
    """``parent = outer · factor + inner``.

    Attributes:
        parent, outer, inner: the axes.
        factor: extent of `inner`; an expression when a size is known only at run time.
        nparts: extent of `outer` when the schedule gave it; `factor` then follows from it.
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
    """``fused = outer · extent(inner) + inner``."""

    outer: IterVar
    inner: IterVar
    fused: IterVar
    place: str


@dataclass(frozen=True, eq=False)
class Attach:
    """Computes a stage inside the loop `axis` of the stage `parent`.

    Attributes:
        parent: the operation of that stage.
        axis: its leaf axis.
        place: source location of the call.
    """

    parent: Operation
    axis: IterVar
    place: str


@dataclass(frozen=True, eq=False)
class Directive:
    """A decision that changes neither loops nor placement: an instruction, an alignment, a pragma.

    Attributes:
        name: the method that recorded it, such as ``emit_insn``.
        axis: the axis that it applies to, if any.
        value: its other arguments, in order.
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
        op: the operation that it computes now; copies and factored reductions change it.
        origin: the corresponding operation of the operator's graph; None for a copy.
        leaves: its loops, outermost first.
        relations: splits and fusions that derived the loops from the axes of `op`, oldest first.
        attach: the loop that it is computed in; None for a loop nest of its own.
        inlined: whether its consumers inline its expression.
        scope: the memory of its outputs, such as ``local.UB``; ``global`` is main memory.
        scope_place: source location of the call that set the scope; empty for the default.
        directives: the other decisions, in call order.
        is_output: whether it computes an output of the kernel.
        versions: every operation that it has had; their outputs stand for the same tensors.
        made_by: the schedule method that added it, such as ``rfactor``; empty for none.
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
        """The directives with these names."""
        return (directive for directive in self.directives if directive.name in names)

    def has(self, name: str) -> bool:
        """Whether a directive has that name."""
        return any(directive.name == name for directive in self.directives)

    @property
    def is_input(self) -> bool:
        """Whether it is an input of the kernel."""
        return self.op.kind == "placeholder"


@dataclass(frozen=True, eq=False)
class ScheduleRecord:
    """A whole schedule.

    Attributes:
        stages: inputs first, every stage after its producers.
        outputs: the outputs of the operator's graph.
        directives: decisions about the schedule as a whole, such as the range of a variable.
    """

    stages: tuple[StageRecord, ...]
    outputs: tuple[Tensor, ...]
    directives: tuple[Directive, ...] = ()

    def stage(self, op: Operation) -> StageRecord:
        """The stage that computes `op` or had it as an earlier version."""
        return next(stage for stage in self.stages if op in stage.versions)

    @property
    def has_added_stages(self) -> bool:
        """Whether the schedule added stages to those of the operator."""
        return any(stage.made_by for stage in self.stages)

    def latest_tensors(self) -> dict[int, Tensor]:
        """``id`` of a tensor of any version of a stage → the tensor that the stage computes now."""
        return {
            id(old): new
            for stage in self.stages
            for op in stage.versions
            for old, new in zip(op.outputs, stage.op.outputs, strict=True)
        }

    def producers(self) -> dict[int, StageRecord]:
        """``id`` of a tensor → the stage that computes it."""
        found: dict[int, StageRecord] = {}
        for stage in self.stages:
            for op in stage.versions:
                found.update((id(tensor), stage) for tensor in op.outputs)
        return found
