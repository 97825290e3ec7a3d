"""Counts reads and recomputation caused by transposes of the last axis inside a kernel.

A transpose of a tensor in memory is computed tile by tile. If the kernel itself computes the
operand of the transpose, the operand is not in memory and cannot be read in tiles. The kernel then
computes the operand's elements in transposed order. So it reads neighbouring elements from distant
addresses. Each read of a distant address is assumed to cost as many vector steps (units of
arithmetic time) as an element of a transpose.

An operator may read a value directly while another operator reads the same value at shifted
positions. An example is a rotary embedding, which also reads the value with its halves exchanged.
Such a value is computed once for each position.
"""

from __future__ import annotations

from ms_fusion.cost.tiling import ROW_REDUCTIONS
from ms_fusion.cost.vector_steps import is_last_axis_transposed, vector_steps
from ms_fusion.graph import Graph
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait

DATA_MOVEMENT_OPERATORS = operators_with(Trait.DATA_MOVEMENT)
"""Operators that move elements to other positions."""
PLACES_MAX = 256
"""Maximum number of (value, path) pairs that a search visits; other pairs are ignored."""


def values_to_materialize(graph: Graph) -> tuple[str, ...]:
    """Returns the names of the computed values that should be stored before they are transposed.

    A value should be stored if `count_reads` exceeds the number of elements of the value.
    """
    found = [
        node
        for node in graph.nodes
        if node.op == "Transpose" and is_last_axis_transposed(node, graph)
    ]
    sources = dict.fromkeys(node.inputs[0] for node in found if node.inputs[0] in graph.producers)
    return tuple(name for name in sources if count_reads(name, graph) > graph.values[name].elements)


def count_reads(source: str, graph: Graph) -> int:
    """Returns the number of elements that are read from outside the kernel to compute `source`.

    An element that is read at several positions is counted once for each position. A
    one-dimensional operand stays in cache and is not counted.
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
            if maker.op in DATA_MOVEMENT_OPERATORS:
                least = min(elements, graph.values[read].elements)
                waiting.append((read, (*way, f"{name}:{place}"), least))
            else:
                waiting.append((read, way, elements))
    return reads


def recomputed_steps(graph: Graph) -> int:
    """Returns the vector steps that a kernel spends to compute values again for other positions.

    Each data-movement operator on a path from a result back to a value changes the positions at
    which the value is read. So the value is computed once for each different path. If each of two
    paths reads only one half of the value, the two paths together are counted as one computation.
    Reductions, and values that are stored before their transpose (`values_to_materialize`), are
    computed once.
    """
    kept = {
        *values_to_materialize(graph),
        *(node.outputs[0] for node in graph.nodes if node.op in ROW_REDUCTIONS),
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
            there = (*way, f"{name}:{place}") if maker.op in DATA_MOVEMENT_OPERATORS else way
            ways.append((read, there, min(elements, graph.values[read].elements)))
    steps = 0.0
    for node in graph.nodes:
        times = max(
            (computed.get(name, 0) / max(graph.values[name].elements, 1) for name in node.outputs),
            default=0.0,
        )
        if node.op not in DATA_MOVEMENT_OPERATORS and times > 1:
            steps += (times - 1) * vector_steps(node, graph)
    return round(steps)
