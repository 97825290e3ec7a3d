"""Prepares one kernel with library calls in the user's process: its sequence, or its formulas."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from custom_ops.core.kernel_chain import Chain
from ms_fusion.accuracy.replay import replay
from ms_fusion.formats.composite import Composite
from ms_fusion.kernel_server.composite_lowering import IN_PLACE
from ms_fusion.kernel_server.sequence_assembly import assemble
from ms_fusion.kernel_server.sequence_loader import Prepared, address
from tbe_impl.dsl.dtypes import dtype_of

log = logging.getLogger("ms_fusion")

RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


def prepared(kernel: Composite, *, failed: bool = False) -> Prepared:
    """The chain of a group, or its formulas where it has none.

    Args:
        failed: whether the compile server could not build it.
    """
    call = by_formulas(kernel)
    try:
        chain = None if failed else assemble(kernel)
        whole = chain.whole if chain is not None else None
        if whole is not None:
            return Prepared(address(whole.function), whole.state, (chain, whole))
        call = chain_called(chain) if chain is not None else call
    except Exception as error:  # noqa: BLE001
        # MindSpore has launched the kernel: whatever is amiss, it has to be computed
        log.warning("kernel %s is slow, computed by its formulas: %s", kernel.name, error)
    run = RUN(_without_exceptions(kernel, call))
    return Prepared(address(run), 1, run)


Call = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], object]
"""Computes from the arrays of the inputs, which it may write to, those of the outputs."""


def chain_called(chain: Chain) -> Call:
    """A chain of which some step is no function in C."""
    return lambda inputs, outputs: chain(*inputs, out=outputs)


def by_formulas(kernel: Composite) -> Call:
    """What a kernel means, in NumPy."""
    graph = kernel.graph
    written = {node.outputs[0]: node.inputs[0] for node in graph if node.op in IN_PLACE}

    def call(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        held = dict(zip(graph.inputs, inputs, strict=True))
        places = held | dict(zip(graph.outputs, outputs, strict=True))
        wanted = replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *written))))
        with np.errstate(all="ignore"):
            for name, found in replay(wanted, held).items():
                target = places[written.get(name, name)]
                target[...] = np.broadcast_to(found, target.shape)

    return call


def _without_exceptions(kernel: Composite, call: Call) -> Any:
    """As C calls it: none may pass through there."""
    names = (*kernel.graph.inputs, *kernel.graph.outputs)
    kinds = [kernel.graph.values[name] for name in names]

    def run(state: int, buffers: Any) -> int:
        try:
            arrays = [
                _array(buffers[number], one.shape, one.dtype) for number, one in enumerate(kinds)
            ]
            call(arrays[: len(kernel.graph.inputs)], arrays[len(kernel.graph.inputs) :])
        except Exception:
            log.exception("kernel %s failed", kernel.name)
            return 1
        return 0

    return run


def _array(address: int, shape: Sequence[Any], dtype: str) -> np.ndarray:
    kind = dtype_of(dtype).numpy
    count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    raw = memoryview((ctypes.c_uint8 * count).from_address(address))
    return np.ndarray(shape, kind, buffer=raw)
