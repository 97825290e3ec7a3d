"""Sets that become one, and which of them a thing is in."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Thing = TypeVar("Thing", bound=Hashable)


class Disjoint(Generic[Thing]):
    """Things, each in a set of its own at first; one of a set, its root, stands for all.

    >>> sets = Disjoint("abc")
    >>> sets.join("c", "a")
    >>> [sets.root(one) for one in "abc"]
    ['a', 'b', 'a']
    """

    def __init__(self, things: Iterable[Thing] = ()):
        self._above = {thing: thing for thing in things}

    def add(self, thing: Thing) -> None:
        """One more thing."""
        self._above[thing] = thing

    def root(self, thing: Thing) -> Thing:
        """What stands for the set that the thing is in."""
        above = self._above
        while above[thing] != thing:
            above[thing] = above[above[thing]]
            thing = above[thing]
        return thing

    def join(self, thing: Thing, into: Thing) -> None:
        """The set of a thing becomes part of another's, whose root stays."""
        self._above[self.root(thing)] = self.root(into)
