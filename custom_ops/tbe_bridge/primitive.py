"""Builds a CPU primitive from a user's primitive that has a TBE function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any

import mindspore
from mindspore import ops

from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.lru_cache import LruCache
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.primitive import FusedPrimitive, dtype_name, mindspore_dtype, pack_outputs
from custom_ops.tbe_bridge.kernels import (
    GRADIENT_REMEDY,
    OutputRequest,
    TbeFunction,
    place_of,
    unwrap_decorators,
)
from custom_ops.tbe_bridge.registrations import Registration
from tbe_impl.dsl.dtypes import DTYPES
from tbe_impl.errors import InputError
from tbe_impl.loading.parameter_roles import infer_parameter_roles, strip_decorators

BLOCKED_FORMATS = ("NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ", "FRACTAL_Z_3D", "NDC1HWC0", "C1HWNCoC0")
"""Blocked formats of Ascend devices; on CPU all arrays have the default format."""
_primitives: LruCache[Any, TbePrimitive] = LruCache(256)


class TbePrimitive(FusedPrimitive):
    """Primitive that MindSpore runs on CPU in place of a user's primitive.

    Args:
        spec: the `OpSpec` of the operator.
        user: the user's primitive; it infers the shapes and dtypes of the outputs.
    """

    def __init__(self, spec: OpSpec, user: Any):
        self.user = user
        super().__init__(spec, (), 0, eager=False)

    def __infer__(self, *given: Mapping[str, Any]) -> dict[str, Any]:
        is_open = any(size < 0 for one in given for size in one["shape"] or ())
        tensors = all(isinstance(one["dtype"], mindspore.common.dtype.TensorType) for one in given)
        if is_open and tensors:
            wanted = infer_by_primitive(self.user, given, len(self.spec.outputs))
            if all(None not in one for one in wanted):
                return pack_outputs((shape or (), str(dtype)) for shape, dtype in wanted)
        return super().__infer__(*given)

    def _tensor_error(self, place: int, value: Any) -> InputError:
        error = super()._tensor_error(place, value)
        error.remedy = (
            "Convert it to a Tensor; attributes come from the primitive, "
            "or from defaults of the TBE function"
        )
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"{self.spec.name} replaces a primitive; copy that primitive instead")


def tbe_primitive(user: Any, registration: Registration | None) -> TbePrimitive:
    """Returns the primitive that runs on CPU in place of `user`; caches the primitive.

    Args:
        user: a `PrimitiveWithInfer` with a registered name, or an ``ops.Custom`` of type ``tbe``.
        registration: the registration of the primitive's name, or None for an ``ops.Custom``.

    Raises:
        InputError: the function needs an attribute that the primitive lacks.
    """
    held = vars(user)
    state = (registration, *held.get("attrs", {}).values())
    known = held.get("_tbe_primitive")
    if known is not None and len(known[0]) == len(state) and all(map(is_, known[0], state)):
        return known[1]
    key = _key(user, registration)
    found = _primitives.get(key) or TbePrimitive(_build_spec(user, registration), user)
    _primitives[key] = found
    held["_tbe_primitive"] = state, found
    return found


def _key(user: Any, registration: Registration | None) -> Any:
    """Returns the cache key of a primitive: its class, its registration and its attributes."""
    held = {
        name: value
        for name, value in vars(user).items()
        if name not in ("instance_name", "_tbe_primitive")
    }
    try:
        key = type(user), registration, _freeze(held)
        hash(key)
    except TypeError:
        return id(user), registration, str(vars(user).get("attrs"))
    return key


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _freeze(one)) for name, one in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_freeze, value))
    return type(value), value


def _build_spec(user: Any, registration: Registration | None) -> OpSpec:
    if vars(user).get("func_type") == "tbe":
        info, function = _info_of_custom(user), unwrap_decorators(user.func)
        name = strip_decorators(function).__name__
        inputs, outputs = _tensors_of_custom(function, info)
    else:
        assert registration is not None and registration.function is not None
        name, info, function = user.name, registration.info, registration.function
        inputs = tuple(vars(user).get("input_names") or _names(info, "inputs"))
        outputs = tuple(vars(user).get("output_names") or _names(info, "outputs"))
    optional = max(len(_names(info, "inputs")) - len(inputs), 0)
    tensors = len(inputs) + optional + len(outputs)
    attributes = _attributes(name, user, info, function, tensors)
    tbe = TbeFunction(name, function, inputs, outputs, optional, attributes)

    def requested_outputs(given: Sequence[ArraySpec]) -> list[OutputRequest]:
        _check_registered(name, info, given, tbe.place)
        described = [
            {"shape": one.shape, "dtype": mindspore_dtype(one.dtype), "value": None}
            for one in given
        ]
        return infer_by_primitive(user, described, len(outputs))

    def forward(*given: ArraySpec) -> Any:
        return tbe.kernel(given, requested_outputs(given))

    def backward(*given: ArraySpec) -> Any:
        return tbe.gradient(given[: len(inputs)], requested_outputs(given[: len(inputs)]))

    return OpSpec(
        name,
        inputs,
        outputs,
        kernel_builder=forward,
        backward_kernel_builder=backward,
        bprop=_bprop(user),
        saves=inputs,
        dtypes=tuple(DTYPES),
        place=tbe.place,
        made_by="user",
        gradient_remedy=GRADIENT_REMEDY,
        doc=inspect.getdoc(type(user)) or "",
    )


def infer_by_primitive(
    user: Any, given: Sequence[Mapping[str, Any]], outputs: int
) -> list[OutputRequest]:
    """Returns shape and dtype of each output, from the ``__infer__`` of the user's primitive."""
    found = user.__infer__(*given)
    shapes, dtypes = found.get("shape"), found.get("dtype")
    if outputs == 1:
        is_nested = isinstance(shapes, (tuple, list)) and any(
            isinstance(one, (tuple, list)) for one in shapes
        )
        shapes = shapes if is_nested or shapes is None else [shapes]
        dtypes = dtypes if isinstance(dtypes, (tuple, list)) or dtypes is None else [dtypes]
    shapes = [None] * outputs if shapes is None else list(shapes)
    dtypes = [None] * outputs if dtypes is None else list(dtypes)
    for what, one in (("infer_shape", shapes), ("infer_dtype", dtypes)):
        if len(one) != outputs:
            raise InputError(
                f"{what} of {user.name} returns a wrong number of results",
                place=type(user).__qualname__,
                expected=str(outputs),
                got=str(len(one)),
            )
    return [
        (
            None if shape is None else tuple(map(int, shape)),
            None if dtype is None else dtype_name(dtype),
        )
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]


