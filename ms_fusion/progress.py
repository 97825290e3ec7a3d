"""Defines progress messages of long work; a message may carry the completed fraction."""

from __future__ import annotations


class Step(str):
    """The message for one of several counted steps; `share` is the completed fraction.

    >>> Step("kernel", 3, 12), Step("kernel", 3, 12).share
    ('kernel 3 of 12', 0.25)
    """

    share: float

    def __new__(cls, what: str, number: int, count: int) -> Step:
        made = super().__new__(cls, f"{what} {number} of {count}")
        made.share = number / count
        return made


class Milestone(str):
    """A progress message with an intermediate result; logs should keep such messages.

    Other progress messages only name the current work.
    """

    __slots__ = ()
