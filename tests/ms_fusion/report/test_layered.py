"""The drawing: no overlaps, arrows point down, boxes hold exactly their operators."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ms_fusion.report.layered import Link, Vertex, _separate_positions, place, straighten
from ms_fusion.report.overlay import HEADER, Box, groups_of, lay_out
from tests.cases import cases


def overlap(one: Box, other: Box) -> bool:
    slack = 0.3  # coordinates are rounded to a tenth
    return (
        one.x + one.width > other.x + slack
        and other.x + other.width > one.x + slack
        and one.y + one.height > other.y + slack
        and other.y + other.height > one.y + slack
    )


def holds(outer: Box, inner: Box) -> bool:
    slack = 0.3
    return (
        outer.x - slack <= inner.x
        and inner.x + inner.width <= outer.x + outer.width + slack
        and outer.y - slack + HEADER <= inner.y
        and inner.y + inner.height <= outer.y + outer.height + slack
    )


graphs = st.integers(1, 24).flatmap(
    lambda count: st.tuples(
        st.lists(st.floats(20, 200), min_size=count, max_size=count),
        st.lists(
            st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
                lambda pair: pair[0] != pair[1]
            ),
            max_size=40,
            unique=True,
        ),
        st.lists(st.integers(-1, 4), min_size=count, max_size=count),
    )
)


@given(graphs)
def test_any_graph_with_any_boxes(
    graph: tuple[list[float], list[tuple[int, int]], list[int]],
) -> None:
    widths, edges, colours = graph
    groups = [
        held
        for colour in range(5)
        if (held := [node for node, found in enumerate(colours) if found == colour])
    ]
    drawn = lay_out(widths, edges, groups, [80.0] * len(groups))
    whole = Box(0, 0, drawn.width, drawn.height)
    for one, other in itertools.combinations(drawn.nodes, 2):
        assert not overlap(one, other)
    for box, held in zip(drawn.groups, groups, strict=True):
        assert overlap(whole, box)
        for node, place_ in enumerate(drawn.nodes):
            assert holds(box, place_) if node in held else not overlap(box, place_)
    for one, other in itertools.combinations(drawn.groups, 2):
        assert not overlap(one, other)
    assert len(drawn.routes) == len(edges)
    for (tail, head), route in zip(edges, drawn.routes, strict=True):
        if route:
            start, end = drawn.nodes[tail], drawn.nodes[head]
            assert route[0] == pytest.approx(
                (start.x + start.width / 2, start.y + start.height), abs=0.2
            )
            assert route[-1] == pytest.approx((end.x + end.width / 2, end.y), abs=0.5)
            assert all(upper[1] <= lower[1] + 0.2 for upper, lower in itertools.pairwise(route))


def test_a_chain_is_straight_and_may_be_empty() -> None:
    nothing = lay_out([], [], [], [])
    assert (nothing.nodes, nothing.routes) == ((), ())
    drawn = lay_out([100.0, 60.0, 140.0], [(0, 1), (1, 2)], [], [])
    assert {box.x + box.width / 2 for box in drawn.nodes} == {drawn.nodes[0].x + 50.0}
    assert all(len(route) == 2 for route in drawn.routes)


def test_long_edges_go_around_the_boxes() -> None:
    chain = [(node, node + 1) for node in range(9)]
    drawn = lay_out([100.0] * 10, [*chain, (0, 9)], [[3, 4, 5]], [80.0])
    box = drawn.groups[0]
    for x, y in drawn.routes[-1]:
        assert not (box.x < x < box.x + box.width and box.y < y < box.y + box.height)


def test_what_goes_too_far_or_backwards_is_not_routed() -> None:
    chain = [Link(number, number + 1) for number in range(40)]
    placed = place([Vertex(10, 10)] * 41, [*chain, Link(0, 40), Link(30, 2)], longest=24)
    assert placed.routes[-2:] == (None, None)
    assert all(route is not None for route in placed.routes[:-2])


@cases(
    "kernels, groups",
    [
        ([[0, 1], [2, 3]], [([0], [0, 1]), ([1], [2, 3])]),
        ([[0, 1], [1, 2]], [([0, 1], [0, 1, 2])]),
        ([[0], [1], [0, 1]], [([0, 1, 2], [0, 1])]),
        ([[], [4]], [([1], [4])]),
        ([[0, 1], [2, 3], [4, 5], [1, 4]], [([0, 2, 3], [0, 1, 4, 5]), ([1], [2, 3])]),
    ],
)
def test_kernels_that_share_an_operator_share_a_box(
    kernels: list[list[int]], groups: list[tuple[list[int], list[int]]]
) -> None:
    assert groups_of(kernels) == groups


@given(
    st.lists(
        st.tuples(st.floats(-100, 100), st.sampled_from([1.0, 6.0]), st.floats(0, 50)),
        min_size=1,
        max_size=12,
    )
)
def test_positions_keep_their_distance_and_are_the_nearest(
    items: list[tuple[float, float, float]],
) -> None:
    wanted, weights, apart = (
        [item[0] for item in items],
        [item[1] for item in items],
        [item[2] for item in items[1:]],
    )
    found = _separate_positions(wanted, weights, apart)

    def cost(positions: Sequence[float]) -> float:
        return sum(
            weight * (at - want) ** 2
            for at, want, weight in zip(positions, wanted, weights, strict=True)
        )

    for (left, right), distance in zip(itertools.pairwise(found), apart, strict=True):
        assert right - left >= distance - 1e-6
    # No other choice that keeps the distances is nearer: try some around it.
    dice = random.Random(0)
    for _ in range(20):
        tried = [at + dice.uniform(-3, 3) for at in found]
        for place_, distance in enumerate(apart):
            tried[place_ + 1] = max(tried[place_ + 1], tried[place_] + distance)
        assert cost(found) <= cost(tried) + 1e-6


def test_straightened() -> None:
    assert straighten([(1, 0), (1, 5), (1, 9), (4, 12), (4, 12), (4, 20)]) == (
        (1, 0),
        (1, 9),
        (4, 12),
        (4, 20),
    )
