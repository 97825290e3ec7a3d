"""Partitions a group (a fused subgraph) into loop nests.

The back end fuses stages (tensors of the DSL graph) with equal loops into one nest, and recomputes
a value in each nest that reads the value. A stored value is not recomputed: it is written to memory
once and read back. The cost model decides which values are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ms_fusion.cost import stages, work_of
from ms_fusion.devices import FRESH_BYTES_PER_S, PLANNING_CPU, Device
from ms_fusion.graph import Graph, Node
from ms_fusion.ledger import Work
from ms_fusion.lowering.composite_lowering import LoweredGroup, size_bytes
from ms_fusion.ops.selections import REDUCTIONS
from tbe_impl.codegen.options import DEFAULT_OPTIONS
from tbe_impl.codegen.planning.partition import LoopNest
from tbe_impl.codegen.program import Layout, layout_of, storable_results
from tbe_impl.dsl.tensor import Operation, Tensor
from tbe_impl.reachability import reachable

GAIN = 0.97
"""A further value is stored only if the modelled cost falls to at most this fraction."""
TRIES_PER_STEP, STEPS = 6, 3
"""Number of values tried per search step, and number of steps.

One trial takes as long as the generation of the kernel.
"""
MAX_REDUCTION_CHAIN = 4
"""Longest chain of dependent strided reductions in one nest.

A strided reduction runs over an axis other than the innermost. In a longer chain, each nest would
recompute all reductions before it.
"""
SMALL_RATIO = 8
"""If a reduction makes a tensor smaller by at least this factor, the result is cheap to store."""


@dataclass(frozen=True)
class Plan:
    """A partition of a group into loop nests.

    Attributes:
        stored: names of the intermediate values that the back end shall store in memory.
        nests: for each nest in execution order, the names of the operators that the nest computes.
        cost_us: time that the cost model predicts for the partition, µs.
        layout: the loop nests that the back end builds for this partition.
    """

    stored: tuple[str, ...]
    nests: tuple[tuple[str, ...], ...]
    cost_us: float
    layout: Layout

    @property
    def repeated_operators(self) -> frozenset[str]:
        """Names of the operators that more than one nest computes."""
        seen: set[str] = set()
        twice: set[str] = set()
        for nest in self.nests:
            twice |= seen & set(nest)
            seen |= set(nest)
        return frozenset(twice)


def plan_nests(group: LoweredGroup, graph: Graph, device: Device = PLANNING_CPU) -> Plan:
    """Returns the cheaper of two partitions of a group.

    The first partition is found by a greedy search that starts from full fusion. The second
    partition has one nest per operator. The second partition is considered if the first partition
    recomputes an operator.
    """
    best = _plan_few_nests(group, graph, device)
    if best.repeated_operators:  # if nothing is recomputed, more nests only add cost
        apart = plan_with_stored(full_fission_values(group, graph), group, graph, device)
        best = min(best, apart, key=lambda plan: plan.cost_us)
    return best


def _plan_few_nests(group: LoweredGroup, graph: Graph, device: Device) -> Plan:
    steps_apart = _reduction_chain_cuts(graph)
    if steps_apart:
        return plan_with_stored(steps_apart, group, graph, device)
    best = plan_with_stored((), group, graph, device)
    sums = [
        node.outputs[0]
        for node in _recomputed_boundary_nodes(best, graph)
        if _is_small_sum(node, graph)
    ]
    if sums:
        # Clipping by the global norm has dozens of such reductions. They are stored together,
        # because the search has only few steps.
        best = min(
            best, plan_with_stored(sums, group, graph, device), key=lambda plan: plan.cost_us
        )
    for _ in range(STEPS):
        names = _storing_candidates(best, graph, device)
        tried = [plan_with_stored((*best.stored, name), group, graph, device) for name in names]
        least = min(tried, key=lambda plan: plan.cost_us, default=best)
        if least.cost_us > GAIN * best.cost_us:
            break
        best = least
    return best


def plan_with_stored(
    names: Sequence[str], group: LoweredGroup, graph: Graph, device: Device = PLANNING_CPU
) -> Plan:
    """Returns the partition that stores the values `names`, and its cost.

    Raises:
        CompileError: the back end finds no loop nests for the group.
    """
    layout = layout_of(
        group.results, group.inputs, replace(DEFAULT_OPTIONS, stored=value_numbers(names, group))
    )
    inside = _node_by_stage(group, graph)
    nests, cost_us = [], 0.0
    for nest in layout.nests:
        nodes, work = _work(nest, layout, group, graph, inside, device)
        nests.append(tuple(node.name for node in nodes))
        cost_us += stages(work, device).total_us
    between = {id(root.tensor): root.tensor for nest in layout.nests for root in nest.roots}
    sizes = [
        size_bytes(item)
        for at, item in between.items()
        if all(at != id(one) for one in group.results)
    ]
    cost_us += sum(size for size in sizes if size > device.on_chip_bytes) / FRESH_BYTES_PER_S * 1e6
    return Plan(tuple(names), tuple(nests), cost_us, layout)


def full_fission_values(group: LoweredGroup, graph: Graph) -> tuple[str, ...]:
    """Returns the names of the values to store so that every operator has its own nest.

    A partition that stores all these values is a full loop fission.
    """
    places = _places(group)
    return tuple(
        name for node in graph.nodes for name in node.outputs if id(group.values[name]) in places
    )


def value_numbers(names: Iterable[str], group: LoweredGroup) -> tuple[int, ...]:
    """Returns the back end's indices of the values `names`; skips values that cannot be stored."""
    places = _places(group)
    return tuple(
        sorted({places[at] for at in (id(group.values[name]) for name in names) if at in places})
    )


