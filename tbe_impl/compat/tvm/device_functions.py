"""Translates calls of ``tvm.extern`` to expressions if they contain one ``call_extern``.

Operators of 2018 and 2019 call ``tvm.extern`` in this form. The translation recognises device
functions by name. Any other device code in ``tvm.extern`` raises an error.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log
from typing import Any

from tbe_impl.compat.session import session
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Const, Expr, call, cast, const, make_binary
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import Tensor, as_shape, compute
from tbe_impl.errors import InputError
from tbe_impl.records import Record


class Parameter(Record):
    """Scalar parameters of a device function (``topi.cce.util.create_param_ptr``)."""

    values: tuple[Any, ...]
    dtype: str
    name: str

    def access_ptr(self, *_: Any, **__: Any) -> Parameter:
        """Returns this object, because the object stands for the address of the parameters too."""
        return self


class _DeviceTensor(Record):
    """Stands for an operand or the result of a device function."""

    tensor: Tensor | None
    shape: tuple[Any, ...] = ()
    dtype: str = ""

    def access_ptr(self, *_: Any, **__: Any) -> _DeviceTensor:
        return self


class DeviceCall(Record):
    """A call of a device function by ``call_extern``: the function's name and its arguments."""

    name: str
    arguments: tuple[Any, ...]


def create_param_ptr(values: Sequence[Any], dtype: str, name: str) -> Parameter:
    """Creates scalar parameters of a device function."""
    return Parameter(
        tuple(item.value if isinstance(item, Const) else item for item in values), dtype, name
    )


def get_device_api_dtype(dtype: str) -> int:
    """Returns the number of a dtype in the enumeration that device functions use."""
    return ("float32", "float16", "int8", "int32", "uint8").index(dtype)


def call_extern(dtype: str, name: str, *arguments: Any) -> DeviceCall:
    """Returns a call of a device function, or raises `InputError` outside of `extern`."""
    if not session().build_config.get("_extern"):
        raise _device_code_error("call_extern")
    return DeviceCall(name, arguments)


def extern(
    shape: Any,
    inputs: Sequence[Any],
    fcompute: Callable[[Any, Any], Any],
    name: str = "extern",
    dtype: Any = None,
    **_: Any,
) -> Tensor:
    """Returns the result of one device function.

    Args:
        shape: shape of the result.
        inputs: tensors and objects of the class `Parameter`.
        fcompute: a function with two parameters, the inputs and the results. The function returns
            the value of one `call_extern`.
        name, dtype: name and dtype of the result.

    Raises:
        InputError: `fcompute` does not return the value of `call_extern`. The error is also raised
            if the device function is unknown, or gets a wrong number of tensors or scalar
            parameters.
    """
    places = [
        item if isinstance(item, Parameter) else _DeviceTensor(item, item.shape, item.dtype)
        for item in inputs
    ]
    with _extern_scope():
        made = fcompute(places, _result_tensors(shape, dtype))
    if not isinstance(made, DeviceCall):
        raise _device_code_error("extern")
    known = re.fullmatch(r"(?:cc_device_|Device)([A-Za-z]+?)(?:_c)?(?:_[a-z]+\d*)?", made.name)
    function = _FUNCTIONS.get(known.group(1).lower()) if known else None
    if function is None:
        raise InputError(
            f"unknown device function {made.name}",
            place=str(user_location()),
            expected=", ".join(sorted(_FUNCTIONS)),
            remedy="Write the operator with DSL operations, or build it with the real toolkit",
        )
    tensors = [
        item.tensor
        for item in made.arguments
        if isinstance(item, _DeviceTensor) and item.tensor is not None
    ]
    numbers = [
        float(item.values[0])
        for item in made.arguments
        if isinstance(item, Parameter) and not item.name.endswith(("shape", "shape_x", "shape_y"))
    ]
    _check_argument_counts(known.group(1).lower() if known else "", made, tensors, numbers)
    sizes = as_shape(shape)
    result = dtype or tensors[0].dtype

    def body(*index: Expr) -> Any:
        return cast(
            result, function([_read_broadcast(tensor, index) for tensor in tensors], numbers)
        )

    return compute(sizes, body, name)


