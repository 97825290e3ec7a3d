"""Wraps a user's ``infer_dtype`` and ``infer_shape``; checks the results of ``forward``.

If the inferred dtype is wider than the dtype of a float input, the input is cast to the inferred
dtype. The result of ``forward`` is cast to the inferred dtype. An inferred shape has to equal the
shape of the result of ``forward``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from custom_ops.core.kernel_interface import to_tuple
from custom_ops.core.operator_spec import Compute
from tbe_impl.dsl.dtypes import common_dtype, dtype_of, is_float
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.errors import FusionError, InputError

Shapes = tuple[tuple[int, ...], ...]


def wrap_infer_dtype(
    function: Callable[..., Any], name: str, outputs: Sequence[str], place: str
) -> Callable[..., tuple[str, ...]]:
    """Wraps ``infer_dtype``; the wrapper returns one dtype name per output.

    The wrapper raises `InputError` in these cases: the user's function raised an error, returned a
    wrong number of dtypes, or returned an invalid dtype.
    """

    def infer(*given: str, **attributes: Any) -> tuple[str, ...]:
        made = _call_user_function(function, f"{name}.infer_dtype", place, given, attributes)
        listed = made if isinstance(made, (tuple, list)) else (made,)
        _check_number(listed, f"{name}.infer_dtype", place, outputs)
        return tuple(_dtype_name(one, f"{name}.infer_dtype", place) for one in listed)

    return infer


def wrap_infer_shape(
    function: Callable[..., Any], name: str, outputs: Sequence[str], place: str
) -> Callable[..., Shapes]:
    """Wraps ``infer_shape``; the wrapper returns one tuple per output.

    The user's function may return a single shape instead of a tuple of shapes if there is only one
    output. The wrapper raises `InputError` in these cases: the user's function raised an error,
    returned a wrong number of shapes, or returned an invalid shape.
    """

    def infer(*given: tuple[int, ...], **attributes: Any) -> Shapes:
        made = _call_user_function(function, f"{name}.infer_shape", place, given, attributes)
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
                    f"{name}.infer_shape does not return a shape",
                    place=place,
                    expected="a tuple of whole numbers for each output",
                    got=repr(made),
                )
        return tuple(tuple(int(size) for size in one) for one in listed)

    return infer


def cast_results(compute: Compute, infer: Callable[..., tuple[str, ...]]) -> Compute:
    """Wraps `compute` so that its results have the dtypes that `infer` returns.

    Float inputs that are narrower than a result are widened before the call of `compute`; the
    results are cast after the call.
    """

    def compute_and_cast(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        wanted = infer(*(tensor.dtype for tensor in tensors), **attributes)
        floats = [dtype for dtype in wanted if is_float(dtype)]
        made = to_tuple(compute(*(_widen(one, floats) for one in tensors), **attributes))
        if len(made) != len(wanted):
            return made  # reported by the caller
        return tuple(cast_to(one, dtype) for one, dtype in zip(made, wanted, strict=True))

    return compute_and_cast


def cast_gradients(compute: Compute, saves: Sequence[str], inputs: Sequence[str]) -> Compute:
    """Wraps `compute` so that the gradient of each saved input has the dtype of this input."""

    def compute_and_cast(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        made = to_tuple(compute(*tensors, **attributes))
        if len(made) != len(inputs):
            return made
        known = {name: tensor.dtype for name, tensor in zip(saves, tensors, strict=False)}
        return tuple(
            one if one is None or name not in known else cast_to(one, known[name])
            for one, name in zip(made, inputs, strict=True)
        )

    return compute_and_cast


def check_shapes(name: str, outputs: Sequence[str], said: Shapes, made: Shapes, place: str) -> None:
    """Checks that the inferred shapes (`said`) equal the shapes of the results (`made`).

    Raises:
        InputError: a shape differs.
    """
    for output, wanted, own in zip(outputs, said, made, strict=True):
        if wanted != own:
            raise InputError(
                f"{name}: infer_shape and forward disagree on {output}",
                place=place or name,
                expected=f"{wanted} from infer_shape",
                got=f"{own} from forward",
                remedy="Change one of them; without infer_shape the shape follows from forward",
            )


def _widen(tensor: Any, floats: Sequence[str]) -> Any:
    if not floats or not is_float(tensor.dtype):
        return tensor
    return cast_to(tensor, functools.reduce(common_dtype, floats, tensor.dtype))


def _call_user_function(
    function: Callable[..., Any],
    name: str,
    place: str,
    given: Sequence[Any],
    attributes: Mapping[str, Any],
) -> Any:
    try:
        return function(*given, **_select_attributes(function, attributes))
    except FusionError:
        raise
    except Exception as error:
        raise InputError(
            f"{name} refuses these inputs: {error}",
            place=place or name,
            got=", ".join(map(str, given)),
        ) from error


def _select_attributes(
    function: Callable[..., Any], attributes: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the attributes that `function` takes by keyword."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(attributes)
    named = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    return {name: value for name, value in attributes.items() if name in named}


def _check_number(made: Sequence[Any], name: str, place: str, outputs: Sequence[str]) -> None:
    if len(made) != len(outputs):
        raise InputError(
            f"{name} returns a wrong number of results",
            place=place or name,
            expected=f"{len(outputs)} ({', '.join(outputs)})",
            got=f"{len(made)} ({', '.join(map(str, made))})",
        )


def _dtype_name(given: Any, name: str, place: str) -> str:
    """Returns the name of a dtype, which is given as a NumPy or MindSpore dtype or as a string."""
    plain = np.dtype(given).name if isinstance(given, (type, np.dtype)) else given
    try:
        return dtype_of(plain).name
    except InputError as error:
        raise InputError(
            f"{name} does not return a dtype",
            place=place or name,
            expected=error.expected,
            got=repr(given),
        ) from error
