"""How the steps of a nest are shared out to threads, as C."""

from __future__ import annotations

import re


def shared_out(
    extent: str, grain: int, work: str, alone: str, shared: str, *, portions: int = 0, count: str = ""
) -> str:  # fmt: skip
    """Statements that run `alone`, or `shared` from ``lo`` to ``hi`` on each thread when that pays.

    Threads that sleep between calls come late. With portions the caller goes on from the front while they wake up, and
    they take from the end, so that each finds in its cache what it had in the last call.

    Args:
        extent: how many steps there are.
        grain: how many stay on one thread.
        work: a condition: whether there is enough to do for several threads.
        alone, shared: statements; `shared` finds the number of its part in ``part``.
        portions: into how many parts the steps are cut, which threads take as they come; 0 for one for each thread.
        count: a variable that is told how many parts there are.
    """
    if _is_few(extent, grain):
        return alone
    number = str(portions) if portions else "OMP_COUNT"
    lines = [
        f"if (threads > 1 && {work}) {{",
        "  const struct caller caller = caller_here();",
        *(["  int64_t taken = 0, from_end = 0;"] if portions else []),
        "  #pragma omp parallel num_threads((int)threads)",
        "  {",
        "    keep_apart(caller);",
        f"    const int64_t all_steps = {extent};",
        f"    int64_t steps = (all_steps + {number} - 1) / {number};",
        f"    steps = (steps + {grain - 1}) / {grain} * {grain};",
    ]
    run = [
        "const int64_t lo = steps * part < all_steps ? steps * part : all_steps;",
        "const int64_t hi = lo + steps < all_steps ? lo + steps : all_steps;",
        shared,
    ]
    if portions:
        lines += [
            "    const int64_t parts = (all_steps + steps - 1) / steps;",
            "    int64_t from_front = 0;",
            "    while (__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) < parts) {",
            "      const int64_t part = OMP_NUMBER == 0 ? from_front++",
            "        : parts - 1 - __atomic_fetch_add(&from_end, 1, __ATOMIC_RELAXED);",
            *(f"      {line}" for line in run),
            "    }",
        ]
    else:
        lines += ["    const int64_t part = OMP_NUMBER;", *(f"    {line}" for line in run)]
    if count:
        lines.append(
            f"    if (OMP_NUMBER == 0) {count} = (int){'parts' if portions else 'OMP_COUNT'};"
        )
    return "\n  ".join([*lines, "  }", f"}} else {alone}"])


def _is_few(extent: str, grain: int) -> bool:
    """Whether a number of steps is known and no more than stay on one thread."""
    found = re.fullmatch(r"(?:INT64_C\()?(\d+)\)?", extent)
    return found is not None and int(found[1]) <= grain
