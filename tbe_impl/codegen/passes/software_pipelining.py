"""Software pipelining across rows: one loop reduces a row while another finishes the previous row.

A softmax row takes three loops. The first is bound by loads, the second by arithmetic, the third by
non-temporal stores. One fused loop runs the first at row t, the second at row t − 1 and the third
at row t − 2, so that loads, arithmetic and stores overlap. Results are bitwise equal to those of
sequential rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tbe_impl.codegen.loop_levels import RowBuffer, VectorLoop, render
from tbe_impl.codegen.passes.statements import IDENTIFIER, CStatement, number_prefetches

LONGEST_ROW = 2048
"""Maximum number of elements in a row; the L1 cache holds several such rows."""
MAX_LOOPS = 4
"""Maximum number of loops to fuse.

Fusing three loops saves a tenth to a fifth of the time. Fusing the five loops of LayerNorm
gradients takes a tenth to a fifth more time. Four loops were not measured.
"""
PAGE_BYTES = 4096
ALIASING_OFFSET_BYTES = 2048
"""Offset in bytes, within a memory page, between an output row and a row buffer.

A load waits for an earlier store with the same page offset (4K aliasing). For the same reason, the
loads of a step precede its stores.
"""


@dataclass(frozen=True)
class PipelineStage:
    """A vector loop over one row, and the statements between the previous loop and this loop."""

    before: Sequence[str]
    loop: VectorLoop

    def identifiers(self) -> set[str]:
        """Returns all identifiers in the stage."""
        return set(IDENTIFIER.findall(render([*self.before, self.loop])))


def pipeline_rows(
    lines: Sequence[Any], row: str, begin: str, end: str, kept: Sequence[RowBuffer], place: str
) -> list[Any]:
    """Pipelines the loops inside a loop over rows.

    Args:
        lines: body of the sequential loop over rows.
        row: variable of the loop over rows.
        begin, end: range of the loop over rows, in C.
        kept: row buffers that carry values from one inner loop to a later one.
        place: C pointer to the output whose rows use non-temporal stores.

    Returns:
        C statements. Empty unless the body is a sequence of vector loops of equal length, with only
        definitions and calls between them.
    """
    stages = _parse_stages(lines)
    heads = {stage.loop.head for stage in stages[:-1]}
    lengths = {(stage.loop.begin, stage.loop.limit) for stage in stages}
    at_once = {len(stage.loop.copies) for stage in stages} - {0}
    if not 2 <= len(stages) <= MAX_LOOPS or len(heads) > 1 or len(lengths) > 1 or len(at_once) > 1:
        return []
    if not all(stage.loop.whole for stage in stages):
        return []
    return _RowPipeline(stages, row, begin, end, kept, place).lines()


def _parse_stages(lines: Sequence[Any]) -> list[PipelineStage]:
    """Divides a loop body into stages: each vector loop with the statements before it.

    Returns an empty list if the body contains other statements than vector loops, definitions and
    calls, or if it does not end with a vector loop.
    """
    stages: list[PipelineStage] = []
    before: list[str] = []
    for line in lines:
        if isinstance(line, VectorLoop) and _is_innermost(line):
            stages.append(PipelineStage(before, line))
            before = []
        elif isinstance(line, str) and (
            CStatement.parse(line).name or CStatement.parse(line).is_call
        ):
            before.append(line)
        else:
            return []
    return [] if before else stages


def _is_innermost(loop: VectorLoop) -> bool:
    """Returns whether a loop contains no vector loop."""
    waiting: list[Any] = [loop.first, *loop.copies, loop.whole, loop.rest]
    while waiting:
        line = waiting.pop()
        if isinstance(line, VectorLoop):
            return False
        if not isinstance(line, str):
            waiting += line
    return True


class _RowPipeline:
    """Generates the pipelined loop.

    Each name that belongs to a row gets a suffix with the number of the stage. For example,
    ``i0_at2`` is the row that the third loop processes.
    """

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        row: str,
        begin: str,
        end: str,
        kept: Sequence[RowBuffer],
        place: str,
    ):
        self.stages, self.row, self.begin, self.end = stages, row, begin, end
        self.kept, self.place = kept, place
        words = [stage.identifiers() for stage in stages]
        self.numbers: dict[str, tuple[str, int, int]] = {}
        for first, stage in enumerate(stages):
            for line in map(CStatement.parse, stage.before):
                if line.name:
                    last = max(at for at in range(len(stages)) if line.name in words[at])
                    self.numbers[line.name] = (line.c, first, last)

    def lines(self) -> list[Any]:
        """Returns the lines of the pipelined loop and its row buffers."""
        count, head = len(self.stages), self.stages[0].loop.head or "0"
        numbers = [
            f"{c} {name}_at{at} = {{0}};"
            for name, (c, first, last) in self.numbers.items()
            for at in range(first, last + 1)
        ]
        last = self.stages[-1].loop
        aligned = f"together = stream && ({last.head or '0'}) == ({head});"
        inside: list[Any] = []
        for at in range(count):
            number = f"{self.row}_at{at}"
            inside.append(f"const int64_t {number} = turn - {at};")
            inside.append(f"const int has{at} = {number} >= {self.begin} && {number} < {self.end};")
        for row in self.kept:
            inside += [
                (
                    f"{row.c} *const {row.name}_at{at} = {row.name}_rooms "
                    f"+ (turn + {count - at}) % {count} * {_stride(row)};"
                )
                for at in range(count)
            ]
        for at in reversed(range(count)):
            inside += [f"if (has{at}) {{", self._stage_prologue(at), "}"]
        all_there = " && ".join(["together", *(f"has{at}" for at in range(count))])
        inside += [
            f"if ({all_there}) {{",
            self._emit_single_loop(head),
            "} else {",
            self._emit_separate_loops(),
            "}",
        ]
        whole = [
            *(
                line
                for number, row in enumerate(self.kept)
                for line in self._declare_row_buffers(row, number)
            ),
            *numbers,
            "int together;",
            *("{", [f"const int64_t {last.name} = {last.begin};", aligned], "}"),
            f"for (int64_t turn = {self.begin}; turn < {self.end} + {count - 1}; turn++) {{",
            inside,
            "}",
        ]
        return ["{", whole, "}"]

    def _declare_row_buffers(self, row: RowBuffer, number: int) -> list[str]:
        """Declares one copy of a row buffer for each stage (loop).

        All copies start at the same offset within a page. The output rows have another offset, so
        that no load from a copy waits for an earlier store to an output row (4K aliasing).
        """
        size = _bytes_of(row)
        memory, rooms = f"{row.name}_memory", f"{row.name}_rooms"
        place = (
            f"((uintptr_t){self.place} + {ALIASING_OFFSET_BYTES * (number + 1)} "
            f"- (uintptr_t){memory}) % {PAGE_BYTES} / {size}"
        )
        return [
            (
                f"_Alignas(64) {row.c} {memory}"
                f"[{len(self.stages) * _stride(row) + PAGE_BYTES // size}];"
            ),
            f"{row.c} *const {rooms} = {memory} + {place};",
        ]

    def _stage_prologue(self, at: int) -> list[str]:
        """Returns the statements before a stage's loop.

        They copy the values of the row that the previous stage has processed, then compute the
        values that this stage defines.
        """
        handed = [
            f"{name}_at{at} = {name}_at{at - 1};"
            for name, (_, first, last) in self.numbers.items()
            if first < at <= last
        ]
        own = [CStatement.parse(line).assignment_text() for line in self.stages[at].before]
        return handed + self._rename_for_stage(own, at)

    def _emit_separate_loops(self) -> list[Any]:
        """Emits the loops one after the other."""
        found: list[Any] = []
        for at, stage in enumerate(self.stages):
            loop = stage.loop
            renamed = replace(
                loop,
                head=self._rename_for_stage([loop.head], at)[0],
                first=self._rename_for_stage(loop.first, at),
                copies=[self._rename_for_stage(copy, at) for copy in loop.copies],
                strips=self._rename_for_stage(loop.strips, at),
                whole=self._rename_for_stage(loop.whole, at),
                rest=self._rename_for_stage(loop.rest, at),
            )
            found += [f"if (has{at}) {{", [renamed], "}"]
        return found

    def _emit_single_loop(self, head: str) -> list[Any]:
        """Emits all loops as one fused loop."""
        loops = [stage.loop for stage in self.stages]
        limit, at_once = loops[0].limit, max(len(loop.copies) for loop in loops)
        # the enclosing condition implies `stream`, so no step tests it
        found: list[Any] = [
            "const int stream = 1;",
            f"const int head = {head};",
            "int64_t step = head;",
        ]
        if any(loop.first for loop in loops):
            starts = self._emit_each_loop(
                lambda loop: [
                    f"const int64_t {loop.name} = 0;",
                    f"const int {loop.name}_head = head;",
                    *loop.first,
                ]
            )
            found += ["if (head > 0) {", starts, "}"]
        if at_once:
            steps = [
                line
                for copy in range(at_once)
                for line in self._emit_vector_block(partial(_vector_copy, copy=copy))
            ]
            found += [
                f"for (; step + {at_once}*LANES <= {limit}; step += {at_once}*LANES) {{",
                steps,
                "}",
            ]
        steps = self._emit_vector_block(
            lambda loop: [f"const int64_t {loop.name} = step;", *loop.whole]
        )
        found += [f"for (; step + LANES <= {limit}; step += LANES) {{", steps, "}"]
        ends = self._emit_each_loop(
            lambda loop: (
                [
                    f"const int64_t {loop.name} = step;",
                    f"const int {loop.name}_rest = (int)({limit} - step);",
                    *loop.rest,
                ]
                if loop.rest
                else []
            )
        )
        return [*found, f"if (step < {limit}) {{", ends, "}"]

    def _emit_each_loop(self, written: Callable[[VectorLoop], list[Any]]) -> list[Any]:
        """Emits the statements of each loop in a separate C block, with suffixes on row names."""
        found: list[Any] = []
        for at, stage in enumerate(self.stages):
            found += ["{", self._rename_for_stage(written(stage.loop), at), "}"]
        return found

    def _emit_vector_block(self, written: Callable[[VectorLoop], list[Any]]) -> list[Any]:
        """Emits one vector of every loop in one block: loads first, then the other statements."""
        first: list[Any] = []
        then: list[Any] = []
        for at, stage in enumerate(self.stages):
            later: set[str] = set()
            for line in self._rename_for_stage(written(stage.loop), at):
                known = CStatement.parse(line) if isinstance(line, str) else CStatement("")
                is_read = known.is_load or known.c == "int64_t"
                if is_read and not known.identifiers & later:
                    first.append(line)
                    continue
                then.append(line)
                later.add(known.name)
        return ["{", [*first, *then], "}"]

    def _rename_for_stage(self, lines: Sequence[Any], at: int) -> list[Any]:
        """Adds the suffix of stage `at` to each name that belongs to a row.

        Prefetches always get the suffix of the first stage.
        """
        mine = {self.row, *self.numbers, *(row.name for row in self.kept)}

        def name(match: re.Match[str], number: int) -> str:
            return f"{match[0]}_at{number}" if match[0] in mine else match[0]

        return [
            IDENTIFIER.sub(
                partial(name, number=0 if CStatement.parse(line).is_prefetch else at), line
            )
            if isinstance(line, str)
            else self._rename_for_stage(line, at)
            for line in lines
        ]


def _vector_copy(loop: VectorLoop, copy: int) -> list[Any]:
    """Returns the statements of vector number `copy` of an unrolled iteration."""
    if loop.copies:
        return [f"const int64_t {loop.name} = step;", *number_prefetches(loop.copies[copy], copy)]
    return [
        f"const int64_t {loop.name} = step + {copy}*LANES;",
        *number_prefetches(loop.whole, copy),
    ]


def _stride(row: RowBuffer) -> int:
    """Returns the number of elements from one copy of a row buffer to the next."""
    return -(-row.steps * _bytes_of(row) // PAGE_BYTES) * PAGE_BYTES // _bytes_of(row)


def _bytes_of(row: RowBuffer) -> int:
    return 4 if row.c == "float" else 8
