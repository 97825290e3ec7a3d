"""Measures what a fusion saves: a group's operators one by one and fused, interleaved."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from custom_ops.core.kernel_chain import Chain
from ms_fusion.accuracy.formulas import numpy_dtype
from ms_fusion.formats.onnx_graph import ONNX_OP, assumed
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx_fusion.kernel_sequence import assembled
from ms_fusion.onnx_fusion.verification import sample
from tbe_impl.errors import FusionError
from tbe_impl.runtime.buffers import aligned_empty

LARGEST_BYTES = 64 << 20
"""Groups that hold more between their operators are not timed."""
TURN_S = 1e-3


@dataclass(frozen=True)
class Rows:
    """A group, ready to run both ways.

    Attributes:
        body: with its sizes.
        fused, apart: its kernels in a row, and those of its operators one by one.
    """

    body: Graph
    fused: Chain
    apart: Chain


def rows_of(node: Node, sizes: Mapping[str, int]) -> Rows | None:
    """A fused operator in C both ways; None where a part of it is not C, or it holds too much."""
    assert node.body is not None
    body = assumed(node.body, sizes)
    if (
        sum(body.values[value].bytes for part in body.nodes for value in part.outputs)
        > LARGEST_BYTES
    ):
        return None
    try:
        fused, apart = assembled(node, sizes), assembled(node, sizes, apart=True)
    except FusionError:
        return None
    return Rows(body, fused, apart) if fused.whole is not None and apart.whole is not None else None


def measured(rows: Rows, rounds: int) -> tuple[float, float]:
    """µs of the operators one by one, and fused: the least of the rounds, since what disturbs only adds."""
    given = [sample(rows.body.values[name], {}) for name in rows.body.inputs]
    made = [aligned_empty(one.shape, numpy_dtype(one.dtype)) for one in rows.fused.outputs]
    addresses = [array.ctypes.data for array in (*given, *made)]
    buffers = (ctypes.c_void_p * len(addresses))(*addresses)

    def call(chain: Chain) -> Callable[[], object]:
        whole: Any = chain.whole
        return lambda: whole.function(whole.state, buffers)

    runs = (call(rows.apart), call(rows.fused))
    times: tuple[list[float], list[float]] = ([], [])
    once = 0.0
    for run in runs:
        run()
        begin = time.perf_counter()
        run()
        once = max(once, time.perf_counter() - begin)
    count = max(1, int(TURN_S / max(once, 1e-7)))
    for number in range(rounds):
        for place in (0, 1) if number % 2 else (1, 0):
            begin = time.perf_counter()
            for _ in range(count):
                runs[place]()
            times[place].append((time.perf_counter() - begin) / count)
    return min(times[0]) * 1e6, min(times[1]) * 1e6


@cache
def launch_us() -> float:
    """What one more kernel in a row costs in C: a long row of tiny ones."""
    steps = 64
    names = [f"v{number}" for number in range(steps + 1)]
    nodes = tuple(
        Node(made, "Neg", (read,), (made,), ((ONNX_OP, "Neg"),))
        for read, made in itertools.pairwise(names)
    )
    values = {
        name: Value(name, (16,), "float32", "input" if name == "v0" else "result") for name in names
    }
    node = Node(
        "row", "Row", ("v0",), (names[-1],), body=Graph("row", nodes, values, ("v0",), (names[-1],))
    )
    rows = rows_of(node, {})
    assert rows is not None
    apart, fused = measured(rows, 20)
    return (apart - fused) / (steps - 1)
