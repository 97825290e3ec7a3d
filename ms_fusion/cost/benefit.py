"""What one fused kernel saves over its operators apart, as one number in µs, with each of its terms.

    benefit = bytes not moved ÷ bandwidth + launches not paid × launch cost − tiling loss ÷ bandwidth − recomputation ÷ rate

- *bytes not moved*: results that stay inside, and inputs that several operators read; see `ms_fusion.cost.work` for what counts.
- *tiling loss*: bytes that one kernel reads again because a tile has to hold whole rows. A matrix product alone works in
  square tiles of t × t, a third of the on-chip memory each; with a normalisation before it, or a reduction behind it, its
  tiles hold r whole rows, so its weight is read ⌈M/r⌉ times instead of ⌈M/t⌉ times.
- *recomputation*: what stands before a pooling in its kernel is computed for every window that looks at it.
- *on-chip need*: a row of the widest reduction times the values that are alive at once. More than 80 % of the on-chip memory
  is refused.
- a matrix product that waits for another one in its kernel waits for whole rows of it: such a *pipeline* is judged by the
  same formula, with the rows of both. Products that wait for none of each other have to share an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ms_fusion.cost.work import is_matrix_product, work_of
from ms_fusion.devices import Device
from ms_fusion.graph import DTYPE_BYTES, Graph, Node

CAPACITY_SHARE = 0.8
REDUCING = frozenset(
    """Softmax LogSoftmax LayerNorm RmsNorm BatchNorm InstanceNormalization GroupNorm ReduceSum ReduceMean ReduceMax
    ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp""".split()
)
"""Operators that need a whole row before they have a result."""


POOLINGS = frozenset({"MaxPool", "AvgPool"})
"""Operators whose windows overlap."""
IMAGES = frozenset({"Conv2D", "Conv2DTranspose"})
"""Matrix products whose columns are channels: the places of an image are its rows."""


@dataclass(frozen=True)
class Benefit:
    """One candidate in numbers.

    Attributes:
        saved_bytes: bytes not moved.
        saved_launches: launches not paid.
        loss_bytes: bytes read again because tiles hold whole rows.
        recomputed_flops: done again because windows overlap.
        on_chip_bytes: what one tile needs.
        us: the benefit; negative where the kernel is slower.
        refused: why it cannot be, whatever it would save; else empty.
    """

    saved_bytes: int
    saved_launches: int
    loss_bytes: int
    recomputed_flops: int
    on_chip_bytes: int
    us: float
    refused: str = ""

    @property
    def is_worth_it(self) -> bool:
        return not self.refused and self.us > 0


Split = Callable[[Graph], Sequence[Graph]]
"""A body → what each kernel computes that it becomes on a device."""


def _as_one(body: Graph) -> Sequence[Graph]:
    return (body,)


def benefit(fused: Node, graph: Graph, device: Device, split: Split = _as_one) -> Benefit:
    """What the operators in the body of `fused` save as one kernel.

    Args:
        fused: with a body; its inputs and outputs are values of `graph`.
        graph: with sizes that are known, or assumed.
        device: where it runs.
        split: where products are calls of a library that takes little along, the calls and what lies between them: they are
            launched as one, and hand results over in memory.
    """
    assert fused.body is not None
    body = fused.body
    parts = split(body)
    apart = [work_of(node, body) for node in body.nodes]
    whole = [work_of(Node(part.name, "Part", part.inputs, part.outputs, body=part), part) for part in parts]  # fmt: skip
    products = [node for node in body.nodes if is_matrix_product(node.op)]
    launches = sum(work.launches for work in apart) - 1
    saved = sum(work.bytes for work in apart) - sum(work.bytes for work in whole)
    chips = [_on_chip(part) for part in parts]
    need = max(one for one, _ in chips)
    loss = sum(
        _loss(node, part, rows, device)
        for part, (_, rows) in zip(parts, chips, strict=True)
        for node in part.nodes
        if rows and is_matrix_product(node.op)
    )
    rate = device.rate_of_bytes(sum(body.values[name].bytes for name in _held(body)))
    again = sum(_recomputed(part) for part in parts)
    us = (saved - loss) / rate * 1e6 + launches * device.launch_us - again / device.rate(matrix=False) * 1e6  # fmt: skip
    limit = int(CAPACITY_SHARE * device.on_chip_bytes)
    refused = ""
    if need > limit:
        refused = f"a tile needs {need} bytes on chip, and {limit} ({CAPACITY_SHARE:.0%} of {device.on_chip_bytes}) may be used"  # fmt: skip
    elif len(parts) == 1 and _are_strangers(products, body):
        refused = f"{len(products)} matrix products in one kernel, and nothing that they share"
    return Benefit(saved, launches, loss, again, need, us, refused)


def _recomputed(part: Graph) -> int:
    """FLOPs that are done once more for each further window that looks at their result."""
    times: dict[str, float] = {}
    for node in reversed(part.nodes):
        own = max((times.get(name, 1.0) for name in node.outputs), default=1.0)
        spans, strides = node.attr("kernel_shape") or (1,), node.attr("strides") or (1,)
        if node.op in POOLINGS and isinstance(spans, tuple) and isinstance(strides, tuple):
            own *= max(math.prod(spans) / max(math.prod(strides), 1), 1.0)
        reached = 1.0 if is_matrix_product(node.op) else own
        times |= {name: max(times.get(name, 1.0), reached) for name in node.inputs}
    inside = ((times.get(node.outputs[0], 1.0), node) for node in part.nodes if not is_matrix_product(node.op))  # fmt: skip
    return round(sum((count - 1) * work_of(node, part).flops for count, node in inside))


def _held(body: Graph) -> Iterable[str]:
    """Every tensor that the operators read or write."""
    return dict.fromkeys(name for node in body.nodes for name in (*node.inputs, *node.outputs))


def _on_chip(body: Graph) -> tuple[int, int]:
    """Bytes that the smallest tile needs, and those of one row where whole rows are needed, else 0."""
    rows = [_row_bytes(node, body) for node in body.nodes if _needs_rows(node)]
    rows += [_last(body, node.outputs[0]) for node in _waited_for(body)]
    alive = _alive(body.nodes)
    row = max(rows, default=0)
    return (row * alive, row) if row else (256 * alive, 0)


def _needs_rows(node: Node) -> bool:
    """A batch normalisation reduces in training only; else its statistics are given."""
    if node.op == "BatchNorm":
        return bool(node.attr("is_training") or node.attr("training_mode"))
    return node.op in REDUCING


def _waited_for(body: Graph) -> list[Node]:
    """The matrix products whose result, or what is made of it, another one reads."""
    behind: dict[str, frozenset[str]] = {}
    found: dict[str, Node] = {}
    for node in body.nodes:
        before = frozenset[str]().union(*(behind.get(name, frozenset()) for name in node.inputs))
        if is_matrix_product(node.op):
            found |= {name: body.node(name) for name in before}
            before |= {node.name}
        behind |= dict.fromkeys(node.outputs, before)
    return list(found.values())


def _are_strangers(products: Sequence[Node], body: Graph) -> bool:
    """Whether there are several, none waits for another, and no input is read by all."""
    if len(products) < 2 or _waited_for(body):
        return False
    return not set(products[0].inputs).intersection(*(node.inputs for node in products[1:]))


def _row_bytes(node: Node, body: Graph) -> int:
    """Of the axes that a reduction runs over, the innermost ones taken together."""
    source = body.values[node.inputs[0]]
    reduced = max(source.elements // max(body.values[node.outputs[0]].elements, 1), 1)
    itemsize = DTYPE_BYTES.get(source.dtype, 4)
    last = source.shape[-1] if source.shape and isinstance(source.shape[-1], int) else 1
    return max(reduced, last if reduced == 1 else 1) * itemsize


def _last(body: Graph, name: str) -> int:
    value = body.values[name]
    last = value.shape[-1] if value.shape and isinstance(value.shape[-1], int) else 1
    return last * DTYPE_BYTES.get(value.dtype, 4)


def _alive(nodes: Sequence[Node]) -> int:
    """The most values that are alive at once when the operators run in this order."""
    last = {name: place for place, node in enumerate(nodes) for name in node.inputs}
    alive: set[str] = set()
    most = 1
    for place, node in enumerate(nodes):
        alive |= {*node.inputs, *node.outputs}
        most = max(most, len(alive))
        alive = {name for name in alive if last.get(name, -1) > place}
    return most


def _loss(product: Node, body: Graph, row_bytes: int, device: Device) -> int:
    """Bytes of the weight that are read again because tiles hold whole rows."""
    result = body.values[product.outputs[0]]
    weight = body.values[product.inputs[1]]
    columns = result.shape[1 if product.op in IMAGES else -1] if len(result.shape) > 1 else 0
    if not isinstance(columns, int) or not columns:
        return 0
    itemsize = DTYPE_BYTES.get(result.dtype, 4)
    rows = max(result.elements // columns, 1)
    square = max(int(math.sqrt(device.on_chip_bytes / 3 / itemsize)), 1)
    whole = max(int(CAPACITY_SHARE * device.on_chip_bytes / 2) // max(row_bytes, 1), 1)
    again = math.ceil(rows / whole) - math.ceil(rows / square)
    return max(again, 0) * weight.bytes
