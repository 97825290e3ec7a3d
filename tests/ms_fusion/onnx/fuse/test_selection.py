"""Candidate selection: optimal where it claims so, never below greedy, never cyclic."""

from __future__ import annotations

import itertools
import random

import pytest

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.fuse.selection import EXACT_CANDIDATES, select
from ms_fusion.rewrite import Candidate
from tests.cases import cases


def chain(length: int) -> Graph:
    """a0 → a1 → …"""
    nodes = tuple(Node(f"a{n}", "Relu", (f"v{n}",), (f"v{n + 1}",)) for n in range(length))
    values = {f"v{n}": Value(f"v{n}", (4,), "float32") for n in range(length + 1)}
    return Graph("chain", nodes, values, ("v0",), (f"v{length}",))


def cross(*behind: Node) -> Graph:
    """Two chains side by side: groups across them wait for each other."""
    nodes = (
        Node("a0", "Relu", ("x",), ("p",)),
        Node("a1", "Relu", ("x",), ("q",)),
        Node("a2", "Add", ("p", "x"), ("r",)),
        Node("a3", "Add", ("q", "x"), ("s",)),
        *behind,
    )
    values = {
        name: Value(name, (4,), "float32")
        for node in nodes
        for name in (*node.inputs, *node.outputs)
    }
    read = {name for node in nodes for name in node.inputs}
    return Graph("cross", nodes, values, ("x",), tuple(name for name in values if name not in read))


def candidate(*numbers: int) -> Candidate:
    return Candidate("any", "intra-operator", tuple(f"a{n}" for n in numbers))


def best_of(worth: dict[Candidate, float]) -> float:
    """By exhaustive search."""
    best = 0.0
    for size in range(len(worth) + 1):
        for some in itertools.combinations(worth, size):
            names = [name for one in some for name in one.nodes]
            if len(names) == len(set(names)):
                best = max(best, sum(worth[one] for one in some))
    return best


@cases("seed", range(20))
def test_a_small_knot_is_solved_exactly(seed: int) -> None:
    rng = random.Random(seed)
    spans = {(first, first + rng.randint(1, 4)) for first in (rng.randrange(12) for _ in range(9))}
    worth = {candidate(*range(*span)): rng.uniform(0.1, 9) for span in spans}
    found = select(chain(16), worth)
    assert found.is_exact
    assert found.us == pytest.approx(best_of(worth))
    assert found.bound_us == pytest.approx(found.us)
    names = [name for one in found.chosen for name in one.nodes]
    assert len(names) == len(set(names))


def test_greed_would_choose_worse() -> None:
    worth = {candidate(1, 2): 10.0, candidate(0, 1): 9.0, candidate(2, 3): 9.0}
    assert select(chain(4), worth).us == 18.0


def test_a_large_knot_is_searched_and_the_gap_is_told() -> None:
    rng = random.Random(1)
    length = 4 * EXACT_CANDIDATES
    worth = {candidate(n, n + 1, n + 2): rng.uniform(1, 2) for n in range(length - 3)}
    found = select(chain(length), worth)
    greedy, used = 0.0, set[str]()
    for one in sorted(worth, key=lambda one: -worth[one]):
        if not used & set(one.nodes):
            used |= set(one.nodes)
            greedy += worth[one]
    assert not found.is_exact
    assert greedy <= found.us <= found.bound_us
    assert 0 < found.gap < 0.5


def test_two_groups_that_wait_for_each_other_are_not_both_chosen() -> None:
    worth = {candidate(0, 3): 2.0, candidate(1, 2): 1.0}
    found = select(cross(), worth)
    assert [one.nodes for one in found.chosen] == [("a0", "a3")]
    assert not found.is_exact


def test_who_stands_behind_two_that_wait_for_each_other_stays() -> None:
    behind = (Node("a4", "Exp", ("r",), ("t",)), Node("a5", "Exp", ("t",), ("u",)))
    found = select(
        cross(*behind), {candidate(0, 3): 3.0, candidate(1, 2): 2.0, candidate(4, 5): 1.0}
    )
    assert {one.nodes for one in found.chosen} == {("a0", "a3"), ("a4", "a5")}
