"""The part of the kernel server in the user's process: it prepares kernels with library calls.

Such a kernel's library is a stub, which at its first call asks here for a function and its state. The library, oneDNN, is the
one that MindSpore has loaded anyway. What prepares a kernel is imported when the first one asks.
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
    from ms_fusion.kernel_server.sequence_loader import Prepared

SOURCE = Path(__file__).with_name("host.c")
LARGE_PAGES = Path(__file__).with_name("large_pages.c")
SYMBOLS = ("ms_fusion_host_set", "ms_fusion_host_prepare", "ms_fusion_launched", "ms_fusion_watch")

log = logging.getLogger("ms_fusion")


class _Hosted(ctypes.Structure):
    _fields_ = (("function", ctypes.c_void_p), ("state", ctypes.c_void_p))


_Prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Hosted))

_installed: list[Host] = []
"""They live as long as the process: C calls them."""


class Host:
    """Prepares kernels whose descriptions lie in a directory.

    Args:
        directory: where MindSpore puts the descriptions, ``NAME.info``.
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self._kept: list[Any] = []
        self._lock = threading.Lock()
        self._callback = _Prepare(self._prepare)

    def install(self) -> None:
        """Makes it the one that stubs find, and brings the threads of kernels.

        Raises:
            MissingError, CompileError: there is no compiler, or it fails.
        """
        start_workers()
        _installed.append(self)
        _library().ms_fusion_host_set(self._callback)

    def _prepare(self, name: bytes, result: Any) -> int:
        try:
            found = self._prepared(name.decode())
            self._kept.append(found)
            result.contents.function, result.contents.state = found.function, found.state
        except Exception:
            log.exception("kernel %s cannot be prepared", name)
            return 1
        return 0

    def _prepared(self, name: str) -> Prepared:
        """From its answer, without the generator; else from its description."""
        from ms_fusion.kernel_server import records

        text = (self.directory / f"{name}.info").read_text("utf-8")
        built = records.read_one(self.directory, name)
        failed = built is not None and bool(built.why)
        with self._lock:
            found = None if failed else _answered(text)
            if found is None:
                from ms_fusion.formats.composite import parse_kernel
                from ms_fusion.kernel_server.host_preparation import prepared

                found = prepared(parse_kernel(text, file=f"{name}.info"), failed=failed)
            return found


def _answered(text: str) -> Prepared | None:
    from ms_fusion.kernel_server import sequence_loader

    try:
        return sequence_loader.answered(text)
    except Exception as error:  # noqa: BLE001
        # whatever is amiss with an answer, the kernel can be assembled
        log.info("a kernel is assembled anew: %s", error)
        return None


def loaded() -> ctypes.CDLL | None:
    """What kernels find in this process; None where no kernel of ours has been called for."""
    return _library() if _installed else None


@cache
def _library() -> ctypes.CDLL:
    file = compiler.build(
        LARGE_PAGES.read_text("utf-8") + SOURCE.read_text("utf-8"), symbols=SYMBOLS
    )
    # other libraries look for its symbols
    return ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
