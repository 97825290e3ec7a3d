"""Prepares one kernel that calls oneDNN or NumPy, in the user's process."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from custom_ops.core.kernel_chain import Chain
from ms_fusion.accuracy.replay import replay
from ms_fusion.kernel_server.sequence_assembly import assemble
from ms_fusion.lowering.composite_lowering import IN_PLACE_OPERATORS
from ms_fusion.readers.composite import CompositeKernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.runtime.sequence import CFunction

log = logging.getLogger("ms_fusion")

RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


def prepare_kernel(kernel: CompositeKernel, *, failed: bool = False) -> CFunction:
    """Returns a C function that computes the results of `kernel` with oneDNN or NumPy.

    The C function runs a sequence of our kernels and oneDNN calls. If this sequence cannot be
    prepared, the C function calls the NumPy formula of each operator in `kernel`.

    Args:
        kernel: the description of the kernel.
        failed: whether the compile server failed to build the kernel. If it failed, only the NumPy
            formulas are used.
    """
    call = formula_function(kernel)
    try:
        chain = None if failed else assemble(kernel)
        whole = chain.c_function if chain is not None else None
        if whole is not None:
            return whole
        call = chain_function(chain) if chain is not None else call
    except Exception as error:  # noqa: BLE001
        # MindSpore has already launched the kernel, so its results must be computed.
        log.warning("kernel %s is slow, computed by its formulas: %s", kernel.name, error)
    run = RUN(_contain_exceptions(kernel, call))
    return CFunction(run, [], state=1, kept=run)


ArrayFunction = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], object]
"""Function that computes a kernel's outputs from its inputs, and may also update inputs."""


def chain_function(chain: Chain) -> ArrayFunction:
    """Returns a Python function that runs a kernel sequence.

    Such a function is needed for a sequence with a member that Python code computes.
    """
    return lambda inputs, outputs: chain(*inputs, out=outputs)


def formula_function(kernel: CompositeKernel) -> ArrayFunction:
    """Returns a function that computes a kernel by the NumPy formulas of its operators."""
    graph = kernel.graph
    written = {node.outputs[0]: node.inputs[0] for node in graph if node.op in IN_PLACE_OPERATORS}

    def call(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        held = dict(zip(graph.inputs, inputs, strict=True))
        places = held | dict(zip(graph.outputs, outputs, strict=True))
        wanted = replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *written))))
        with np.errstate(all="ignore"):
            for name, found in replay(wanted, held).items():
                target = places[written.get(name, name)]
                target[...] = np.broadcast_to(found, target.shape)

    return call


def _contain_exceptions(kernel: CompositeKernel, call: ArrayFunction) -> Any:
    """Wraps a Python function so that C code can call it.

    The wrapper raises no exceptions. If the wrapped function raises an exception, the wrapper logs
    the exception and returns 1. Otherwise the wrapper returns 0.
    """
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
