"""Sums the work of a whole graph and computes its peak memory."""

from __future__ import annotations

from collections.abc import Container

from ms_fusion.cost.work import work_of
from ms_fusion.graph import Graph, Node
from ms_fusion.ledger import Summary, Work
from ms_fusion.ops import operator_info
from ms_fusion.ops.op_info import Trait
from ms_fusion.ops.selections import RANDOM_OPS


def summarise(graph: Graph, beforehand: Container[str] = ()) -> Summary:
    """Returns the totals of a whole graph; a fused kernel counts as one node.

    Args:
        graph: the graph whose work and memory are summed.
        beforehand: names of nodes that run only once, before the first call. The work of these
            nodes is not counted.
    """
    total = Work()
    for node in graph.nodes:
        if node.name not in beforehand:
            total += work_of(node, graph)
    return Summary(
        graph=graph,
        nodes=len(graph.nodes),
        edges=len(graph.edges),
        launches=total.launches,
        bytes_moved=total.bytes,
        peak_memory_bytes=peak_memory_bytes(graph),
        flops=total.flops,
    )


def constant_foldable_nodes(graph: Graph) -> frozenset[str]:
    """Returns the names of the nodes that depend on parameters and constants only.

    These nodes can be folded to constants as long as the parameters do not change. The result
    excludes random operators and their readers.
    """
    known = {
        name for name, value in graph.values.items() if value.kind in ("parameter", "constant")
    }
    found: set[str] = set()
    for node in graph.nodes:
        draws = node.op in RANDOM_OPS or node.op.startswith("Random")
        if node.inputs and not draws and known.issuperset(node.inputs):
            found.add(node.name)
            known.update(node.outputs)
    return frozenset(found)


def peak_memory_bytes(graph: Graph) -> int:
    """Returns the largest total size of values alive at once, if nodes run in the graph's order.

    Inputs, parameters and constants are always alive, and are counted once. A result is alive from
    its node to its last reader. An output of the graph is alive to the end. Views and in-place
    results need no memory.
    """
    storage: dict[str, str] = {}
    for node in graph.nodes:
        for position, name in enumerate(node.outputs):
            target = _aliased_input(node, position)
            storage[name] = storage.get(target, target) if target is not None else name
    last_use: dict[str, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in (*node.outputs, *node.inputs):
            last_use[storage.get(name, name)] = step
    for name in graph.outputs:
        last_use[storage.get(name, name)] = len(graph.nodes)

    own = {name for name, root in storage.items() if name == root}
    # A result that no node of the graph produces or reads is internal to a fused kernel.
    held = {*graph.inputs, *graph.consumers}
    alive = peak = sum(
        value.bytes
        for name, value in graph.values.items()
        if name not in storage and (name in held or value.kind != "result")
    )
    ending: dict[int, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in node.outputs:
            if name in own:
                alive += graph.values[name].bytes
                end = last_use[name]
                ending[end] = ending.get(end, 0) + graph.values[name].bytes
        peak = max(peak, alive)
        alive -= ending.get(step, 0)
    return peak


def _aliased_input(node: Node, position: int) -> str | None:
    """Returns the input that shares its memory with output `position`, or None if no input does."""
    if not node.inputs:
        return None
    known = operator_info(node.op)
    if known.traits & (Trait.VIEW | Trait.BOOKKEEPING) or node.op.startswith("Assign"):
        return node.inputs[0]
    if known.overwrites:
        positions = known.overwrites
        return node.inputs[positions[position]] if position < len(positions) else node.inputs[0]
    if node.body is not None and position < len(node.body.outputs):
        maker = node.body.producers.get(node.body.outputs[position])
        if (
            maker is not None
            and maker.op.startswith("Assign")
            and maker.inputs[0] in node.body.inputs
        ):
            return node.inputs[node.body.inputs.index(maker.inputs[0])]
    return None
