"""Operators with weights of their own, as MindSpore's Cells have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from custom_ops.cell import FusedCell
from custom_ops.framework import HAS_MINDSPORE, ms
from custom_ops.specs import OpSpec
from tbe_impl.errors import InputError

_FILLS = {"ones": 1.0, "zeros": 0.0}


def parameter(
    initial: Any, shape: Sequence[int], dtype: Any, name: str, *, trained: bool = True
) -> Any:
    """A weight: MindSpore's Parameter, or an array where there is no MindSpore.

    Args:
        initial: what `mindspore.common.initializer.initializer` takes; an array; a Parameter, which is taken as it is.
        dtype: of MindSpore; None: float32.
    """
    if HAS_MINDSPORE:
        if isinstance(initial, ms.Parameter):
            return initial
        from mindspore.common.initializer import initializer

        if isinstance(initial, np.ndarray):
            initial = ms.Tensor(initial)
        made = initializer(initial, tuple(shape), dtype=dtype or ms.float32)
        return ms.Parameter(made, name=name, requires_grad=trained)
    if isinstance(initial, str):
        if initial not in _FILLS:
            raise InputError(
                f"{name}: without MindSpore there is no such initial value",
                place=name,
                expected="ones, zeros, a number or an array",
                got=repr(initial),
            )
        initial = _FILLS[initial]
    return np.broadcast_to(np.asarray(initial, np.float32), tuple(shape)).copy()


class WeightedCell(FusedCell):
    """An operator whose last inputs are weights that the Cell owns.

    `forward` on arrays takes them as further arrays; those that are left out are the Cell's own.

    Args:
        spec: of the operator.
        attributes: those that are not the default.
        weights: name of an input → the Parameter, in the order of the inputs.
        route: as `FusedCell` has it.
    """

    def __init__(
        self,
        spec: OpSpec,
        attributes: Mapping[str, Any],
        weights: Mapping[str, Any],
        route: str = "",
    ):
        super().__init__(spec, attributes, route)
        object.__setattr__(self, "weights", tuple(weights))
        for name, weight in weights.items():
            setattr(self, name, weight)

    def forward(self, *arrays: Any) -> Any:
        """The output, or a tuple of them; the arrays are kept for `backward`."""
        lacking = len(self.spec.inputs) - len(arrays)
        if 0 < lacking <= len(self.weights):
            own = (as_array(getattr(self, name)) for name in self.weights[-lacking:])
            arrays = (*arrays, *own)
        return super().forward(*arrays)


def as_array(weight: Any) -> np.ndarray:
    """A weight as an array."""
    return weight if isinstance(weight, np.ndarray) else weight.asnumpy()
