"""How the Cell of an operator is called: with tensors in MindSpore, with NumPy arrays where there is none."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from custom_ops.core.arrays import OnArrays
from custom_ops.core.framework import HAS_MINDSPORE, Cell, ms
from tbe_impl.errors import InputError


class Called(OnArrays, Cell):
    """A Cell that says which of its arguments is no tensor before MindSpore meets it."""

    @property
    def operator_name(self) -> str:
        """What it is called in messages."""
        return type(self).__name__

    if HAS_MINDSPORE:

        def __call__(self, *inputs: Any, **keywords: Any) -> Any:
            """What it makes of tensors.

            Raises:
                InputError: an argument is no tensor.
            """
            for one in inputs:
                if type(one) is not ms.Tensor and not isinstance(one, ms.Tensor):
                    check_tensors(self, inputs, keywords)
                    break
            return super().__call__(*inputs, **keywords)

    else:
        training = False

        def __call__(self, *arrays: Any, **keywords: Any) -> Any:
            """What it makes of arrays."""
            return self.forward(*arrays, **keywords)

        def set_train(self, mode: bool = True) -> Any:
            """Whether it trains."""
            self.training = mode
            return self


def check_tensors(cell: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raises `InputError` for an argument of a Cell that is no tensor, where None is no default."""
    for argument, one in _named(cell, inputs, keywords):
        if not isinstance(one, ms.Tensor):
            raise not_a_tensor(cell.operator_name, argument, one)


def _named(cell: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Arguments by name, without those that are left at None as `construct` has them."""
    parameters = inspect.signature(cell.construct).parameters
    if any(one.kind is one.VAR_POSITIONAL for one in parameters.values()):
        names = [
            *cell.spec.inputs,
            *(f"argument {i + 1}" for i in range(len(cell.spec.inputs), len(inputs))),
        ]
        return list(zip(names, inputs, strict=False))
    given = list(zip(parameters, inputs, strict=False)) + list(keywords.items())
    return [
        (name, one)
        for name, one in given
        if one is not None or name not in parameters or parameters[name].default is not None
    ]


def not_a_tensor(name: str, argument: str, given: Any) -> InputError:
    """The error for it.

    Args:
        name: of the operator.
        argument: of which this is the value.
        given: that.
    """
    is_array = isinstance(given, np.ndarray)
    got = f"a NumPy array {given.shape} {given.dtype}" if is_array else f"{given!r:.60}"
    return InputError(
        f"{name}: {argument} is no tensor",
        place=name,
        expected="a mindspore.Tensor",
        got=got,
        remedy="Call forward(…) with NumPy arrays, or make a Tensor of it" if is_array else "",
    )


def real(operator: str, argument: str, value: Any) -> float:
    """An argument of a constructor that is a number.

    Raises:
        InputError: it is none; names operator and argument.
    """
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise InputError(
        f"{operator}: {argument} is no number", place=operator, expected="a number", got=repr(value)
    )


def whole(operator: str, argument: str, value: Any) -> int:
    """An argument of a constructor that is a whole number.

    Raises:
        InputError: it is none; names operator and argument.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise InputError(
        f"{operator}: {argument} is no whole number",
        place=operator,
        expected="a whole number",
        got=repr(value),
    )
