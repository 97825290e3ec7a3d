"""Assigns scratch memory to a kernel sequence and runs the sequence as one C function."""

from __future__ import annotations

import ctypes
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tbe_impl import environment
from tbe_impl.runtime import compiler
from tbe_impl.runtime.buffers import ALIGNMENT, usable_threads
from tbe_impl.runtime.shared_library_loader import open_library

SOURCE = Path(__file__).with_name("kernel_chain.c")


class CFunction(NamedTuple):
    """C function of a kernel. It returns 0 on success.

    Signature: ``int function(void **buffers, const int64_t *numbers, int64_t threads)``.

    Attributes:
        function: the function, or its address.
        order: for each entry of `buffers`, the index of its array among the kernel's inputs and
            outputs.
        numbers: integers that the function gets as its argument `numbers`.
        state: address of the function's state, or 0 if it has none. A function with a state has the
            signature ``int function(void *state, void **buffers)`` instead.
    """

    function: Any
    order: list[int]
    numbers: tuple[int, ...] = ()
    state: int = 0


class SequenceStep(NamedTuple):
    """Buffers of one kernel in a sequence.

    Attributes:
        reads, writes: names of the arrays that the kernel reads and writes.
        written_bytes: bytes of each written array.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    written_bytes: tuple[int, ...]


class _Step(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_void_p),
        ("state", ctypes.c_void_p),
        ("numbers", ctypes.POINTER(ctypes.c_int64)),
        ("operands", ctypes.POINTER(ctypes.c_int64)),
        ("count", ctypes.c_int64),
        ("threads", ctypes.c_int64),
    )


class _Chain(ctypes.Structure):
    _fields_ = (
        ("steps", ctypes.c_int64),
        ("scratch_bytes", ctypes.c_int64),
        ("step", ctypes.POINTER(_Step)),
    )


@dataclass(frozen=True, eq=False)
class SequenceRecord:
    """Kernel sequence as a C struct; this object must outlive every call.

    Attributes:
        chain: the C struct.
        arrays: number of inputs and outputs.
        kept: objects that `chain` points to.
    """

    chain: _Chain
    arrays: int
    kept: tuple[Any, ...]

    @property
    def c_function(self) -> CFunction:
        """The sequence as one C function."""
        return CFunction(
            _load_sequence_runner(), list(range(self.arrays)), state=ctypes.addressof(self.chain)
        )


def assign_scratch_offsets(
    row: Sequence[SequenceStep], outside: Container[str]
) -> tuple[dict[str, int], int]:
    """Assigns each intermediate array an offset in the scratch memory, by first fit.

    Args:
        row: the steps, in order.
        outside: names of the inputs and outputs, which get no scratch memory.

    Returns:
        A dict from the name of each intermediate array to its offset in bytes, and the size of the
        scratch memory in bytes.
    """
    last = {name: at for at, step in enumerate(row) for name in (*step.reads, *step.writes)}
    found: dict[str, int] = {}
    held: list[tuple[int, int, int]] = []
    end = 0
    for at, step in enumerate(row):
        held = [one for one in held if one[2] >= at]
        for name, size_bytes in zip(step.writes, step.written_bytes, strict=True):
            if name in outside:
                continue
            held_bytes = -(-max(size_bytes, 1) // ALIGNMENT) * ALIGNMENT
            offset = 0
            for begin, behind, _ in sorted(held):
                if offset + held_bytes <= begin:
                    break
                offset = max(offset, behind)
            found[name] = offset
            held.append((offset, offset + held_bytes, last[name]))
            end = max(end, offset + size_bytes)
    return found, end


def build_sequence_record(
    names: Sequence[str], row: Sequence[SequenceStep], kernels: Sequence[CFunction]
) -> SequenceRecord:
    """Builds the C struct that describes a sequence.

    Args:
        names: names of the inputs, then of the outputs.
        row, kernels: the steps and their C functions, in order.
    """
    offsets, scratch_bytes = assign_scratch_offsets(row, names)
    steps = (_Step * len(row))()
    for step, place, kernel in zip(steps, row, kernels, strict=True):
        own = (*place.reads, *place.writes)
        operands = [
            names.index(name) if name in names else -1 - offsets[name]
            for name in (own[at] for at in kernel.order)
        ]
        step.function = ctypes.cast(kernel.function, ctypes.c_void_p)
        step.state = kernel.state or None
        step.numbers = (ctypes.c_int64 * max(len(kernel.numbers), 1))(*kernel.numbers)
        step.operands = (ctypes.c_int64 * max(len(operands), 1))(*operands)
        step.count, step.threads = len(operands), usable_threads(environment.threads())
    return SequenceRecord(
        _Chain(len(steps), scratch_bytes, steps), len(names), (steps, tuple(kernels))
    )


@cache
def _load_sequence_runner() -> Any:
    """Compiles and returns the C function that runs sequences.

    Raises:
        MissingError: there is no C compiler.
    """
    library = compiler.build(SOURCE.read_text("utf-8"), symbols=("chain_run",))
    function = open_library(library, ("chain_run",)).chain_run
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int
    return function
