"""Builds kernels of a TBE operator function for given shapes and dtypes; needs no framework."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import Any

from custom_ops.core.computation import SOC, copy_aliased_outputs
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.tbe_bridge.registrations import Registration
from tbe_impl import compat
from tbe_impl.arguments import Argument
from tbe_impl.autodiff.reverse_mode import gradients
from tbe_impl.cli.arguments import ArrayDescription
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.dsl.operations.shaping import broadcast
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.loading.operator import Operator
from tbe_impl.loading.parameter_roles import strip_decorators

GRADIENT_REMEDY = "write `get_bprop(self)` in the primitive, or give ops.Custom a `bprop`"

OutputRequest = tuple[tuple[int, ...] | None, str | None]
"""Shape and dtype of an output as inferred by a primitive, or None if they are not inferred."""


@dataclass(frozen=True, eq=False)
class TbeFunction:
    """TBE operator function with its attribute values.

    Attributes:
        name: name of the operator.
        function: the Python function. Its parameters are one dict per input, one dict per output,
            and then the attributes.
        inputs, outputs: names of the operator's inputs and outputs.
        optional: number of optional inputs that the function takes but the operator does not have.
            The function gets None for each of these inputs.
        attributes: dict from attribute name to value.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    optional: int
    attributes: Mapping[str, Any]

    @property
    def place(self) -> str:
        """File and line of the function."""
        file, line = place_of(self.function)
        return f"{file}:{line}"

    def kernel(self, given: Sequence[ArraySpec], wanted: Sequence[OutputRequest]) -> Kernel:
        """Builds the function's kernel for these inputs; casts the results to the requested dtypes.

        Raises:
            InputError: the function rejects the inputs. The error is also raised if the built
                kernel has a wrong number of inputs or outputs, or an output of a wrong shape.
        """
        like = given[0]
        made = [
            ArrayDescription(shape or like.shape, dtype or like.dtype) for shape, dtype in wanted
        ]
        taken = [ArrayDescription(one.shape, one.dtype) for one in given]
        arguments = [
            *(one.as_argument() for one in taken),
            *(None for _ in range(self.optional)),
            *(one.as_argument() for one in made),
        ]
        operator = Operator(self.function, file=Path(place_of(self.function)[0]))
        built = operator.build(*arguments, soc=SOC, **self.attributes)
        self._check_number(built.inputs, self.inputs)
        self._check_number(built.outputs, self.outputs)
        for name, item, (shape, _) in zip(self.outputs, built.outputs, wanted, strict=True):
            if shape is not None and shape != item.shape:
                raise InputError(
                    f"{self.name}: infer_shape and the TBE function disagree on {name}",
                    place=self.place,
                    expected=f"{shape} from infer_shape",
                    got=f"{item.shape} from the function",
                    remedy="Change one of them",
                )
        return _cast(built, [dtype for _, dtype in wanted])

    def gradient(self, given: Sequence[ArraySpec], wanted: Sequence[OutputRequest]) -> Kernel:
        """Builds the kernel that computes the gradients of all inputs.

        The kernel takes the inputs, then the gradients of the outputs. The gradient of an integer
        input is zero.

        Raises:
            InputError: an operation of the function has no derivative.
        """
        forward = self.kernel(given, wanted)
        with compat.installed(soc=SOC):
            results = [item.tensor for item in forward.outputs]
            grads = [
                placeholder(one.shape, one.dtype, f"grad_{name}")
                for one, name in zip(results, self.outputs, strict=True)
            ]
            inputs = [item.tensor for item in forward.inputs]
            flows = [one if is_float(one.dtype) else None for one in grads]
            try:
                if any(item.is_resized for item in forward.inputs):
                    raise InputError("the function reads a part of an input", place=self.place)
                found = gradients(results, inputs, flows)
            except FusionError as error:
                raise InputError(
                    f"the gradient of {self.name} cannot be derived from its TBE function: "
                    f"{error.what}",
                    place=error.place or self.place,
                    remedy=GRADIENT_REMEDY.replace("write", "Write", 1),
                ) from error
            made = [
                broadcast(0, own.shape, own.dtype) if one is None else one
                for one, own in zip(found, inputs, strict=True)
            ]
            made = list(copy_aliased_outputs([*inputs, *grads], made))
        taken = [
            replace(item, tensor=one, name=one.name)
            for item, one in zip(forward.outputs, grads, strict=True)
        ]
        outputs = [
            Argument(one, item.shape, f"grad_{name}")
            for one, item, name in zip(made, forward.inputs, self.inputs, strict=True)
        ]
        return Kernel(f"{forward.name}_grad", SOC, (*forward.inputs, *taken), tuple(outputs))

    def _check_number(self, built: Sequence[Argument], names: Sequence[str]) -> None:
        if len(built) != len(names):
            raise InputError(
                f"{self.name}: the TBE function builds another number of tensors "
                "than the primitive has",
                place=self.place,
                expected=f"{len(names)} ({', '.join(names)})",
                got=f"{len(built)} ({', '.join(one.name for one in built)})",
                remedy="Give tensor_list every input, then every output",
            )


def _cast(kernel: Kernel, dtypes: Sequence[str | None]) -> Kernel:
    """Casts each result of the kernel to the corresponding item of `dtypes`; None means no cast."""
    pairs = list(zip(kernel.outputs, dtypes, strict=True))
    if all(dtype in (None, item.tensor.dtype) for item, dtype in pairs):
        return kernel
    with compat.installed(soc=SOC):
        outputs = [
            replace(item, tensor=cast_to(item.tensor, dtype or item.tensor.dtype))
            for item, dtype in pairs
        ]
    return Kernel(kernel.name, SOC, kernel.inputs, tuple(outputs))


def place_of(function: Callable[..., Any]) -> tuple[str, int]:
    """Returns the file and line of a function, after unwrapping its decorators."""
    code = strip_decorators(function).__code__
    return code.co_filename, code.co_firstlineno


def load_registered_function(registration: Registration) -> Callable[..., Any]:
    """Finds the TBE function of a registered operator in the imported modules.

    Raises:
        InputError: the registered file defines no function with the registered name, or was not
            imported.
    """
    kernel, file = str(registration.info.get("kernel")), registration.file
    for module in [*sys.modules.values()]:
        found = getattr(module, "__dict__", {}).get(kernel)
        if isinstance(found, FunctionType) and os.path.realpath(place_of(found)[0]) == file:
            return unwrap_decorators(found)
    raise InputError(
        f"the TBE function of {registration.info['op_name']} is not there",
        place=file,
        expected=f"a function {kernel}, the name that `.kernel_name(…)` of its TBERegOp gives",
        remedy="Give function and registration the same name, on the top level of the file",
    )


def unwrap_decorators(function: Callable[..., Any]) -> Callable[..., Any]:
    """Unwraps decorators that hide a function's parameters, such as `op_info_register`."""
    while True:
        parameters = inspect.signature(function).parameters.values()
        if any(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters):
            return function
        cells = (cell.cell_contents for cell in getattr(function, "__closure__", None) or ())
        inner = next((one for one in cells if isinstance(one, FunctionType)), None)
        if inner is None:
            return function
        function = inner
