"""Runs a sequence of library calls and generated kernels as one operator.

The intermediate arrays share scratch memory.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import ArraySpec, OpaqueKernel, c_function_of, outputs_of
from custom_ops.core.kernel_sequence import (
    CFunction,
    SequenceRecord,
    SequenceStep,
    assign_scratch_offsets,
    build_sequence_record,
)
from custom_ops.onednn import Prepared
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import CompileError, InputError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.buffers import aligned_empty


@dataclass(frozen=True, eq=False)
class Step:
    """One kernel of a sequence.

    Attributes:
        kernel: library call or generated kernel. An array of the sequence may have another shape
            than the kernel's argument, if the numbers of elements are equal.
        reads, writes: names of the arrays that the kernel reads and writes.
    """

    kernel: Prepared | Kernel | OpaqueKernel
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def outputs(self) -> list[ArraySpec]:
        """Shapes and dtypes of the kernel's outputs."""
        if isinstance(self.kernel, Prepared):
            return [ArraySpec(one.shape, one.dtype) for one in self.kernel.outputs]
        return list(outputs_of(self.kernel))

    @property
    def c_function(self) -> CFunction | None:
        """The kernel's C function; None if only Python can call the kernel."""
        if not isinstance(self.kernel, Prepared):
            return c_function_of(self.kernel)
        if not self.kernel.state:
            return None
        order = list(range(len(self.reads) + len(self.writes)))
        return CFunction(self.kernel.function, order, state=self.kernel.state)

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray]) -> None:
        """Runs the kernel on arrays."""
        if not isinstance(self.kernel, Prepared):
            shapes = [one.shape for one in self.kernel.inputs]  # type: ignore[union-attr]
            given = [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)]
            made = [array.reshape(one.shape) for array, one in zip(out, self.outputs, strict=True)]
            self.kernel(*given, out=made)
            return
        inputs, outputs = self.kernel.inputs, self.kernel.outputs
        given = [array.reshape(one.shape) for array, one in zip(arrays, inputs, strict=True)]
        self.kernel.call(
            given, [array.reshape(one.shape) for array, one in zip(out, outputs, strict=True)]
        )


@dataclass(frozen=True, eq=False)
class Chain:
    """Kernel sequence for given shapes and dtypes.

    An intermediate array occupies scratch memory from the step that writes the array to the last
    step that reads it. Later steps reuse this memory. The scratch memory stays allocated for the
    next call of any sequence.

    Attributes:
        name: name of the operator.
        given: dict from the name of each input, in order, to its shape and dtype.
        wanted: dict from the name of each output, in order, to its shape and dtype. Each output is
            written by a step.
        steps: the steps, in order.
    """

    name: str
    given: Mapping[str, ArraySpec]
    wanted: Mapping[str, ArraySpec]
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        known = {**self.given, **self.wanted}
        for step in self.steps:
            for name, made in zip(step.writes, step.outputs, strict=True):
                held = known.setdefault(name, made)
                assert (made.dtype, _bytes(made)) == (held.dtype, _bytes(held)), (
                    self.name,
                    name,
                    made,
                    held,
                )

    @property
    def inputs(self) -> tuple[ArraySpec, ...]:
        """Shapes and dtypes of the inputs."""
        return tuple(self.given.values())

    @property
    def outputs(self) -> tuple[ArraySpec, ...]:
        """Shapes and dtypes of the outputs."""
        return tuple(self.wanted.values())

    @property
    def c_function(self) -> CFunction | None:
        """The sequence as one C function; None if a step can only be called from Python."""
        return None if self._record is None else self._record.c_function

    @cached_property
    def scratch_bytes(self) -> int:
        """Bytes of scratch memory that a call needs besides its inputs and outputs."""
        return assign_scratch_offsets(self._sequence_steps, (*self.given, *self.wanted))[1]

    @property
    def _sequence_steps(self) -> list[SequenceStep]:
        return [
            SequenceStep(step.reads, step.writes, tuple(map(_bytes, step.outputs)))
            for step in self.steps
        ]

    @cached_property
    def _record(self) -> SequenceRecord | None:
        """The sequence as a C struct; None if a step has no C function."""
        kernels = [step.c_function for step in self.steps]
        known = [kernel for kernel in kernels if kernel is not None]
        if len(known) < len(kernels):
            return None
        return build_sequence_record((*self.given, *self.wanted), self._sequence_steps, known)

    def __call__(self, *arrays: Any, out: Sequence[np.ndarray] | None = None) -> Any:
        """Returns the output array, or a tuple of arrays if there are several outputs.

        Raises:
            InputError: an input has a wrong shape or dtype.
            CompileError: a step failed, or memory ran out.
        """
        known = self._check_arrays(arrays)
        made = (
            list(out)
            if out is not None
            else [aligned_empty(one.shape, dtype_of(one.dtype).numpy) for one in self.outputs]
        )
        try:
            whole = self.c_function
        except MissingError:
            whole = None
        if whole is not None:
            addresses = [array.ctypes.data for array in (*known.values(), *made)]
            if whole.function(whole.state, (ctypes.c_void_p * len(addresses))(*addresses)):
                raise CompileError(f"{self.name} failed in a kernel", place=self.name)
        else:
            known |= dict(zip(self.wanted, made, strict=True))
            for step in self.steps:
                for name, one in zip(step.writes, step.outputs, strict=True):
                    known.setdefault(name, np.empty(one.shape, dtype_of(one.dtype).numpy))
                step(
                    *(known[name] for name in step.reads), out=[known[name] for name in step.writes]
                )
        return made[0] if len(made) == 1 else tuple(made)

    def _check_arrays(self, arrays: Sequence[Any]) -> dict[str, np.ndarray]:
        found = {}
        for (name, one), array in zip(self.given.items(), arrays, strict=True):
            dense = np.asarray(array, order="C")
            if dense.shape != one.shape or dense.dtype != dtype_of(one.dtype).numpy:
                raise InputError(
                    f"{self.name}: {name} does not fit",
                    place=self.name,
                    expected=str(one),
                    got=str(ArraySpec.from_array(dense)),
                )
            found[name] = dense
        return found


def _bytes(one: ArraySpec) -> int:
    return math.prod(one.shape) * dtype_of(one.dtype).numpy.itemsize
