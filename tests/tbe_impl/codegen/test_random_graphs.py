"""Random graphs on the cpu back end against NumPy; ``TBE_FUZZ=2000`` sets their number."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import behind
from tests.tbe_impl.codegen.random_graphs import Node, RandomGraph, make

GRAPHS = int(os.environ.get("TBE_FUZZ", "0")) or 50
FIRST = int(os.environ.get("TBE_FUZZ_FIRST", "0"))
ULP = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def run_graph(
    graph: RandomGraph, cache: Store | None, rounding: str
) -> list[tuple[np.ndarray, ...]]:
    """The outputs with one thread and with two, with strided inputs and unaligned outputs too."""
    outputs, inputs = [n.tensor for n in graph.outputs], [t for t, _ in graph.inputs]
    options = prepared_kernel.Options(
        rounding=rounding,
        vector_bits=graph.pick((0, 0, 0, 0, 128, 256, 512)),
        march=graph.pick(("", "", "", "x86-64-v3")),
        unroll=graph.pick((1, 1, 2)),
        accumulators=graph.pick((4, 4, 1)),
        keep_rows=graph.chance(0.8),
        jam_factor=graph.pick((1, 1, 2, 4)),
        portions=graph.pick((0, 0, 3)),
        stream_bytes=graph.pick((1024, 1 << 24)),
        parallel_elements=2,
    )
    kernel = prepared_kernel.prepare(
        outputs, inputs, name=f"seed {graph.seed}", options=options, cache=cache
    )
    arrays = [array for _, array in graph.inputs]
    odd = [_odd(array, graph) for array in arrays]
    first = kernel.run(arrays, graph.values, 1)
    places = [behind(result, 16 * graph.pick(tuple(range(8)))) for result in first]
    return [first, kernel.run(odd, graph.values, 2, places)]


def _odd(array: np.ndarray, graph: RandomGraph) -> np.ndarray:
    """The same values, every second element of a larger array, or one byte off."""
    if graph.chance(0.5) and array.ndim:
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    raw = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    raw[...] = array
    return raw


def assert_alike(node: Node, found: np.ndarray, wanted: np.ndarray, reference: np.ndarray) -> None:
    """Raises unless `found` equals `wanted`, bit for bit or within the rounding limit."""
    tensor = node.tensor
    assert found.dtype == dtype_of(tensor.dtype).numpy
    assert found.shape == wanted.shape
    if tensor.dtype in ("float16", "bfloat16"):
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    if node.is_exact:
        np.testing.assert_array_equal(found, wanted)
        return
    assert is_float(tensor.dtype)
    here, there, exact = (item.astype(np.float64) for item in (found, wanted, reference))
    doubtful = ~np.isfinite(exact) | ~np.isfinite(there)
    np.testing.assert_array_equal(np.isnan(here) & doubtful, np.isnan(there))
    with np.errstate(all="ignore"):
        noise = np.where(doubtful, 0, np.abs(there - exact)).max(initial=0.0)
        size = np.abs(np.where(doubtful, 0, exact))
        slack = 4 if tensor.dtype in ("float16", "bfloat16") else 64
        allowed = 8 * noise + slack * ULP[tensor.dtype] * (size + size.max(initial=0.0) + 1)
        wrong = ~doubtful & ~(np.abs(here - exact) <= allowed)
    assert not wrong.any(), (
        f"{here[wrong][:5]} instead of {exact[wrong][:5]} ({wrong.sum()} of {wrong.size})"
    )


def check(seed: int, cache: Store | None = None) -> None:
    """Checks one graph; raises when the back ends differ."""
    graph = make(seed)
    tensors: Sequence = [node.tensor for node in graph.outputs]
    given = {id(tensor): array for tensor, array in graph.inputs}
    rounding = "device" if seed % 5 == 4 else "accurate"
    wanted = evaluate.run(tensors, given, graph.values, rounding=rounding)
    reference = evaluate.run(tensors, given, graph.values, rounding="float64")
    for found in run_graph(graph, cache, rounding):
        for node, one, two, three in zip(graph.outputs, found, wanted, reference, strict=True):
            assert_alike(node, one, two, three)


@cases("seed", range(FIRST, FIRST + GRAPHS), quick=2, per_item=10)
def test_both_back_ends_agree(seed: int, cache: Store) -> None:
    check(seed, cache)
