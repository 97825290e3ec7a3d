"""Records which of our kernels MindSpore launches; the C part of the recording is in `host.c`."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ms_fusion.kernel_server import host

MOST_BUFFERS = 64
"""Largest number of buffers in a launch record; the C constant in `host.c` must be the same."""

_watch_lock = threading.Lock()
_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Launch(NamedTuple):
    """One kernel launch by MindSpore.

    Attributes:
        name: name of the kernel.
        kernel: C function of the kernel. Its arguments are a null pointer, a pointer to the number
            of threads, and the array of buffer addresses. MindSpore does not unload this function
            before the process ends.
        buffers: addresses of the kernel's inputs, then of its outputs.
    """

    name: str
    kernel: Callable[[Any, Any, Any], None]
    buffers: tuple[int, ...]


class _LaunchRecord(ctypes.Structure):
    _fields_ = (
        ("number", ctypes.c_int),
        ("count", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("kernel", ctypes.c_void_p),
        ("buffers", ctypes.c_void_p * MOST_BUFFERS),
    )


@contextmanager
def watch_launches() -> Iterator[list[Launch]]:
    """Yields a list that receives the launch in the caller's ``with`` block when the block ends.

    During the block the list is empty. The list stays empty after the block in any of these cases:

    - In the block, the process launched no kernel or several kernels.
    - The number of buffers of the kernel is unknown or above `MOST_BUFFERS`.
    - Another ``with`` block of this function is active.
    - No `Host` is installed.
    """
    seen: list[Launch] = []
    symbols = host.loaded_library()
    if symbols is None or not _watch_lock.acquire(blocking=False):
        yield seen
        return
    try:
        watch = symbols.ms_fusion_watch
        watch.restype = ctypes.POINTER(_LaunchRecord)
        watch(1)
        try:
            yield seen
        finally:
            found = watch(0).contents
        if found.number == 1 and found.count:
            buffers = tuple(one or 0 for one in found.buffers[: found.count])
            seen.append(Launch(found.name.decode(), _KERNEL(found.kernel), buffers))
    finally:
        _watch_lock.release()
