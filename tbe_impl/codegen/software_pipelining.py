"""Software pipelining across rows: one loop reduces a row while another finishes the row before.

A row of a softmax takes three loops, one after the other: memory is waited for in the first, arithmetic in the second, and what is
written past the caches in the third. Where the first is at row t, the second at row t − 1 and the third at row t − 2, one
loop over a row's elements does all three, and none of them waits. Results are those of rows one after the other, bit by bit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tbe_impl.codegen.loop_levels import Row, VectorLoop, render
from tbe_impl.codegen.statements import WORD, Statement, of_vector

LONGEST_ROW = 2048
"""Elements of a row, of which the nearest cache holds several."""
MOST_LOOPS = 4
"""Three are quicker together, by a tenth to a fifth; five, those of LayerNorm's gradients, that much slower; of four
nobody measured it."""
PAGE_BYTES = 4096
APART_BYTES = 2048
"""From where a row of the output begins in its page to where one that is kept does: a read waits for an earlier write to the same
place of another page. For the same reason what a step reads is read before it writes."""


@dataclass(frozen=True)
class Stage:
    """What is computed of a row before a loop over it, and the loop."""

    before: Sequence[str]
    loop: VectorLoop

    def words(self) -> set[str]:
        """All names in it."""
        return set(WORD.findall(render([*self.before, self.loop])))


def staggered(
    lines: Sequence[Any], row: str, begin: str, end: str, kept: Sequence[Row], place: str
) -> list[Any]:
    """A loop over rows that takes the loops inside of it together.

    Args:
        lines: the inside of a loop over rows one after the other.
        row: the variable of that loop, which goes from `begin` to `end`.
        kept: rows that a loop inside keeps for a later one.
        place: where the output lies whose rows are written past the caches; a pointer in C.

    Returns:
        Statements; none where these are not several loops of one length with nothing but numbers of a row between them.
    """
    stages = _stages(lines)
    heads = {stage.loop.head for stage in stages[:-1]}
    lengths = {(stage.loop.begin, stage.loop.limit) for stage in stages}
    at_once = {len(stage.loop.copies) for stage in stages} - {0}
    if not 2 <= len(stages) <= MOST_LOOPS or len(heads) > 1 or len(lengths) > 1 or len(at_once) > 1:
        return []
    if not all(stage.loop.whole for stage in stages):
        return []
    return _Staggered(stages, row, begin, end, kept, place).lines()


def _stages(lines: Sequence[Any]) -> list[Stage]:
    """The loops, each with what stands before it; none where anything else is there."""
    stages: list[Stage] = []
    before: list[str] = []
    for line in lines:
        if isinstance(line, VectorLoop) and _is_innermost(line):
            stages.append(Stage(before, line))
            before = []
        elif isinstance(line, str) and (Statement.of(line).name or Statement.of(line).calls):
            before.append(line)
        else:
            return []
    return [] if before else stages


def _is_innermost(loop: VectorLoop) -> bool:
    """Whether no vector loop stands in it."""
    waiting: list[Any] = [loop.first, *loop.copies, loop.whole, loop.rest]
    while waiting:
        line = waiting.pop()
        if isinstance(line, VectorLoop):
            return False
        if not isinstance(line, str):
            waiting += line
    return True


class _Staggered:
    """Names that belong to a row have the number of the loop that it has come to behind them: ``i0_at2`` is the row of the third."""

    def __init__(
        self,
        stages: Sequence[Stage],
        row: str,
        begin: str,
        end: str,
        kept: Sequence[Row],
        place: str,
    ):
        self.stages, self.row, self.begin, self.end = stages, row, begin, end
        self.kept, self.place = kept, place
        words = [stage.words() for stage in stages]
        self.numbers: dict[str, tuple[str, int, int]] = {}
        for first, stage in enumerate(stages):
            for line in map(Statement.of, stage.before):
                if line.name:
                    last = max(at for at in range(len(stages)) if line.name in words[at])
                    self.numbers[line.name] = (line.c, first, last)

    def lines(self) -> list[Any]:
        """The loop, with the rooms that it needs."""
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
                f"{row.c} *const {row.name}_at{at} = {row.name}_rooms + (turn + {count - at}) % {count} * {_stride(row)};"
                for at in range(count)
            ]
        for at in reversed(range(count)):
            inside += [f"if (has{at}) {{", self._before(at), "}"]
        all_there = " && ".join(["together", *(f"has{at}" for at in range(count))])
        inside += [f"if ({all_there}) {{", self._together(head), "} else {", self._apart(), "}"]
        whole = [
            *(line for number, row in enumerate(self.kept) for line in self._rooms(row, number)),
            *numbers,
            "int together;",
            *("{", [f"const int64_t {last.name} = {last.begin};", aligned], "}"),
            f"for (int64_t turn = {self.begin}; turn < {self.end} + {count - 1}; turn++) {{",
            inside,
            "}",
        ]
        return ["{", whole, "}"]

    def _rooms(self, row: Row, number: int) -> list[str]:
        """Where as many rows are kept as there are loops, each at the same place in its page, which is no place of an output's row."""
        size = _bytes_of(row)
        memory, rooms = f"{row.name}_memory", f"{row.name}_rooms"
        place = f"((uintptr_t){self.place} + {APART_BYTES * (number + 1)} - (uintptr_t){memory}) % {PAGE_BYTES} / {size}"
        return [
            f"_Alignas(64) {row.c} {memory}[{len(self.stages) * _stride(row) + PAGE_BYTES // size}];",
            f"{row.c} *const {rooms} = {memory} + {place};",
        ]

    def _before(self, at: int) -> list[str]:
        """What is computed of a row before a loop: from what the loop before has left of it, one turn ago."""
        handed = [
            f"{name}_at{at} = {name}_at{at - 1};"
            for name, (_, first, last) in self.numbers.items()
            if first < at <= last
        ]
        own = [Statement.of(line).assigned() for line in self.stages[at].before]
        return handed + self._renamed(own, at)

    def _apart(self) -> list[Any]:
        """The loops one after the other."""
        found: list[Any] = []
        for at, stage in enumerate(self.stages):
            loop = stage.loop
            renamed = replace(
                loop,
                head=self._renamed([loop.head], at)[0],
                first=self._renamed(loop.first, at),
                copies=[self._renamed(copy, at) for copy in loop.copies],
                strips=self._renamed(loop.strips, at),
                whole=self._renamed(loop.whole, at),
                rest=self._renamed(loop.rest, at),
            )
            found += [f"if (has{at}) {{", [renamed], "}"]
        return found

    def _together(self, head: str) -> list[Any]:
        """All loops as one."""
        loops = [stage.loop for stage in self.stages]
        limit, at_once = loops[0].limit, max(len(loop.copies) for loop in loops)
        # it is known to be so here, and no step has to ask
        found: list[Any] = [
            "const int stream = 1;",
            f"const int head = {head};",
            "int64_t step = head;",
        ]
        if any(loop.first for loop in loops):
            starts = self._each(
                lambda loop: [
                    f"const int64_t {loop.name} = 0;",
                    f"const int {loop.name}_head = head;",
                    *loop.first,
                ]
            )
            found += ["if (head > 0) {", starts, "}"]
        if at_once:
            steps = [
                line for copy in range(at_once) for line in self._vector(partial(_copy, copy=copy))
            ]
            found += [
                f"for (; step + {at_once}*LANES <= {limit}; step += {at_once}*LANES) {{",
                steps,
                "}",
            ]
        steps = self._vector(lambda loop: [f"const int64_t {loop.name} = step;", *loop.whole])
        found += [f"for (; step + LANES <= {limit}; step += LANES) {{", steps, "}"]
        ends = self._each(
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

    def _each(self, written: Callable[[VectorLoop], list[Any]]) -> list[Any]:
        """The statements of each loop, in a block of its own and with the names of its row."""
        found: list[Any] = []
        for at, stage in enumerate(self.stages):
            found += ["{", self._renamed(written(stage.loop), at), "}"]
        return found

    def _vector(self, written: Callable[[VectorLoop], list[Any]]) -> list[Any]:
        """The statements of all loops for a vector each, in one block: first what they read, then the rest."""
        first: list[Any] = []
        then: list[Any] = []
        for at, stage in enumerate(self.stages):
            later: set[str] = set()
            for line in self._renamed(written(stage.loop), at):
                known = Statement.of(line) if isinstance(line, str) else Statement("")
                is_read = known.reads or known.c == "int64_t"
                if is_read and not known.words & later:
                    first.append(line)
                    continue
                then.append(line)
                later.add(known.name)
        return ["{", [*first, *then], "}"]

    def _renamed(self, lines: Sequence[Any], at: int) -> list[Any]:
        """Statements about the row that a loop has come to; what is fetched is so for the loop that reads it first."""
        mine = {self.row, *self.numbers, *(row.name for row in self.kept)}

        def name(match: re.Match[str], number: int) -> str:
            return f"{match[0]}_at{number}" if match[0] in mine else match[0]

        return [
            WORD.sub(partial(name, number=0 if Statement.of(line).fetches else at), line)
            if isinstance(line, str)
            else self._renamed(line, at)
            for line in lines
        ]


def _copy(loop: VectorLoop, copy: int) -> list[Any]:
    """One of several vectors that are computed at once."""
    if loop.copies:
        return [f"const int64_t {loop.name} = step;", *of_vector(loop.copies[copy], copy)]
    return [f"const int64_t {loop.name} = step + {copy}*LANES;", *of_vector(loop.whole, copy)]


def _stride(row: Row) -> int:
    """Elements from one room to the next."""
    return -(-row.steps * _bytes_of(row) // PAGE_BYTES) * PAGE_BYTES // _bytes_of(row)


def _bytes_of(row: Row) -> int:
    return 4 if row.c == "float" else 8
