"""Loads a kernel sequence from its compile cache entry; needs no generator."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from custom_ops.core.kernel_sequence import InC, InRow, record
from ms_fusion.kernel_server.compile_cache import OwnKernel, Row, recall
from ms_fusion.kernel_server.onednn_call import OnednnCall
from tbe_impl.runtime.shared_library_loader import open_library


@dataclass(frozen=True)
class Prepared:
    """What a kernel's library calls.

    Attributes:
        function, state: addresses.
        kept: lives as long as they are called.
    """

    function: int
    state: int
    kept: object


def answered(text: str) -> Prepared | None:
    """The row of kernels that a description became; None where that is not known, or something of it is gone.

    Raises:
        FusionError: a library cannot be loaded, or oneDNN refuses a call.
    """
    answer = recall(text)
    return prepared(answer.row) if answer is not None and answer.row is not None else None


def prepared(row: Row) -> Prepared | None:
    """A row of kernels; None where one of them is gone, or no function in C here.

    Raises:
        FusionError: as `answered`.
    """
    kernels = []
    for place in row.places:
        kernel = _called(place.kernel, len(place.reads) + len(place.writes))
        if kernel is None:
            return None
        kernels.append(kernel)
    places = [InRow(place.reads, place.writes, place.written_bytes) for place in row.places]
    made = record(row.names, places, [kernel for kernel, _ in kernels])
    return Prepared(address(made.whole.function), made.whole.state, (made, kernels))


def _called(kernel: OwnKernel | OnednnCall, arrays: int) -> tuple[InC, Any] | None:
    """A kernel as C calls it, and what has to live as long; None where it is not there, or no function in C."""
    if isinstance(kernel, OnednnCall):
        call = kernel.prepare()
        return (
            (InC(call.function, list(range(arrays)), state=call.state), call)
            if call.state
            else None
        )
    file = kernel.built.find()
    if file is None:
        return None
    library = open_library(file, (kernel.symbol,))
    return InC(getattr(library, kernel.symbol), list(kernel.order)), library


def address(function: Any) -> int:
    """Of a function in C."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
