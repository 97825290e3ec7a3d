"""Transposes that move the last axis: a kernel that computes something on the way reads each element of it by itself.

What is turned as it lies in memory goes through tiles. What is computed first is computed where its result is written, so that
neighbours read places that lie apart: each read takes as many steps as a transpose.

What is read directly and at another place besides (rotated halves) is computed for each of them.
"""

from __future__ import annotations

from ms_fusion.cost.tiling import REDUCING
from ms_fusion.cost.vector_steps import is_turned, vector_steps
from ms_fusion.graph import Graph

MOVED = frozenset("Transpose Slice StridedSlice Split Concat Gather Pad Stack".split())
"""Operators behind which an element lies at another place."""
PLACES_MAX = 256
"""Where more values are read, or at more places, the others are not counted."""


def better_stored(graph: Graph) -> tuple[str, ...]:
    """Of a kernel the values that are better stored before they are turned: each element takes several reads."""
    found = [node for node in graph.nodes if node.op == "Transpose" and is_turned(node, graph)]
    sources = dict.fromkeys(node.inputs[0] for node in found if node.inputs[0] in graph.producers)
    return tuple(name for name in sources if reads_of(name, graph) > graph.values[name].elements)


def reads_of(source: str, graph: Graph) -> int:
    """How many elements are read from outside for all of a value, each for itself; one that several places need, for each.

    A row that all rows share lies near, and does not count.
    """
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting: list[tuple[str, tuple[str, ...], int]] = [(source, (), graph.values[source].elements)]
    reads = 0
    while waiting and len(seen) < PLACES_MAX:
        name, way, elements = waiting.pop()
        if (name, way) in seen:
            continue
        seen.add((name, way))
        maker = graph.producers.get(name)
        if maker is None:
            axes = sum(size != 1 for size in graph.values[name].shape)
            reads += elements if axes > 1 else 0
            continue
        for place, read in enumerate(maker.inputs):
            if maker.op in MOVED:
                least = min(elements, graph.values[read].elements)
                waiting.append((read, (*way, f"{name}:{place}"), least))
            else:
                waiting.append((read, way, elements))
    return reads


def repeated_steps(graph: Graph) -> int:
    """Vector steps that a kernel takes once more, since it computes values for each place that they are read at.

    The way from a result back to a value says where the value is read: another one for each operator behind which elements
    lie elsewhere. Halves that are read on two ways are one whole. A reduction and what is stored are there once for all places.
    """
    kept = {
        *better_stored(graph),
        *(node.outputs[0] for node in graph.nodes if node.op in REDUCING),
    }
    computed: dict[str, int] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    ways: list[tuple[str, tuple[str, ...], int]]
    ways = [(name, (), graph.values[name].elements) for name in graph.outputs]
    while ways and len(seen) < PLACES_MAX:
        name, way, elements = ways.pop()
        way = () if name in kept else way
        maker = graph.producers.get(name)
        if (name, way) in seen or maker is None:
            continue
        seen.add((name, way))
        computed[name] = computed.get(name, 0) + elements
        for place, read in enumerate(maker.inputs):
            there = (*way, f"{name}:{place}") if maker.op in MOVED else way
            ways.append((read, there, min(elements, graph.values[read].elements)))
    steps = 0.0
    for node in graph.nodes:
        times = max(
            (computed.get(name, 0) / max(graph.values[name].elements, 1) for name in node.outputs),
            default=0.0,
        )
        if node.op not in MOVED and times > 1:
            steps += (times - 1) * vector_steps(node, graph)
    return round(steps)
