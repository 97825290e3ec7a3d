"""Records an operator's schedule: decisions about loops, memories and instructions.

A schedule never changes the results. Loops that can be executed on a CPU determine the generated
loop nest (`tbe_impl.scheduling.loop_requests`). Decisions that apply to a device only are checked
(`tbe_impl.chip.schedule_checks`) and have no other effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.location import override_location, user_location
from tbe_impl.dsl.tensor import Operation, Tensor, stages_of
from tbe_impl.errors import InputError
from tbe_impl.scheduling.added_operations import (
    factor_reduction,
    make_copy,
    move_into_scope,
    redirect_inputs,
)
from tbe_impl.scheduling.loop_requests import roots_of
from tbe_impl.scheduling.records import Directive, ScheduleRecord
from tbe_impl.scheduling.stage_schedule import Stage, UnknownMember

RECORDED_METHODS = frozenset(
    "bind_args bind_axes compute_with create_block_sync create_group get_block_sync_size memset "
    "sequential_malloc set_constraint set_var_range set_var_value shift_block_access "
    "stage_reorder".split()
)
"""Schedule methods that are recorded and have no effect on a CPU."""


class Schedule:
    """A mutable schedule with the interface that operators expect; `record` returns a frozen copy.

    Attributes:
        outputs: the operations of the kernel's outputs.
    """

    def __init__(self, outputs: Sequence[Tensor], plan: Callable[[Schedule], None] | None = None):
        """
        Args:
            outputs: output tensors of the kernel.
            plan: a function that makes all decisions of an automatic schedule. The function is
                called when the schedule is accessed for the first time.
        """
        self._outputs = tuple(outputs)
        self._plan, self._place = plan, user_location()
        self._directives: list[Directive] = []

    @cached_property
    def _stages(self) -> list[Stage]:
        """The stages, created lazily because most automatic schedules are never inspected."""
        made = {id(tensor.op) for tensor in self._outputs}
        return [Stage(op, op, is_output=id(op) in made) for op in stages_of(self._outputs)]

    @cached_property
    def _stage_by_op(self) -> dict[int, Stage]:
        return {id(stage.op): stage for stage in self._stages}

    def _add(self, stage: Stage, position: int) -> None:
        self._stages.insert(position, stage)
        self._stage_by_op[id(stage.op)] = stage

    def _ensure_planned(self) -> None:
        if self._plan is not None:
            plan, self._plan = self._plan, None
            with override_location(self._place):
                plan(self)

    @property
    def is_automatic(self) -> bool:
        """Whether the schedule is automatic and has not made its decisions yet."""
        return self._plan is not None

    @property
    def outputs(self) -> list[Operation]:
        """The operations of the kernel's outputs."""
        return list({id(tensor.op): self._stage(tensor).op for tensor in self._outputs}.values())

    @property
    def stages(self) -> list[Stage]:
        """All stages, inputs first."""
        self._ensure_planned()
        return list(self._stages)

    @property
    def stage_map(self) -> Mapping[Operation, Stage]:
        """A dict from each operation of the graph to the stage that computes it."""
        self._ensure_planned()
        return MappingProxyType({stage.op: stage for stage in self._stages})

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        self._ensure_planned()
        return self._stage(key)

    def _stage(self, key: Any) -> Stage:
        op = key.op if isinstance(key, Tensor) else key
        found = self._stage_by_op.get(id(op))
        if found is None:
            known = isinstance(op, Operation)
            raise InputError(
                f"{op.name} is not part of this schedule"
                if known
                else "a schedule is indexed by a tensor or an operation",
                place=str(user_location()),
                expected=f"one of {', '.join(stage.op.name for stage in self._stages)}",
                got=op.name if known else repr(key),
                remedy="create_schedule takes the operations of every output" if known else None,
            )
        return found

    def cache_read(
        self, tensor: Tensor, scope: str, readers: Any, layout_change: bool = False
    ) -> Tensor:
        """Adds a stage that copies a tensor into another memory; `readers` then read the copy.

        Args:
            tensor: the tensor to copy.
            scope: the memory of the copy.
            readers: tensors or operations whose stages are to read the copy.
            layout_change: ignored.

        Returns:
            The copy, a tensor. ``schedule[copy]`` is the stage of the copy.
        """
        self._ensure_planned()
        place = str(user_location())
        source = self._stage(tensor).op.outputs[tensor.value_index]
        same = {id(op.outputs[tensor.value_index]) for op in self._stage(tensor).versions}
        op = make_copy(source, scope)
        stages = [self._stage(reader) for reader in _as_list(readers)]
        for stage in stages:
            if not any(id(read) in same for read in stage.op.input_tensors):
                raise InputError(
                    f"cache_read of {tensor.name}: {stage.op.name} does not read it",
                    place=place,
                    expected=f"readers of {tensor.name}",
                    got=f"{stage.op.name}, which reads "
                    f"{_names(stage.op.input_tensors) or 'nothing'}",
                )
        copy = Stage(op, None, is_output=False, made_by="cache_read")
        copy.scope, copy.scope_place = scope, place
        self._add(copy, self._position(self._stage(source)) + 1)
        for stage in stages:
            self._replace(stage, redirect_inputs(stage.op, dict.fromkeys(same, op.outputs[0])))
        return op.outputs[0]

    def cache_clone(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Adds a copy of a tensor for `readers`, as `cache_read` does.

        In CANN, this method recomputes the tensor instead of copying it.
        """
        return self.cache_read(tensor, scope, readers)

    def cache_write(self, tensor: Any, scope: str, *more: Any, **keywords: Any) -> Any:
        """Adds a stage that computes `tensor` in another memory.

        The original stage becomes a copy from that memory.

        Args:
            tensor: the output of a stage, or a list of all its outputs.
            scope: the memory in which `tensor` is computed.
            more, keywords: tail strategies; ignored, because they do not change the results.

        Returns:
            The tensor in the memory `scope`, or a list of tensors if the stage has several outputs.
        """
        self._ensure_planned()
        place = str(user_location())
        given = _as_list(tensor)
        stage = self._stage(given[0])
        if any(self._stage(other) is not stage for other in given):
            raise InputError(
                "cache_write takes the outputs of one stage", place=place, got=_names(given)
            )
        if len(given) != stage.op.num_outputs:
            raise InputError(
                f"cache_write of {stage.op.name} takes all of its outputs",
                place=place,
                expected=f"{stage.op.num_outputs} tensors",
                got=f"{len(given)}",
            )
        if stage.op.kind == "placeholder":
            raise InputError(
                f"cache_write of {stage.op.name}: nothing computes an input",
                place=place,
                remedy="cache_read copies an input",
            )
        computed, back = move_into_scope(stage.op, scope)
        copy = Stage(computed, None, is_output=False, made_by="cache_write")
        copy.scope, copy.scope_place = scope, place
        self._add(copy, self._position(stage))
        self._replace(stage, back)
        several = isinstance(tensor, (list, tuple)) and len(given) > 1
        return list(computed.outputs) if several else computed.outputs[0]

    def rfactor(self, tensor: Tensor, axis: Any, factor_axis: Any = 0, mode: str = "") -> Any:
        """Factors a reduction into two steps.

        The second step reduces over the loop `axis`. The first step reduces over all other
        reduction loops.

        Args:
            tensor: the result of the reduction.
            axis: a reduction loop of the stage of `tensor`.
            factor_axis: position of the loop among the axes of the first step's result.
            mode: how the device overlaps the steps; ignored.

        Returns:
            The result of the first step, or a list of tensors if the stage has several outputs.
        """
        self._ensure_planned()
        place = str(user_location())
        stage = self._stage(tensor)
        axes, positions = _as_list(axis), _as_list(factor_axis)
        if len(axes) != 1:
            raise InputError(
                f"rfactor of {tensor.name} takes one loop at a time",
                place=place,
                expected="one reduce loop",
                got=str(len(axes)),
                remedy="fuse the loops first",
            )
        stage._position(axes[0], "rfactor", place)
        reduces = bool(stage.op.body) and all(isinstance(body, Reduce) for body in stage.op.body)
        if not reduces or axes[0].kind != "reduce":
            raise InputError(
                f"rfactor of {tensor.name}: {axes[0].name} is not a reduce loop",
                place=place,
                expected="a loop made of schedule[…].op.reduce_axis",
                got=axes[0].name,
            )
        roots = roots_of(stage.record())
        mixed = [
            leaf
            for leaf in stage.leaf_iter_vars
            if len({root.kind for root in roots.get(id(leaf), ())}) > 1
        ]
        if mixed:
            raise InputError(
                f"rfactor of {tensor.name}: {mixed[0].name} goes over results as well",
                place=place,
                expected="loops over what is reduced, and over nothing else",
                got=mixed[0].name,
                remedy="Fuse what is reduced with nothing but what is reduced",
            )
        first, second = factor_reduction(
            stage.op, stage.leaf_iter_vars, stage.relations, axes[0], int(positions[0])
        )
        partial = Stage(first, None, is_output=False, made_by="rfactor")
        partial.scope_place = place
        self._add(partial, self._position(stage))
        self._replace(stage, second)
        return first.outputs[0] if first.num_outputs == 1 else list(first.outputs)

    def read_instead(
        self, readers: Iterable[Operation], made: Operation, copies: Sequence[Tensor]
    ) -> None:
        """Makes `readers` read `copies` instead of the outputs of the operation `made`."""
        versions = self._stage(made).versions
        tensors = {
            id(old): new for op in versions for old, new in zip(op.outputs, copies, strict=True)
        }
        for reader in readers:
            stage = self._stage(reader)
            if any(id(read) in tensors for read in stage.op.input_tensors):
                self._replace(stage, redirect_inputs(stage.op, tensors))

    def add_stage(self, op: Operation) -> Stage:
        """Appends a stage for an operation that no output depends on, and returns the stage."""
        stage = Stage(op, None, is_output=False)
        self._add(stage, len(self._stages))
        return stage

    def _read_newest(self) -> None:
        """Replaces every read of an outdated operation's output by a read of the current output.

        An operation is outdated if its stage has replaced it by a newer version.
        """
        newest: dict[int, Tensor] = {}
        for stage in self._stages:
            read = stage.op.input_tensors
            moved = {id(t): newest[id(t)] for t in read if newest.get(id(t), t) is not t}
            if moved:
                self._replace(stage, redirect_inputs(stage.op, moved))
            for op in stage.versions:
                newest.update(
                    (id(old), new) for old, new in zip(op.outputs, stage.op.outputs, strict=True)
                )

    def _replace(self, stage: Stage, op: Operation) -> None:
        stage.replace(op)
        self._stage_by_op[id(op)] = stage

    def _position(self, stage: Stage) -> int:
        return next(index for index, other in enumerate(self._stages) if other is stage)

    def normalize(self) -> Schedule:
        """Returns the schedule unchanged, because all axes start at 0 already."""
        return self

    def record(self) -> ScheduleRecord:
        """Returns a frozen record of all decisions so far."""
        self._ensure_planned()
        self._read_newest()
        return ScheduleRecord(
            tuple(stage.record() for stage in self._stages),
            self._outputs,
            tuple(self._directives),
        )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in RECORDED_METHODS:
            return lambda *arguments, **keywords: self._directives.append(
                Directive(name, None, (*arguments, *keywords.values()), str(user_location()))
            )
        if name.startswith("_"):
            raise AttributeError(name)
        own = {item for item in vars(Schedule) if not item.startswith("_")} - {
            "add_stage",
            "read_instead",
            "record",
        }
        raise UnknownMember(
            f"a schedule has no `{name}`",
            place=str(user_location()),
            expected=f"one of {', '.join(sorted(RECORDED_METHODS | own))}",
            got=repr(name),
        )


def create_schedule(ops: Any) -> Schedule:
    """Creates a schedule without decisions.

    Every stage has its own loop nest, and the outputs of every stage are in main memory.

    Args:
        ops: the outputs: an operation or a tensor, or a list of operations and tensors.
    """
    tensors: list[Tensor] = []
    for item in _flatten(ops):
        if isinstance(item, Tensor):
            tensors.append(item)
        elif isinstance(item, Operation):
            tensors += item.outputs
        else:
            raise InputError(
                "create_schedule takes operations",
                place=str(user_location()),
                expected="tensor.op, or a list of them",
                got=type(item).__name__,
            )
    if not tensors:
        raise InputError(
            "create_schedule takes at least one operation", place=str(user_location()), got="none"
        )
    return Schedule(list({id(tensor): tensor for tensor in tensors}.values()))


def _flatten(items: Any) -> Iterable[Any]:
    if isinstance(items, (list, tuple)):
        for item in items:
            yield from _flatten(item)
    else:
        yield items


def _as_list(items: Any) -> list[Any]:
    return list(items) if isinstance(items, (list, tuple, set, frozenset)) else [items]


def _names(tensors: Iterable[Tensor]) -> str:
    return ", ".join(tensor.name for tensor in tensors)
