"""Models the tiling of a kernel: on-chip bytes of a tile, and bytes that tiles read again.

A single matrix product uses square tiles of t × t elements, each of which fills a third of the
on-chip memory. Let M be the number of rows of the product. Let r be the number of whole rows that
fit in half of the usable on-chip memory. Other operators in the same kernel change the tiling:

- a reduction *before* the product needs a separate pass for its statistics. This pass reads the
  operand of the reduction once more;
- if a softmax is between the product and a second product, rows of the first product are streamed
  (online softmax). A tile contains r rows of the first operand and of the last result. The right
  operands of both products are read ⌈M/r⌉ times instead of ⌈M/t⌉ times;
- if another reduction follows the product, or if a second product depends on the product, tiles
  contain r whole rows. The product's right operand is read ⌈M/r⌉ times instead of ⌈M/t⌉ times.

If the kernel has no product, a tile contains one row of the widest reduction for each live value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.cost.work import is_matrix_product
from ms_fusion.devices import Device
from ms_fusion.graph import DTYPE_BYTES, Graph, Node
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait

CAPACITY_SHARE = 0.8
ROW_REDUCTIONS = operators_with(Trait.ROW_REDUCTION)
"""Operators that must read a whole row before they produce a result."""


ONLINE_REDUCTIONS = frozenset({"Softmax"})
"""Reductions before a product that can be computed while rows are streamed (online)."""
CONVOLUTIONS = frozenset({"Conv2D", "Conv2DTranspose"})
"""Convolutions, modelled as matrix products: pixels are the rows, channels are the columns."""


@dataclass(frozen=True)
class Tiling:
    """The modelled cost of a kernel's tiling.

    Attributes:
        on_chip_bytes: bytes of the smallest tile.
        loss_bytes: bytes that are re-read because of the tiles.
    """

    on_chip_bytes: int
    loss_bytes: int


def tiling(part: Graph, device: Device) -> Tiling:
    """Returns the modelled tiling of a kernel.

    Args:
        part: the kernel's graph, with known or assumed sizes.
        device: the device, whose on-chip memory limits the tiles.
    """
    behind = _source_products(part)
    products = [node for node in part.nodes if is_matrix_product(node.op)]
    before, rows = [0], []
    streamed = False
    for node in part.nodes:
        if not _is_row_reduction(node):
            continue
        awaited = behind[node.inputs[0]]
        followed = any(
            name in behind[one.inputs[0]] or node.outputs[0] in one.inputs[:2]
            for name in awaited
            for one in products
        )
        if not awaited and products:
            before.append(part.values[node.inputs[0]].bytes)
        elif awaited and followed and node.op in ONLINE_REDUCTIONS:
            streamed = True
        else:
            rows.append(_row_bytes(node, part))
    waited = _upstream_products(part, behind)
    if not streamed:
        rows += [_last_axis_bytes(part, node.outputs[0]) for node in waited]
    row, alive = max(rows, default=0), _peak_live_values(part.nodes)
    loss = max(before)
    if row and products:
        loss += sum(_reread_bytes(node, part, row, device) for node in products)
    elif streamed:
        held = sum(
            _last_axis_bytes(part, name) for name in (waited[0].inputs[0], products[-1].outputs[0])
        )
        loss += sum(_reread_bytes(node, part, held, device) for node in (waited[0], products[-1]))
    return Tiling(row * alive if row else 256 * alive, loss)


def _source_products(part: Graph) -> Mapping[str, frozenset[str]]:
    """Returns a dict from a value's name to the names of the matrix products that it depends on."""
    found: dict[str, frozenset[str]] = {name: frozenset() for name in part.values}
    for node in part.nodes:
        before = frozenset[str]().union(*(found[name] for name in node.inputs))
        own = before | {node.name} if is_matrix_product(node.op) else before
        found |= dict.fromkeys(node.outputs, own)
    return found


def upstream_products(part: Graph) -> list[Node]:
    """Returns the matrix products on which another product depends, directly or indirectly."""
    return _upstream_products(part, _source_products(part))


def _upstream_products(part: Graph, behind: Mapping[str, frozenset[str]]) -> list[Node]:
    names = {
        name
        for node in part.nodes
        if is_matrix_product(node.op)
        for value in node.inputs
        for name in behind[value]
    }
    return [node for node in part.nodes if node.name in names]


def _is_row_reduction(node: Node) -> bool:
    """Returns whether a node must read a whole row before it produces a result (a row reduction).

    Batch normalisation is a row reduction only in training, when it computes statistics.
    """
    if node.op == "BatchNorm":
        return bool(node.attr("is_training") or node.attr("training_mode"))
    return node.op in ROW_REDUCTIONS


def _row_bytes(node: Node, body: Graph) -> int:
    """Returns the bytes of one row of a node's first input.

    The number of elements of a row is the product of the sizes of the reduced axes. If no axis is
    reduced, the number is the size of the last axis.
    """
    source = body.values[node.inputs[0]]
    reduced = max(source.elements // max(body.values[node.outputs[0]].elements, 1), 1)
    itemsize = DTYPE_BYTES.get(source.dtype, 4)
    last = source.shape[-1] if source.shape and isinstance(source.shape[-1], int) else 1
    return max(reduced, last if reduced == 1 else 1) * itemsize


def _last_axis_bytes(body: Graph, name: str) -> int:
    value = body.values[name]
    last = value.shape[-1] if value.shape and isinstance(value.shape[-1], int) else 1
    return last * DTYPE_BYTES.get(value.dtype, 4)


def _peak_live_values(nodes: Sequence[Node]) -> int:
    """Returns the largest number of values alive at once, if operators run in graph order."""
    last = {name: place for place, node in enumerate(nodes) for name in node.inputs}
    alive: set[str] = set()
    most = 1
    for place, node in enumerate(nodes):
        alive |= {*node.inputs, *node.outputs}
        most = max(most, len(alive))
        alive = {name for name in alive if last.get(name, -1) > place}
    return most


def _reread_bytes(product: Node, part: Graph, row_bytes: int, device: Device) -> int:
    """Returns the bytes of a product's right operand that are read again because of row tiles.

    A row tile consists of whole rows, and `row_bytes` is the number of bytes of one row. The result
    counts the bytes that row tiles read in addition to the bytes that square tiles read.
    """
    result = part.values[product.outputs[0]]
    weight = part.values[product.inputs[1]]
    columns = result.shape[1 if product.op in CONVOLUTIONS else -1] if len(result.shape) > 1 else 0
    if not isinstance(columns, int) or not columns:
        return 0
    rows = max(result.elements // columns, 1)
    if (
        product.op not in CONVOLUTIONS
        and len(weight.shape) > 2
        and isinstance(result.shape[-2], int)
    ):
        rows = result.shape[-2]  # each matrix of a batch has its own right operand
    square = max(int(math.sqrt(device.on_chip_bytes / 3 / DTYPE_BYTES.get(result.dtype, 4))), 1)
    whole = max(int(CAPACITY_SHARE * device.on_chip_bytes / 2) // max(row_bytes, 1), 1)
    return max(math.ceil(rows / whole) - math.ceil(rows / square), 0) * weight.bytes
