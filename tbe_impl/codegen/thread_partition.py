"""Emits the partition of a nest's iterations among threads."""

from __future__ import annotations

import re


def shared_out(
    name: str,
    extent: str,
    grain: int,
    work: str,
    alone: str,
    *,
    portions: int = 0,
    arguments: str = "",
    given: str = "",
    count: str = "",
) -> tuple[str, str]:
    """A function that runs one part of a nest, empty where it is never shared; and statements that run `alone`, or parts on several threads.

    Args:
        name: of the nest.
        extent: how many steps there are.
        grain: how many stay on one thread.
        work: a condition: whether there is enough to do for several threads.
        alone: a statement.
        portions: into how many parts the steps are cut, which threads take as they come; 0 for one for each thread.
        arguments: of the nest, behind begin and end: of ``nest`` and ``own``.
        given: what else ``struct shared_nest`` of workers.h is told.
        count: a variable that is told how many parts there are.
    """
    if _is_few(extent, grain):
        return "", alone
    told = f".run = {name}_part, .b = b, .s = s, .steps = {extent}, .grain = {grain}, .portions = {portions}{given and ', '}{given}"
    target = f"{count} = " if count else ""
    unused = "" if "own" in arguments else "(void)own; "
    part = [
        f"static void {name}_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {{",
        f"  {unused}{name}(nest->b, nest->s, begin, end{arguments and ', '}{arguments});",
        "}",
    ]
    statements = [
        f"if (threads > 1 && {work}) {target}share_nest(&(struct shared_nest){{{told}}}, threads);",
        f"else {alone}",
    ]
    return "\n".join(part), "\n  ".join(statements)


def joined(*functions: str) -> str:
    """Functions one after the other, those that are there."""
    return "\n\n".join(filter(None, functions))


def _is_few(extent: str, grain: int) -> bool:
    """Whether a number of steps is known and no more than stay on one thread."""
    found = re.fullmatch(r"(?:INT64_C\()?(\d+)\)?", extent)
    return found is not None and int(found[1]) <= grain
