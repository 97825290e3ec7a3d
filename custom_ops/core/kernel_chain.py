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
from custom_ops.onednn import Prepared
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import CompileError, InputError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.buffers import aligned_empty
from tbe_impl.runtime.sequence import CFunction, KernelSequence, Step, link

MemberKernel = Prepared | Kernel | OpaqueKernel
"""A kernel of a compiled sequence: a library call or a generated kernel."""
CompiledStep = Step[MemberKernel]


def make_step(
    kernel: MemberKernel, reads: tuple[str, ...], writes: tuple[str, ...]
) -> CompiledStep:
    """Returns one step of a compiled sequence; a step is the call of one kernel.

    The shapes of an array and of the kernel's argument may differ, if the numbers of elements are
    equal.
    """
    return Step(kernel, reads, writes, tuple(map(_bytes, _outputs_of(kernel))))


@dataclass(frozen=True, eq=False)
class Chain:
    """Kernel sequence for given shapes and dtypes.

    Attributes:
        name: name of the operator.
        given: dict from the name of each input, in order, to its shape and dtype.
        wanted: dict from the name of each output, in order, to its shape and dtype. Each output is
            written by one of the kernel calls.
        steps: the kernel calls, in order.
    """

    name: str
    given: Mapping[str, ArraySpec]
    wanted: Mapping[str, ArraySpec]
    steps: tuple[CompiledStep, ...]

    def __post_init__(self) -> None:
        known = {**self.given, **self.wanted}
        for step in self.steps:
            for name, made in zip(step.writes, _outputs_of(step.kernel), strict=True):
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

    @cached_property
    def sequence(self) -> KernelSequence[MemberKernel]:
        """The compiled sequence."""
        return KernelSequence((*self.given, *self.wanted), self.steps)

    @cached_property
    def c_function(self) -> CFunction | None:
        """The sequence as one C function, or None if a kernel can only be called from Python."""
        return link(self.sequence.convert(lambda step: c_function_of(step.kernel)))

    @cached_property
    def scratch_bytes(self) -> int:
        """Bytes of scratch memory that a call needs besides its inputs and outputs."""
        return self.sequence.assign_scratch_offsets()[1]

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
                for name, one in zip(step.writes, _outputs_of(step.kernel), strict=True):
                    known.setdefault(name, np.empty(one.shape, dtype_of(one.dtype).numpy))
                _call_kernel(
                    step.kernel,
                    [known[name] for name in step.reads],
                    [known[name] for name in step.writes],
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


def _outputs_of(kernel: MemberKernel) -> tuple[ArraySpec, ...]:
    if isinstance(kernel, Prepared):
        return tuple(ArraySpec(one.shape, one.dtype) for one in kernel.outputs)
    return outputs_of(kernel)


def _call_kernel(
    kernel: MemberKernel, arrays: Sequence[np.ndarray], out: Sequence[np.ndarray]
) -> None:
    """Runs one kernel of a sequence: reads `arrays`, and writes the results into `out`."""
    shapes = [one.shape for one in kernel.inputs]  # type: ignore[union-attr]
    given = [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)]
    made = [array.reshape(one.shape) for array, one in zip(out, _outputs_of(kernel), strict=True)]
    if isinstance(kernel, Prepared):
        kernel.call(given, made)
    else:
        kernel(*given, out=made)
