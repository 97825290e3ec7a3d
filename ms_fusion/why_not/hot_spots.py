"""Ranks operators and fused kernels by time, and suggests how to make them faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

from ms_fusion import cost
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node
from ms_fusion.ledger import FusedKernel, HotSpot, Work
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait

CONVOLUTIONS = operators_with(Trait.CONVOLUTION)
REFERENCE_GFLOPS = 10.0
"""Rate in GFLOP/s that separates oneDNN's fast convolutions from its slow reference code.

If the window of a convolution is larger than 1×1 and its rate is lower than this, it is assumed to
run the reference code. The reference code reached 1.1 to 1.3 GFLOP/s on AVX-512.
"""
KINDS_SHOWN = 4
"""Largest number of operator types in the title of a fused kernel."""

ISA_REMEDY = (
    "set ONEDNN_MAX_CPU_ISA=AVX2 before MindSpore starts: its convolution then runs at "
    "86–150 GFLOP/s, "
    "its MatMul at about half its speed (428 → 208 GFLOP/s; measured on an AVX-512 machine)"
)


def hot_spots(
    graph: Graph,
    times_us: Mapping[str, float],
    *,
    spreads_us: Mapping[str, float] | None = None,
    kernels: Mapping[str, FusedKernel] | None = None,
    count: int = 10,
    device: str = "CPU",
    generator: str = "mindspore",
    roofs: Device | None = None,
) -> tuple[HotSpot, ...]:
    """Returns the operators with the largest shares of the time, largest first.

    A fused kernel is treated as one operator.

    Args:
        graph: the executed graph.
        times_us: a dict from the full name of an operator or kernel to its time per call, µs. If
            the graph does not contain a name, its time is only added to the total time.
        spreads_us: a dict from the full name of an operator or kernel to the spread of its time,
            µs.
        kernels: a dict from the full name of a fused kernel to the kernel's entry in the ledger
            (the record of fused and unfused operators).
        count: largest number of results.
        device: device of the measurement. Only on CPU, the function judges the speed of MindSpore's
            own convolution.
        generator: generator of the fused kernels.
        roofs: bandwidth and peak rate of the device. If `roofs` is given, each result names the
            operator's bound in the roofline model (the roof), and the share of this bound that the
            operator reaches.
    """
    measured = {name: time for name, time in times_us.items() if isfinite(time) and time > 0}
    total = sum(measured.values())
    known = [node for node in graph if node.name in measured]
    known.sort(key=lambda node: -measured[node.name])
    found = []
    for node in known[:count]:
        time_us, kernel = measured[node.name], (kernels or {}).get(node.name)
        detail, remedy = _judge_node(node, graph, time_us, device, generator, roofs)
        sources = kernel.sources[:1] if kernel is not None else node.sources[-1:]
        found.append(
            HotSpot(
                node=node.name,
                op=node.op if kernel is None else _title(kernel.operators),
                time_us=time_us,
                share=time_us / total,
                detail=detail,
                remedy=remedy,
                source=sources[0] if sources else None,
                spread_us=(spreads_us or {}).get(node.name),
            )
        )
    return tuple(found)


def _title(operators: Sequence[str]) -> str:
    """Returns the most frequent operators of a fused kernel, with their counts.

    >>> _title(["Mul", "Add", "Mul", "Exp", "Sub", "Neg"])
    '2×Mul + Add + Exp + Sub + …'
    """
    counted = Counter(operators).most_common()
    parts = [f"{count}×{op}" if count > 1 else op for op, count in counted[:KINDS_SHOWN]]
    return " + ".join([*parts, "…"] if len(counted) > KINDS_SHOWN else parts)


def _judge_node(
    node: Node, graph: Graph, time_us: float, device: str, generator: str, roofs: Device | None
) -> tuple[str, str]:
    """Returns (a sentence about the limit of an operator's speed, a remedy or "" if unknown)."""
    work = cost.work_of(node, graph)
    gflops, gbytes = work.flops / time_us / 1e3, work.bytes / time_us / 1e3
    detail = f"{gflops:.3g} GFLOP/s, {gbytes:.3g} GB/s"
    if roofs is not None:
        detail = f"{_roof(node, work, time_us, roofs)}: {detail}"
    if node.body is None and not cost.has_rule(node.op):
        detail += " (one FLOP for each element of its output assumed)"
    if (
        node.op in CONVOLUTIONS
        and device == "CPU"
        and gflops < REFERENCE_GFLOPS
        and window_size(node, graph) > 1
    ):
        detail += ": MindSpore's own reference convolution, not a fast one"
        if generator == "mindspore":
            return detail, ISA_REMEDY
        detail += "; in groups built by ms_fusion another takes its place"
    return detail, ""


def _roof(node: Node, work: Work, time_us: float, roofs: Device) -> str:
    """Returns text: an operator's bound in the roofline model, and the reached share of this bound.

    The bound is either the bandwidth or the peak rate of the device.
    """
    operators = node.body.nodes if node.body is not None else (node,)
    matrix = any(cost.is_matrix_product(one.op) for one in operators)
    ceiling = replace(roofs, vector_flops_per_s=roofs.peak(matrix=False))
    parts = cost.stages(replace(work, launches=0), ceiling, matrix=matrix)
    bound, share = cost.roofline_bound(parts), parts.total_us / time_us
    if share > 1:
        return f"{bound}, at the roof" + (" (served from cache)" if bound == "memory" else "")
    return f"{bound}, {share:.0%} of the roof"


def window_size(node: Node, graph: Graph) -> int:
    """Returns the number of positions in the window of a convolution or of its gradient."""
    inputs, outputs = graph.inputs_of(node), graph.outputs_of(node)
    weight = outputs[:1] if node.op == "Conv2DBackpropFilter" else inputs[1:2]
    if not weight or len(weight[0].shape) != 4:
        return 1
    height, width = weight[0].shape[2:]
    return (
        height * width
        if isinstance(height, int) and isinstance(width, int) and height > 0 < width
        else 1
    )
