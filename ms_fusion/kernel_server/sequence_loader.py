"""Loads a kernel sequence from its entry in the compile cache, without the generator."""

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
    """A prepared kernel.

    Attributes:
        function: address of the function that the stub calls.
        state: address that the stub passes to the function.
        kept: objects that must live as long as the function can be called.
    """

    function: int
    state: int
    kept: object


def reuse_cached(text: str) -> Prepared | None:
    """Returns the cached kernel sequence of a kernel description.

    Returns None if the cache has no kernel sequence for the description or a library is missing.

    Raises:
        FusionError: a library cannot be loaded, or oneDNN rejects a call.
    """
    answer = recall(text)
    return load_sequence(answer.row) if answer is not None and answer.row is not None else None


def load_sequence(row: SequenceRecord) -> Prepared | None:
    """Loads a kernel sequence; returns None if a member is missing or is no C function here.

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
    """Returns a kernel as a C function, with the object that keeps the function alive.

    Returns None if the library is missing or the oneDNN call is no C function.
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
