"""How the tiles of a kernel lie: what one of them needs on chip, and what is read again because of it.

A matrix product alone works in square tiles of t × t, a third of the on-chip memory each. In one kernel

- with a reduction *before* it, statistics are made in a pass of their own: the source is read once more;
- with a softmax between it and a second product, rows of the first are streamed (sums are rescaled as they grow): a tile holds r
  rows of the first operand and of the last result, and both right operands are read ⌈M/r⌉ times instead of ⌈M/t⌉ times;
- with another reduction behind it, or a second product that waits for it, tiles hold r whole rows, and its right operand is
  read ⌈M/r⌉ times instead of ⌈M/t⌉ times.

Without a product a tile is a row of the widest reduction, times the values that are alive at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.cost.work import is_matrix_product
from ms_fusion.devices import Device
from ms_fusion.graph import DTYPE_BYTES, Graph, Node

CAPACITY_SHARE = 0.8
REDUCING = frozenset(
    """Softmax LogSoftmax LayerNorm RmsNorm BatchNorm InstanceNormalization GroupNorm ReduceSum ReduceMean ReduceMax
    ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp""".split()
)
"""Operators that need a whole row before they have a result."""


STREAMED = frozenset({"Softmax"})
"""Reductions that can be made while rows arrive, when a product follows."""
IMAGES = frozenset({"Conv2D", "Conv2DTranspose"})
"""Matrix products whose columns are channels: the places of an image are its rows."""


@dataclass(frozen=True)
class Tiling:
    """What tiles need.

    Attributes:
        on_chip_bytes: of the smallest one.
        loss_bytes: read again.
    """

    on_chip_bytes: int
    loss_bytes: int


def tiling(part: Graph, device: Device) -> Tiling:
    """How the tiles of a kernel lie.

    Args:
        part: what it computes, with sizes that are known, or assumed.
        device: where it runs.
    """
    behind = _products_behind(part)
    products = [node for node in part.nodes if is_matrix_product(node.op)]
    before, rows = [0], []
    streamed = False
    for node in part.nodes:
        if not _needs_rows(node):
            continue
        awaited = behind[node.inputs[0]]
        followed = any(
            name in behind[one.inputs[0]] or node.outputs[0] in one.inputs[:2]
            for name in awaited
            for one in products
        )
        if not awaited and products:
            before.append(part.values[node.inputs[0]].bytes)
        elif awaited and followed and node.op in STREAMED:
            streamed = True
        else:
            rows.append(_row_bytes(node, part))
    waited = _waited_for(part, behind)
    if not streamed:
        rows += [_last(part, node.outputs[0]) for node in waited]
    row, alive = max(rows, default=0), _alive(part.nodes)
    loss = max(before)
    if row and products:
        loss += sum(_again(node, part, row, device) for node in products)
    elif streamed:
        held = sum(_last(part, name) for name in (waited[0].inputs[0], products[-1].outputs[0]))
        loss += sum(_again(node, part, held, device) for node in (waited[0], products[-1]))
    return Tiling(row * alive if row else 256 * alive, loss)


def _products_behind(part: Graph) -> Mapping[str, frozenset[str]]:
    """Value → the matrix products that it is made of."""
    found: dict[str, frozenset[str]] = {name: frozenset() for name in part.values}
    for node in part.nodes:
        before = frozenset[str]().union(*(found[name] for name in node.inputs))
        own = before | {node.name} if is_matrix_product(node.op) else before
        found |= dict.fromkeys(node.outputs, own)
    return found


def waited_for(part: Graph) -> list[Node]:
    """The matrix products whose result, or what is made of it, another one reads."""
    return _waited_for(part, _products_behind(part))


def _waited_for(part: Graph, behind: Mapping[str, frozenset[str]]) -> list[Node]:
    names = {
        name
        for node in part.nodes
        if is_matrix_product(node.op)
        for value in node.inputs
        for name in behind[value]
    }
    return [node for node in part.nodes if node.name in names]


def _needs_rows(node: Node) -> bool:
    """A batch normalisation reduces in training only; else its statistics are given."""
    if node.op == "BatchNorm":
        return bool(node.attr("is_training") or node.attr("training_mode"))
    return node.op in REDUCING


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


def _again(product: Node, part: Graph, row_bytes: int, device: Device) -> int:
    """Bytes of the right operand that are read again because tiles hold so many bytes of each row."""
    result = part.values[product.outputs[0]]
    weight = part.values[product.inputs[1]]
    columns = result.shape[1 if product.op in IMAGES else -1] if len(result.shape) > 1 else 0
    if not isinstance(columns, int) or not columns:
        return 0
    rows = max(result.elements // columns, 1)
    if product.op not in IMAGES and len(weight.shape) > 2 and isinstance(result.shape[-2], int):
        rows = result.shape[-2]  # each matrix of a batch has a right operand of its own
    square = max(int(math.sqrt(device.on_chip_bytes / 3 / DTYPE_BYTES.get(result.dtype, 4))), 1)
    whole = max(int(CAPACITY_SHARE * device.on_chip_bytes / 2) // max(row_bytes, 1), 1)
    return max(math.ceil(rows / whole) - math.ceil(rows / square), 0) * weight.bytes