def stored_value_numbers(plan: Plan, group: LoweredGroup) -> tuple[int, ...]:
    """Returns the back end's indices of all values that the nests of a plan store.

    With these indices, the back end need not derive the partition again.
    """
    places = _places(group)
    return tuple(sorted(places[at] for at in plan.layout.nest_of_stored if at in places))


def _places(group: LoweredGroup) -> dict[int, int]:
    """Returns a dict from ``id(tensor)`` to the number by which code options name the tensor."""
    found = storable_results(group.results, group.inputs)
    return {id(tensor): at for at, tensor in enumerate(found)}


def _storing_candidates(plan: Plan, graph: Graph, device: Device) -> list[str]:
    """Returns the names of values that may be worth storing, in descending order of saved time.

    The candidates are results of the operators that `_recomputed_boundary_nodes` returns.
    """
    dear = [
        (_saved_us(node, plan, graph, device), node.outputs[0])
        for node in _recomputed_boundary_nodes(plan, graph)
    ]
    paying = [(saved_us, name) for saved_us, name in dear if saved_us > (1 - GAIN) * plan.cost_us]
    return [name for _, name in sorted(paying, reverse=True)[:TRIES_PER_STEP]]


def _recomputed_boundary_nodes(plan: Plan, graph: Graph) -> list[Node]:
    """Returns the recomputed operators that have a reader that is not recomputed.

    Operators whose output is an output of the group, or is already stored, are excluded.
    """
    repeated = plan.repeated_operators
    return [
        node
        for node in graph.nodes
        if node.name in repeated
        and not {*node.outputs} & {*graph.outputs, *plan.stored}
        and any(reader.name not in repeated for reader in graph.consumers.get(node.outputs[0], ()))
    ]


def _reduction_chain_cuts(graph: Graph) -> list[str]:
    """Returns the values to store, so that chains of dependent strided reductions are split.

    For each strided reduction, the list contains two kinds of values. The first kind is the result
    of the reduction. The second kind is the nearest values before the reduction that have several
    readers. The list is empty if no chain is longer than `MAX_REDUCTION_CHAIN`.
    """
    waits: dict[str, int] = {}
    found: dict[str, None] = {}
    for node in graph.nodes:
        over_rows = _is_strided_reduction(node, graph)
        before = max((waits.get(name, 0) for name in node.inputs), default=0)
        waits.update(dict.fromkeys(node.outputs, before + over_rows))
        if over_rows:
            found.update(
                dict.fromkeys((*_shared_ancestors(node.inputs[0], graph), node.outputs[0]))
            )
    return list(found) if max(waits.values(), default=0) > MAX_REDUCTION_CHAIN else []


def _is_strided_reduction(node: Node, graph: Graph) -> bool:
    """Returns whether an operator reduces over an axis other than the innermost axis."""
    if node.op not in REDUCTIONS:
        return False
    ndim = len(graph.values[node.inputs[0]].shape)
    given = graph.values[node.inputs[1]].data if len(node.inputs) > 1 else node.attr("axis")
    axes = np.ravel(() if given is None else given).astype(int)
    return ndim > 1 and (not axes.size or bool((axes % ndim < ndim - 1).any()))


