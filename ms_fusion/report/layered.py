"""Computes the layout of a directed graph in layers, by Sugiyama's method.

The method assigns vertices to layers (ranks), reduces edge crossings, and straightens long edges.

The layout is computed once, when the report is written, and not by JavaScript in the HTML page. In
the page, the JavaScript library dagre would take 4 s for 1,000 operators that are grouped in
kernels (2 cores, Node 20).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]

SWEEPS = 6
LINE_WEIGHT = 6.0
"""Weight of an edge segment between two dummy vertices; a high weight keeps long edges straight.

All other segments have weight 1.
"""
LINE_WIDTH = 10.0


@dataclass(frozen=True)
class Vertex:
    """A vertex and its size.

    If `pin` is ``top``, the vertex is in the first rank (layer). If `pin` is ``bottom``, the vertex
    is in the last rank.
    """

    width: float
    height: float
    pin: str = ""


@dataclass(frozen=True)
class Link:
    """An edge from vertex `tail` to vertex `head`.

    Each offset is the x coordinate of one end of the edge, relative to the middle of the vertex at
    that end.
    """

    tail: int
    head: int
    tail_offset: float = 0.0
    head_offset: float = 0.0


@dataclass(frozen=True)
class Placement:
    """The computed layout.

    Attributes:
        corners: (x, y) of the top left corner of each vertex.
        routes: for each link, the points of its polyline, or None. A link that spans too many
            ranks, or does not lead downwards, has None.
        width, height: extent of the drawing.
    """

    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...] | None, ...]
    width: float
    height: float


def place(
    vertices: Sequence[Vertex],
    links: Sequence[Link],
    *,
    gap: float = 24.0,
    rise: float = 34.0,
    longest: int = 24,
) -> Placement:
    """Computes a top-down layout of a graph.

    Args:
        vertices: the vertices, whose order breaks ties.
        links: the edges. To break a cycle, the ranks ignore a link that leads to an earlier vertex
            in `vertices`.
        gap: smallest horizontal distance between neighbours of one rank.
        rise: vertical distance between consecutive ranks.
        longest: largest number of ranks that a routed link may span.
    """
    if not vertices:
        return Placement((), tuple(None for _ in links), 0.0, 0.0)
    ranks, forward = _ranks(vertices, links)
    drawing = _Drawing(vertices, links, ranks, forward, gap, longest)
    drawing.order()
    drawing.spread()
    return drawing.finish(rise)


def _ranks(vertices: Sequence[Vertex], links: Sequence[Link]) -> tuple[list[int], list[bool]]:
    """Returns the rank of each vertex, and whether each link leads downwards.

    The rank of a vertex is the length of the longest path that leads down to it.
    """
    count = len(vertices)
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for link in links:
        if link.tail != link.head:
            below[link.tail].append(link.head)
            waiting[link.head] += 1
    ready = [vertex for vertex in range(count) if waiting[vertex] == 0]
    heapq.heapify(ready)
    left = iter(range(count))
    order: list[int] = []
    placed = [False] * count
    while len(order) < count:
        # No vertex is ready but some remain: break the cycle at the first of them.
        vertex = heapq.heappop(ready) if ready else next(item for item in left if not placed[item])
        if placed[vertex]:
            continue
        placed[vertex] = True
        order.append(vertex)
        for other in below[vertex]:
            waiting[other] -= 1
            if waiting[other] == 0 and not placed[other]:
                heapq.heappush(ready, other)
    position = {vertex: place for place, vertex in enumerate(order)}
    forward = [position[link.tail] < position[link.head] for link in links]
    ahead: list[list[int]] = [[] for _ in range(count)]
    has_above = [False] * count
    for link, good in zip(links, forward, strict=True):
        if good:
            ahead[link.tail].append(link.head)
            has_above[link.head] = True
    ranks = [0] * count
    for vertex in order:
        for other in ahead[vertex]:
            ranks[other] = max(ranks[other], ranks[vertex] + 1)
    for vertex in order:
        # A vertex without predecessors moves to the rank just above its first successor.
        if not has_above[vertex] and ahead[vertex] and not vertices[vertex].pin:
            ranks[vertex] = min(ranks[other] for other in ahead[vertex]) - 1
    if any(vertex.pin == "bottom" for vertex in vertices):
        last = max(
            (rank for rank, vertex in zip(ranks, vertices, strict=True) if vertex.pin != "bottom"),
            default=-1,
        )
        for index, port in enumerate(vertices):
            if port.pin == "bottom":
                ranks[index] = last + 1
    if any(vertex.pin == "top" for vertex in vertices):
        low = min(rank for rank, vertex in zip(ranks, vertices, strict=True) if vertex.pin != "top")
        if low <= 0:
            ranks = [
                rank if vertex.pin == "top" else rank + 1 - low
                for rank, vertex in zip(ranks, vertices, strict=True)
            ]
    return ranks, forward


def _separate_positions(
    wanted: list[float], weights: list[float], apart: list[float]
) -> list[float]:
    """Returns the positions nearest to `wanted` that keep minimum distances between neighbours.

    The positions minimise the sum, weighted by `weights`, of squared distances from `wanted`.
    `apart` has the minimum distance of each pair of neighbours. Subtracting the minimum distances
    turns the problem into isotonic regression. Pooling adjacent violators solves isotonic
    regression.
    """
    shift, shifts = 0.0, [0.0]
    for distance in apart:
        shift += distance
        shifts.append(shift)
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for want, weight, moved in zip(wanted, weights, shifts, strict=True):
        mean, total, members = want - moved, weight, 1
        while pools and pools[-1][0] > mean:
            other, other_weight, other_members = pools.pop()
            mean = (mean * total + other * other_weight) / (total + other_weight)
            total, members = total + other_weight, members + other_members
        pools.append((mean, total, members))
    means = [mean for mean, _, members in pools for _ in range(members)]
    return [mean + moved for mean, moved in zip(means, shifts, strict=True)]


class _Drawing:
    """State of the layout: the layers from the top, with vertices and dummy vertices.

    Dummy vertices lie on links that span several ranks.
    """

    def __init__(
        self,
        vertices: Sequence[Vertex],
        links: Sequence[Link],
        ranks: list[int],
        forward: list[bool],
        gap: float,
        longest: int,
    ):
        self.vertices, self.links, self.gap = vertices, links, gap
        self.layers: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
        self.widths = [vertex.width for vertex in vertices]
        self.rank = list(ranks)
        # Entries: (other vertex, the link's offset at the other vertex, its offset at this one).
        self.above: list[list[tuple[int, float, float]]] = [[] for _ in vertices]
        self.below: list[list[tuple[int, float, float]]] = [[] for _ in vertices]
        for vertex, rank in enumerate(ranks):
            self.layers[rank].append(vertex)
        # Links that leave a vertex at the same point share one chain of dummy vertices.
        lines: dict[tuple[int, float], list[int]] = {}
        self.paths: list[list[int] | None] = []
        for link, good in zip(links, forward, strict=True):
            span = ranks[link.head] - ranks[link.tail]
            if not good or span < 1 or span > longest:
                self.paths.append(None)
                continue
            line = lines.setdefault((link.tail, link.tail_offset), [])
            while len(line) < span - 1:
                self._extend(line, link)
            path = line[: span - 1]
            self._join(
                path[-1] if path else link.tail,
                link.head,
                0.0 if path else link.tail_offset,
                link.head_offset,
            )
            self.paths.append(path)
        self.x: list[float] = [0.0] * len(self.widths)

    def _extend(self, line: list[int], link: Link) -> None:
        point = len(self.widths)
        self.widths.append(LINE_WIDTH)
        self.above.append([])
        self.below.append([])
        rank = self.rank[line[-1] if line else link.tail] + 1
        self.rank.append(rank)
        self.layers[rank].append(point)
        self._join(line[-1] if line else link.tail, point, 0.0 if line else link.tail_offset, 0.0)
        line.append(point)

    def _join(self, upper: int, lower: int, upper_offset: float, lower_offset: float) -> None:
        self.below[upper].append((lower, lower_offset, upper_offset))
        self.above[lower].append((upper, upper_offset, lower_offset))

    def _is_line(self, item: int) -> bool:
        return item >= len(self.vertices)

    def order(self) -> None:
        """Orders each layer by the barycentres of its vertices' neighbours.

        The layers are visited in several sweeps, down and up.
        """
        place = [0.0] * len(self.widths)

        def settle(layer: list[int]) -> None:
            size = max(1, len(layer))
            for index, item in enumerate(layer):
                place[item] = (index + 0.5) / size

        for layer in self.layers:
            settle(layer)
        for sweep in range(SWEEPS + 1):
            downwards = sweep % 2 == 0
            near = self.above if downwards else self.below
            for layer in self.layers if downwards else reversed(self.layers):
                means = {
                    item: sum(place[other] for other, _, _ in near[item]) / len(near[item])
                    if near[item]
                    else place[item]
                    for item in layer
                }
                layer.sort(key=means.__getitem__)
                settle(layer)

    def spread(self) -> None:
        """Assigns x coordinates so that linked vertices are near each other.

        The order of the vertices in each layer does not change.
        """
        for layer in self.layers:
            at = 0.0
            for item in layer:
                self.x[item] = at + self.widths[item] / 2
                at += self.widths[item] + self.gap
        for sweep in range(SWEEPS + 1):
            downwards = sweep % 2 == 0
            for layer in self.layers if downwards else reversed(self.layers):
                self._settle(layer, self.above if downwards else self.below)

    def _settle(self, layer: list[int], near: list[list[tuple[int, float, float]]]) -> None:
        wanted, weights = [], []
        for item in layer:
            total = weight = 0.0
            for other, there, here in near[item]:
                pull = LINE_WEIGHT if self._is_line(other) and self._is_line(item) else 1.0
                total += pull * (self.x[other] + there - here)
                weight += pull
            wanted.append(total / weight if weight else self.x[item])
            weights.append(weight or 0.25)
        apart = [
            (self.widths[left] + self.widths[right]) / 2
            + (LINE_WIDTH if self._is_line(left) and self._is_line(right) else self.gap)
            for left, right in itertools.pairwise(layer)
        ]
        for item, position in zip(layer, _separate_positions(wanted, weights, apart), strict=True):
            self.x[item] = position

    def finish(self, rise: float) -> Placement:
        """Computes the coordinates of all vertices and links.

        The top left corner of the drawing is (0, 0). `rise` is the vertical distance between two
        layers.
        """
        tops: list[float] = []
        bottoms: list[float] = []
        at = 0.0
        for layer in self.layers:
            height = max(
                (self.vertices[item].height for item in layer if not self._is_line(item)),
                default=0.0,
            )
            if tops:
                at += rise if height and bottoms[-1] > tops[-1] else rise / 2
            tops.append(at)
            at += height
            bottoms.append(at)
        left = min(middle - width / 2 for middle, width in zip(self.x, self.widths, strict=True))
        right = max(middle + width / 2 for middle, width in zip(self.x, self.widths, strict=True))
        self.x = [middle - left for middle in self.x]
        corners = tuple(
            (
                self.x[index] - vertex.width / 2,
                (tops[self.rank[index]] + bottoms[self.rank[index]] - vertex.height) / 2,
            )
            for index, vertex in enumerate(self.vertices)
        )
        routes = tuple(
            None if path is None else self._route(link, path, corners, tops, bottoms)
            for link, path in zip(self.links, self.paths, strict=True)
        )
        return Placement(corners, routes, right - left, at)

    def _route(
        self,
        link: Link,
        path: list[int],
        corners: tuple[Point, ...],
        tops: list[float],
        bottoms: list[float],
    ) -> tuple[Point, ...]:
        start = self.x[link.tail] + link.tail_offset
        end = self.x[link.head] + link.head_offset
        points = [
            (start, corners[link.tail][1] + self.vertices[link.tail].height),
            (start, bottoms[self.rank[link.tail]]),
        ]
        for item in path:
            points += [
                (self.x[item], tops[self.rank[item]]),
                (self.x[item], bottoms[self.rank[item]]),
            ]
        points += [(end, tops[self.rank[link.head]]), (end, corners[link.head][1])]
        return tuple(points)


def straighten(points: Sequence[Point]) -> tuple[Point, ...]:
    """Removes the interior points of vertical segments from a polyline.

    The coordinates are rounded to one decimal place.
    """
    kept: list[Point] = []
    for x, y in ((round(x, 1), round(y, 1)) for x, y in points):
        if kept and kept[-1] == (x, y):
            continue
        if len(kept) >= 2 and abs(kept[-1][0] - x) < 0.2 and abs(kept[-2][0] - x) < 0.2:
            kept[-1] = (kept[-1][0], y)
        else:
            kept.append((x, y))
    return tuple(kept)
