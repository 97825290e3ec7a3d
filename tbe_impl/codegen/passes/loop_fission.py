"""Loop fission: computes each half of a long function in its own loop, for strips of few vectors.

The window of out-of-order execution covers about 250 to 500 instructions, of which about a hundred
may wait for operands. A sigmoid fills this window with a few vectors. Each of two loops has half as
many instructions per vector, so that twice as many vectors are in the window. Results are bitwise
equal to those of one loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tbe_impl.codegen.passes.statements import CStatement, number_prefetches

FISSIONABLE_FUNCTIONS = {"sigmoid": 8, "sigmoid_to_half": 2, "exp_to_half": 0}
"""Maps each function that ``vector_sigmoid.h`` splits into two halves to the second half's cost.

The cost is in statements. The halves are valid only for arguments near 0.
"""
MIN_SECOND_LOOP_COST = 2
"""Minimum number of statements after the split point."""
MAX_CARRIED_VECTORS = 2
"""Maximum number of vectors that the first loop stores for the second.

The intermediate values of the split functions do not count.
"""
MAX_STATEMENTS = 40
"""Maximum number of statements for one vector; half of a longer loop exceeds the window anyway."""

_FISSIONABLE_CALL = re.compile(rf"f32_({'|'.join(FISSIONABLE_FUNCTIONS)})\((\w+)\)$")


def fission_into_strips(name: str, limit: str, whole: Sequence[Any]) -> list[Any]:
    """Splits a loop into strips of a few vectors; two loops compute each strip.

    Args:
        name: name of the loop variable.
        limit: exclusive end of the loop, in C.
        whole: statements for one vector.

    Returns:
        C statements that process all whole strips; the caller processes the elements after the
        last strip. Empty if no function can be split, if `whole` is too long or is not
        straight-line code, if the second loop would be too short, or if the first loop would store
        too many vectors.
    """
    lines = _straight_line_statements(whole)
    halved = _independent_calls(lines)
    needed = _backward_slice({_match_fissionable_call(line)[1] for line in halved}, lines)
    first = [line for line in lines if line in needed or line.is_prefetch]
    second = [line for line in lines if line not in first]
    late = sum(
        FISSIONABLE_FUNCTIONS.get(_match_fissionable_call(line)[0], bool(line.name))
        for line in second
    )
    if not halved or late < MIN_SECOND_LOOP_COST:
        return []
    asked = {word for line in second if line not in halved for word in line.identifiers}
    handed = [line for line in needed if line.name in asked]
    read = _backward_slice({line.name for line in handed if line.is_load}, lines)
    kept = [line for line in handed if line not in read]
    if len(kept) > MAX_CARRIED_VECTORS:
        return []
    count = (
        "SIGMOID_STRIP"
        if any(_match_fissionable_call(line)[0] == "sigmoid" for line in halved)
        else "STRIP"
    )
    rooms: list[str] = []
    begun = [line.text for line in first]
    ended = [line.text for line in read]
    for line in kept:
        rooms.append(f"{line.c} {line.name}_kept[{count}];")
        begun.append(f"{line.name}_kept[at] = {line.name};")
        ended.append(f"const {line.c} {line.name} = {line.name}_kept[at];")
    for line in halved:
        function, argument = _match_fissionable_call(line)
        rooms.append(f"f32p_{function}_begun {line.name}_begun[{count}];")
        rooms.append(f"f32p {line.name}_far = {{0}};")
        begun.append(f"{line.name}_begun[at] = f32p_{function}_begin({argument});")
        begun.append(f"{line.name}_far = f32p_{function}_farther({argument}, {line.name}_far);")
    for line in second:
        end = (
            f"const {line.c} {line.name} = "
            f"f32p_{_match_fissionable_call(line)[0]}_end({line.name}_begun[at]);"
        )
        ended.append(end if line in halved else line.text)
    far = " || ".join(
        f"f32p_{_match_fissionable_call(line)[0]}_any_far({line.name}_far)" for line in halved
    )
    strip = [
        f"const int64_t {name}_strip = {name};",
        *rooms,
        *_strip_loop(name, count, begun),
        *(
            f"if ({far}) {{",
            ["#pragma GCC unroll 1", *_strip_loop(name, count, whole), "continue;"],
            "}",
        ),
        *_strip_loop(name, count, ended),
    ]
    return [f"for (; {name} + {count}*LANES <= {limit}; {name} += {count}*LANES) {{", strip, "}"]


def _straight_line_statements(whole: Sequence[Any]) -> list[CStatement]:
    """Parses the statements; empty unless all are loads, definitions, stores or prefetches."""
    found = [CStatement.parse(line) for line in whole if isinstance(line, str)]
    known = all(line.name or line.is_store or line.is_prefetch for line in found)
    return found if known and len(found) == len(whole) <= MAX_STATEMENTS else []


def _match_fissionable_call(line: CStatement) -> tuple[str, str]:
    """Returns function and argument of a call that can be split; ("", "") if `line` is none."""
    match = _FISSIONABLE_CALL.match(line.value)
    return (match[1], match[2]) if match else ("", "")


def _independent_calls(lines: Iterable[CStatement]) -> list[CStatement]:
    """Returns the calls that can be split and do not depend on another such call."""
    found: list[CStatement] = []
    late: set[str] = set()
    for line in lines:
        waits = bool(line.identifiers & late)
        if _match_fissionable_call(line)[0] and not waits:
            found.append(line)
        if _match_fissionable_call(line)[0] or waits:
            late.add(line.name)
    return found


def _backward_slice(names: set[str], lines: Sequence[CStatement]) -> list[CStatement]:
    """Returns the definitions of `names`, of all names used in these definitions, and so on."""
    wanted, found = set(names), []
    for line in reversed(lines):
        if line.name in wanted:
            found.append(line)
            wanted |= line.identifiers
    return found[::-1]


def _strip_loop(name: str, count: str, lines: Sequence[Any]) -> list[Any]:
    """Emits a loop over the vectors of a strip."""
    step = f"const int64_t {name} = {name}_strip + at*LANES;"
    return [
        f"for (int at = 0; at < {count}; at++) {{",
        [step, *number_prefetches(lines, "at")],
        "}",
    ]
