"""Computes the time that one fused kernel saves compared to its separate operators, in µs.

    benefit = bytes not moved ÷ bandwidth + launches saved × launch cost
              − loss ÷ bandwidth − recomputation ÷ rate − hidden

- *bytes not moved*: bytes of internal results, and of inputs that several operators read.
  `ms_fusion.cost.work` counts these bytes.
- *loss*: bytes that the fused kernel re-reads because of its tiling (`ms_fusion.cost.tiling`). If a
  matrix product is a library call, a relu or residual sum after the call reads and writes the
  result of the call again. These bytes are part of the loss.
- *recomputation*: vector steps that the fused kernel repeats. Operators before a pooling are
  recomputed for each overlapping window. In our CPU kernels, a value that is read both directly and
  at other positions is recomputed for each position (`ms_fusion.cost.transposed_reads`). If the
  kernel is large enough to be parallel, all cores share the recomputation.
- *hidden*: part of the saved memory time that does not shorten the run, because memory traffic
  overlaps with computation. If matrix products are library calls, the time of a kernel is max(bytes
  ÷ bandwidth, computing time). *Hidden* is then the decrease of bytes ÷ bandwidth minus the
  decrease of this maximum. Without library calls, *hidden* is 0. The computing time of a library
  call is the time for the FLOPs of its product. The epilogue of the call takes no time. The
  computing time of our own kernel is the time for its vector steps (`ms_fusion.cost.vector_steps`).
  A residual sum after a matrix product reads tiles that are still in the nearest cache. So the sum
  runs at the bandwidth of this cache.
- *bandwidth*: bandwidth of the smallest cache or memory that can contain all bytes of the operator
  with the most bytes. The formula does not add the bytes of several operators, because operators
  reuse each other's memory.

A kernel is refused if its smallest tile needs more than a given share of the on-chip memory (80 %
by default). A kernel is also refused if it contains independent matrix products that have no common
input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ms_fusion.cost.tiling import CAPACITY_SHARE, CONVOLUTIONS, tiling, upstream_products
from ms_fusion.cost.transposed_reads import recomputed_steps
from ms_fusion.cost.vector_steps import vector_steps
from ms_fusion.cost.work import fused_bytes, is_matrix_product, work_of
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait

POOLINGS = operators_with(Trait.POOLING)
"""Pooling operators, whose windows may overlap."""
RELU = frozenset({"ReLU", "Maximum"})
"""Operators that compute relu: ReLU in a model, and Maximum in a graph for a library call."""
MIN_PARALLEL_ELEMENTS = 1 << 19
"""Minimum number of input and output elements of a parallel CPU kernel, as in `tbe_impl`."""


@dataclass(frozen=True)
class Benefit:
    """The benefit of building one fused kernel, and the terms from which it is computed.

    Attributes:
        saved_bytes: bytes that fusion does not move.
        saved_launches: number of launches saved.
        loss_bytes: additional bytes that the fused kernel moves. There are two kinds. If tiles
            contain whole rows, the kernel reads some data several times. If an operator is fused
            into a library call as a pass over the call's result, the pass reads and writes the
            result again.
        recomputed_flops: FLOPs that are repeated because pooling windows overlap.
        on_chip_bytes: on-chip memory that one tile needs, bytes.
        us: the benefit in µs; negative if the kernel is slower than its separate operators.
        refusal_reason: reason why the kernel must not be built, regardless of its benefit; empty if
            the kernel may be built.
    """

    saved_bytes: int
    saved_launches: int
    loss_bytes: int
    recomputed_flops: int
    on_chip_bytes: int
    us: float
    refusal_reason: str = ""

    @property
    def is_worth_it(self) -> bool:
        return not self.refusal_reason and self.us > 0


Split = Callable[[Graph], Sequence[Graph]]
"""Function that splits a kernel's body into the sub-graphs that a device builds separately."""


def _keep_whole(body: Graph) -> Sequence[Graph]:
    return (body,)


