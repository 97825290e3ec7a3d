"""Calls ``infer_dtype`` and ``infer_shape`` of an operator's class and holds ``forward`` to them.

An inferred dtype is the dtype of the result: `forward` computes in the wider of it and its inputs,
and its result is cast. An inferred shape has to equal the shape that `forward` makes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import several
from custom_ops.core.operator_spec import Compute
from tbe_impl.dsl.casts import cast_to
from tbe_impl.dsl.dtypes import common, dtype_of, is_float
from tbe_impl.errors import FusionError, InputError

Shapes = tuple[tuple[int, ...], ...]


def dtypes_by(
    function: Callable[..., Any], name: str, outputs: Sequence[str], place: str
) -> Callable[..., tuple[str, ...]]:
    """A class's ``infer_dtype`` that always gives one name for each output.

    Raises, when it is called:
        InputError: the function raised, gave another number of dtypes, or what is no dtype.
    """

    def infer(*given: str, **attributes: Any) -> tuple[str, ...]:
        made = _called(function, f"{name}.infer_dtype", place, given, attributes)
        listed = made if isinstance(made, (tuple, list)) else (made,)
        _check_number(listed, f"{name}.infer_dtype", place, outputs)
        return tuple(_dtype_name(one, f"{name}.infer_dtype", place) for one in listed)

    return infer


def shapes_by(
    function: Callable[..., Any], name: str, outputs: Sequence[str], place: str
) -> Callable[..., Shapes]:
    """A class's ``infer_shape`` that always gives one tuple for each output.

    A bare shape is that of the only output.

    Raises, when it is called:
        InputError: the function raised, gave another number of shapes, or what is no shape.
    """

    def infer(*given: tuple[int, ...], **attributes: Any) -> Shapes:
        made = _called(function, f"{name}.infer_shape", place, given, attributes)
        is_one = isinstance(made, (tuple, list)) and all(
            hasattr(size, "__index__") for size in made
        )
        listed = (made,) if is_one or not isinstance(made, (tuple, list)) else made
        _check_number(listed, f"{name}.infer_shape", place, outputs)
        for one in listed:
            if not isinstance(one, (tuple, list)) or not all(
                hasattr(size, "__index__") for size in one
            ):
                raise InputError(
                    f"{name}.infer_shape gives what is no shape",
                    place=place,
                    expected="a tuple of whole numbers for each output",
                    got=repr(made),
                )
        return tuple(tuple(int(size) for size in one) for one in listed)

    return infer


def forward_with(compute: Compute, infer: Callable[..., tuple[str, ...]]) -> Compute:
    """`compute` with results in the dtypes that `infer` gives.

    Narrower floats are widened before, results are cast after.
    """

    def computed(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        wanted = infer(*(tensor.dtype for tensor in tensors), **attributes)
        floats = [dtype for dtype in wanted if is_float(dtype)]
        made = several(compute(*(_widened(one, floats) for one in tensors), **attributes))
        if len(made) != len(wanted):
            return made  # another number of outputs is an error of its own
        return tuple(cast_to(one, dtype) for one, dtype in zip(made, wanted, strict=True))

    return computed


def backward_with(compute: Compute, saves: Sequence[str], inputs: Sequence[str]) -> Compute:
    """`compute` with gradients in the dtypes of their inputs, as far as these are saved."""

    def computed(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        made = several(compute(*tensors, **attributes))
        if len(made) != len(inputs):
            return made
        known = {name: tensor.dtype for name, tensor in zip(saves, tensors, strict=False)}
        return tuple(
            one if one is None or name not in known else cast_to(one, known[name])
            for one, name in zip(made, inputs, strict=True)
        )

    return computed


def check_shapes(name: str, outputs: Sequence[str], said: Shapes, made: Shapes, place: str) -> None:
    """Raises where a class infers another shape than `forward` makes."""
    for output, wanted, own in zip(outputs, said, made, strict=True):
        if wanted != own:
            raise InputError(
                f"{name}: infer_shape and forward disagree on {output}",
                place=place or name,
                expected=f"{wanted}, as infer_shape has it",
                got=f"{own} from forward",
                remedy="Change one of them; without infer_shape the shape follows from forward",
            )


def _widened(tensor: Any, floats: Sequence[str]) -> Any:
    if not floats or not is_float(tensor.dtype):
        return tensor
    return cast_to(tensor, functools.reduce(common, floats, tensor.dtype))


def _called(
    function: Callable[..., Any],
    name: str,
    place: str,
    given: Sequence[Any],
    attributes: Mapping[str, Any],
) -> Any:
    try:
        return function(*given, **_accepted(function, attributes))
    except FusionError:
        raise
    except Exception as error:
        raise InputError(
            f"{name} refuses these inputs: {error}",
            place=place or name,
            got=", ".join(map(str, given)),
        ) from error


def _accepted(function: Callable[..., Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that a function takes by keyword."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(attributes)
    named = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    return {name: value for name, value in attributes.items() if name in named}


def _check_number(made: Sequence[Any], name: str, place: str, outputs: Sequence[str]) -> None:
    if len(made) != len(outputs):
        raise InputError(
            f"{name} gives another number of results",
            place=place or name,
            expected=f"{len(outputs)} ({', '.join(outputs)})",
            got=f"{len(made)} ({', '.join(map(str, made))})",
        )


def _dtype_name(given: Any, name: str, place: str) -> str:
    """The name of a dtype of NumPy, of MindSpore, or written out."""
    plain = np.dtype(given).name if isinstance(given, (type, np.dtype)) else given
    try:
        return dtype_of(plain).name
    except InputError as error:
        raise InputError(
            f"{name} gives what is no dtype",
            place=place or name,
            expected=error.expected,
            got=repr(given),
        ) from error