def _bprop(user: Any) -> Callable[..., Any] | None:
    """Returns the bprop that the user defined for the primitive, or None if there is none."""
    own = getattr(type(user), "get_bprop", None)
    found: Any = own(user) if own is not None else None
    if found is None and not isinstance(user, ops.Custom):
        from mindspore.ops._grad_experimental.grad_base import get_bprop_fn

        found = getattr(user, "bprop", None) if hasattr(type(user), "bprop") else None
        found = found or get_bprop_fn(user)
    return found


def _info_of_custom(user: Any) -> Mapping[str, Any]:
    """Returns the registration info of an ``ops.Custom``, or an empty dict if there is none."""
    given = user.reg_info or getattr(user.func, "reg_info", None) or {}
    infos = given if isinstance(given, (list, tuple)) else [given]
    return next((one for one in infos if isinstance(one, dict) and one), {})


def _tensors_of_custom(
    function: Callable[..., Any], info: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of the inputs and of the outputs.

    If `info` is empty, the function returns the names of the parameters without a default. The last
    of these parameters is the output, and all others are inputs.
    """
    if info:
        return _names(info, "inputs"), _names(info, "outputs")
    roles = infer_parameter_roles(function, inputs=1)
    names = [one.name for one in roles if one.required and one.role in ("input", "output")]
    return tuple(names[:-1]), tuple(names[-1:])


def _names(info: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(str(one["name"]) for one in info.get(key, ()))


def _attributes(
    name: str, user: Any, info: Mapping[str, Any], function: Callable[..., Any], tensors: int
) -> dict[str, Any]:
    """Returns the values of the function's attribute parameters.

    A parameter gets the value of the primitive's attribute with the same name. If there is no such
    attribute, the parameter gets the value of the attribute that is registered at the same
    position.
    """
    held = {**vars(user).get("attrs", {})}
    held |= {
        one["name"]: one["value"]
        for one in info.get("attr", ())
        if one.get("value") not in (None, "all") and one["name"] not in held
    }
    registered = [str(one["name"]) for one in info.get("attr", ())]
    found: dict[str, Any] = {}
    parameters = list(inspect.signature(strip_decorators(function)).parameters.values())[tensors:]
    for place, one in enumerate(parameters):
        key = one.name
        if key not in held and place < len(registered):
            key = registered[place]
        if key in held:
            found[one.name] = held[key]
        elif (
            one.default is one.empty
            and one.name != "kernel_name"
            and one.kind is one.POSITIONAL_OR_KEYWORD
        ):
            file, line = place_of(function)
            raise InputError(
                f"{name}: the TBE function needs {one.name}, which the primitive does not have",
                place=f"{file}:{line}",
                expected=f"self.add_prim_attr({one.name!r}, …) in the primitive, or a default",
                got=", ".join(sorted(held)) or "none",
            )
    return found


def _check_registered(
    name: str, info: Mapping[str, Any], given: Sequence[ArraySpec], place: str
) -> None:
    """Checks that the operator is registered for the dtypes of the inputs, in an unblocked format.

    A blocked format is one of `BLOCKED_FORMATS`, such as NC1HWC0.

    Raises:
        InputError: the dtypes are not registered, or are registered with blocked formats only.
    """
    rows = [row[: len(given)] for row in info.get("dtype_format", ())]
    plain = [row for row in rows if not any(one[1] in BLOCKED_FORMATS for one in row)]
    if rows and not plain:
        raise InputError(
            f"{name} is registered for blocked formats alone",
            place=place,
            expected="a row of dtype_format in the default format",
            got=", ".join(one[1] for one in rows[0]),
            remedy="Add one, such as .dtype_format(DataType.F16_Default, DataType.F16_Default)",
        )
    dtypes = [tuple(one[0] for one in row) for row in plain]
    mine = tuple(one.dtype for one in given)
    if dtypes and not any(
        all(own in ("", had) for own, had in zip(row, mine, strict=True)) for row in dtypes
    ):
        raise InputError(
            f"{name} is not registered for these dtypes",
            place=place,
            expected=" or ".join(dict.fromkeys(", ".join(row) for row in dtypes)),
            got=", ".join(mine),
            remedy="Cast the inputs, or add a row of dtype_format to its TBERegOp",
        )