def benefit(
    fused: Node,
    graph: Graph,
    device: Device,
    split: Split = _keep_whole,
    capacity_share: float = CAPACITY_SHARE,
) -> Benefit:
    """Returns the benefit of running the operators in the body of `fused` as one kernel.

    Args:
        fused: node with a body. The inputs and outputs of the node are values of `graph`.
        graph: graph with known or assumed sizes.
        device: the device whose bandwidths, rates and memory sizes determine the times.
        split: function that splits the body into library calls (matrix products with simple
            epilogues) and the operators between the library calls. One launch executes all these
            parts. The parts pass results to each other through memory.
        capacity_share: fraction of the on-chip memory that a tile may fill.
    """
    body = fused.fused_body
    parts = split(body)
    apart = [work_of(node, body) for node in body.nodes]
    whole = [fused_bytes(part) for part in parts]
    products = _products(body)
    launches = sum(work.launches for work in apart) - 1
    saved = sum(work.bytes for work in apart) - sum(whole)
    tiled = [tiling(part, device) for part in parts]
    need = max(one.on_chip_bytes for one in tiled)
    loss = sum(one.loss_bytes for one in tiled)
    rate = device.rate_of_bytes(max(work.bytes for work in apart))
    again = sum(_recomputed_flops(part) for part in parts)
    hidden = 0.0
    if split is not _keep_whole and sum(len(_products(part)) for part in parts) == len(products):
        passes = [_epilogue_passes(part) for part in parts]
        alone = (
            _kernel_time_us([node], body, work.bytes, device, rate)
            for node, work in zip(body.nodes, apart, strict=True)
        )
        kernels = (
            _kernel_time_us(
                part.nodes,
                part,
                moved - one.read_bytes,
                device,
                rate,
                _recomputed_steps_per_core(part, device),
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
        refused = (
            f"a tile needs {need} bytes on chip, and {limit} ({capacity_share:.0%} of "
            f"{device.on_chip_bytes}) may be used"
        )
    elif len(parts) == 1 and _has_unrelated_products(products, body):
        refused = f"{len(products)} matrix products in one kernel, and nothing that they share"
    return Benefit(saved, launches, loss, again, need, us, refused)


def _products(part: Graph) -> list[Node]:
    return [node for node in part.nodes if is_matrix_product(node.op)]


def _kernel_time_us(
    nodes: Sequence[Node],
    part: Graph,
    moved: int,
    device: Device,
    rate: float,
    repeated: float = 0.0,
) -> float:
    """Returns the time of a kernel that moves `moved` bytes at `rate` bytes per second, in µs.

    `repeated` is the number of vector steps (units of arithmetic time) for values that the kernel
    recomputes. If `nodes` contains matrix products, the kernel is a library call. The epilogue of
    the library call takes no time.
    """
    products = [node for node in nodes if is_matrix_product(node.op)]
    if products:
        computing = sum(work_of(node, part).flops for node in products) / device.rate(matrix=True)
        return max(computing, moved / rate) * 1e6
    steps = sum(vector_steps(node, part) for node in nodes) + repeated
    computing = steps / device.rate(matrix=False)
    return max(computing, moved / rate) * 1e6


def _recomputed_steps_per_core(part: Graph, device: Device) -> float:
    """Returns the number of vector steps per core for values that a kernel recomputes."""
    elements = sum(part.values[name].elements for name in (*part.inputs, *part.outputs))
    return recomputed_steps(part) / (device.cores if elements >= MIN_PARALLEL_ELEMENTS else 1)


@dataclass(frozen=True)
class _EpiloguePasses:
    """Passes that process the result of a library call again, after the call.

    Attributes:
        more_bytes: bytes of the result that the passes read and write again.
        read_bytes: bytes of the residuals. The passes read the residuals; the library call does
            not.
        is_tiled: whether the passes run over tiles that are still in the nearest cache.
    """

    more_bytes: int = 0
    read_bytes: int = 0
    is_tiled: bool = False


def _epilogue_passes(part: Graph) -> _EpiloguePasses:
    """Returns the passes that process the result of a library call again.

    A pass is a ReLU, or an addition of a residual that has the shape of the result.
    """
    if not _products(part):
        return _EpiloguePasses()
    more = read = 0
    is_tiled = all(node.op not in CONVOLUTIONS for node in _products(part))
    for node in part.nodes:
        result = part.outputs_of(node)[0]
        residual = node.op == "Add" and all(
            value.shape == result.shape for value in part.inputs_of(node)
        )
        if residual or node.op in RELU:
            more += 2 * result.bytes
            read += result.bytes * residual
            is_tiled = is_tiled and residual
    return _EpiloguePasses(more, read, is_tiled)


def _recomputed_flops(part: Graph) -> int:
    """Returns the FLOPs that overlapping pooling windows repeat."""
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


def _has_unrelated_products(products: Sequence[Node], body: Graph) -> bool:
    """Returns whether the kernel has several independent matrix products without a common input."""
    if len(products) < 2 or upstream_products(body):
        return False
    return not set(products[0].inputs).intersection(*(node.inputs for node in products[1:]))
