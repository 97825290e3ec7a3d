"""What one fused kernel saves over its operators apart, as one number in µs, with each of its terms.

    benefit = bytes not moved ÷ bandwidth + launches not paid × launch cost − tiling loss ÷ bandwidth − recomputation ÷ rate − hidden

- *bytes not moved*: results that stay inside, and inputs that several operators read; see `ms_fusion.cost.work` for what counts.
- *tiling loss*: bytes that one kernel reads again because of how its tiles have to lie; see `ms_fusion.cost.tiling`.
- *recomputation*: what stands before a pooling in its kernel is computed for every window that looks at it.
- *hidden*: where products are calls of a library, their bytes move while they compute. A call takes as long as the slower of the two, so
  a byte that it does not move saves time only if it waited for bytes, and one that it moves besides costs time only then:
  hidden = moved − taken, for what is saved, where moved counts bytes ÷ bandwidth and taken max(bytes ÷ bandwidth, FLOPs ÷ rate).
- *on-chip need*: what the smallest tile holds. More than 80 % of the on-chip memory is refused.
- matrix products that wait for none of each other have to share an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ms_fusion.cost.tiling import CAPACITY_SHARE, tiling, waited_for
from ms_fusion.cost.work import is_matrix_product, work_of
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node

POOLINGS = frozenset({"MaxPool", "AvgPool"})
"""Operators whose windows overlap."""


@dataclass(frozen=True)
class Benefit:
    """One candidate in numbers.

    Attributes:
        saved_bytes: bytes not moved.
        saved_launches: launches not paid.
        loss_bytes: bytes read again because tiles hold whole rows.
        recomputed_flops: done again because windows overlap.
        on_chip_bytes: what one tile needs.
        hidden_us: of the time of what is not moved, what library calls compute meanwhile.
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
    hidden_us: float = 0.0

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
    products = _products(body)
    launches = sum(work.launches for work in apart) - 1
    saved = sum(work.bytes for work in apart) - sum(work.bytes for work in whole)
    tiled = [tiling(part, device) for part in parts]
    need = max(one.on_chip_bytes for one in tiled)
    loss = sum(one.loss_bytes for one in tiled)
    rate = device.rate_of_bytes(sum(body.values[name].bytes for name in _held(body)))
    again = sum(_recomputed(part) for part in parts)
    hidden = 0.0
    if split is not _as_one and sum(len(_products(part)) for part in parts) == len(products):
        alone = (_computing_us([node], body, work.bytes, device, rate) for node, work in zip(body.nodes, apart, strict=True))  # fmt: skip
        calls = (_computing_us(_products(part), part, work.bytes, device, rate) for part, work in zip(parts, whole, strict=True))  # fmt: skip
        hidden = sum(calls) - sum(alone)
    us = (saved - loss) / rate * 1e6 + launches * device.launch_us - again / device.rate(matrix=False) * 1e6 - hidden  # fmt: skip
    limit = int(CAPACITY_SHARE * device.on_chip_bytes)
    refused = ""
    if need > limit:
        refused = f"a tile needs {need} bytes on chip, and {limit} ({CAPACITY_SHARE:.0%} of {device.on_chip_bytes}) may be used"  # fmt: skip
    elif len(parts) == 1 and _are_strangers(products, body):
        refused = f"{len(products)} matrix products in one kernel, and nothing that they share"
    return Benefit(saved, launches, loss, again, need, us, refused, hidden)


def _products(part: Graph) -> list[Node]:
    return [node for node in part.nodes if is_matrix_product(node.op)]


def _computing_us(nodes: Iterable[Node], part: Graph, moved: int, device: Device, rate: float) -> float:  # fmt: skip
    """µs that the products among the operators still compute when so many bytes have moved; what a call takes along costs none."""
    flops = sum(work_of(node, part).flops for node in nodes if is_matrix_product(node.op))
    return max(flops / device.rate(matrix=True) - moved / rate, 0.0) * 1e6


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


def _are_strangers(products: Sequence[Node], body: Graph) -> bool:
    """Whether there are several, none waits for another, and no input is read by all."""
    if len(products) < 2 or waited_for(body):
        return False
    return not set(products[0].inputs).intersection(*(node.inputs for node in products[1:]))
