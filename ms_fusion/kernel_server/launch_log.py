"""Which of our kernels MindSpore launches during a call, and with what; reads the log of `host.c`."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ms_fusion.kernel_server import host

MOST_BUFFERS = 64
"""As in `host.c`."""

_watching = threading.Lock()
_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Launch(NamedTuple):
    """One kernel as MindSpore called it.

    Attributes:
        name: of the kernel.
        kernel: the function itself, which takes nothing, the number of threads offered, and the addresses of buffers. MindSpore
            keeps it as long as the process lives.
        buffers: addresses of its inputs and outputs.
    """

    name: str
    kernel: Callable[[Any, Any, Any], None]
    buffers: tuple[int, ...]


class _Launches(ctypes.Structure):
    _fields_ = (
        ("number", ctypes.c_int),
        ("count", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("kernel", ctypes.c_void_p),
        ("buffers", ctypes.c_void_p * MOST_BUFFERS),
    )


@contextmanager
def watched() -> Iterator[list[Launch]]:
    """The only launch of the process meanwhile, found in the list afterwards; that is empty if there was none or another one.

    It is empty as well while somebody else watches.
    """
    seen: list[Launch] = []
    symbols = host.loaded()
    if symbols is None or not _watching.acquire(blocking=False):
        yield seen
        return
    try:
        watch = symbols.ms_fusion_watch
        watch.restype = ctypes.POINTER(_Launches)
        watch(1)
        try:
            yield seen
        finally:
            found = watch(0).contents
        if found.number == 1 and found.count:
            buffers = tuple(one or 0 for one in found.buffers[: found.count])
            seen.append(Launch(found.name.decode(), _KERNEL(found.kernel), buffers))
    finally:
        _watching.release()