def _check_argument_counts(
    function: str, made: DeviceCall, tensors: Sequence[Tensor], numbers: Sequence[float]
) -> None:
    """Raises `InputError` if a device function gets a wrong number of tensors or scalars."""
    least, most = _TENSOR_COUNTS.get(function, (1, 1))
    scalars = 0 if len(tensors) > 1 else _NUMBER_COUNTS.get(function, 0)
    if least <= len(tensors) <= most and (not scalars or len(numbers) == scalars):
        return
    raise InputError(
        f"the device function {made.name} is called with wrong arguments",
        place=str(user_location()),
        expected=f"tensors: {least if least == most else f'{least} or {most}'}, numbers: {scalars}",
        got=f"tensors: {len(tensors)}, numbers: {len(numbers)}",
    )


def _result_tensors(shape: Any, dtype: Any) -> list[_DeviceTensor]:
    """Returns a `_DeviceTensor` for each result of `extern`; `shape` is one or several shapes."""
    several = bool(shape) and isinstance(shape[0], (list, tuple))
    shapes = [as_shape(item) for item in (shape if several else (shape,))]
    dtypes = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype or ""] * len(shapes)
    return [_DeviceTensor(None, sizes, kind) for sizes, kind in zip(shapes, dtypes, strict=True)]


@contextlib.contextmanager
def _extern_scope() -> Iterator[None]:
    config = session().build_config
    before, config["_extern"] = config.get("_extern"), True
    try:
        yield
    finally:
        config["_extern"] = before


def _read_broadcast(tensor: Tensor, index: Sequence[Expr]) -> Any:
    """Reads a tensor at an index of the result; the tensor is broadcast as in NumPy."""
    own = index[len(index) - tensor.ndim :]
    return tensor(
        *(
            const(0) if isinstance(size, Const) and size.value == 1 else at
            for size, at in zip(tensor.shape, own, strict=True)
        )
    )


def _scale_and_shift(x: Any, scale: float, shift: float) -> Any:
    return x.astype("float32") * const(scale, "float32") + const(shift, "float32")


def _exp(values: Sequence[Any], numbers: Sequence[float]) -> Any:
    scale, shift, base = numbers
    power = _scale_and_shift(values[0], scale, shift)
    return call("exp", power if base == -1 else power * const(log(base), "float32"))


def _log(values: Sequence[Any], numbers: Sequence[float]) -> Any:
    scale, shift, base = numbers
    found = call("log", _scale_and_shift(values[0], scale, shift))
    return found if base == -1 else found * const(1 / log(base), "float32")


def _pow(values: Sequence[Any], numbers: Sequence[float]) -> Any:
    if len(values) > 1:
        return make_binary("pow", *(item.astype("float32") for item in values))
    scale, shift, power = numbers
    return make_binary("pow", _scale_and_shift(values[0], scale, shift), const(power, "float32"))


def _make_rounding(name: str) -> Callable[[Sequence[Any], Sequence[float]], Any]:
    return lambda values, _: call(name, values[0]) if is_float(values[0].dtype) else values[0]


_FUNCTIONS: Mapping[str, Callable[[Sequence[Any], Sequence[float]], Any]] = {
    "exp": _exp,
    "log": _log,
    "pow": _pow,
    "sqrt": lambda values, _: call("sqrt", values[0]),
    "ceil": _make_rounding("ceil"),
    "floor": _make_rounding("floor"),
    "round": _make_rounding("rint"),
    "floormod": lambda values, _: make_binary("floormod", *values),
    "truncatemod": lambda values, _: make_binary("truncmod", *values),
}
"""Maps a device function's name, without prefix and suffix, to its equivalent on expressions."""
_TENSOR_COUNTS = {"pow": (1, 2), "floormod": (2, 2), "truncatemod": (2, 2)}
"""Maps a device function to its least and greatest number of tensors.

Functions that are not listed take one tensor.
"""
_NUMBER_COUNTS = {"exp": 3, "log": 3, "pow": 3}
"""Maps a device function of one tensor to its number of scalar parameters.

Functions that are not listed take no scalar parameter.
"""


def _device_code_error(name: str) -> InputError:
    return InputError(
        f"tvm.{name} writes code of the device itself",
        place=str(user_location()),
        remedy="Only operators made of DSL operations, tvm.compute and calls of known functions "
        "run here; build this one with the real toolkit",
    )


UTILITIES: Mapping[str, Any] = {
    "create_param_ptr": create_param_ptr,
    "get_device_api_dtype": get_device_api_dtype,
}
"""Maps a name in ``topi.cce.util`` to its function."""
