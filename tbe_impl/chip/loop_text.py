"""Formats the loop nests of a schedule as text."""

from __future__ import annotations

from collections.abc import Iterator

from tbe_impl.dsl.expr import Const, Expr, IterVar, Reduce, reads
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, shape_text
from tbe_impl.scheduling.added_operations import values_of_axes
from tbe_impl.scheduling.records import Directive, ScheduleRecord, Split, StageRecord
from tbe_impl.scheduling.schedule import Schedule
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE
from tbe_impl.scheduling.tile_regions import RUNTIME_SIZE, Regions

INDENT = "  "
STAGE_DIRECTIVES = (
    "double_buffer",
    "storage_align",
    "buffer_align",
    "mem_unique",
    "preload",
    "reused_by",
)
LOOP_DIRECTIVES = ("bind", "parallel", "unroll", "vectorize", "pragma", "emit_insn", "tensorize")


def show_loops(schedule: Schedule | ScheduleRecord) -> str:
    """Formats the loop nests of a schedule as text, in execution order.

    The text includes memory scopes, instructions, and attached stages (stages that are computed
    inside a loop of another stage). After the loops of a stage, each axis that was split or fused
    is defined by an expression of loop indices. In an attached stage, the indices of an axis start
    at the first element of the tile.
    """
    record = schedule.record() if isinstance(schedule, Schedule) else schedule
    printer = _Printer(record)
    lines = [
        line
        for stage in record.stages
        if not stage.inlined and stage.attach is None
        for line in printer.nest_lines(stage, "")
    ]
    return "\n".join(lines) + "\n"


