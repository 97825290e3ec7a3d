"""Reports the progress of long work: a text, and a share where steps can be counted."""

from __future__ import annotations


class Step(str):
    """One of several counted steps, as text.

    >>> Step("kernel", 3, 12), Step("kernel", 3, 12).share
    ('kernel 3 of 12', 0.25)
    """

    share: float

    def __new__(cls, what: str, number: int, count: int) -> Step:
        made = super().__new__(cls, f"{what} {number} of {count}")
        made.share = number / count
        return made


class Milestone(str):
    """An intermediate result, which a log keeps; other texts only name the current work."""

    __slots__ = ()
