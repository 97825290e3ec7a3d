"""What a kernel of an operator is, for all that call one; knows no framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from custom_ops.core.kernel_sequence import InC
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.cpu.call import Loaded
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.kernel import Kernel


@dataclass(frozen=True)
class Described:
    """Shape and dtype of an array; a size of -1 is not known."""

    shape: tuple[int, ...]
    dtype: str

    @classmethod
    def of(cls, array: Any) -> Described:
        return cls(tuple(array.shape), str(array.dtype))

    def __str__(self) -> str:
        return f"{shape_text(self.shape)} {self.dtype}"


@dataclass(frozen=True)
class Procedure:
    """An operator for arrays of these shapes and dtypes that is no kernel but a function.

    Attributes:
        spec: of the operator.
        attributes: all of them.
        outputs: what it makes.
    """

    spec: OpSpec
    attributes: Mapping[str, Any]
    outputs: tuple[Described, ...]

    @classmethod
    def of(
        cls, spec: OpSpec, attributes: Mapping[str, Any], given: Sequence[Described]
    ) -> Procedure:
        if spec.describe is not None:
            return cls(spec, attributes, tuple(spec.describe(*given, **attributes)))
        assert spec.infer_shape is not None and spec.infer_dtype is not None, spec.name
        shapes = spec.infer_shape(*(one.shape for one in given), **attributes)
        dtypes = spec.infer_dtype(*(one.dtype for one in given))
        return cls(spec, attributes, tuple(map(Described, shapes, dtypes)))

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """The outputs: an array, or a tuple; written to `out` where it is given."""
        if out is None:
            out = [np.empty(one.shape, dtype_of(one.dtype).numpy) for one in self.outputs]
        assert self.spec.procedure is not None
        self.spec.procedure(*arrays, *out, **self.attributes)
        return out[0] if len(out) == 1 else tuple(out)


class WholeKernel(Protocol):
    """A kernel that was not made from a graph, such as `custom_ops.core.c_kernels.Written`."""

    @property
    def outputs(self) -> tuple[Described, ...]:
        """What it makes."""

    @property
    def whole(self) -> InC | None:
        """Its function in C; None where it has to be called as it is."""

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """The outputs: an array, or a tuple."""


AnyKernel = Kernel | Procedure | WholeKernel


def outputs_of(kernel: AnyKernel) -> tuple[Described, ...]:
    """What a kernel makes."""
    if not isinstance(kernel, Kernel):
        return kernel.outputs
    return tuple(Described(item.shape, item.tensor.dtype) for item in kernel.outputs)


def program_of(kernel: Kernel) -> tuple[Loaded, list[int]] | None:
    """The one program that a kernel is, and the parameter that each of its buffers is; None where it is no such."""
    compiled = kernel.compiled
    if len(compiled.steps) != 1 or compiled.steps[0].program is None:
        return None
    loaded = compiled.steps[0].program
    program = loaded.program
    if program.scalars or program.overwritten is not None:
        return None
    numbers = {id(item.tensor): i for i, item in enumerate((*kernel.inputs, *kernel.outputs))}
    tensors = [item.tensor for item in kernel.outputs]
    distinct = len({id(tensor) for tensor in tensors}) == len(tensors)
    if not distinct or any(id(item.tensor) in map(id, tensors) for item in kernel.inputs):
        return None
    if [id(tensor) for tensor in program.outputs] != [id(tensor) for tensor in tensors]:
        return None
    return loaded, [numbers[id(tensor)] for tensor in (*program.inputs, *program.outputs)]


def in_c(kernel: AnyKernel) -> InC | None:
    """A kernel as one function in C; None where it is no such."""
    if isinstance(kernel, Procedure):
        return None
    if not isinstance(kernel, Kernel):
        return kernel.whole
    found = program_of(kernel)
    if found is None or found[0].program.sizes:
        return None
    return InC(found[0].function, found[1])


def several(made: Any) -> tuple[Any, ...]:
    """What a function gives back, always as a tuple."""
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)
