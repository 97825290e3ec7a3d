"""How a group is cut into loop nests, by the model of costs: one nest, several with something stored between, or one for each operator.

The back end puts into one nest what runs over the same loops, and computes anew in each nest what several of them need. Storing
such a value costs its bytes and saves its operations; whether that is worth it is asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ms_fusion.cost import stages, work_of
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node
from ms_fusion.kernel_server.translate import Group, size_bytes
from ms_fusion.ledger import Work
from tbe_impl.backends.cpu.nests import Nest
from tbe_impl.backends.cpu.options import DEFAULT
from tbe_impl.backends.cpu.program import Layout, layout_of, storable
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
"""Values that are tried to be stored in a step, and steps."""


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
    """The plan of a group that costs least, as far as a few steps from everything together lead to it."""
    best = with_stored((), group, graph, device)
    for _ in range(STEPS):
        tried = [with_stored((*best.stored, name), group, graph, device) for name in _worth_storing(best, graph)]  # fmt: skip
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
    sizes = [size_bytes(item) for at, item in between.items() if all(at != id(one) for one in group.results)]  # fmt: skip
    cost_us += sum(size for size in sizes if size > device.on_chip_bytes) / FRESH_BYTES_PER_S * 1e6
    return Plan(tuple(names), tuple(nests), cost_us, layout)


def each_apart(group: Group, graph: Graph) -> tuple[str, ...]:
    """The values to store so that every operator has a nest of its own."""
    places = _places(group)
    return tuple(name for node in graph.nodes for name in node.outputs if id(group.values[name]) in places)  # fmt: skip


def numbers(names: Iterable[str], group: Group) -> tuple[int, ...]:
    """The numbers by which the back end knows values, of those that it can store."""
    places = _places(group)
    return tuple(sorted({places[at] for at in (id(group.values[name]) for name in names) if at in places}))  # fmt: skip


def _places(group: Group) -> dict[int, int]:
    """``id`` of what can be stored without being asked for → its number."""
    found = storable(group.results, group.inputs)
    return {id(tensor): at for at, tensor in enumerate(found)}


def _worth_storing(plan: Plan, graph: Graph) -> list[str]:
    """What several nests compute and hand to something that one of them computes alone; the dearest first."""
    repeated = plan.repeated
    found = [
        node
        for node in graph.nodes
        if node.name in repeated
        and not {*node.outputs} & {*graph.outputs, *plan.stored}
        and any(reader.name not in repeated for reader in graph.consumers.get(node.outputs[0], ()))
    ]
    found.sort(key=lambda node: -work_of(node, graph).flops)
    return [node.outputs[0] for node in found[:TRIED]]


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
    nest: Nest, layout: Layout, group: Group, graph: Graph, inside: Mapping[int, Node], device: Device
) -> tuple[list[Node], Work]:  # fmt: skip
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
