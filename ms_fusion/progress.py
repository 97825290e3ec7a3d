"""How far something long has come: words, and where steps can be counted a share."""

from __future__ import annotations


class Step(str):
    """One step of several, in words.

    >>> Step("kernel", 3, 12), Step("kernel", 3, 12).share
    ('kernel 3 of 12', 0.25)
    """

    share: float

    def __new__(cls, what: str, number: int, count: int) -> Step:
        made = super().__new__(cls, f"{what} {number} of {count}")
        made.share = number / count
        return made


class Milestone(str):
    """A result on the way, which a log keeps; other words only say what is being done."""

    __slots__ = ()
