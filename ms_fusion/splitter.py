"""Where MindSpore's splitter cuts a cluster on CPU: by what an operator does to its elements, not by its name alone.

Elementwise operators and broadcasts join their neighbours when both compute equally many elements; a reduction takes
elementwise producers and nothing behind it; what moves elements to other places stays alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ms_fusion.fusability import VIEWS, Settings
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.reasons import sentence

REDUCING = frozenset(
    "ReduceSum ReduceMax ReduceMin ReduceProd ReduceAll ReduceAny BiasAddGrad SquareSumAll".split()
)
"""They end in a reduction."""

REDUCING_FIRST = frozenset("Softmax LogSoftmax LayerNorm ReduceMean".split())
"""Expanded, they begin with a reduction and end elementwise: they take a producer, and give to a consumer."""

MOVING = frozenset("StridedSlice Slice OneHot CumSum Gather Concat".split())
DEPTH = 20


@dataclass(frozen=True)
class Pair:
    """Two operators and the value between them."""

    graph: Graph
    producer: Node
    consumer: Node
    value: Value
    given: Settings


def why_split(pair: Pair, producer_size: int, consumer_size: int) -> tuple[str, str] | None:
    """Code and sentence of the rule that keeps the pair apart inside one cluster; None when no rule does.

    Args:
        producer_size, consumer_size: number of operators in the kernel of each.
    """
    producer, consumer = pair.producer, pair.consumer
    names = {"producer": producer.name, "consumer": consumer.name}
    for node in (producer, consumer):
        if node.op == "Transpose":
            return "splitter-transpose", sentence("splitter-transpose", name=node.name)
    if producer.op in REDUCING:
        detail = sentence(
            "splitter-after-reduction", reduction=producer.name, device=pair.given.device
        )
        return "splitter-after-reduction", detail
    for node in (producer, consumer):
        if node.op in MOVING:
            return "splitter-opaque", sentence("splitter-opaque", name=node.name, op=node.op)
    reduces = consumer.op in REDUCING | REDUCING_FIRST
    if reduces and _broadcasts(producer, pair.graph):
        shape = "(" + ", ".join(map(str, pair.value.shape)) + ")"
        return "splitter-broadcast", sentence("splitter-broadcast", shape=shape, **names)
    if reduces and producer_size > DEPTH:
        return "depth-limit", sentence("depth-limit", size=producer_size, limit=DEPTH, **names)
    if producer_size + consumer_size > pair.given.limit:
        total = producer_size + consumer_size
        return "size-limit", sentence("size-limit", size=total, limit=pair.given.limit, **names)
    written = [value.elements for value in pair.graph.outputs_of(consumer)]
    if not reduces and consumer.op not in VIEWS and written and pair.value.elements not in written:
        return "splitter-sizes", sentence(
            "splitter-sizes", elements=pair.value.elements, other_elements=written[0], **names
        )
    return None


def _broadcasts(node: Node, graph: Graph) -> bool:
    """Whether an input is spread over more elements than it has (one element is free)."""
    written = max((value.elements for value in graph.outputs_of(node)), default=0)
    return node.op not in VIEWS and any(
        1 < value.elements < written for value in graph.inputs_of(node)
    )
