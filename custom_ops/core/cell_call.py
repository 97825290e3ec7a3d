"""Calls an operator's Cell with tensors in MindSpore, or with NumPy arrays without MindSpore."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from custom_ops.core.arrays import ArrayOperator
from custom_ops.core.framework import HAS_MINDSPORE, Cell, ms
from tbe_impl.errors import InputError


class OperatorCell(ArrayOperator, Cell):
    """Cell that checks in each call whether all arguments are tensors.

    The check runs before MindSpore's dispatch. The error names the argument that is not a tensor.
    Without MindSpore, a call runs `forward` on NumPy arrays.
    """

    @property
    def operator_name(self) -> str:
        """Name of the operator in messages."""
        return type(self).__name__

    if HAS_MINDSPORE:

        def __call__(self, *inputs: Any, **keywords: Any) -> Any:
            """Runs the operator on tensors.

            Raises:
                InputError: an argument is not a tensor.
            """
            for one in inputs:
                if type(one) is not ms.Tensor and not isinstance(one, ms.Tensor):
                    check_tensors(self, inputs, keywords)
                    break
            return super().__call__(*inputs, **keywords)

    else:
        training = False

        def __call__(self, *arrays: Any, **keywords: Any) -> Any:
            """Runs the operator on arrays."""
            return self.forward(*arrays, **keywords)

        def set_train(self, mode: bool = True) -> Any:
            """Sets the training flag."""
            self.training = mode
            return self


def check_tensors(cell: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raises `InputError` if an argument is not a tensor.

    An argument whose default is None may also be None.
    """
    for argument, one in _name_arguments(cell, inputs, keywords):
        if not isinstance(one, ms.Tensor):
            raise tensor_error(cell.operator_name, argument, one)


def _name_arguments(
    cell: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Returns one pair (name, value) per argument, except arguments that keep the default None."""
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


def tensor_error(name: str, argument: str, given: Any) -> InputError:
    """Builds the error for an argument that is not a tensor.

    Args:
        name: name of the operator.
        argument: name of the argument.
        given: value of the argument.
    """
    is_array = isinstance(given, np.ndarray)
    got = f"a NumPy array {given.shape} {given.dtype}" if is_array else f"{given!r:.60}"
    return InputError(
        f"{name}: {argument} is not a tensor",
        place=name,
        expected="a mindspore.Tensor",
        got=got,
        remedy="Call forward(…) with NumPy arrays, or convert it to a Tensor" if is_array else "",
    )


def check_real(operator: str, argument: str, value: Any) -> float:
    """Checks that a constructor argument is a number, and returns it as a float.

    Raises:
        InputError: `value` is not a number; the message names operator and argument.
    """
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise InputError(
        f"{operator}: {argument} is not a number",
        place=operator,
        expected="a number",
        got=repr(value),
    )


def check_whole_number(operator: str, argument: str, value: Any) -> int:
    """Checks that a constructor argument is an integer, and returns it as an int.

    Raises:
        InputError: `value` is not an integer; the message names operator and argument.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise InputError(
        f"{operator}: {argument} is not an integer",
        place=operator,
        expected="an integer",
        got=repr(value),
    )


def check_choice(
    operator: str, argument: str, value: Any, known: Collection[str], joint: str = " or "
) -> None:
    """Checks that the value of an argument is one of the allowed names.

    Args:
        operator, argument: name of the operator and of its argument.
        value: value of the argument.
        known: the allowed names. The error message does not list an empty name.
        joint: text between the names in the error message.

    Raises:
        InputError: `value` is not in `known`; the message names operator and argument.
    """
    if value not in known:
        raise InputError(
            f"{operator}: unknown {argument}",
            place=operator,
            expected=joint.join(filter(None, known)),
            got=repr(value),
        )
