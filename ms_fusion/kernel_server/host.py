"""The side of the kernel server that lives in the user's process: it prepares the kernels in which a library takes part.

Such a kernel's library is a stub, which at its first call asks here for a function and its state. The library, oneDNN, is the
one that MindSpore has loaded anyway.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from custom_ops.chain import Chain
from ms_fusion.accuracy.replay import replay
from ms_fusion.formats.composite import Composite, parse_kernel
from ms_fusion.kernel_server.assemble import assemble
from ms_fusion.kernel_server.entry import by_name_of_akg
from ms_fusion.kernel_server.translate import IN_PLACE
from tbe_impl.backends.cpu import compiler
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import FusionError

SOURCE = Path(__file__).with_name("host.c")
STUB = Path(__file__).with_name("stub.c")
SYMBOLS = ("ms_fusion_host_set", "ms_fusion_host_prepare")

log = logging.getLogger("ms_fusion")


class _Hosted(ctypes.Structure):
    _fields_ = (("function", ctypes.c_void_p), ("state", ctypes.c_void_p))


_Prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Hosted))
_Run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


def stub(name: str) -> str:
    """The text of a kernel that is prepared here."""
    text = f"#define NAME {name}\n{STUB.read_text('utf-8')}\n"
    return text + "\n".join(by_name_of_akg(name)) + "\n"


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
        """Makes it the one that stubs find.

        Raises:
            MissingError, CompileError: there is no compiler, or it fails.
        """
        _installed.append(self)
        _library().ms_fusion_host_set(self._callback)

    def _prepare(self, name: bytes, result: Any) -> int:
        try:
            file = self.directory / f"{name.decode()}.info"
            kernel = parse_kernel(file.read_text("utf-8"), file=file.name)
            with self._lock:
                function, state = self._prepared(kernel)
            result.contents.function, result.contents.state = function, state
        except Exception:
            log.exception("kernel %s cannot be prepared", name)
            return 1
        return 0

    def _prepared(self, kernel: Composite) -> tuple[int, int]:
        call = by_formulas(kernel)
        try:
            chain = assemble(kernel)
            whole = chain.whole
            if whole is not None:
                self._kept.append((chain, whole))
                return int(ctypes.cast(whole.function, ctypes.c_void_p).value or 0), whole.state
            call = chain_called(chain)
        except FusionError as error:
            # the compile server has said so already
            log.info("kernel %s is computed by its formulas: %s", kernel.name, error)
        run = _Run(_without_exceptions(kernel, call))
        self._kept.append(run)
        return int(ctypes.cast(run, ctypes.c_void_p).value or 0), 1


Call = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], object]
"""Computes from the arrays of the inputs, which it may write to, those of the outputs."""


def chain_called(chain: Chain) -> Call:
    """A chain of which some step is no function in C."""
    return lambda inputs, outputs: chain(*inputs, out=outputs)


def by_formulas(kernel: Composite) -> Call:
    """What a kernel means, in NumPy."""
    graph = kernel.graph
    written = {node.outputs[0]: node.inputs[0] for node in graph if node.op in IN_PLACE}

    def call(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        held = dict(zip(graph.inputs, inputs, strict=True))
        places = held | dict(zip(graph.outputs, outputs, strict=True))
        wanted = replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *written))))
        with np.errstate(all="ignore"):
            for name, found in replay(wanted, held).items():
                target = places[written.get(name, name)]
                target[...] = np.broadcast_to(found, target.shape)

    return call


def _without_exceptions(kernel: Composite, call: Call) -> Any:
    """As C calls it: none may pass through there."""
    names = (*kernel.graph.inputs, *kernel.graph.outputs)
    kinds = [kernel.graph.values[name] for name in names]

    def run(state: int, buffers: Any) -> int:
        try:
            arrays = [_array(buffers[number], one.shape, one.dtype) for number, one in enumerate(kinds)]  # fmt: skip
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


@cache
def _library() -> ctypes.CDLL:
    file = compiler.build(SOURCE.read_text("utf-8"), symbols=SYMBOLS)
    # other libraries look for its symbols
    return ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
