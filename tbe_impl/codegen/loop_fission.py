"""Loop fission into strips of a few vectors, at the middle of a long function.

A processor begins what comes later while it waits for a result, as far as it sees: a hundred instructions that wait, some 250 to 500
in all, a few vectors of a sigmoid, and in the time that a sigmoid takes it could begin more. Two loops of half the length show it twice as many.
What is computed is the same, bit by bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tbe_impl.codegen.statements import Statement, of_vector

FUNCTIONS = {"sigmoid": 8, "sigmoid_to_half": 2, "exp_to_half": 0}
"""Those of ``vector_sigmoid.h`` that there are in halves, for arguments that are not far from 0; how long the second is."""
LEAST_LATE = 2
"""Statements after the middle that are worth a loop."""
MOST_KEPT = 2
"""Vectors that the first half may keep for the second, beside what those functions do."""
MOST_LINES = 40
"""Statements for a vector; half of more of them is more than is seen at once anyway."""

_HALVED = re.compile(rf"f32_({'|'.join(FUNCTIONS)})\((\w+)\)$")


def in_strips(name: str, limit: str, whole: Sequence[Any]) -> list[Any]:
    """A loop over strips.

    Args:
        name: of the loop's variable.
        limit: the step behind its last, in C.
        whole: statements for a vector.

    Returns:
        Statements that leave what is less than a strip; none where there is no such function in these, where they are more
        than formulas of what they read, or where the second half would need too much of the first.
    """
    lines = _formulas(whole)
    halved = _begun_at_once(lines)
    needed = _needed({_halved(line)[1] for line in halved}, lines)
    first = [line for line in lines if line in needed or line.fetches]
    second = [line for line in lines if line not in first]
    late = sum(FUNCTIONS.get(_halved(line)[0], bool(line.name)) for line in second)
    if not halved or late < LEAST_LATE:
        return []
    asked = {word for line in second if line not in halved for word in line.words}
    handed = [line for line in needed if line.name in asked]
    read = _needed({line.name for line in handed if line.reads}, lines)
    kept = [line for line in handed if line not in read]
    if len(kept) > MOST_KEPT:
        return []
    count = "SIGMOID_STRIP" if any(_halved(line)[0] == "sigmoid" for line in halved) else "STRIP"
    rooms: list[str] = []
    begun = [line.text for line in first]
    ended = [line.text for line in read]
    for line in kept:
        rooms.append(f"{line.c} {line.name}_kept[{count}];")
        begun.append(f"{line.name}_kept[at] = {line.name};")
        ended.append(f"const {line.c} {line.name} = {line.name}_kept[at];")
    for line in halved:
        function, argument = _halved(line)
        rooms.append(f"f32p_{function}_begun {line.name}_begun[{count}];")
        rooms.append(f"f32p {line.name}_far = {{0}};")
        begun.append(f"{line.name}_begun[at] = f32p_{function}_begin({argument});")
        begun.append(f"{line.name}_far = f32p_{function}_farther({argument}, {line.name}_far);")
    for line in second:
        end = f"const {line.c} {line.name} = f32p_{_halved(line)[0]}_end({line.name}_begun[at]);"
        ended.append(end if line in halved else line.text)
    far = " || ".join(f"f32p_{_halved(line)[0]}_any_far({line.name}_far)" for line in halved)
    strip = [
        f"const int64_t {name}_strip = {name};",
        *rooms,
        *_each(name, count, begun),
        *(f"if ({far}) {{", ["#pragma GCC unroll 1", *_each(name, count, whole), "continue;"], "}"),
        *_each(name, count, ended),
    ]
    return [f"for (; {name} + {count}*LANES <= {limit}; {name} += {count}*LANES) {{", strip, "}"]


def _formulas(whole: Sequence[Any]) -> list[Statement]:
    """None where one is anything else than what is read, computed and written."""
    found = [Statement.of(line) for line in whole if isinstance(line, str)]
    known = all(line.name or line.writes or line.fetches for line in found)
    return found if known and len(found) == len(whole) <= MOST_LINES else []


def _halved(line: Statement) -> tuple[str, str]:
    """The function that there is in halves, and its argument; empty where it is something else."""
    match = _HALVED.match(line.value)
    return (match[1], match[2]) if match else ("", "")


def _begun_at_once(lines: Iterable[Statement]) -> list[Statement]:
    """The functions in halves, but for those that wait for another one."""
    found: list[Statement] = []
    late: set[str] = set()
    for line in lines:
        waits = bool(line.words & late)
        if _halved(line)[0] and not waits:
            found.append(line)
        if _halved(line)[0] or waits:
            late.add(line.name)
    return found


def _needed(names: set[str], lines: Sequence[Statement]) -> list[Statement]:
    """What defines these, and all that they are computed from, in order."""
    wanted, found = set(names), []
    for line in reversed(lines):
        if line.name in wanted:
            found.append(line)
            wanted |= line.words
    return found[::-1]


def _each(name: str, count: str, lines: Sequence[Any]) -> list[Any]:
    """For each vector of a strip."""
    step = f"const int64_t {name} = {name}_strip + at*LANES;"
    return [f"for (int at = 0; at < {count}; at++) {{", [step, *of_vector(lines, "at")], "}"]
