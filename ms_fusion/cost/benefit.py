"""What one fused kernel saves over its operators apart, as one number in µs, with each of its terms.

    benefit = bytes not moved ÷ bandwidth + launches not paid × launch cost − loss ÷ bandwidth − recomputation ÷ rate − hidden

- *bytes not moved*: results that stay inside, and inputs that several operators read; see `ms_fusion.cost.work` for what counts.
- *loss*: bytes that one kernel reads again because of how its tiles have to lie; see `ms_fusion.cost.tiling`. Where products are
  calls of a library, relu and a residual sum are passes over the result behind the call, and count as such.
- *recomputation*: what stands before a pooling in its kernel is computed for every window that looks at it. In a kernel of ours on
  a processor, what is read directly and at another place besides is computed for each (`ms_fusion.cost.transposed_reads`), by all cores
  where the kernel is large enough to be shared.
- *hidden*: where products are calls of a library, bytes move while it or a kernel of ours computes. A kernel takes as long as the slower
  of the two, so a byte that it does not move saves time only if it waited for bytes, and one that it moves besides costs time
  only then: hidden = moved − taken, for what is saved, where moved counts bytes ÷ bandwidth and taken max(bytes ÷ bandwidth,
  computing). A call computes its FLOPs, and what it takes along costs none; a kernel of ours its `ms_fusion.cost.vector_steps`.
  The sum behind a matrix product goes over tiles that the nearest cache still holds, so that its pass is that much quicker.
- *bandwidth*: that of the memory which holds what the largest of the operators moves; scratch memory is used again.
- *on-chip need*: what the smallest tile holds. More than 80 % of the on-chip memory, or what a constraint says, is refused.
- matrix products that wait for none of each other have to share an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ms_fusion.cost.tiling import CAPACITY_SHARE, IMAGES, tiling, waited_for
from ms_fusion.cost.transposed_reads import repeated_steps
from ms_fusion.cost.vector_steps import vector_steps
from ms_fusion.cost.work import bytes_as_one, is_matrix_product, work_of
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node

POOLINGS = frozenset({"MaxPool", "AvgPool"})
"""Operators whose windows overlap."""
RELU = frozenset({"ReLU", "Maximum"})
"""As a model has it, and as those have it who call a library."""
SHARED_ELEMENTS = 1 << 19
"""Elements of inputs and results from which several cores share a kernel on a processor, as `tbe_impl` has it."""


@dataclass(frozen=True)
class Benefit:
    """One candidate in numbers.

    Attributes:
        saved_bytes: bytes not moved.
        saved_launches: launches not paid.
        loss_bytes: bytes read again because tiles hold whole rows, or by passes behind a call.
        recomputed_flops: done again because windows overlap.
        on_chip_bytes: what one tile needs.
        hidden_us: of the time of what is not moved, what is computed meanwhile.
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


