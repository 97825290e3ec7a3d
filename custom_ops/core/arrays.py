"""Operators on NumPy arrays, by the same kernels, without a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from custom_ops.core.computation import Computation
from custom_ops.core.gradient import gradient_of, own_gradients
from custom_ops.core.kernel_interface import several
from custom_ops.core.operator_spec import OpSpec, cached_in_spec
from tbe_impl.errors import InputError

Attributes = tuple[tuple[str, Any], ...]
"""Sorted pairs: what a computation is looked up by."""


def sorted_attributes(spec: OpSpec, attributes: Mapping[str, Any]) -> Attributes:
    """All attributes of an operator, as they are looked up by."""
    return tuple(sorted(spec.with_defaults(attributes).items()))


@cached_in_spec
def computation_of(spec: OpSpec, attributes: Attributes) -> Computation:
    """The kernels of an operator with these attributes, one for the whole process."""
    return Computation(spec, dict(attributes))


class OnArrays:
    """An operator that is called with NumPy arrays.

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
        """The output, or a tuple of them; the arrays are kept for `backward`."""
        given = tuple(np.asarray(array) for array in arrays)
        made = several(self._computation(self.spec)(*given))
        object.__setattr__(self, "_seen", (given, made))
        return _alone(made[: len(self.spec.visible)])

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """The gradients of the inputs that have one: an array, or a tuple.

        Args:
            grad: gradient of the output; a tuple of them where there are several outputs.
            arrays: the inputs of `forward`; left out: those of the last call.

        Raises:
            InputError: no inputs, and `forward` was not called before.
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
        found = several(self._computation(gradient)(*saved, *map(np.asarray, grads)))
        own = dict(zip(own_gradients(self.spec), found, strict=True))
        names = tuple(self.spec.inputs[i] for i in self.spec.differentiable)
        return _alone(tuple(own[self.spec.same_gradient.get(name, name)] for name in names))

    def _computation(self, spec: OpSpec) -> Computation:
        return computation_of(spec, sorted_attributes(spec, self.attributes))


def _alone(made: tuple[Any, ...]) -> Any:
    """The only one, or the tuple."""
    return made[0] if len(made) == 1 else made
