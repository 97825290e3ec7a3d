"""Defines Cells that own weights, like MindSpore's layers."""

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


def uniform_initializer(bound: float, *, he: bool = False) -> Any:
    """Returns an initializer that draws uniformly from [−bound, bound].

    With MindSpore, the initializer is one of MindSpore's initializers. Without MindSpore, the
    initializer is a function that takes a shape and returns an array.

    Args:
        bound: largest absolute value of a weight.
        he: whether to use MindSpore's `HeUniform(√5)` instead of `bound`. The bound of
            `HeUniform(√5)` is 1/√(number of inputs per output).
    """
    if HAS_MINDSPORE:
        from mindspore.common.initializer import HeUniform, Uniform

        return HeUniform(math.sqrt(5)) if he else Uniform(bound)
    return lambda shape: np.random.default_rng().uniform(-bound, bound, shape)


@contextmanager
def keep_names(*parameters: Any) -> Iterator[None]:
    """Context manager that restores the original names of `parameters` at exit.

    MindSpore renames a Parameter when the Parameter is assigned to a Cell.
    """
    known = [(one, one.name) for one in parameters if hasattr(one, "name")]
    try:
        yield
    finally:
        for one, name in known:
            one.name = name


def make_parameter(
    initial: Any, shape: Sequence[int], dtype: Any, name: str, *, trained: bool = True
) -> Any:
    """Creates a weight as a MindSpore Parameter, or as an array without MindSpore.

    Args:
        initial: an initial value that `mindspore.common.initializer.initializer` accepts, an array,
            or a Parameter. A Parameter is returned unchanged.
        dtype: MindSpore dtype; None means float32.
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
                f"{name}: unknown initial value without MindSpore",
                place=name,
                expected="ones, zeros, a number or an array",
                got=repr(initial),
            )
        initial = _FILLS[initial]
    if callable(initial):
        initial = initial(tuple(shape))
    return np.broadcast_to(np.asarray(initial, np.float32), tuple(shape)).copy()


class WeightedCell(FusedCell):
    """Cell that owns the weights among an operator's inputs.

    `forward` takes NumPy arrays: one for each input of the operator, in the operator's order. A
    call may omit all weights. It may also omit some of the weights if these are the last inputs.
    For an omitted weight, the Cell uses its own Parameter.

    Args:
        spec: the `OpSpec` of the operator.
        attributes: the attributes that differ from their defaults.
        weights: dict from the name of each weight to its Parameter, in the order of the inputs.
        route: as in `FusedCell`.
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
        """Returns the output or a tuple of outputs; saves the arrays for `backward`."""
        inputs, names = self.spec.inputs, self.weights
        if not set(names) <= set(inputs):
            names = inputs[-len(names) :]  # the Cell uses other names
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
    """Returns a weight as a NumPy array."""
    return weight if isinstance(weight, np.ndarray) else weight.asnumpy()
