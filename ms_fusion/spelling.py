"""Suggests known names for a misspelled name; omits names with another meaning."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

COMPARED_LENGTH_MAX = 80
"""Length of the prefix of a name that is compared, in characters.

difflib takes quadratic time, and no valid name is longer than this prefix.
"""
ADVISED_NAMES_MAX = 3
"""Maximum number of suggestions.

If a name resembles more valid names, no name is suggested.
"""
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
DERIVATION_WORDS = frozenset({"not", "no", "non", "un", "inv", "inverse", "grad", "fission"})
"""Words whose presence changes the meaning of a name."""


def near_names(name: str, valid: Iterable[str]) -> tuple[str, ...]:
    """Returns a tuple of the valid names that the user probably meant by `name`.

    The function tries three groups of names: (1) names that differ only in case or underscores; (2)
    names at the smallest edit distance, at most 2; (3) names that begin with `name`. The result is
    the first group that is not empty. The second and the third group omit names with an opposite or
    derived meaning. A group with more than `ADVISED_NAMES_MAX` names counts as empty.

    >>> near_names("erf", ["Erf", "Erfc"]), near_names("Grater", ["Greater", "Less"])
    (('Erf',), ('Greater',))
    >>> near_names("ReduceMix", ["ReduceMax", "ReduceMin"])
    ('ReduceMax', 'ReduceMin')
    >>> near_names("enable_matmul_fusion", ["disable_matmul_fusion"])
    ()
    >>> near_names("LessGrad", ["Less"])
    ()
    >>> near_names("ReLU7", ["ReLU6"])
    ()
    """
    short = _normalize_name(name)[:COMPARED_LENGTH_MAX]
    by_plain: dict[str, list[str]] = {}
    for one in sorted(set(valid)):
        by_plain.setdefault(_normalize_name(one), []).append(one)
    if not short or short in by_plain:
        return tuple(by_plain.get(short, ()))[:ADVISED_NAMES_MAX]
    longer = [one for one in by_plain if one.startswith(short)] if len(short) > 3 else []
    close = difflib.get_close_matches(short, by_plain, n=2 * ADVISED_NAMES_MAX, cutoff=0.6)
    away = {one: _edit_distance(short, one) for one in close}
    least = min(away.values(), default=COMPARED_LENGTH_MAX)
    typos = [one for one in sorted(close) if away[one] == least <= (2 if len(short) > 5 else 1)]
    found = [one for group in (typos or longer) for one in by_plain[group]]
    found = [one for one in found if not _has_other_meaning(name, one)]
    return tuple(found) if len(found) <= ADVISED_NAMES_MAX else ()


def advise(texts: Iterable[str]) -> str:
    """Returns the advice "Write … or …." for the strings `texts`, or "" if `texts` is empty."""
    joined = " or ".join(f"`{text}`" for text in texts)
    return f"Write {joined}." if joined else ""


def _normalize_name(name: str) -> str:
    return name.replace("_", "").lower()


def _has_other_meaning(written: str, advised: str) -> bool:
    """Whether two names differ in a word that changes the meaning."""
    one, other = set(_words(written)), set(_words(advised))
    differ = (one - other) | (other - one)
    if any(pair <= differ for pair in OPPOSITES):
        return True
    return bool(differ & DERIVATION_WORDS) or any(word.isdigit() for word in differ)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def _edit_distance(one: str, other: str) -> int:
    """Returns the optimal string alignment distance of two strings.

    The distance counts insertions, deletions, substitutions and transpositions of neighbours.
    """
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
