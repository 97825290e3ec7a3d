"""Implements disjoint sets (union-find)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Thing = TypeVar("Thing", bound=Hashable)


class DisjointSets(Generic[Thing]):
    """Union-find over hashable items, each initially in its own set with itself as the root.

    >>> sets = DisjointSets("abc")
    >>> sets.join("c", "a")
    >>> [sets.root(one) for one in "abc"]
    ['a', 'b', 'a']
    """

    def __init__(self, things: Iterable[Thing] = ()):
        self._above = {thing: thing for thing in things}

    def add(self, thing: Thing) -> None:
        """Adds an item as a set of its own."""
        self._above[thing] = thing

    def root(self, thing: Thing) -> Thing:
        """Returns the root of the item's set."""
        above = self._above
        while above[thing] != thing:
            above[thing] = above[above[thing]]
            thing = above[thing]
        return thing

    def join(self, thing: Thing, into: Thing) -> None:
        """Merges the set of `thing` into the set of `into`.

        The root of `into` becomes the root of the merged set.
        """
        self._above[self.root(thing)] = self.root(into)
