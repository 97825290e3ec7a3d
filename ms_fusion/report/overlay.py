"""Draws the original operators with a box around the operators of each fused kernel.

Each box is laid out separately and then placed as one vertex of the whole drawing. So a box
contains no operators of other kernels. Several kernels may contain parts of the same operator, such
as a Softmax that is split over two kernels. Then one box contains all these kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ms_fusion.report.layered import Link, Placement, Point, Vertex, place, straighten

NODE_HEIGHT = 36.0
HEADER = 22.0
PADDING = 10.0
MARGIN = 16.0


@dataclass(frozen=True)
class Box:
    """A rectangle in the drawing's units (CSS pixels at 100 %)."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Overlay:
    """The computed drawing.

    Attributes:
        nodes: box of each node.
        groups: box around each group of nodes.
        routes: points of each edge; empty for an edge that is too long to draw.
        width, height: extent of the drawing.
    """

    nodes: tuple[Box, ...]
    groups: tuple[Box, ...]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def groups_of(kernels: Sequence[Sequence[int]]) -> list[tuple[list[int], list[int]]]:
    """Groups kernels that share a node.

    Returns a list with a pair (kernel indices, node indices) for each group. The groups are sorted
    by their first kernel.
    """
    home: dict[int, int] = {}
    members: dict[int, tuple[list[int], list[int]]] = {}
    for number, nodes in enumerate(kernels):
        touched = sorted({home[node] for node in nodes if node in home})
        target = touched[0] if touched else number
        numbers, held = members.setdefault(target, ([], []))
        for other in touched[1:]:
            more_numbers, more_nodes = members.pop(other)
            numbers.extend(more_numbers)
            held.extend(more_nodes)
        numbers.append(number)
        held.extend(node for node in nodes if node not in home)
        for node in held:
            home[node] = target
    return [(sorted(numbers), sorted(set(nodes))) for numbers, nodes in members.values() if nodes]


class _Group:
    """One box: its nodes, and the ports at which edges enter and leave the box."""

    def __init__(self, nodes: list[int], least_width: float):
        self.nodes, self.least_width = nodes, least_width
        self.index = {node: place for place, node in enumerate(nodes)}
        self.inside: dict[tuple[int, int], None] = {}
        self.entering: dict[tuple[int, int], None] = {}
        self.leaving: dict[int, None] = {}

    def lay_out(self, widths: Sequence[float], where: Callable[[int], float]) -> None:
        """Places the nodes and ports of the box.

        Args:
            widths: width of each node of the graph.
            where: function from a producer outside of the box to its x coordinate. These
                coordinates determine the order of the ports at which edges enter.
        """
        vertices = [Vertex(widths[node], NODE_HEIGHT) for node in self.nodes]
        producers = sorted(dict.fromkeys(producer for producer, _ in self.entering), key=where)
        self.entries = {producer: len(vertices) + place for place, producer in enumerate(producers)}
        vertices += [Vertex(4.0, 0.0, "top") for _ in self.entries]
        self.exits = {node: len(vertices) + place for place, node in enumerate(self.leaving)}
        vertices += [Vertex(4.0, 0.0, "bottom") for _ in self.exits]
        index = self.index
        arrows = [(index[tail], index[head]) for tail, head in self.inside]
        arrows += [(self.entries[producer], index[head]) for producer, head in self.entering]
        arrows += [(index[node], number) for node, number in self.exits.items()]
        self.links = {arrow: place for place, arrow in enumerate(arrows)}
        self.placement: Placement = place(
            vertices,
            [Link(tail, head) for tail, head in arrows],
            gap=16.0,
            rise=22.0,
            longest=10**9,
        )
        inner = self.placement.width
        self.width = max(inner + 2 * PADDING, self.least_width)
        self.height = HEADER + self.placement.height + PADDING
        self.left = (self.width - inner) / 2

    def port(self, number: int) -> float:
        """Returns the x coordinate of port `number`, relative to the middle of the box."""
        return self.left + self.placement.corners[number][0] + 2.0 - self.width / 2

    def route(self, tail: int, head: int, corner: Point) -> list[Point]:
        found = self.placement.routes[self.links[tail, head]] or ()
        return [(x + self.left + corner[0], y + HEADER + corner[1]) for x, y in found]


