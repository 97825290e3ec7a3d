"""Exposes operators to frameworks as entry points of a C library with a kernel cache."""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from custom_ops.core.computation import Computation
from custom_ops.core.dynamic_kernels import BoundKernel
from custom_ops.core.kernel_interface import AnyKernel, ArraySpec, c_function_of
from tbe_impl import environment
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import CompileError, FusionError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.buffers import usable_threads
from tbe_impl.runtime.shared_library_loader import open_library

SOURCE = Path(__file__).with_name("dispatch.c")
_log = logging.getLogger("custom_ops")
FAILURE_CODE = 70
ANY_SIZE = -(2**63)
"""Marker in the C struct of a kernel for a size that is not compared when C looks up a kernel."""
NUMBER_OF_DTYPE = {
    "bool": 30,
    "int8": 32,
    "int16": 33,
    "int32": 34,
    "int64": 35,
    "uint8": 37,
    "uint16": 38,
    "uint32": 39,
    "uint64": 40,
    "float16": 42,
    "float32": 43,
    "float64": 44,
    "bfloat16": 45,
}
"""MindSpore's type id of each dtype, as in `mindspore._c_expression.typing.type_to_type_id`.

A test compares the ids with those of the installed MindSpore.
"""
DTYPE_OF_NUMBER = {number: name for name, number in NUMBER_OF_DTYPE.items()}

