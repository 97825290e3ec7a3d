"""Loads a sequence of kernels from the compile cache, without importing our generator."""

from __future__ import annotations

from ms_fusion.kernel_server.compile_cache import OwnKernel, StoredSequence, recall
from ms_fusion.lowering.onednn.onednn_call import OnednnCall
from tbe_impl.runtime.sequence import CFunction, Step, link
from tbe_impl.runtime.shared_library_loader import open_library


def reuse_cached(text: str) -> CFunction | None:
    """Loads the sequence of kernels that is cached for a kernel description.

    Returns None if the compile cache has no sequence for the description, or if a library is
    missing.

    Raises:
        FusionError: a library cannot be loaded, or oneDNN rejects a call.
    """
    answer = recall(text)
    return load_sequence(answer.row) if answer is not None and answer.row is not None else None


def load_sequence(stored: StoredSequence) -> CFunction | None:
    """Loads a sequence of kernels.

    Returns None if a library is missing, or if NumPy computes a member of the sequence.

    Raises:
        FusionError: a library cannot be loaded, or oneDNN rejects a call.
    """
    return link(stored.convert(_load_kernel))


def _load_kernel(step: Step[OwnKernel | OnednnCall]) -> CFunction | None:
    """Returns the C function of one step of a kernel sequence.

    Returns None if the step's library is missing, or if NumPy computes the step.
    """
    kernel = step.kernel
    if isinstance(kernel, OnednnCall):
        return kernel.prepare().c_function
    file = kernel.built.find()
    if file is None:
        return None
    library = open_library(file, (kernel.symbol,))
    return CFunction(getattr(library, kernel.symbol), list(kernel.order), kept=library)
