"""Calls a compiled kernel: binds arrays to its parameters and returns the host model's report."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tbe_impl.ascendc.findings import RunReport, parse_report
from tbe_impl.ascendc.native_build import SYMBOLS
from tbe_impl.errors import FusionError, InputError
from tbe_impl.runtime.shared_library_loader import open_library
from tbe_impl.soc import Soc

INPUT, OUTPUT, WORKSPACE, TILING, SCALAR = range(5)
_lock = threading.Lock()
"""Lock that serialises launches, because the host model has one global memory per process."""


class CrashError(FusionError):
    """A kernel or a tiling function crashed its process."""

    code = "kernel-crash"


class _Argument(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("defined", ctypes.c_int32),
        ("text", ctypes.c_char_p),
    )


SELECT_BYTES = {"Ascend310P": 8192, "Ascend910B": 8192}
"""Maps a chip family to the bytes of UB that Select needs for bits in a tensor; others need 0."""


class _Request(ctypes.Structure):
    _fields_ = (
        ("blocks", ctypes.c_uint32),
        ("arguments", ctypes.c_uint32),
        ("argument", ctypes.POINTER(_Argument)),
        ("tiling_key", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64 * 8),
        ("vector_cores", ctypes.c_uint32),
        ("cube_cores", ctypes.c_uint32),
        ("sub_blocks", ctypes.c_uint32),
        ("cube", ctypes.c_uint32),
        ("select_bytes", ctypes.c_uint32),
    )


@dataclass(frozen=True)
class LaunchArgument:
    """The argument for a parameter of a kernel.

    Attributes:
        name: name of the parameter, for error messages.
        kind: INPUT, OUTPUT, WORKSPACE, TILING or SCALAR.
        array: the array to which a pointer parameter points; None for a scalar or a null pointer.
        is_defined: whether the kernel may read the initial values of an output.
        text: value of a scalar, as text.
    """

    name: str
    kind: int
    array: np.ndarray | None = None
    is_defined: bool = False
    text: str = ""


class KernelLibrary:
    """A compiled kernel."""

    def __init__(self, path: Path):
        self._library = open_library(path, SYMBOLS)
        self._run = self._library.host_model_run
        self._run.argtypes = (ctypes.POINTER(_Request),)
        self._run.restype = ctypes.c_char_p
        self._library.host_model_signature.restype = ctypes.c_char_p

    @property
    def signature(self) -> str:
        """One letter per parameter: ``p`` (pointer), ``s`` (scalar) or ``c`` (structure)."""
        text: bytes = self._library.host_model_signature()
        return text.decode("ascii")

    def tiling_data(self, fields: Mapping[str, str], before: bytes = b"") -> np.ndarray:
        """Returns the bytes of the kernel's tiling structure with these fields set.

        The values of the other fields are taken from the bytes `before`. Fields beyond the end of
        `before` are zero.

        Raises:
            InputError: a value does not fit its field, or a field gets too many values.
        """
        self._library.host_model_tiling_bytes.restype = ctypes.c_uint64
        data = np.zeros(max(int(self._library.host_model_tiling_bytes()), 1), np.uint8)
        data[: len(before)] = np.frombuffer(before, np.uint8)[: data.size]
        set_field = self._library.host_model_set_field
        set_field.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
        for name, value in fields.items():
            taken = set_field(data.ctypes.data, name.encode(), value.encode())
            if taken < -1:
                raise InputError(
                    f"the tiling field {name} cannot hold a value",
                    place="--tiling",
                    expected="a number of the field's type",
                    got=repr(value.split(",")[-2 - taken]),
                )
            if taken < len(value.split(",")):
                raise InputError(
                    f"the tiling field {name} takes fewer values",
                    place="--tiling",
                    expected=f"at most {taken}",
                    got=value,
                )
        return data

    def run(
        self,
        arguments: Sequence[LaunchArgument],
        *,
        blocks: int,
        soc: Soc,
        tiling_key: int = 0,
        sub_blocks: int = 1,
        strict: bool = False,
        isolated: bool = False,
    ) -> RunReport:
        """Runs the kernel on `blocks` cores, which write the results to the output arrays.

        If `isolated` is true, a child process runs the kernel, so that a crash of the kernel raises
        an error in this process. The output arrays must then be in shared memory.

        Raises:
            CrashError: the kernel ended the child process by a signal.
        """
        given = (_Argument * max(len(arguments), 1))()
        for place, one in zip(given, arguments, strict=False):
            place.name, place.kind = one.name.encode(), one.kind
            place.defined, place.text = int(one.is_defined), one.text.encode()
            if one.array is not None:
                place.data, place.bytes = one.array.ctypes.data, one.array.nbytes
        request = _Request(blocks, len(arguments), given, tiling_key)
        request.memory_bytes = (ctypes.c_uint64 * 8)(
            soc.unified_buffer_bytes, soc.l1_bytes, soc.l0a_bytes, soc.l0b_bytes, soc.l0c_bytes
        )
        request.vector_cores, request.cube_cores = soc.vector_cores or soc.cores, soc.cores
        request.sub_blocks = sub_blocks
        request.select_bytes = SELECT_BYTES.get(soc.short_name, 0)
        with _lock:
            text = (
                run_in_child(
                    lambda: self._run(ctypes.byref(request)),
                    "the kernel",
                    "Look for an access through a raw pointer (GetPhyAddr, __gm__), an endless "
                    "recursion or an array on the stack that is too large; tensors are checked",
                )
                if isolated
                else self._run(ctypes.byref(request))
            )
        return parse_report(text.decode("utf-8", "replace"), strict=strict)


def run_in_child(function: Callable[[], bytes], subject: str, remedy: str) -> bytes:
    """Calls the function in a forked process and returns its result.

    Raises:
        CrashError: the process ended without a result; the message says that `subject` crashed.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            faulthandler.disable()  # the parent reports the signal
            os.close(reader)
            with os.fdopen(writer, "wb") as file:
                file.write(function())
        finally:
            os._exit(0)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as file:
            text = file.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status or not text:
        name = signal.Signals(-status).name if status < 0 else f"exit code {status}"
        raise CrashError(
            f"{subject} crashed: {name}",
            remedy=remedy,
        )
    return text