def benefit(
    fused: Node,
    graph: Graph,
    device: Device,
    split: Split = _as_one,
    capacity_share: float = CAPACITY_SHARE,
) -> Benefit:
    """What the operators in the body of `fused` save as one kernel.

    Args:
        fused: with a body; its inputs and outputs are values of `graph`.
        graph: with sizes that are known, or assumed.
        device: where it runs.
        split: where products are calls of a library that takes little along, the calls and what lies between them: they are
            launched as one, and hand results over in memory.
        capacity_share: of the on-chip memory that a tile may fill.
    """
    assert fused.body is not None
    body = fused.body
    parts = split(body)
    apart = [work_of(node, body) for node in body.nodes]
    whole = [bytes_as_one(part) for part in parts]
    products = _products(body)
    launches = sum(work.launches for work in apart) - 1
    saved = sum(work.bytes for work in apart) - sum(whole)
    tiled = [tiling(part, device) for part in parts]
    need = max(one.on_chip_bytes for one in tiled)
    loss = sum(one.loss_bytes for one in tiled)
    rate = device.rate_of_bytes(max(work.bytes for work in apart))
    again = sum(_recomputed(part) for part in parts)
    hidden = 0.0
    if split is not _as_one and sum(len(_products(part)) for part in parts) == len(products):
        passes = [_passed(part) for part in parts]
        alone = (
            _takes_us([node], body, work.bytes, device, rate)
            for node, work in zip(body.nodes, apart, strict=True)
        )
        kernels = (
            _takes_us(
                part.nodes, part, moved - one.read_bytes, device, rate, _repeated(part, device)
            )
            for part, moved, one in zip(parts, whole, passes, strict=True)
        )
        near = device.rate_of_bytes(0)
        passing = (
            one.read_bytes / rate + one.more_bytes / (near if one.is_tiled else rate)
            for one in passes
        )
        taken_us = sum(alone) - sum(kernels) - (loss / rate + sum(passing)) * 1e6
        loss += sum(one.more_bytes for one in passes)
        hidden = (saved - loss) / rate * 1e6 - taken_us
    us = (
        (saved - loss) / rate * 1e6
        + launches * device.launch_us
        - again / device.rate(matrix=False) * 1e6
        - hidden
    )
    limit = int(capacity_share * device.on_chip_bytes)
    refused = ""
    if need > limit:
        refused = f"a tile needs {need} bytes on chip, and {limit} ({capacity_share:.0%} of {device.on_chip_bytes}) may be used"
    elif len(parts) == 1 and _are_strangers(products, body):
        refused = f"{len(products)} matrix products in one kernel, and nothing that they share"
    return Benefit(saved, launches, loss, again, need, us, refused, hidden)


def _products(part: Graph) -> list[Node]:
    return [node for node in part.nodes if is_matrix_product(node.op)]


def _takes_us(
    nodes: Sequence[Node],
    part: Graph,
    moved: int,
    device: Device,
    rate: float,
    repeated: float = 0.0,
) -> float:
    """µs that a kernel takes which moves so many bytes and repeats so many steps; what a call takes along costs none."""
    products = [node for node in nodes if is_matrix_product(node.op)]
    if products:
        computing = sum(work_of(node, part).flops for node in products) / device.rate(matrix=True)
        return max(computing, moved / rate) * 1e6
    steps = sum(vector_steps(node, part) for node in nodes) + repeated
    computing = steps / device.rate(matrix=False)
    return max(computing, moved / rate) * 1e6


def _repeated(part: Graph, device: Device) -> float:
    """Steps that one core takes once more, since values are computed for each place that they are read at."""
    elements = sum(part.values[name].elements for name in (*part.inputs, *part.outputs))
    return repeated_steps(part) / (device.cores if elements >= SHARED_ELEMENTS else 1)


@dataclass(frozen=True)
class _Passed:
    """What is a pass over the result of a call.

    Attributes:
        more_bytes: of the result, read and written once more for each.
        read_bytes: of what is added, which the pass reads and not the call.
        is_tiled: whether the pass goes over tiles that the nearest cache still holds.
    """

    more_bytes: int = 0
    read_bytes: int = 0
    is_tiled: bool = False


def _passed(part: Graph) -> _Passed:
    """Of a call of a library, relu and the sum with something of the same shape."""
    if not _products(part):
        return _Passed()
    more = read = 0
    is_tiled = all(node.op not in IMAGES for node in _products(part))
    for node in part.nodes:
        result = part.outputs_of(node)[0]
        residual = node.op == "Add" and all(
            value.shape == result.shape for value in part.inputs_of(node)
        )
        if residual or node.op in RELU:
            more += 2 * result.bytes
            read += result.bytes * residual
            is_tiled = is_tiled and residual
    return _Passed(more, read, is_tiled)


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
    inside = (
        (times.get(node.outputs[0], 1.0), node)
        for node in part.nodes
        if not is_matrix_product(node.op)
    )
    return round(
        sum((count - 1) * work_of(node, part).flops for count, node in inside if count > 1)
    )


def _are_strangers(products: Sequence[Node], body: Graph) -> bool:
    """Whether there are several, none waits for another, and no input is read by all."""
    if len(products) < 2 or waited_for(body):
        return False
    return not set(products[0].inputs).intersection(*(node.inputs for node in products[1:]))
