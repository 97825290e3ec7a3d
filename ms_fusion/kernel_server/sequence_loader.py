"""Loads a sequence of kernels from the compile cache, without importing our generator."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from custom_ops.core.kernel_sequence import CFunction, SequenceStep, build_sequence_record
from ms_fusion.kernel_server.compile_cache import OwnKernel, SequenceRecord, recall
from ms_fusion.lowering.onednn.onednn_call import OnednnCall
from tbe_impl.runtime.shared_library_loader import open_library


@dataclass(frozen=True)
class Prepared:
    """A kernel that is ready to be called by its stub, the library that MindSpore has loaded.

    Attributes:
        function: address of the C function that the stub calls.
        state: address that the stub passes to this function.
        kept: objects that must live as long as the function can be called.
    """

    function: int
    state: int
    kept: object


def reuse_cached(text: str) -> Prepared | None:
    """Loads the sequence of kernels that the compile cache contains for a kernel description.

    Returns None if the cache has no such sequence or a library is missing.

    Raises:
        FusionError: a library cannot be loaded, or oneDNN rejects a call.
    """
    answer = recall(text)
    return load_sequence(answer.row) if answer is not None and answer.row is not None else None


def load_sequence(row: SequenceRecord) -> Prepared | None:
    """Loads a sequence of kernels; returns None if a library is missing or NumPy computes a step.

    Raises:
        FusionError: a library cannot be loaded, or oneDNN rejects a call.
    """
    kernels = []
    for place in row.places:
        kernel = _load_kernel(place.kernel, len(place.reads) + len(place.writes))
        if kernel is None:
            return None
        kernels.append(kernel)
    places = [SequenceStep(place.reads, place.writes, place.written_bytes) for place in row.places]
    made = build_sequence_record(row.names, places, [kernel for kernel, _ in kernels])
    return Prepared(address(made.c_function.function), made.c_function.state, (made, kernels))


def _load_kernel(kernel: OwnKernel | OnednnCall, arrays: int) -> tuple[CFunction, Any] | None:
    """Returns (C function of a kernel, object that keeps this function alive).

    Returns None if the kernel's library is missing, or if NumPy computes the oneDNN call.
    """
    if isinstance(kernel, OnednnCall):
        call = kernel.prepare()
        return (
            (CFunction(call.function, list(range(arrays)), state=call.state), call)
            if call.state
            else None
        )
    file = kernel.built.find()
    if file is None:
        return None
    library = open_library(file, (kernel.symbol,))
    return CFunction(getattr(library, kernel.symbol), list(kernel.order)), library


def address(function: Any) -> int:
    """Returns the address of a C function."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
