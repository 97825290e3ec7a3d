"""Where MindSpore's splitter cuts a cluster on CPU: by what the operators of a kernel do to their elements.

Elementwise operators and broadcasts join their neighbours when both compute equally many elements; a reduction takes
elementwise producers and gives nothing on; what moves elements to other places stays alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.operators import VIEWS
from ms_fusion.why_not.fusability import Settings
from ms_fusion.why_not.reasons import sentence

REDUCING = frozenset(
    "ReduceSum ReduceMax ReduceMin ReduceProd ReduceAll ReduceAny BiasAddGrad SquareSumAll".split()
)
"""They end in a reduction."""

REDUCING_FIRST = frozenset("Softmax LogSoftmax LayerNorm ReduceMean".split())
"""Expanded, they begin with a reduction and end elementwise: they take a producer, and give to a consumer."""

BROADCASTING_LAST = frozenset("ReluGrad Softmax LogSoftmax LayerNorm".split())
"""Expanded, they end in a broadcast: no reduction takes them (measured on 2.10)."""

BASIC_OPERATORS: Mapping[str, int] = MappingProxyType(
    {
        "AddN": 2,
        "BiasAddGrad": 1,
        "Erf": 23,
        "Erfc": 2,
        "FastGeLU": 9,
        "GeLU": 9,
        "GeLUGrad": 19,
        "HSigmoid": 4,
        "HSwish": 5,
        "LayerNorm": 12,
        "LogSoftmax": 6,
        "MaximumGrad": 3,
        "MinimumGrad": 3,
        "ReduceMean": 2,
        "ReluGrad": 2,
        "Sigmoid": 4,
        "SigmoidGrad": 3,
        "Sinh": 5,
        "Cosh": 5,
        "Softmax": 5,
        "Softplus": 7,
        "SoftplusGrad": 4,
        "SqrtGrad": 2,
        "SquareSumAll": 2,
        "SquaredDifference": 2,
        "TanhGrad": 3,
    }
)
"""How many basic operators an expanded one becomes (measured on 2.10); 1 where nothing stands here."""

MOVING = frozenset("Transpose StridedSlice Slice OneHot CumSum Gather Concat".split())
"""They move elements to other places."""

DEPTH = 20


@dataclass(frozen=True)
class Kernel:
    """What the operators of one kernel do, taken together.

    Attributes:
        size: number of basic operators, at most.
        reduction, moving, broadcast: an operator in it that does that, or None.
        members: full names of its operators.
    """

    size: int = 1
    reduction: Node | None = None
    moving: Node | None = None
    broadcast: Node | None = None
    members: frozenset[str] = frozenset()


def kernel_of(members: Iterable[tuple[Node, bool]], graph: Graph) -> Kernel:
    """The kernel of some operators, each with whether this kernel is where it ends."""
    size = 0
    reduction = moving = broadcast = None
    names = set()
    for node, ends in members:
        names.add(node.name)
        size += BASIC_OPERATORS.get(node.op, 1)
        if (ends and node.op in REDUCING) or (not ends and node.op in REDUCING_FIRST):
            reduction = reduction or node
        if node.op in MOVING:
            moving = moving or node
        if _broadcasts(node, graph) or (ends and node.op in BROADCASTING_LAST):
            broadcast = broadcast or node
    return Kernel(size, reduction, moving, broadcast, frozenset(names))


@dataclass(frozen=True)
class Pair:
    """Two operators, the value between them, and the kernel that each is in."""

    graph: Graph
    producer: Node
    consumer: Node
    value: Value
    given: Settings
    before: Kernel
    after: Kernel


def why_split(pair: Pair) -> tuple[str, str] | None:
    """Code and sentence of the rule that keeps the pair apart inside one cluster; None when no rule does."""
    if not pair.given.splits:
        return None
    names = {"producer": pair.producer.name, "consumer": pair.consumer.name}
    for node in (pair.producer, pair.consumer, pair.before.moving, pair.after.moving):
        if node is not None and node.op in MOVING:
            code = "splitter-transpose" if node.op == "Transpose" else "splitter-opaque"
            return code, sentence(code, name=node.name, op=node.op)
    if pair.before.reduction is not None:
        code = "splitter-after-reduction"
        return code, sentence(code, reduction=pair.before.reduction.name, device=pair.given.device)
    reduces = pair.consumer.op in REDUCING | REDUCING_FIRST
    if reduces and pair.before.broadcast is not None:
        code, broadcast = "splitter-broadcast", pair.before.broadcast.name
        return code, sentence(code, broadcast=broadcast, **names)
    if reduces and pair.before.size > DEPTH:
        return "depth-limit", sentence("depth-limit", size=pair.before.size, limit=DEPTH, **names)
    total = pair.before.size + pair.after.size
    if total > pair.given.limit:
        return "size-limit", sentence("size-limit", size=total, limit=pair.given.limit, **names)
    written = [value.elements for value in pair.graph.outputs_of(pair.consumer)]
    elements = pair.value.elements
    bound = not reduces and pair.consumer.op not in VIEWS
    if bound and written and elements not in written and _gives_to_others(pair):
        return "splitter-sizes", sentence(
            "splitter-sizes", elements=elements, other_elements=written[0], **names
        )
    return None


def _gives_to_others(pair: Pair) -> bool:
    """Whether the value, or another one of the producer's kernel with as many elements, is needed outside of the two."""
    graph, value = pair.graph, pair.value.name
    if value in graph.outputs or len(graph.consumers[value]) > 1:
        return True
    both = pair.before.members | pair.after.members | {pair.consumer.name}
    return any(
        made in graph.outputs
        or any(reader.name not in both for reader in graph.consumers.get(made, ()))
        for member in pair.before.members
        for made in graph.node(member).outputs
        if graph.values[made].elements == pair.value.elements
    )


def _broadcasts(node: Node, graph: Graph) -> bool:
    """Whether an input is spread over more elements than it has (one element is free)."""
    written = max((value.elements for value in graph.outputs_of(node)), default=0)
    if node.op in VIEWS | MOVING | REDUCING_FIRST:
        return False
    tensors = [value for value in graph.inputs_of(node) if value.kind != "constant"]
    return any(1 < value.elements < written for value in tensors)