class _Printer:
    def __init__(self, record: ScheduleRecord):
        self.record = record
        self.regions = Regions(record)
        self.inlined = {
            id(tensor): stage
            for stage in record.stages
            if stage.inlined and not any(isinstance(body, Reduce) for body in stage.op.body)
            for op in stage.versions
            for tensor in op.outputs
        }

    def nest_lines(self, stage: StageRecord, indent: str) -> Iterator[str]:
        if stage.is_input:
            tensor = stage.op.outputs[0]
            yield f"{indent}input {tensor.name} {shape_text(tensor.shape)} {tensor.dtype}"
            return
        for tensor in stage.op.outputs:
            yield f"{indent}{self._head(stage, tensor)}"
        if not stage.op.body:
            inputs = ", ".join(tensor.name for tensor in stage.op.input_tensors)
            word = stage.op.dsl_call.name if stage.op.dsl_call else "library"
            yield (
                f"{indent}{', '.join(tensor.name for tensor in stage.op.outputs)} = "
                f"{word}({inputs})"
            )
            return
        extents = self.regions.loops(stage)
        starts = self._axis_definitions(stage)
        reducing = [isinstance(body, Reduce) for body in stage.op.body]
        opened = not any(reducing)
        for leaf in stage.leaves:
            if leaf.kind == "reduce" and not opened:
                yield from self._initialization_lines(stage, indent, leaf)
                opened = True
            yield (
                f"{indent}for {leaf.name} in {self._extent(leaf, extents)}:"
                f"{self._remarks(stage, leaf)}"
            )
            indent += INDENT
            for other in self.record.stages:
                if (
                    other.attach is not None
                    and other.attach.parent in stage.versions
                    and other.attach.axis is leaf
                ):
                    yield from self.nest_lines(other, indent)
        yield from (f"{indent}{start}" for start in starts)
        yield from self._guards(stage, indent)
        if self._overshoot_conditions(stage):
            indent += INDENT
        for tensor, body in zip(stage.op.outputs, stage.op.body, strict=True):
            yield f"{indent}{self._statement(tensor, body, stage)}"

    def _head(self, stage: StageRecord, tensor: Tensor) -> str:
        tile = self.regions.tile(stage)
        sizes = [
            str(full) if part >= RUNTIME_SIZE else str(part)
            for part, full in zip(tile, tensor.shape, strict=True)
        ]
        kind = "output" if stage.is_output else "stage"
        words = [f"{kind} {tensor.name} {shape_text(sizes)} {tensor.dtype}"]
        if stage.scope != GLOBAL_SCOPE:
            words.append(f"in {stage.scope}")
        words += [_directive_text(one) for one in stage.directives if one.name in STAGE_DIRECTIVES]
        return ", ".join(words)

    def _extent(self, leaf: IterVar, extents: dict[int, int]) -> str:
        steps = extents[id(leaf)]
        return f"0..{leaf.extent if steps >= RUNTIME_SIZE else steps}"

    def _remarks(self, stage: StageRecord, leaf: IterVar) -> str:
        found = [
            _directive_text(one)
            for one in stage.directives
            if one.axis is leaf and one.name in LOOP_DIRECTIVES
        ]
        return f"  # {', '.join(found)}" if found else ""

    def _axis_definitions(self, stage: StageRecord) -> list[str]:
        values = values_of_axes(stage.relations)
        axes = (*stage.op.axis, *stage.op.reduce_axis)
        return [
            f"{axis.name} = {_strip_parentheses(values[id(axis)])}"
            for axis in axes
            if id(axis) in values
        ]

    def _overshoot_conditions(self, stage: StageRecord) -> list[str]:
        """Returns bounds checks (strings) for splits whose factor does not divide the extent."""
        extents = self.regions.loops(stage)
        found: list[str] = []
        roots = {id(axis) for axis in (*stage.op.axis, *stage.op.reduce_axis)}
        values = values_of_axes(stage.relations)
        for relation in stage.relations:
            if isinstance(relation, Split):
                whole = extents[id(relation.parent)]
                if (
                    whole < RUNTIME_SIZE
                    and extents[id(relation.outer)] * extents[id(relation.inner)] == whole
                ):
                    continue
                limit = str(relation.parent.extent if whole >= RUNTIME_SIZE else whole)
                parent = relation.parent
                value = (
                    parent.name if id(parent) in roots else _strip_parentheses(values[id(parent)])
                )
                found.append(f"{value} < {limit}")
        return found

    def _guards(self, stage: StageRecord, indent: str) -> Iterator[str]:
        guarded = self._overshoot_conditions(stage)
        if guarded:
            yield f"{indent}if {' and '.join(guarded)}:"

    def _initialization_lines(
        self, stage: StageRecord, indent: str, leaf: IterVar
    ) -> Iterator[str]:
        at = next(index for index, other in enumerate(stage.leaves) if other is leaf)
        inner = [other.name for other in stage.leaves[at:] if other.kind != "reduce"]
        every = f" for every {', '.join(inner)}" if inner else ""
        first = {"sum": "0", "prod": "1", "max": "-inf", "min": "inf"}
        for tensor, body in zip(stage.op.outputs, stage.op.body, strict=True):
            if isinstance(body, Reduce):
                yield (
                    f"{indent}{self._element_text(tensor, stage)} = "
                    f"{first.get(body.op, '?')}{every}"
                )

    def _element_text(self, tensor: Tensor, stage: StageRecord) -> str:
        return f"{tensor.name}[{', '.join(axis.name for axis in stage.op.axis)}]"

    def _statement(self, tensor: Tensor, body: Expr, stage: StageRecord) -> str:
        place = self._element_text(tensor, stage)
        if isinstance(body, Reduce):
            source = _strip_parentheses(self._expand_inlined(body.source, 0))
            sign = {"sum": "+", "prod": "*"}.get(body.op)
            value = f"{place} {sign} {source}" if sign else f"{body.op}({place}, {source})"
            condition = (
                f" if {_strip_parentheses(body.condition)}" if body.condition is not None else ""
            )
            return f"{place} = {value}{condition}"
        return f"{place} = {_strip_parentheses(self._expand_inlined(body, 0))}"

    def _expand_inlined(self, expression: Expr, depth: int) -> Expr:
        """Replaces each read of an inlined stage in an expression by the stage's expression."""
        values: dict[int, Expr] = {}
        for read in reads(expression):
            stage = self.inlined.get(id(read.tensor))
            if stage is not None and depth < len(self.record.stages):
                axes = {
                    id(axis): index for axis, index in zip(stage.op.axis, read.indices, strict=True)
                }
                body = substitute(stage.op.body[read.tensor.value_index], axes)
                values[id(read)] = self._expand_inlined(body, depth + 1)
        return substitute(expression, values) if values else expression


def _strip_parentheses(expression: Expr) -> str:
    text = str(expression)
    return text[1:-1] if text.startswith("(") and _is_closed_at_end(text) else text


def _is_closed_at_end(text: str) -> bool:
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at == len(text) - 1
    return False


def _directive_text(one: Directive) -> str:
    if one.name == "bind":
        return str(one.value[0].name)
    if one.name == "emit_insn":
        return str(one.value[0])
    words = [
        value.name
        if isinstance(value, (Tensor, IterVar))
        else str(value.value if isinstance(value, Const) else value)
        for value in one.value
        if value is not None and not hasattr(value, "items")
    ]
    if one.name == "storage_align" and one.axis is not None:
        words.insert(0, one.axis.name)
    return f"{one.name}({', '.join(words)})" if words else one.name
