"""What a schedule says, frozen: the axes of each stage, where it is computed, in which memory, with which instruction."""

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
        factor: steps of `inner`; an expression where a size is known at run time only.
        nparts: steps of `outer` where the schedule gave these instead; `factor` then follows from them.
        place: where it was written.
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
    """A stage is computed inside the loop `axis` of the stage `parent`.

    Attributes:
        parent: the operation of that stage.
        axis: its leaf axis.
        place: where it was written.
    """

    parent: Operation
    axis: IterVar
    place: str


@dataclass(frozen=True, eq=False)
class Directive:
    """A decision that changes neither loops nor places: an instruction, an alignment, a pragma.

    Attributes:
        name: of the method that gave it, such as ``emit_insn``.
        axis: the axis that it is about, if any.
        value: its other arguments, in order.
        place: where it was written.
    """

    name: str
    axis: IterVar | None
    value: tuple[Any, ...]
    place: str


@dataclass(frozen=True, eq=False)
class StageRecord:
    """One stage.

    Attributes:
        op: what it computes now; copies and factored reductions change that.
        origin: the operation of the operator's graph that it stands for; None for a copy.
        leaves: its axes as they are looped over, outermost first.
        relations: how they came from the axes of `op`, oldest first.
        attach: where it is computed; None for a nest of its own.
        inlined: whether its expression is put into what reads it.
        scope: the memory of its outputs, such as ``local.UB``; ``global`` is the device's main memory.
        scope_place: where that was written; empty when nobody did.
        directives: the rest, in the order in which it was written.
        is_output: whether it makes an output of the kernel.
        versions: every operation that it has had while it was written; the tensors of all of them are the same tensor.
        made_by: the method of the schedule that added it, such as ``rfactor``; empty for the operator's own.
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

    def named(self, *names: str) -> Iterator[Directive]:
        """The directives of these names."""
        return (directive for directive in self.directives if directive.name in names)

    def has(self, name: str) -> bool:
        """Whether there is a directive of that name."""
        return any(directive.name == name for directive in self.directives)

    @property
    def is_input(self) -> bool:
        """Whether it is an input of the kernel."""
        return self.op.kind == "placeholder"


@dataclass(frozen=True, eq=False)
class ScheduleRecord:
    """A whole schedule.

    Attributes:
        stages: inputs first, each after what it reads.
        outputs: of the operator's graph.
        directives: what was said of the schedule as a whole, such as the range of a variable.
    """

    stages: tuple[StageRecord, ...]
    outputs: tuple[Tensor, ...]
    directives: tuple[Directive, ...] = ()

    def stage(self, op: Operation) -> StageRecord:
        """The stage that computes `op`, by any of its versions."""
        return next(stage for stage in self.stages if op in stage.versions)

    @property
    def adds_stages(self) -> bool:
        """Whether it computes anything that the operator does not."""
        return any(stage.made_by for stage in self.stages)

    def newest(self) -> dict[int, Tensor]:
        """``id`` of a tensor of a stage, as it was at any time → the tensor that the stage computes now."""
        return {
            id(old): new
            for stage in self.stages
            for op in stage.versions
            for old, new in zip(op.outputs, stage.op.outputs, strict=True)
        }

    def producers(self) -> dict[int, StageRecord]:
        """``id`` of a tensor → the stage that makes it."""
        found: dict[int, StageRecord] = {}
        for stage in self.stages:
            for op in stage.versions:
                found.update((id(tensor), stage) for tensor in op.outputs)
        return found