def _shared_ancestors(name: str, graph: Graph) -> Iterator[str]:
    """Yields the nearest ancestors of a value that have several readers.

    A value that has several readers itself is yielded alone.
    """
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if len(graph.consumers.get(name, ())) > 1 and name in graph.producers:
            yield name
        elif name in graph.producers:
            waiting += graph.producers[name].inputs


def _is_small_sum(node: Node, graph: Graph) -> bool:
    """Returns whether the node's result has far fewer elements than its largest operand."""
    most = max((value.elements for value in graph.inputs_of(node)), default=0)
    return SMALL_RATIO * graph.outputs_of(node)[0].elements <= most


def _saved_us(node: Node, plan: Plan, graph: Graph, device: Device) -> float:
    """Returns an upper bound of the time that storing the result of `node` saves, in µs.

    Several nests compute the result. The bound is the sum of the computing times in all these
    nests, minus the largest of these times.
    """
    before = _ancestors(node, graph)
    nests = [frozenset(nest) for nest in plan.nests if node.name in nest]
    costs = [_cost_us([one for one in before if one.name in nest], graph, device) for nest in nests]
    return sum(costs) - max(costs)


def _ancestors(node: Node, graph: Graph) -> list[Node]:
    """Returns an operator and all operators on which it depends."""
    makers = graph.producers
    return list(
        reachable(
            [node],
            lambda one: [makers[name] for name in one.inputs if name in makers],
            key=lambda one: one.name,
        )
    )


def _cost_us(nodes: Sequence[Node], graph: Graph, device: Device) -> float:
    """Returns the estimated time in µs of one nest that computes the operators.

    The time includes arithmetic and the reads of inputs. It does not include stores of results.
    """
    made = {name for node in nodes for name in node.outputs}
    read = {name: graph.values[name] for node in nodes for name in node.inputs if name not in made}
    bytes_read = sum(value.bytes for value in read.values())
    return stages(
        Work(sum(work_of(node, graph).flops for node in nodes), bytes_read, 0, 0), device
    ).total_us


def _node_by_stage(group: LoweredGroup, graph: Graph) -> Mapping[int, Node]:
    """Returns the operator of each DSL stage, by the ``id`` of the stage."""
    found: dict[int, Node] = {}
    for node in graph.nodes:
        waiting = [group.values[node.outputs[0]].op]
        while waiting:
            op = waiting.pop()
            if id(op) not in found and op.body:
                found[id(op)] = node
                waiting += [item.op for item in op.input_tensors]
    return found


def _work(
    nest: LoopNest,
    layout: Layout,
    group: LoweredGroup,
    graph: Graph,
    inside: Mapping[int, Node],
    device: Device,
) -> tuple[list[Node], Work]:
    """Returns the operators of a nest, and the work of the nest for the cost model.

    The work consists of FLOPs, memory traffic and one launch.
    """
    stored = {id(root.tensor) for other in layout.nests for root in other.roots}
    roots = [root.tensor for root in nest.roots]
    own = {id(tensor) for tensor in roots}
    outside = {id(tensor) for tensor in (*group.inputs, *group.results)}
    ops: dict[int, Operation] = {}
    read: dict[int, Tensor] = {}
    waiting = [tensor.op for tensor in roots]
    while waiting:
        op = waiting.pop()
        if id(op) in ops:
            continue
        ops[id(op)] = op
        for item in op.input_tensors:
            if id(item) in stored - own or not item.op.body:
                read[id(item)] = item
            else:
                waiting.append(item.op)
    names = {inside[at].name for at in ops if at in inside}
    nodes = [node for node in graph.nodes if node.name in names]

    def bytes_moved(tensors: Iterable[Tensor]) -> int:
        """Returns the bytes of memory traffic of the nest.

        An intermediate value that fits into the cache causes no traffic.
        """
        sizes = ((id(tensor) in outside, size_bytes(tensor)) for tensor in tensors)
        return sum(size for known, size in sizes if known or size > device.on_chip_bytes)

    flops = sum(work_of(node, graph).flops for node in nodes)
    return nodes, Work(flops, bytes_moved(read.values()), bytes_moved(roots), 1)
