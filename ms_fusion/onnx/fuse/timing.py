"""Measures the saving of a fusion: runs the separate operators and the fused kernel alternately."""

from __future__ import annotations

import ctypes
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from custom_ops.core.kernel_chain import Chain
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.verification import sample
from ms_fusion.onnx.kernels.kernel_sequence import build_sequence
from ms_fusion.ops.call import numpy_dtype
from ms_fusion.readers.onnx_graph import substitute_sizes
from tbe_impl.errors import FusionError
from tbe_impl.runtime.buffers import aligned_empty

LARGEST_BYTES = 64 << 20
"""Maximum total bytes of the intermediate results and outputs of a group that is timed."""
TURN_S = 1e-3


@dataclass(frozen=True)
class GroupChains:
    """A group that is ready to run fused and unfused.

    Attributes:
        body: graph of the group with concrete sizes.
        fused: kernel sequence of the fused group.
        apart: kernel sequence of the group's separate operators.
    """

    body: Graph
    fused: Chain
    apart: Chain


def build_chains(node: Node, sizes: Mapping[str, int]) -> GroupChains | None:
    """Builds two kernel sequences of a group: for the fused group, and for its separate operators.

    Returns None if a sequence cannot be built as one C function, or if the results of the group's
    operators have more than `LARGEST_BYTES` bytes.
    """
    body = substitute_sizes(node.fused_body, sizes)
    if (
        sum(body.values[value].bytes for part in body.nodes for value in part.outputs)
        > LARGEST_BYTES
    ):
        return None
    try:
        fused, apart = build_sequence(node, sizes), build_sequence(node, sizes, apart=True)
    except FusionError:
        return None
    return (
        GroupChains(body, fused, apart)
        if fused.c_function is not None and apart.c_function is not None
        else None
    )


def measure_chains(rows: GroupChains, rounds: int) -> tuple[float, float]:
    """Returns the times in µs of the separate operators and of the fused group.

    Each time is the minimum of all rounds, because disturbances only add time.
    """
    given = [sample(rows.body.values[name], {}) for name in rows.body.inputs]
    made = [aligned_empty(one.shape, numpy_dtype(one.dtype)) for one in rows.fused.outputs]
    addresses = [array.ctypes.data for array in (*given, *made)]
    buffers = (ctypes.c_void_p * len(addresses))(*addresses)

    def call(chain: Chain) -> Callable[[], object]:
        whole: Any = chain.c_function
        return lambda: whole.function(whole.state, buffers)

    runs = (call(rows.apart), call(rows.fused))
    times: tuple[list[float], list[float]] = ([], [])
    once = 0.0
    for run in runs:
        run()
        once = max(once, timeit.timeit(run, number=1))
    count = max(1, int(TURN_S / max(once, 1e-7)))
    for number in range(rounds):
        for place in (0, 1) if number % 2 else (1, 0):
            times[place].append(timeit.timeit(runs[place], number=count) / count)
    return min(times[0]) * 1e6, min(times[1]) * 1e6
