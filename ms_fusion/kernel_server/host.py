"""Prepares kernels that call oneDNN or NumPy, in the user's process at their first call.

MindSpore loads a kernel that calls oneDNN or NumPy as a small library, a stub. At its first call,
the stub requests two pointers from this module. One points to the C function to call, the other to
the data of this function. The oneDNN calls use the oneDNN library that MindSpore has loaded. The
modules that prepare kernels are imported lazily.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbe_impl.runtime import compiler
from tbe_impl.runtime.thread_pool import start_workers

if TYPE_CHECKING:
    from tbe_impl.runtime.sequence import CFunction

SOURCE = Path(__file__).with_name("host.c")
LARGE_PAGES = Path(__file__).with_name("large_pages.c")
SYMBOLS = ("ms_fusion_host_set", "ms_fusion_host_prepare", "ms_fusion_launched", "ms_fusion_watch")

log = logging.getLogger("ms_fusion")


class _PreparedFunction(ctypes.Structure):
    _fields_ = (("function", ctypes.c_void_p), ("state", ctypes.c_void_p))


_PrepareCallback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_PreparedFunction)
)

_installed_hosts: list[Host] = []
"""All installed `Host` objects, which must not be freed, because C code calls them."""


class Host:
    """Prepares each kernel at its first call, from the kernel's description in a directory.

    Args:
        directory: directory into which MindSpore writes the descriptions, ``NAME.info``.
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self._kept: list[Any] = []
        self._lock = threading.Lock()
        self._callback = _PrepareCallback(self._prepare)

    def install(self) -> None:
        """Makes the stubs of kernels call this object; starts the worker threads of the kernels.

        Raises:
            MissingError, CompileError: there is no C compiler, or the C compiler fails.
        """
        start_workers()
        _installed_hosts.append(self)
        _library().ms_fusion_host_set(self._callback)

    def _prepare(self, name: bytes, result: Any) -> int:
        try:
            found = self._prepare_by_name(name.decode())
            self._kept.append(found)
            result.contents.function, result.contents.state = found.address, found.state
        except Exception:
            log.exception("kernel %s cannot be prepared", name)
            return 1
        return 0

    def _prepare_by_name(self, name: str) -> CFunction:
        """Prepares a kernel from its entry in the compile cache, or else from its description.

        For a kernel with a cache entry, the generator is not imported.
        """
        from ms_fusion.kernel_server import build_records

        text = (self.directory / f"{name}.info").read_text("utf-8")
        built = build_records.read_one(self.directory, name)
        failed = built is not None and bool(built.why)
        with self._lock:
            found = None if failed else _load_cached(text)
            if found is None:
                from ms_fusion.kernel_server.host_preparation import prepare_kernel
                from ms_fusion.readers.composite import parse_kernel

                found = prepare_kernel(parse_kernel(text, file=f"{name}.info"), failed=failed)
            return found


def _load_cached(text: str) -> CFunction | None:
    from ms_fusion.kernel_server import sequence_loader

    try:
        return sequence_loader.reuse_cached(text)
    except Exception as error:  # noqa: BLE001
        # If the cache fails in any way, the caller assembles the kernel from its description.
        log.info("a kernel is assembled from its description: %s", error)
        return None


def loaded_library() -> ctypes.CDLL | None:
    """Returns the loaded library made of `host.c`, or None if no `Host` is installed.

    The stubs of kernels call functions of this library to prepare a kernel and to log a launch.
    """
    return _library() if _installed_hosts else None


@cache
def _library() -> ctypes.CDLL:
    file = compiler.build(
        LARGE_PAGES.read_text("utf-8") + SOURCE.read_text("utf-8"), symbols=SYMBOLS
    )
    # RTLD_GLOBAL lets stubs resolve the symbols of this library.
    return ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
