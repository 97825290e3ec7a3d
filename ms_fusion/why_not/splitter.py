"""Models where MindSpore's splitter cuts a cluster on CPU.

MindSpore puts an elementwise operator or a broadcast into one kernel with a neighbour if both
compute the same number of elements. MindSpore puts a reduction into one kernel with the elementwise
producers of the reduction's input, but with no consumer of the reduction's result. An operator that
moves data (such as Transpose) gets a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import operator_info, operators_where
from ms_fusion.ops.op_info import Split
from ms_fusion.ops.selections import VIEWS
from ms_fusion.why_not.fusibility import Settings
from ms_fusion.why_not.reasons import sentence

REDUCTION_OPERATORS = operators_where(
    lambda operator: Split.ENDS_IN_REDUCTION in operator.mindspore.split
)
"""Operators whose expansion ends in a reduction."""

REDUCTION_FIRST_OPERATORS = operators_where(
    lambda operator: Split.BEGINS_WITH_REDUCTION in operator.mindspore.split
)
"""Operators whose expansion begins with a reduction and ends elementwise.

Such an operator is fused with its producers and with its consumers.
"""

BROADCAST_LAST_OPERATORS = operators_where(
    lambda operator: Split.ENDS_IN_BROADCAST in operator.mindspore.split
)
"""Operators whose expansion ends in a broadcast, so MindSpore does not fuse them with a reduction.

This was measured on MindSpore 2.10.
"""

DATA_MOVEMENT_OPERATORS = operators_where(lambda operator: Split.OPAQUE in operator.mindspore.split)
"""Operators that move elements to other positions."""

DEPTH = 20


@dataclass(frozen=True)
class KernelTraits:
    """Combined traits of the operators of one kernel.

    Attributes:
        size: upper bound of the number of basic operators in the kernel.
        reduction: the first reduction in the kernel, or None if the kernel has no reduction.
        data_movement: the first data movement operator in the kernel, or None if there is none.
        broadcast: the first broadcast in the kernel, or None if the kernel has no broadcast.
        members: full names of the kernel's operators.
    """

    size: int = 1
    reduction: Node | None = None
    data_movement: Node | None = None
    broadcast: Node | None = None
    members: frozenset[str] = frozenset()


def kernel_of(members: Iterable[tuple[Node, bool]], graph: Graph) -> KernelTraits:
    """Returns the traits of the kernel with the given members.

    An operator can be split over several kernels. Therefore each member is a pair (operator,
    whether the operator's last part is in this kernel).
    """
    size = 0
    reduction = moving = broadcast = None
    names = set()
    for node, ends in members:
        names.add(node.name)
        size += operator_info(node.op).mindspore.basics
        if (ends and node.op in REDUCTION_OPERATORS) or (
            not ends and node.op in REDUCTION_FIRST_OPERATORS
        ):
            reduction = reduction or node
        if node.op in DATA_MOVEMENT_OPERATORS:
            moving = moving or node
        if _is_broadcast(node, graph) or (ends and node.op in BROADCAST_LAST_OPERATORS):
            broadcast = broadcast or node
    return KernelTraits(size, reduction, moving, broadcast, frozenset(names))


@dataclass(frozen=True)
class Pair:
    """A producer, a consumer and the value between them.

    Attributes:
        graph: the graph of both operators.
        producer, consumer: the nodes of the two operators.
        value: a value that the producer writes and the consumer reads.
        given: the settings (device and MindSpore's fusion flags) under which MindSpore fuses.
        before, after: traits of the producer's kernel and of the consumer's kernel.
    """

    graph: Graph
    producer: Node
    consumer: Node
    value: Value
    given: Settings
    before: KernelTraits
    after: KernelTraits


def split_reason(pair: Pair) -> tuple[str, str] | None:
    """Returns the splitter rule that separates two operators of one cluster: (code, sentence).

    Returns None if no rule separates the two operators.
    """
    if not pair.given.has_splitter:
        return None
    names = {"producer": pair.producer.name, "consumer": pair.consumer.name}
    for node in (pair.producer, pair.consumer, pair.before.data_movement, pair.after.data_movement):
        if node is not None and node.op in DATA_MOVEMENT_OPERATORS:
            code = "splitter-transpose" if node.op == "Transpose" else "splitter-opaque"
            return code, sentence(code, name=node.name, op=node.op)
    if pair.before.reduction is not None:
        code = "splitter-after-reduction"
        return code, sentence(code, reduction=pair.before.reduction.name, device=pair.given.device)
    reduces = pair.consumer.op in REDUCTION_OPERATORS | REDUCTION_FIRST_OPERATORS
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
    if bound and written and elements not in written and _has_outside_readers(pair):
        return "splitter-sizes", sentence(
            "splitter-sizes", elements=elements, other_elements=written[0], **names
        )
    return None


def _has_outside_readers(pair: Pair) -> bool:
    """Whether the producer's kernel computes a value that is also needed outside of both kernels.

    The result is True in two cases:

    - the value between the two operators is a graph output or has a second reader;
    - the producer's kernel computes another value with the same number of elements, and that value
      is a graph output or has a reader outside both kernels.
    """
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


def _is_broadcast(node: Node, graph: Graph) -> bool:
    """Whether the operator broadcasts an input with more than one element."""
    written = max((value.elements for value in graph.outputs_of(node)), default=0)
    if node.op in VIEWS | DATA_MOVEMENT_OPERATORS | REDUCTION_FIRST_OPERATORS:
        return False
    tensors = [value for value in graph.inputs_of(node) if value.kind != "constant"]
    return any(1 < value.elements < written for value in tensors)