_Ranks = ctypes.POINTER(ctypes.c_int)
_Shapes = ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))
_Names = ctypes.POINTER(ctypes.c_char_p)
_Data = ctypes.POINTER(ctypes.c_void_p)
_Build = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, _Ranks, _Shapes, _Names)
_Numbers = ctypes.POINTER(ctypes.c_int64)
_InferShapes = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, _Ranks, _Shapes, _Numbers)
_InferTypes = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, _Ranks, _Numbers)
_Run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, _Data, _Ranks, _Shapes, _Names)


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("parameters", ctypes.c_int),
        ("buffers", ctypes.c_int),
        ("sizes", ctypes.c_int),
        ("threads", ctypes.c_int64),
        ("ranks", _Ranks),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("dtypes", _Names),
        ("buffer_parameter", _Ranks),
        ("size_parameter", _Ranks),
        ("size_dimension", _Ranks),
        ("numbers", _Numbers),
        ("function", ctypes.c_void_p),
        ("state", ctypes.c_void_p),
        ("users", ctypes.c_int),
        ("next", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Entry:
    """Entry point of an operator in a C library.

    Attributes:
        file: path of the library.
        function: the function's name in the library.
    """

    file: Path
    function: str


class Bank:
    """One loaded copy of the C library; each slot (entry point) of the copy calls one operator."""

    def __init__(self, number: int):
        text = f"/* bank {number} */\n{SOURCE.read_text()}"
        self.file = compiler.build(text, symbols=("fused_add", "fused_callbacks", "fused_slots"))
        self._library = open_library(self.file, ())
        self.slots: list[Computation] = []
        self.size = int(self._library.fused_slots())
        self._library.fused_calls.restype = ctypes.c_int64
        self._library.fused_add.restype = ctypes.c_void_p
        self._records: dict[int | None, Any] = {}
        self.call = self._library.fused_call
        self.call.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self._callbacks = (
            _Build(self._build),
            _InferShapes(self._infer_shapes),
            _InferTypes(self._infer_types),
            _Run(self._run),
        )
        self._library.fused_callbacks(*self._callbacks)

    def calls(self) -> int:
        """Returns the number of kernel calls of the operators in this library."""
        return int(self._library.fused_calls())

    def add(self, computation: Computation) -> Entry:
        """Assigns an operator to the next free slot, and returns the slot's entry point."""
        slot = len(self.slots)
        self.slots.append(computation)
        self._library.fused_inputs(slot, len(computation.spec.inputs))
        several = "many" if len(computation.spec.outputs) > 1 else "one"
        return Entry(self.file, f"{several}_{slot:02x}")

    def _build(self, slot: int, parameters: int, ranks: Any, shapes: Any, dtypes: Any) -> int:
        """Builds and registers a kernel; C calls this if the C cache has no matching kernel."""
        computation = self.slots[slot]
        try:
            given = _describe_arguments(parameters, ranks, shapes, dtypes)
            kernel = computation.kernel(given[: len(computation.spec.inputs)])
            self._store_kernel(slot, kernel, given)
        except Exception as error:  # noqa: BLE001 - no exception may pass through C
            _log_failure(computation, error)
            return FAILURE_CODE
        return 0

    def _store_kernel(self, slot: int, kernel: AnyKernel, given: Sequence[ArraySpec]) -> None:
        record, alive = _record(kernel, given, open_sizes=True)
        self._records[ctypes.addressof(record)] = record, alive
        gone = self._library.fused_add(slot, ctypes.byref(record))
        self._records.pop(gone, None)

    def _infer_shapes(self, slot: int, ranks: Any, shapes: Any, result: Any) -> int:
        """Writes the number of outputs, then rank and sizes of each output, to `result`.

        The shapes do not depend on dtypes.
        """
        computation = self.slots[slot]
        try:
            count = len(computation.spec.inputs)
            given = [tuple(shapes[i][k] for k in range(ranks[i])) for i in range(count)]
            numbers: list[int] = [len(computation.spec.outputs)]
            for shape in computation.shapes(given):
                numbers += [len(shape), *shape]
            for place, number in enumerate(numbers):
                result[place] = number
        except Exception:  # noqa: BLE001 - no exception may pass through C; Python checks raised it
            return FAILURE_CODE
        return 0

    def _infer_types(self, slot: int, count: int, types: Any, result: Any) -> int:
        """Writes the number of outputs, then the type id of each output, to `result`."""
        computation = self.slots[slot]
        try:
            found = computation.dtypes([DTYPE_OF_NUMBER[types[i]] for i in range(count)])
            for place, number in enumerate([len(found), *(NUMBER_OF_DTYPE[one] for one in found)]):
                result[place] = number
        except Exception:  # noqa: BLE001 - no exception may pass through C; Python checks raised it
            return FAILURE_CODE
        return 0

    def _run(
        self, slot: int, parameters: int, data: Any, ranks: Any, shapes: Any, dtypes: Any
    ) -> int:
        """Runs a kernel that is not a single C function, on the arrays at the addresses `data`."""
        computation = self.slots[slot]
        try:
            given = _describe_arguments(parameters, ranks, shapes, dtypes)
            arrays = [_array(data[i], one) for i, one in enumerate(given)]
            count = len(computation.spec.inputs)
            computation.kernel(given[:count])(*arrays[:count], out=arrays[count:])
        except Exception as error:  # noqa: BLE001 - no exception may pass through C
            _log_failure(computation, error)
            return FAILURE_CODE
        return 0


@dataclass(frozen=True)
class KernelCall:
    """Kernel for inputs of known shapes and dtypes, called with raw addresses.

    Attributes:
        outputs: shapes and dtypes of the outputs.
        call: function that takes the addresses of the inputs, then of the outputs.
    """

    outputs: tuple[ArraySpec, ...]
    call: Callable[[Sequence[int]], None]


def prepare_call(computation: Computation, given: Sequence[ArraySpec]) -> KernelCall:
    """Builds the kernel for inputs of these shapes and dtypes, and returns it as a `KernelCall`.

    Raises:
        InputError: the operator rejects the inputs.
        MissingError: there is no C compiler.
    """
    kernel, outputs = computation.kernel(given), computation.describe(given)
    every = (*given, *outputs)
    record, alive = _record(kernel, every)

    def run(addresses: Sequence[int]) -> None:
        arrays = [_array(address, one) for address, one in zip(addresses, every, strict=True)]
        kernel(*arrays[: len(given)], out=arrays[len(given) :])

    if not record.function:
        return KernelCall(outputs, run)
    function, place, pointers = _bank().call, ctypes.byref(record), ctypes.c_void_p * len(every)

    def run_in_c(addresses: Sequence[int], alive: Any = (record, alive)) -> None:
        if function(place, pointers(*addresses)):
            raise CompileError("a kernel ran out of memory", place=computation.spec.name)

    return KernelCall(outputs, run_in_c)


def _record(
    kernel: AnyKernel, given: Sequence[ArraySpec], *, open_sizes: bool = False
) -> tuple[_Kernel, Any]:
    """Returns the C struct of a kernel, and the objects that must live as long as the struct.

    Args:
        kernel: the kernel, built for `given`.
        given: shapes and dtypes of the inputs, then of the outputs.
        open_sizes: whether C may use a dynamic kernel for all sizes that the kernel supports. If
            false, C uses the kernel only for the sizes in `given`.
    """
    record = _Kernel(parameters=len(given), threads=usable_threads(environment.threads()))
    sizes = [size for one in given for size in one.shape]
    names = [one.dtype.encode() for one in given]
    record.ranks = (ctypes.c_int * len(given))(*(len(one.shape) for one in given))
    record.dims = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
    record.dtypes = (ctypes.c_char_p * len(given))(*names)
    whole = c_function_of(kernel)
    if open_sizes and isinstance(kernel, BoundKernel):
        _write_dynamic_sizes(record, kernel, given)
        whole = None if whole is None else whole._replace(numbers=())
    if whole is not None:
        if whole.numbers:
            record.numbers = (ctypes.c_int64 * len(whole.numbers))(*whole.numbers)
        record.function = ctypes.cast(whole.function, ctypes.c_void_p)
        record.state = whole.state or None
        record.buffers = len(whole.order)
        record.buffer_parameter = (ctypes.c_int * max(len(whole.order), 1))(*whole.order)
    return record, (names, kernel)


def _write_dynamic_sizes(record: _Kernel, kernel: BoundKernel, given: Sequence[ArraySpec]) -> None:
    """Writes the dynamic sizes of a kernel into `record`, for the C cache.

    The function marks each dynamic size. It also writes, for each size argument of the C function,
    the index of the input and the axis that have this size.
    """
    pattern, program = kernel.varying.pattern, kernel.varying.program
    places = [] if program is None else program[2]
    of_outputs = [size for one in given[len(kernel.inputs) :] for size in one.shape]
    dims = [*pattern, *(ANY_SIZE for _ in of_outputs)]
    record.dims = (ctypes.c_int64 * max(len(dims), 1))(*dims)
    axes = [(i, k) for i, one in enumerate(kernel.inputs) for k in range(len(one.shape))]
    record.sizes = len(places)
    record.size_parameter = (ctypes.c_int * max(len(places), 1))(*(axes[at][0] for at in places))
    record.size_dimension = (ctypes.c_int * max(len(places), 1))(*(axes[at][1] for at in places))


def _log_failure(computation: Computation, error: Exception) -> None:
    """Logs the error of a callback, since MindSpore shows only the returned code."""
    expected = isinstance(error, FusionError)
    _log.error("%s failed: %s", computation.spec.name, error, exc_info=not expected)


_banks: list[Bank] = []
_add_lock = threading.Lock()


def count_calls() -> int:
    """Returns the number of times that frameworks called our kernels in this process.

    An increased count proves that a kernel ran.
    """
    return sum(bank.calls() for bank in _banks)


def entry_of(computation: Computation) -> Entry:
    """Registers an operator in a library and returns its entry point.

    An operator is never removed from a library, but its cached kernels can be evicted.

    Raises:
        MissingError: there is no C compiler.
    """
    with _add_lock:
        return _bank().add(computation)


def _bank() -> Bank:
    """Returns the newest loaded copy of the C library if the copy has a free slot.

    Otherwise the function loads another copy and returns it. A slot is an entry point of the copy
    that calls one operator.
    """
    if not _banks or len(_banks[-1].slots) == _banks[-1].size:
        _banks.append(Bank(len(_banks)))
    return _banks[-1]


def _describe_arguments(parameters: int, ranks: Any, shapes: Any, dtypes: Any) -> list[ArraySpec]:
    return [
        ArraySpec(
            tuple(int(shapes[i][k]) for k in range(ranks[i])), dtype_of(dtypes[i].decode()).name
        )
        for i in range(parameters)
    ]


def _array(address: int, described: ArraySpec) -> np.ndarray:
    dtype = dtype_of(described.dtype).numpy
    count = int(np.prod(described.shape, dtype=np.int64))
    if not count:
        return np.empty(described.shape, dtype)
    raw = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(address)
    return np.ndarray(described.shape, dtype, buffer=memoryview(raw))


@lru_cache(maxsize=1)
def has_c_compiler() -> bool:
    """Whether there is a C compiler, which all C kernels need."""
    try:
        compiler.find_compiler()
    except FusionError:
        return False
    return True
