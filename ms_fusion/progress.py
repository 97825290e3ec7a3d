"""Defines the messages that report the progress of long work."""

from __future__ import annotations


class Step(str):
    """The progress message for one step of a known number of steps.

    `share` is the number of completed steps divided by the number of all steps.

    >>> Step("kernel", 3, 12), Step("kernel", 3, 12).share
    ('kernel 3 of 12', 0.25)
    """

    share: float

    def __new__(cls, what: str, number: int, count: int) -> Step:
        made = super().__new__(cls, f"{what} {number} of {count}")
        made.share = number / count
        return made


class Milestone(str):
    """A progress message with an intermediate result, which belongs in a log.

    Other progress messages only name the current work.
    """

    __slots__ = ()
