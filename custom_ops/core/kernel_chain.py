"""Kernels in a row that are one operator: the library's products between kernels of ours, with shared scratch memory."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import Described, WholeKernel, in_c, outputs_of
from custom_ops.core.kernel_sequence import InC, InRow, Record, record, scratch_places
from custom_ops.onednn import Prepared
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import CompileError, InputError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.buffers import aligned_empty


@dataclass(frozen=True, eq=False)
class Step:
    """One kernel of a chain.

    Attributes:
        kernel: of the library or of ours; sizes of its arrays may be grouped otherwise than those of the chain.
        reads, writes: names of its inputs and outputs.
    """

    kernel: Prepared | Kernel | WholeKernel
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def made(self) -> list[Described]:
        """What it writes."""
        if isinstance(self.kernel, Prepared):
            return [Described(one.shape, one.dtype) for one in self.kernel.outputs]
        return list(outputs_of(self.kernel))

    @property
    def in_c(self) -> InC | None:
        """It as C calls it; None where it has to be called as it is."""
        if not isinstance(self.kernel, Prepared):
            return in_c(self.kernel)
        if not self.kernel.state:
            return None
        order = list(range(len(self.reads) + len(self.writes)))
        return InC(self.kernel.function, order, state=self.kernel.state)

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray]) -> None:
        """Computes it on arrays."""
        if not isinstance(self.kernel, Prepared):
            shapes = [one.shape for one in self.kernel.inputs]  # type: ignore[union-attr]
            given = [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)]
            made = [array.reshape(one.shape) for array, one in zip(out, self.made, strict=True)]
            self.kernel(*given, out=made)
            return
        inputs, outputs = self.kernel.inputs, self.kernel.outputs
        given = [array.reshape(one.shape) for array, one in zip(arrays, inputs, strict=True)]
        self.kernel.call(
            given, [array.reshape(one.shape) for array, one in zip(out, outputs, strict=True)]
        )


@dataclass(frozen=True, eq=False)
class Chain:
    """Kernels in a row for inputs of certain shapes and dtypes.

    What a step writes that is no output lies in scratch memory, from the step that writes it to the last that reads it;
    then its place is free for others. The memory is kept for the next call of any chain.

    Attributes:
        name: of the operator.
        given: name of an input → what it is, in order.
        wanted: names of the outputs, each written by a step, and their shapes.
        steps: in order.
    """

    name: str
    given: Mapping[str, Described]
    wanted: Mapping[str, Described]
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        known = {**self.given, **self.wanted}
        for step in self.steps:
            for name, made in zip(step.writes, step.made, strict=True):
                held = known.setdefault(name, made)
                assert (made.dtype, _bytes(made)) == (held.dtype, _bytes(held)), (
                    self.name,
                    name,
                    made,
                    held,
                )

    @property
    def inputs(self) -> tuple[Described, ...]:
        """What it reads."""
        return tuple(self.given.values())

    @property
    def outputs(self) -> tuple[Described, ...]:
        """What it makes."""
        return tuple(self.wanted.values())

    @property
    def whole(self) -> InC | None:
        """The chain as C calls it; None where a step of it has to be called as it is."""
        return None if self._record is None else self._record.whole

    @cached_property
    def scratch_bytes(self) -> int:
        """Memory that a call holds besides its buffers."""
        return scratch_places(self._row, (*self.given, *self.wanted))[1]

    @property
    def _row(self) -> list[InRow]:
        return [
            InRow(step.reads, step.writes, tuple(map(_bytes, step.made))) for step in self.steps
        ]

    @cached_property
    def _record(self) -> Record | None:
        """What C reads; None where a step is no function in C."""
        kernels = [step.in_c for step in self.steps]
        known = [kernel for kernel in kernels if kernel is not None]
        if len(known) < len(kernels):
            return None
        return record((*self.given, *self.wanted), self._row, known)

    def __call__(self, *arrays: Any, out: Sequence[np.ndarray] | None = None) -> Any:
        """The output array, or a tuple of them.

        Raises:
            InputError: an array has another shape or dtype.
            CompileError: a step failed, or memory ran out.
        """
        known = self._checked(arrays)
        made = (
            list(out)
            if out is not None
            else [aligned_empty(one.shape, dtype_of(one.dtype).numpy) for one in self.outputs]
        )
        try:
            whole = self.whole
        except MissingError:
            whole = None
        if whole is not None:
            addresses = [array.ctypes.data for array in (*known.values(), *made)]
            if whole.function(whole.state, (ctypes.c_void_p * len(addresses))(*addresses)):
                raise CompileError(f"{self.name} failed in a kernel", place=self.name)
        else:
            known |= dict(zip(self.wanted, made, strict=True))
            for step in self.steps:
                for name, one in zip(step.writes, step.made, strict=True):
                    known.setdefault(name, np.empty(one.shape, dtype_of(one.dtype).numpy))
                step(
                    *(known[name] for name in step.reads), out=[known[name] for name in step.writes]
                )
        return made[0] if len(made) == 1 else tuple(made)

    def _checked(self, arrays: Sequence[Any]) -> dict[str, np.ndarray]:
        found = {}
        for (name, one), array in zip(self.given.items(), arrays, strict=True):
            dense = np.asarray(array, order="C")
            if dense.shape != one.shape or dense.dtype != dtype_of(one.dtype).numpy:
                raise InputError(
                    f"{self.name}: {name} does not fit",
                    place=self.name,
                    expected=str(one),
                    got=str(Described.of(dense)),
                )
            found[name] = dense
        return found


def _bytes(one: Described) -> int:
    return math.prod(one.shape) * dtype_of(one.dtype).numpy.itemsize
