"""Defines sequences of kernels, and links each sequence to one C function.

The type of the kernels in a `KernelSequence` shows the stage of the sequence. The docstring of
`tbe_impl.runtime` lists the stages. `KernelSequence.convert` converts a sequence to its next stage.
A stored sequence can be read without NumPy, so the compile server can publish cached kernels
without NumPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from tbe_impl import environment
from tbe_impl.runtime import compiler
from tbe_impl.runtime.shared_library_loader import open_library

SOURCE = Path(__file__).with_name("kernel_chain.c")
KernelT = TypeVar("KernelT", covariant=True)
OtherT = TypeVar("OtherT")


class CFunction(NamedTuple):
    """A kernel's C function; the function returns 0 on success.

    Signature: ``int function(void **buffers, const int64_t *numbers, int64_t threads)``.

    Attributes:
        function: the function as a ctypes object, or its address.
        order: for each entry of `buffers`, the index of its array among the kernel's inputs and
            outputs.
        numbers: integers that are passed to the function as its argument `numbers`.
        state: address of the function's state, or 0 for a function without state. A function with a
            state has another signature: ``int function(void *state, void **buffers)``.
        kept: objects that must not be deleted while the function can still be called.
    """

    function: Any
    order: list[int]
    numbers: tuple[int, ...] = ()
    state: int = 0
    kept: Any = None

    @property
    def address(self) -> int:
        """The address of the function."""
        return int(ctypes.cast(self.function, ctypes.c_void_p).value or 0)


class Step(msgspec.Struct, Generic[KernelT], frozen=True, forbid_unknown_fields=True):
    """One kernel of a sequence and the arrays that it reads and writes.

    Attributes:
        kernel: the kernel. The type of the kernel depends on the stage of the sequence.
        reads, writes: names of the arrays that the kernel reads and writes.
        written_bytes: size of each written array in bytes.
    """

    kernel: KernelT
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    written_bytes: tuple[int, ...]


class KernelSequence(msgspec.Struct, Generic[KernelT], frozen=True, forbid_unknown_fields=True):
    """Kernels that run one after the other.

    An intermediate array occupies scratch memory from the step that writes the array to the last
    step that reads the array. Later steps reuse this memory.

    Attributes:
        names: names of the inputs, then of the outputs.
        steps: the steps in execution order. In JSON, the name of this field is ``places``.
    """

    names: tuple[str, ...]
    steps: tuple[Step[KernelT], ...] = msgspec.field(name="places")

    def convert(self, convert: Callable[[Step[KernelT]], OtherT]) -> KernelSequence[OtherT]:
        """Returns a sequence in which `convert` has replaced the kernel of each step."""
        return KernelSequence(
            self.names,
            tuple(
                Step(convert(one), one.reads, one.writes, one.written_bytes) for one in self.steps
            ),
        )

    def assign_scratch_offsets(self) -> tuple[dict[str, int], int]:
        """Assigns each intermediate array an offset in the scratch memory, by first fit.

        Returns:
            A pair. The first item is a dict from the name of each intermediate array to the offset
            of the array in bytes. The second item is the size of the scratch memory in bytes.
        """
        from tbe_impl.runtime.buffers import ALIGNMENT

        last = {
            name: at for at, step in enumerate(self.steps) for name in (*step.reads, *step.writes)
        }
        found: dict[str, int] = {}
        held: list[tuple[int, int, int]] = []
        end = 0
        for at, step in enumerate(self.steps):
            held = [one for one in held if one[2] >= at]
            for name, size_bytes in zip(step.writes, step.written_bytes, strict=True):
                if name in self.names:
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


def link(sequence: KernelSequence[CFunction | None]) -> CFunction | None:
    """Returns one C function that runs a sequence.

    Returns None if a step of the sequence has no C function.

    The buffers that the C function takes are those of the inputs, followed by those of the outputs.
    The scratch memory stays allocated, so that the next call of any sequence can use this memory.

    Raises:
        MissingError: there is no C compiler.
    """
    from tbe_impl.runtime.buffers import usable_threads

    kernels = [step.kernel for step in sequence.steps if step.kernel is not None]
    if len(kernels) < len(sequence.steps):
        return None
    names = sequence.names
    offsets, scratch_bytes = sequence.assign_scratch_offsets()
    steps = (_Step * len(sequence.steps))()
    for step, place, kernel in zip(steps, sequence.steps, kernels, strict=True):
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
    chain = _Chain(len(steps), scratch_bytes, steps)
    return CFunction(
        _load_sequence_runner(),
        list(range(len(names))),
        state=ctypes.addressof(chain),
        kept=(chain, steps, sequence),
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
