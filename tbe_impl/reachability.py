"""Traverses graphs that are given by a function from a node to its successors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

NodeT = TypeVar("NodeT")


def reachable(
    starts: Iterable[NodeT],
    successors: Callable[[NodeT], Iterable[NodeT]],
    *,
    key: Callable[[NodeT], Any] = lambda node: node,
) -> Iterator[NodeT]:
    """Yields the start nodes and the nodes that can be reached from them, each once.

    The order is that of a depth-first search. The successors of a node are computed after the node
    was yielded.

    Args:
        starts: the nodes to start from.
        successors: function of a node that returns its successors.
        key: function of a node that returns a hashable value; nodes with equal values are the same.

    >>> list(reachable([6], lambda number: [number // 2, number // 3] if number else []))
    [6, 2, 0, 1, 3]
    """
    waiting, seen = [*starts], set[Any]()
    while waiting:
        node = waiting.pop()
        if key(node) not in seen:
            seen.add(key(node))
            yield node
            waiting += successors(node)