def lay_out(
    widths: Sequence[float],
    edges: Sequence[tuple[int, int]],
    groups: Sequence[Sequence[int]],
    group_widths: Sequence[float],
) -> Overlay:
    """Lays out a graph with disjoint groups of nodes; each group gets a box.

    Args:
        widths: width of each node.
        edges: (producer, consumer) pairs.
        groups: disjoint groups of nodes.
        group_widths: smallest width of each group's box.
    """
    boxes = [_Group(list(nodes), least) for nodes, least in zip(groups, group_widths, strict=True)]
    home = {node: number for number, box in enumerate(boxes) for node in box.nodes}
    # Vertices of the outer graph are ordered by their first node.
    slots: dict[tuple[str, int], int] = {}
    for node in range(len(widths)):
        slots.setdefault(("box", home[node]) if node in home else ("node", node), len(slots))

    def slot(node: int) -> int:
        return slots[("box", home[node]) if node in home else ("node", node)]

    outer: dict[tuple[int, int], int] = {}  # (producer, slot of the consumer) → number of the link
    for tail, head in edges:
        if tail in home and home[tail] == home.get(head):
            boxes[home[tail]].inside[tail, head] = None
            continue
        if tail in home:
            boxes[home[tail]].leaving[tail] = None
        if head in home:
            boxes[home[head]].entering[tail, head] = None
        outer.setdefault((tail, slot(head)), len(outer))
    done: set[int] = set()

    def where(node: int) -> float:
        number = home.get(node, -1)
        return boxes[number].port(boxes[number].exits[node]) if number in done else 0.0

    for number, box in enumerate(boxes):
        box.lay_out(widths, where)
        done.add(number)
    vertices = [
        Vertex(boxes[number].width, boxes[number].height)
        if kind == "box"
        else Vertex(widths[number], NODE_HEIGHT)
        for kind, number in slots
    ]
    kinds = list(slots)
    links = []
    for tail, target in outer:
        kind, number = kinds[target]
        links.append(
            Link(
                slot(tail),
                target,
                boxes[home[tail]].port(boxes[home[tail]].exits[tail]) if tail in home else 0.0,
                boxes[number].port(boxes[number].entries[tail]) if kind == "box" else 0.0,
            )
        )
    whole = place(vertices, links)
    corner = [(x + MARGIN, y + MARGIN) for x, y in whole.corners]
    nodes = []
    for node, width in enumerate(widths):
        x, y = corner[slot(node)]
        if node in home:
            box = boxes[home[node]]
            inner = box.placement.corners[box.index[node]]
            x, y = x + box.left + inner[0], y + HEADER + inner[1]
        nodes.append(Box(round(x, 1), round(y, 1), width, NODE_HEIGHT))
    routes = []
    for tail, head in edges:
        if tail in home and home[tail] == home.get(head):
            box = boxes[home[tail]]
            routes.append(
                straighten(box.route(box.index[tail], box.index[head], corner[slot(tail)]))
            )
            continue
        found = whole.routes[outer[tail, slot(head)]]
        if found is None:
            routes.append(())
            continue
        points: list[Point] = []
        if tail in home:
            box = boxes[home[tail]]
            points += box.route(box.index[tail], box.exits[tail], corner[slot(tail)])
        points += [(x + MARGIN, y + MARGIN) for x, y in found]
        if head in home:
            box = boxes[home[head]]
            points += box.route(box.entries[tail], box.index[head], corner[slot(head)])
        routes.append(straighten(points))
    return Overlay(
        tuple(nodes),
        tuple(
            Box(
                round(corner[slots["box", number]][0], 1),
                round(corner[slots["box", number]][1], 1),
                round(box.width, 1),
                round(box.height, 1),
            )
            for number, box in enumerate(boxes)
        ),
        tuple(routes),
        round(whole.width + 2 * MARGIN, 1),
        round(whole.height + 2 * MARGIN, 1),
    )
