"""Runs operators on NumPy arrays without a framework, with the same kernels as in MindSpore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from custom_ops.core.computation import Computation
from custom_ops.core.gradient import gradient_of, inputs_with_own_gradient
from custom_ops.core.kernel_interface import to_tuple
from custom_ops.core.operator_spec import OpSpec, cache_in_spec
from tbe_impl.errors import InputError

Attributes = tuple[tuple[str, Any], ...]
"""Sorted (name, value) pairs of an operator's attributes, the cache key of a `Computation`."""


def attribute_key(spec: OpSpec, attributes: Mapping[str, Any]) -> Attributes:
    """Returns all attributes of an operator, defaults included, as sorted (name, value) pairs."""
    return tuple(sorted(spec.with_defaults(attributes).items()))


@cache_in_spec
def computation_of(spec: OpSpec, attributes: Attributes) -> Computation:
    """Returns the operator's `Computation` for these attributes; the spec caches the result."""
    return Computation(spec, dict(attributes))


class ArrayOperator:
    """Base class that runs an operator on NumPy arrays; subclasses set `spec` and `attributes`.

    >>> import numpy as np
    >>> from custom_ops import AddReLU
    >>> op = AddReLU()
    >>> op.forward(np.float32([[1, -2]]), np.float32([[1, 1]]))
    array([[2., 0.]], dtype=float32)
    >>> op.backward(np.float32([[5, 5]]))[0]
    array([[5., 0.]], dtype=float32)
    """

    spec: OpSpec
    attributes: Mapping[str, Any]

    def forward(self, *arrays: Any) -> Any:
        """Returns the output or a tuple of outputs; saves inputs and outputs for `backward`."""
        given = tuple(np.asarray(array) for array in arrays)
        made = to_tuple(self._computation(self.spec)(*given))
        object.__setattr__(self, "_seen", (given, made))
        return _unwrap_single(made[: len(self.spec.visible_outputs)])

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """Returns the gradient of the differentiable input, or a tuple if there are several.

        Args:
            grad: gradient of the output; a tuple of gradients if there are several outputs.
            arrays: inputs of `forward`; if omitted, the inputs of the last `forward` call.

        Raises:
            InputError: `arrays` is empty and `forward` was not called before.
        """
        if arrays:
            self.forward(*arrays)
        seen = getattr(self, "_seen", None)
        if seen is None:
            raise InputError(
                f"backward of {self.spec.name} was called before forward",
                place=self.spec.name,
                expected="the inputs, from a call of forward or as further arguments",
                remedy="Call forward(…) first, or backward(grad, …) with the inputs",
            )
        gradient = gradient_of(self.spec)
        names = (*self.spec.inputs, *self.spec.outputs)
        known = dict(zip(names, (*seen[0], *seen[1]), strict=True))
        saved = [known[name] for name in gradient.inputs if name in known]
        grads = tuple(grad) if isinstance(grad, (tuple, list)) else (grad,)
        found = to_tuple(self._computation(gradient)(*saved, *map(np.asarray, grads)))
        own = dict(zip(inputs_with_own_gradient(self.spec), found, strict=True))
        names = tuple(self.spec.inputs[i] for i in self.spec.differentiable_inputs)
        return _unwrap_single(tuple(own[self.spec.same_gradient.get(name, name)] for name in names))

    def _computation(self, spec: OpSpec) -> Computation:
        return computation_of(spec, attribute_key(spec, self.attributes))


def _unwrap_single(made: tuple[Any, ...]) -> Any:
    """Returns the element of a 1-tuple, and any other tuple unchanged."""
    return made[0] if len(made) == 1 else made
