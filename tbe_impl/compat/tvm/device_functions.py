"""Operators of 2018 and 2019 that are one call of a function of the device: ``tvm.extern`` around ``call_extern``.

The functions are known by name; each is made of expressions here. Code of the device itself, which `tvm.extern` can hold as
well, is refused.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from tbe_impl.compat.session import session
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Const, Expr, binary, call, cast, const
from tbe_impl.dsl.location import here
from tbe_impl.dsl.tensor import Tensor, as_shape, compute
from tbe_impl.errors import InputError


@dataclass(frozen=True)
class Parameter:
    """Numbers that a function of the device reads (``topi.cce.util.create_param_ptr``)."""

    values: tuple[Any, ...]
    dtype: str
    name: str

    def access_ptr(self, *_: Any, **__: Any) -> Parameter:
        """Itself: where a function finds it."""
        return self


@dataclass(frozen=True)
class _Place:
    """What a function of the device is handed for a tensor, or for its result."""

    tensor: Tensor | None
    shape: tuple[Any, ...] = ()
    dtype: str = ""

    def access_ptr(self, *_: Any, **__: Any) -> _Place:
        return self


@dataclass(frozen=True)
class DeviceCall:
    """``call_extern``: a function by name, and what it is given."""

    name: str
    arguments: tuple[Any, ...]


def create_param_ptr(values: Sequence[Any], dtype: str, name: str) -> Parameter:
    """Numbers as a function of the device reads them."""
    return Parameter(
        tuple(item.value if isinstance(item, Const) else item for item in values), dtype, name
    )


def get_device_api_dtype(dtype: str) -> int:
    """The number by which functions of the device know a dtype."""
    return ("float32", "float16", "int8", "int32", "uint8").index(dtype)


def call_extern(dtype: str, name: str, *arguments: Any) -> DeviceCall:
    """A call of a function of the device, inside of `extern`."""
    if not session().build_config.get("_extern"):
        raise _refused("call_extern")
    return DeviceCall(name, arguments)


def extern(
    shape: Any,
    inputs: Sequence[Any],
    fcompute: Callable[[Any, Any], Any],
    name: str = "extern",
    dtype: Any = None,
    **_: Any,
) -> Tensor:
    """The result of one function of the device.

    Args:
        shape: of the result.
        inputs: tensors and `Parameter`.
        fcompute: from places of inputs and of the result to the call.
        name, dtype: of the result.

    Raises:
        InputError: it is no call of one function, or nobody knows the function.
    """
    places = [
        item if isinstance(item, Parameter) else _Place(item, item.shape, item.dtype)
        for item in inputs
    ]
    with _inside():
        made = fcompute(places, _results(shape, dtype))
    if not isinstance(made, DeviceCall):
        raise _refused("extern")
    known = re.fullmatch(r"(?:cc_device_|Device)([A-Za-z]+?)(?:_c)?(?:_[a-z]+\d*)?", made.name)
    function = _FUNCTIONS.get(known.group(1).lower()) if known else None
    if function is None:
        raise InputError(
            f"nobody knows the function of the device {made.name}",
            place=str(here()),
            expected=", ".join(sorted(_FUNCTIONS)),
            remedy="Write the operator with words of the DSL, or build it with the real toolkit",
        )
    tensors = [
        item.tensor
        for item in made.arguments
        if isinstance(item, _Place) and item.tensor is not None
    ]
    numbers = [
        float(item.values[0])
        for item in made.arguments
        if isinstance(item, Parameter) and not item.name.endswith(("shape", "shape_x", "shape_y"))
    ]
    sizes = as_shape(shape)
    result = dtype or tensors[0].dtype

    def body(*index: Expr) -> Any:
        return cast(result, function([_read(tensor, index) for tensor in tensors], numbers))

    found: Tensor = compute(sizes, body, name)
    return found


def _results(shape: Any, dtype: Any) -> list[_Place]:
    """The places of what an `extern` makes: of one tensor, or of several."""
    several = bool(shape) and isinstance(shape[0], (list, tuple))
    shapes = [as_shape(item) for item in (shape if several else (shape,))]
    dtypes = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype or ""] * len(shapes)
    return [_Place(None, sizes, kind) for sizes, kind in zip(shapes, dtypes, strict=True)]


@contextlib.contextmanager
def _inside() -> Iterator[None]:
    config = session().build_config
    before, config["_extern"] = config.get("_extern"), True
    try:
        yield
    finally:
        config["_extern"] = before


def _read(tensor: Tensor, index: Sequence[Expr]) -> Any:
    """An element, broadcast from the right."""
    own = index[len(index) - tensor.ndim :]
    return tensor(
        *(
            const(0) if isinstance(size, Const) and size.value == 1 else at
            for size, at in zip(tensor.shape, own, strict=True)
        )
    )


def _line(x: Any, scale: float, shift: float) -> Any:
    return x.astype("float32") * const(scale, "float32") + const(shift, "float32")


def _exp(values: Sequence[Any], numbers: Sequence[float]) -> Any:
    scale, shift, base = numbers
    power = _line(values[0], scale, shift)
    return call("exp", power if base == -1 else power * const(log(base), "float32"))


def _log(values: Sequence[Any], numbers: Sequence[float]) -> Any:
    scale, shift, base = numbers
    found = call("log", _line(values[0], scale, shift))
    return found if base == -1 else found * const(1 / log(base), "float32")


def _pow(values: Sequence[Any], numbers: Sequence[float]) -> Any:
    if len(values) > 1:
        return binary("pow", *(item.astype("float32") for item in values))
    scale, shift, power = numbers
    return binary("pow", _line(values[0], scale, shift), const(power, "float32"))


def _rounded(name: str) -> Callable[[Sequence[Any], Sequence[float]], Any]:
    return lambda values, _: call(name, values[0]) if is_float(values[0].dtype) else values[0]


_FUNCTIONS: Mapping[str, Callable[[Sequence[Any], Sequence[float]], Any]] = {
    "exp": _exp,
    "log": _log,
    "pow": _pow,
    "sqrt": lambda values, _: call("sqrt", values[0]),
    "ceil": _rounded("ceil"),
    "floor": _rounded("floor"),
    "round": _rounded("rint"),
    "floormod": lambda values, _: binary("floormod", *values),
    "truncatemod": lambda values, _: binary("truncmod", *values),
}
"""By name, without what stands before and behind it."""


def _refused(name: str) -> InputError:
    return InputError(
        f"tvm.{name} writes code of the device itself",
        place=str(here()),
        remedy="Only operators made of DSL words, tvm.compute and calls of known functions run here; build this one with the real toolkit",
    )


UTILITIES: Mapping[str, Any] = {
    "create_param_ptr": create_param_ptr,
    "get_device_api_dtype": get_device_api_dtype,
}
"""``topi.cce.util``."""
