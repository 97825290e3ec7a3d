"""The known names that a misspelled one may have meant; never one of another meaning."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

LONGEST = 80
"""Characters of a name that are compared: difflib is quadratic, and no name is longer."""
MOST = 3
"""Names that are advised at most; what is near to more than these is near to none."""
OPPOSITES = (
    {"enable", "disable"},
    {"max", "min"},
    {"maximum", "minimum"},
    {"and", "or"},
    {"fwd", "bwd"},
    {"less", "greater"},
    {"prologue", "epilogue"},
    {"forward", "backward"},
    {"on", "off"},
    {"true", "false"},
    {"add", "sub"},
    {"mul", "div"},
    {"push", "pop"},
    {"in", "out"},
    {"prev", "next"},
    {"left", "right"},
    {"floor", "ceil"},
    {"any", "all"},
    {"input", "output"},
)
TURNED = frozenset({"not", "no", "non", "un", "inv", "inverse", "grad", "fission"})
"""Words that make another thing of a name."""


def near_names(name: str, valid: Iterable[str]) -> tuple[str, ...]:
    """The names that differ in letter case only, else those that begin with it, else those a letter or two away.

    Only one kind is handed back, nearest first; none where a name means the opposite or something derived, or where there
    are more than `MOST`.

    >>> near_names("erf", ["Erf", "Erfc"]), near_names("Grater", ["Greater", "Less"]), near_names("ReduceMix", ["ReduceMax", "ReduceMin"])
    (('Erf',), ('Greater',), ('ReduceMax', 'ReduceMin'))
    >>> near_names("enable_matmul_fusion", ["disable_matmul_fusion"]), near_names("LessGrad", ["Less"])
    ((), ())
    >>> near_names("ReLU7", ["ReLU6"])
    ()
    """
    short = _plain(name)[:LONGEST]
    by_plain: dict[str, list[str]] = {}
    for one in sorted(set(valid)):
        by_plain.setdefault(_plain(one), []).append(one)
    if not short or short in by_plain:
        return tuple(by_plain.get(short, ()))[:MOST]
    longer = [one for one in by_plain if one.startswith(short)] if len(short) > 3 else []
    close = difflib.get_close_matches(short, by_plain, n=2 * MOST, cutoff=0.6)
    away = {one: _distance(short, one) for one in close}
    least = min(away.values(), default=LONGEST)
    typos = [one for one in sorted(close) if away[one] == least <= (2 if len(short) > 5 else 1)]
    found = [one for group in (typos or longer) for one in by_plain[group]]
    found = [one for one in found if not _means_another(name, one)]
    return tuple(found) if len(found) <= MOST else ()


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _means_another(written: str, advised: str) -> bool:
    """Whether a word of the one stands against a word of the other."""
    one, other = set(_words(written)), set(_words(advised))
    differ = (one - other) | (other - one)
    if any(pair <= differ for pair in OPPOSITES):
        return True
    return bool(differ & TURNED) or any(word.isdigit() for word in differ)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def _distance(one: str, other: str) -> int:
    """Letters to insert, leave out, replace or swap (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        earlier, before, row = before, row, [at]
        for place, target in enumerate(other, 1):
            cost = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != target))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == target:
                cost = min(cost, earlier[place - 2] + 1)
            row.append(cost)
    return row[-1]
