"""Operators with weights of their own, as MindSpore's Cells have them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import HAS_MINDSPORE, ms
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.errors import InputError

_FILLS = {"ones": 1.0, "zeros": 0.0}


def uniform(bound: float, *, he: bool = False) -> Any:
    """Initial values between −bound and bound: MindSpore's initialiser, or a function of a shape where there is none.

    Args:
        he: MindSpore's `HeUniform(√5)`, whose bound is one over the root of the inputs of an output.
    """
    if HAS_MINDSPORE:
        from mindspore.common.initializer import HeUniform, Uniform

        return HeUniform(math.sqrt(5)) if he else Uniform(bound)
    return lambda shape: np.random.default_rng().uniform(-bound, bound, shape)


@contextmanager
def keeping_names(*parameters: Any) -> Iterator[None]:
    """Parameters have their names again afterwards: MindSpore names those that a Cell is given anew."""
    known = [(one, one.name) for one in parameters if hasattr(one, "name")]
    try:
        yield
    finally:
        for one, name in known:
            one.name = name


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
    if callable(initial):
        initial = initial(tuple(shape))
    return np.broadcast_to(np.asarray(initial, np.float32), tuple(shape)).copy()


class WeightedCell(FusedCell):
    """An operator some of whose inputs are weights that the Cell owns.

    `forward` on arrays takes the others alone, or all inputs in order; weights that are left out at the end are the Cell's
    own.

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
        inputs, names = self.spec.inputs, self.weights
        if not set(names) <= set(inputs):
            names = inputs[-len(names) :]  # the Cell calls them otherwise
        own = dict(zip(names, self.weights, strict=True))
        if len(arrays) == len(inputs) - len(own):
            known = dict(zip([name for name in inputs if name not in own], arrays, strict=True))
        else:
            known = dict(zip(inputs, arrays, strict=False))
        if len(arrays) <= len(inputs) and own.keys() >= set(inputs) - known.keys():
            arrays = tuple(
                known[name] if name in known else as_array(getattr(self, own[name]))
                for name in inputs
            )
        return super().forward(*arrays)


def as_array(weight: Any) -> np.ndarray:
    """A weight as an array."""
    return weight if isinstance(weight, np.ndarray) else weight.asnumpy()
