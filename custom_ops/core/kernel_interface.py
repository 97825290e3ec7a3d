"""Defines the interface of an operator's kernels, independent of any framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from custom_ops.core.operator_spec import OpSpec
from custom_ops.onednn import Prepared
from tbe_impl.cpu.loaded_program import LoadedProgram
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.sequence import CFunction


@dataclass(frozen=True)
class ArraySpec:
    """Shape and dtype of an array, where −1 marks an unknown size."""

    shape: tuple[int, ...]
    dtype: str

    @classmethod
    def from_array(cls, array: Any) -> ArraySpec:
        return cls(tuple(array.shape), str(array.dtype))

    def __str__(self) -> str:
        return f"{shape_text(self.shape)} {self.dtype}"


@dataclass(frozen=True)
class Procedure:
    """Host function with the interface of a kernel, for arrays of given shapes and dtypes.

    Attributes:
        spec: the `OpSpec` of the operator.
        attributes: all attributes, defaults included.
        outputs: shapes and dtypes of the outputs.
    """

    spec: OpSpec
    attributes: Mapping[str, Any]
    outputs: tuple[ArraySpec, ...]

    @classmethod
    def from_inputs(
        cls, spec: OpSpec, attributes: Mapping[str, Any], given: Sequence[ArraySpec]
    ) -> Procedure:
        if spec.describe is not None:
            return cls(spec, attributes, tuple(spec.describe(*given, **attributes)))
        assert spec.infer_shape is not None and spec.infer_dtype is not None, spec.name
        shapes = spec.infer_shape(*(one.shape for one in given), **attributes)
        dtypes = spec.infer_dtype(*(one.dtype for one in given))
        return cls(spec, attributes, tuple(map(ArraySpec, shapes, dtypes)))

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """Returns the output array, or a tuple of arrays if there are several outputs.

        If `out` is given, the outputs are written to the arrays in `out`. Otherwise the outputs are
        new arrays.
        """
        if out is None:
            out = [np.empty(one.shape, dtype_of(one.dtype).numpy) for one in self.outputs]
        assert self.spec.procedure is not None
        self.spec.procedure(*arrays, *out, **self.attributes)
        return out[0] if len(out) == 1 else tuple(out)


class OpaqueKernel(Protocol):
    """Interface of kernels that are not built from a DSL graph.

    These kernels are `custom_ops.core.c_kernels.CKernel` and `custom_ops.core.kernel_chain.Chain`.
    """

    @property
    def outputs(self) -> tuple[ArraySpec, ...]:
        """Shapes and dtypes of the outputs."""

    @property
    def c_function(self) -> CFunction | None:
        """The kernel's C function, or None if only Python can call the kernel."""

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """Returns the output array, or a tuple of arrays if there are several outputs."""


AnyKernel = Kernel | Procedure | OpaqueKernel


def outputs_of(kernel: AnyKernel) -> tuple[ArraySpec, ...]:
    """Returns shapes and dtypes of a kernel's outputs."""
    if not isinstance(kernel, Kernel):
        return kernel.outputs
    return tuple(ArraySpec(item.shape, item.tensor.dtype) for item in kernel.outputs)


def program_of(kernel: Kernel) -> tuple[LoadedProgram, list[int]] | None:
    """Returns the only program of a kernel, and an index for each buffer of the program.

    The index of a buffer is the position of its array among the kernel's inputs and outputs. The
    function returns None if the kernel does not consist of a single program. It also returns None
    if the program takes other arguments than the kernel's inputs and outputs.
    """
    loaded = kernel.compiled.only_program
    if loaded is None:
        return None
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


def c_function_of(kernel: AnyKernel | Prepared) -> CFunction | None:
    """Returns the kernel's C function, or None if only Python can call the kernel."""
    if isinstance(kernel, Procedure):
        return None
    if not isinstance(kernel, Kernel):
        return kernel.c_function
    found = program_of(kernel)
    if found is None or found[0].program.sizes:
        return None
    return CFunction(found[0].function, found[1])


def to_tuple(made: Any) -> tuple[Any, ...]:
    """Returns a tuple or list as a tuple, and any other value as a 1-tuple."""
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)
