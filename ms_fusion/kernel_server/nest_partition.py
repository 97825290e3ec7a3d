"""Partitions a group into loop nests by the cost model: one, several, or one per operator.

The back end puts into one nest what runs over the same loops, and computes anew in each nest what several of them need. Storing
such a value costs its bytes and saves its operations; whether that is worth it is asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ms_fusion.cost import stages, work_of
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node
from ms_fusion.kernel_server.composite_lowering import Group, size_bytes
from ms_fusion.ledger import Work
from ms_fusion.operators import REDUCTIONS
from tbe_impl.codegen.options import DEFAULT
from tbe_impl.codegen.partition import Nest
from tbe_impl.codegen.program import Layout, layout_of, storable
from tbe_impl.dsl.tensor import Operation, Tensor

PROCESSOR = Device(
    name="cpu",
    bandwidth_bytes_per_s=7e10,
    flops_per_s=4e11,
    vector_flops_per_s=1.1e11,
    launch_us=3.0,
    on_chip_bytes=1 << 20,
    source="two cores with AVX-512: what was measured there of copies and of swish; nests that threads share cost their waking",
)
"""What a plan is made for; only how the figures stand to one another matters, and tuning measures them on the machine itself."""

FRESH_BYTES_PER_S = 8e9
"""The system hands out memory for what is stored between nests anew in each call, page by page; small blocks are kept."""

GAIN = 0.97
"""Storing has to promise this much."""
TRIED, STEPS = 6, 3
"""Values that are tried to be stored in a step, and steps; a try takes as long as writing the kernel does."""
WAITING = 4
"""So many sums over rows may wait for one another; with more, each nest would do again what all before it did."""
SMALL = 8
"""A sum with so many times fewer elements than what is summed up costs nothing to store."""


@dataclass(frozen=True)
class Plan:
    """A group cut into nests.

    Attributes:
        stored: names of values that are stored although nobody outside reads them.
        nests: of each nest, in order, the names of the operators that it computes.
        cost_us: by the model.
        layout: the nests of the back end.
    """

    stored: tuple[str, ...]
    nests: tuple[tuple[str, ...], ...]
    cost_us: float
    layout: Layout

    @property
    def repeated(self) -> frozenset[str]:
        """Names of operators that are computed by several nests."""
        seen: set[str] = set()
        twice: set[str] = set()
        for nest in self.nests:
            twice |= seen & set(nest)
            seen |= set(nest)
        return frozenset(twice)


def planned(group: Group, graph: Graph, device: Device = PROCESSOR) -> Plan:
    """The plan of a group that costs least: what a few steps from everything together lead to, or a nest for each operator."""
    best = _in_few_nests(group, graph, device)
    if best.repeated:  # else nothing but bytes and starts could come of more nests
        apart = with_stored(each_apart(group, graph), group, graph, device)
        best = min(best, apart, key=lambda plan: plan.cost_us)
    return best


def _in_few_nests(group: Group, graph: Graph, device: Device) -> Plan:
    steps_apart = _between_waiting_sums(graph)
    if steps_apart:
        return with_stored(steps_apart, group, graph, device)
    best = with_stored((), group, graph, device)
    sums = [node.outputs[0] for node in _handed_on(best, graph) if _is_small_sum(node, graph)]
    if sums:
        # gradients that are clipped by the norm of all have dozens of them
        best = min(best, with_stored(sums, group, graph, device), key=lambda plan: plan.cost_us)
    for _ in range(STEPS):
        names = _worth_storing(best, graph, device)
        tried = [with_stored((*best.stored, name), group, graph, device) for name in names]
        least = min(tried, key=lambda plan: plan.cost_us, default=best)
        if least.cost_us > GAIN * best.cost_us:
            break
        best = least
    return best


def with_stored(
    names: Sequence[str], group: Group, graph: Graph, device: Device = PROCESSOR
) -> Plan:
    """The plan that stores those values.

    Raises:
        CompileError: there are no loop nests for the group.
    """
    layout = layout_of(group.results, group.inputs, replace(DEFAULT, stored=numbers(names, group)))
    inside = _inside(group, graph)
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


def each_apart(group: Group, graph: Graph) -> tuple[str, ...]:
    """The values to store so that every operator has a nest of its own."""
    places = _places(group)
    return tuple(
        name for node in graph.nodes for name in node.outputs if id(group.values[name]) in places
    )


def numbers(names: Iterable[str], group: Group) -> tuple[int, ...]:
    """The numbers by which the back end knows values, of those that it can store."""
    places = _places(group)
    return tuple(
        sorted({places[at] for at in (id(group.values[name]) for name in names) if at in places})
    )


def between(plan: Plan, group: Group) -> tuple[int, ...]:
    """The numbers of all that lies between its nests: whoever is told them need not find out what has to."""
    places = _places(group)
    return tuple(sorted(places[at] for at in plan.layout.stored if at in places))


def _places(group: Group) -> dict[int, int]:
    """``id`` of what can be stored without being asked for → its number."""
    found = storable(group.results, group.inputs)
    return {id(tensor): at for at, tensor in enumerate(found)}


def _worth_storing(plan: Plan, graph: Graph, device: Device) -> list[str]:
    """Of what is `_handed_on` the values that can pay; the dearest first."""
    dear = [
        (_saved_us(node, plan, graph, device), node.outputs[0]) for node in _handed_on(plan, graph)
    ]
    paying = [(saved_us, name) for saved_us, name in dear if saved_us > (1 - GAIN) * plan.cost_us]
    return [name for _, name in sorted(paying, reverse=True)[:TRIED]]


def _handed_on(plan: Plan, graph: Graph) -> list[Node]:
    """Those whose result several nests compute and hand to something that one of them computes alone."""
    repeated = plan.repeated
    return [
        node
        for node in graph.nodes
        if node.name in repeated
        and not {*node.outputs} & {*graph.outputs, *plan.stored}
        and any(reader.name not in repeated for reader in graph.consumers.get(node.outputs[0], ()))
    ]


def _between_waiting_sums(graph: Graph) -> list[str]:
    """Where more than a few sums over rows wait for one another: these, and what others than they need of what they sum up."""
    waits: dict[str, int] = {}
    found: dict[str, None] = {}
    for node in graph.nodes:
        over_rows = _is_over_rows(node, graph)
        before = max((waits.get(name, 0) for name in node.inputs), default=0)
        waits.update(dict.fromkeys(node.outputs, before + over_rows))
        if over_rows:
            found.update(
                dict.fromkeys((*_needed_elsewhere(node.inputs[0], graph), node.outputs[0]))
            )
    return list(found) if max(waits.values(), default=0) > WAITING else []


def _is_over_rows(node: Node, graph: Graph) -> bool:
    """Whether it makes one number of elements that lie apart."""
    if node.op not in REDUCTIONS:
        return False
    ndim = len(graph.values[node.inputs[0]].shape)
    given = graph.values[node.inputs[1]].data if len(node.inputs) > 1 else node.attr("axis")
    axes = np.ravel(() if given is None else given).astype(int)
    return ndim > 1 and (not axes.size or bool((axes % ndim < ndim - 1).any()))


def _needed_elsewhere(name: str, graph: Graph) -> Iterator[str]:
    """The nearest values that a value is computed from, itself among them, which have other readers."""
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if len(graph.consumers.get(name, ())) > 1 and name in graph.producers:
            yield name
        elif name in graph.producers:
            waiting += graph.producers[name].inputs


def _is_small_sum(node: Node, graph: Graph) -> bool:
    """Whether it makes few numbers of many."""
    most = max((value.elements for value in graph.inputs_of(node)), default=0)
    return SMALL * graph.outputs_of(node)[0].elements <= most


def _saved_us(node: Node, plan: Plan, graph: Graph, device: Device) -> float:
    """What all nests but one do for a value, and for nothing else at the most."""
    before = _ancestors(node, graph)
    nests = [frozenset(nest) for nest in plan.nests if node.name in nest]
    costs = [_cost_us([one for one in before if one.name in nest], graph, device) for nest in nests]
    return sum(costs) - max(costs)


def _ancestors(node: Node, graph: Graph) -> list[Node]:
    """It, and all that it is computed from."""
    found: dict[str, Node] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.name not in found:
            found[one.name] = one
            waiting += [graph.producers[name] for name in one.inputs if name in graph.producers]
    return list(found.values())


def _cost_us(nodes: Sequence[Node], graph: Graph, device: Device) -> float:
    """Of computing them together, without writing anything."""
    made = {name for node in nodes for name in node.outputs}
    read = {name: graph.values[name] for node in nodes for name in node.inputs if name not in made}
    bytes_read = sum(value.bytes for value in read.values())
    return stages(
        Work(sum(work_of(node, graph).flops for node in nodes), bytes_read, 0, 0), device
    ).total_us


def _inside(group: Group, graph: Graph) -> Mapping[int, Node]:
    """``id`` of a stage → the operator that it is part of."""
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
    nest: Nest,
    layout: Layout,
    group: Group,
    graph: Graph,
    inside: Mapping[int, Node],
    device: Device,
) -> tuple[list[Node], Work]:
    """The operators of a nest, and what it does."""
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

    def moved(tensors: Iterable[Tensor]) -> int:
        """What fits next to the core is not fetched from memory."""
        sizes = ((id(tensor) in outside, size_bytes(tensor)) for tensor in tensors)
        return sum(size for known, size in sizes if known or size > device.on_chip_bytes)

    flops = sum(work_of(node, graph).flops for node in nodes)
    return nodes, Work(flops, moved(read.values()), moved(roots), 1)
