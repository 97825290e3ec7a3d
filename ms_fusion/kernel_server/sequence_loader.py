"""Loads a kernel sequence from its compile cache entry; needs no generator."""

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
        function, state: addresses that the stub calls and passes.
        kept: objects that must outlive the calls.
    """

    function: int
    state: int
    kept: object


def reuse_cached(text: str) -> Prepared | None:
    """The cached kernel sequence of a description; None on a miss or a missing library.

    Raises:
        FusionError: a library cannot be loaded, or oneDNN rejects a call.
    """
    answer = recall(text)
    return load_sequence(answer.row) if answer is not None and answer.row is not None else None


def load_sequence(row: SequenceRecord) -> Prepared | None:
    """Loads a kernel sequence; None if a member is missing or is no C function here.

    Raises:
        FusionError: as `reuse_cached`.
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
    """A kernel as a C function and its owner; None if it is missing or is no C function."""
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
    """The address of a C function."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
