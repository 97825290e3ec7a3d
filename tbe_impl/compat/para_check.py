"""Checks operator arguments: tensor descriptions, attributes and the kernel name.

This module exceeds 500 lines because it is one toolkit module with all its checks.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tbe_impl.compat.operator_context import in_dynamic
from tbe_impl.compat.operator_errors import OperatorError, fault, refusal
from tbe_impl.compat.session import operator_scope, session

SHAPE_SIZE_LIMIT = 2**31 - 1
SHAPE_SIZE_ZERO = RANK_ZERO = ZERO_DIM = MIN_UNKNOWN_SHAPE_RANK = MIN_UNKOWN_SHAPE_RANK = 0
RANK_LIMIT = 8
DIM_LIMIT = MAX_UNKNOWN_SHAPE_NUM = MAX_UNKOWN_SHAPE_NUM = SHAPE_SIZE_LIMIT
DIM_LIMIT_INT64 = 2**63 - 1
DEFAULT_MIN_SHAPE_DIM, DEFAULT_MAX_SHAPE_DIM, DEFAULT_MAX_SHAPE_NUM = 1, 8, 200_000_000
DYNAMIC_SHAPE_FLAG = -1
MAX_REDUCE_SHAPE_NUM = 200_000_000
NONE_TYPE = type(None)
MAX_KERNEL_NAME_LEN = MAX_KERNEL_NAEM_LEN = 200
CONST, SPECIAL, ORIGINAL, SPECIAL_SCALAR = "const", "special", "original", "special_scalar"
COMMON, BROADCAST, UNFOLD_A, UNFOLD_B = "common", "broadcast", "unfold_a", "unfold_b"
REQUIRED_INPUT, OPTION_INPUT, DYNAMIC_INPUT = "required_input", "option_input", "dynamic_input"
REQUIRED_OUTPUT, OPTION_OUTPUT, DYNAMIC_OUTPUT = (
    "required_output",
    "option_output",
    "dynamic_output",
)
KERNEL_NAME = "kernel_name"
OP_NAME = PARAM_NAME = ""

_ATTRIBUTE_KINDS = (
    "INT FLOAT STR BOOL TYPE LIST_INT LIST_FLOAT LIST_BOOL LIST_STR LIST_LIST_INT"
).split()
ATTRIBUTE_NAMES = {
    f"{need}_ATTR_{kind}": f"{need}_ATTR_{kind}"
    for need in ("REQUIRED", "OPTION")
    for kind in _ATTRIBUTE_KINDS
}
ERROR_CODE_NAMES = {f"OP_ERROR_CODE_{number:03d}": f"E80{number:03d}" for number in range(28)}
globals().update(ATTRIBUTE_NAMES)
globals().update(ERROR_CODE_NAMES)

ALL_FORMAT_LIST = (
    "ND NCHW NHWC NDHWC NCDHW CHWN NC1HWC0 NC1HWC0_C04 NDC1HWC0 FRACTAL_NZ HWCN DHWCN FRACTAL_Z "
    "FRACTAL_Z_C04 C1HWNCoC0 FRACTAL_Z_3D FRACTAL_ZN_LSTM FRACTAL_ZN_RNN ND_RNN_BIAS NCL C1HWC0 "
    "FRACTAL_Z_WINO"
).split()
ALL_DTYPE_LIST = (
    "int4 int8 uint8 int16 uint16 int32 uint32 bfloat16 int64 uint64 float16 float32 float64 bool "
    "uint1 complex64 complex128"
).split()
TensorFormat = type("TensorFormat", (), {name: name for name in ALL_FORMAT_LIST})
OpParamInfoKey = type(
    "OpParamInfoKey",
    (),
    {
        "SHAPE": "shape",
        "FORMAT": "format",
        "ORI_SHAPE": "ori_shape",
        "ORI_FORMAT": "ori_format",
        "D_TYPE": "dtype",
        "RANGE": "range",
    },
)

_INPUTS = (REQUIRED_INPUT, OPTION_INPUT, DYNAMIC_INPUT)
_OUTPUTS = (REQUIRED_OUTPUT, OPTION_OUTPUT, DYNAMIC_OUTPUT)
_TYPES: dict[str, tuple[type, ...]] = {
    "INT": (int,),
    "FLOAT": (float,),
    "STR": (str,),
    "BOOL": (bool,),
}


def _wrong_type_error(operator: str, name: str, expected: str, value: Any) -> Any:
    return refusal(
        "E80003",
        f"{operator or 'operator'}: parameter {name} has to be of type {expected}, "
        f"but is {type(value).__name__}",
        op_name=operator,
        param_name=name,
        param_type=expected,
        actual_type=type(value).__name__,
    )


def _missing_parameter_error(operator: str, name: str) -> Any:
    return refusal(
        "E80001",
        f"{operator or 'operator'}: the mandatory parameter {name} is missing",
        op_name=operator,
        param_name=name,
    )


def check_op_params(*kinds: str, **_: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that checks the arguments of a function.

    `kinds` contains the kind of each parameter, such as ``required_input``, in order. The decorated
    function has an attribute ``parameter_kinds``, a dict from parameter name to kind.

    Raises:
        OperatorError: the decorated function gets an invalid argument. The error codes are E80001
            (a mandatory parameter is missing), E80003 (wrong type), E80004 (a description lacks a
            key), E80008 (unknown dtype), E80014 and E80015 (unknown format), and E80020 (the kernel
            name is no identifier).
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        code = inspect.unwrap(function).__code__
        names = code.co_varnames[: code.co_argcount]
        by_name = dict(zip(names, kinds, strict=False))

        @functools.wraps(function)
        def check_and_call(*args: Any, **keywords: Any) -> Any:
            given = {**dict(zip(names, args, strict=False)), **keywords}
            with operator_scope(given.values()):
                for name, value in given.items():
                    if name in by_name:
                        _check_one(value, name, by_name[name], function.__name__)
                return function(*args, **keywords)

        check_and_call.parameter_kinds = by_name  # type: ignore[attr-defined]
        return check_and_call

    return decorate


def _check_one(value: Any, name: str, kind: Any, operator: str) -> None:
    if isinstance(kind, (tuple, list)):
        _check_any(value, name, kind, operator)
        return
    if not isinstance(kind, str):
        if not isinstance(value, kind):
            raise _wrong_type_error(operator, name, kind.__name__, value)
        return
    if kind in _INPUTS or kind in _OUTPUTS:
        need, _, _ = kind.partition("_")
        if need == "dynamic":
            if not isinstance(value, (list, tuple)):
                raise _wrong_type_error(operator, name, "list or tuple", value)
            if not value:
                raise _missing_parameter_error(operator, name)
            for item in value:
                _check_description(item, name, operator)
        elif value is not None:
            _check_description(value, name, operator)
        elif need == "required":
            raise _missing_parameter_error(operator, name)
    elif kind == KERNEL_NAME:
        if value is not None:
            _check_name(value, name, operator)
    else:
        _check_attribute(value, name, kind, operator)


def _check_any(value: Any, name: str, kinds: Sequence[Any], operator: str) -> None:
    """Raises `OperatorError` if the value is valid for none of the parameter kinds.

    The error is that of the check for the first kind.
    """
    refused: OperatorError | None = None
    for kind in kinds:
        try:
            _check_one(value, name, kind, operator)
            return
        except OperatorError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def _check_description(value: Any, name: str, operator: str) -> None:
    if not isinstance(value, dict):
        raise _wrong_type_error(operator, name, "dict", value)
    # The declared shape decides whether a size is unknown; a blocked shape may be known anyway.
    unknown = in_dynamic() and -1 in _sizes(value.get("ori_shape"))
    for key in (
        "shape",
        "format",
        "ori_shape",
        "ori_format",
        "dtype",
        *(["range"] if unknown else []),
    ):
        if key not in value:
            raise refusal(
                "E80004",
                f"{operator}: the description of {name} lacks the item {key!r}",
                op_name=operator,
                param_name=name,
                key=key,
            )
    check_shape(value["shape"], param_name=name, op_name=operator)
    check_shape(value["ori_shape"], param_name=name, op_name=operator)
    if unknown and -2 not in value["shape"]:
        check_range(value["shape"], value["range"], param_name=name, op_name=operator)
    for key, code in (("format", "E80015"), ("ori_format", "E80014")):
        if value[key] not in ALL_FORMAT_LIST:
            raise refusal(
                code,
                f"{operator}: the {key} of {name} has to be one of {', '.join(ALL_FORMAT_LIST)}, "
                f"but is {value[key]!r}",
                op_name=operator,
                param_name=name,
                excepted_format_list=",".join(ALL_FORMAT_LIST),
                format=value[key],
            )
    dtype = value["dtype"]
    if not isinstance(dtype, str):
        raise _wrong_type_error(operator, name, "str", dtype)
    if dtype.lower() not in ALL_DTYPE_LIST and not (
        session().soc.is_unlimited and dtype == "float64"
    ):
        raise _wrong_dtype_error(operator, name, ALL_DTYPE_LIST, dtype)


def _sizes(shape: Any) -> Sequence[Any]:
    return shape if isinstance(shape, (list, tuple)) else ()


def _wrong_dtype_error(
    operator: str, name: str, known: Sequence[str], dtype: str, code: str = "E80008"
) -> Any:
    return refusal(
        code,
        f"{operator or 'operator'}: {name or 'an input'} has to have one of the dtypes "
        f"{', '.join(known)}, but has {dtype}",
        op_name=operator,
        param_name=name,
        excepted_dtype_list=",".join(known),
        dtype=dtype,
    )


def _check_attribute(value: Any, name: str, kind: str, operator: str) -> None:
    need, _, rest = kind.partition("_ATTR_")
    if not rest:
        return
    if value is None:
        if need == "REQUIRED":
            raise _missing_parameter_error(operator, name)
        return
    if isinstance(value, (int, float, str, list, tuple)) and not value:
        # as in the CANN toolkit, no further check: some callers pass 0 for a list of axes
        return
    depth, scalar = rest.count("LIST_"), rest.replace("LIST_", "")
    _check_items(value, name, scalar, depth, operator)


def _check_items(value: Any, name: str, scalar: str, depth: int, operator: str) -> None:
    if depth:
        if not isinstance(value, (list, tuple)):
            raise _wrong_type_error(operator, name, "list or tuple", value)
        for item in value:
            _check_items(item, name, scalar, depth - 1, operator)
    elif scalar == "TYPE":
        if value not in ALL_DTYPE_LIST:
            raise _wrong_dtype_error(operator, name, ALL_DTYPE_LIST, str(value), "E80003")
    else:
        if hasattr(value, "dtype"):
            return  # a symbolic attribute or a NumPy scalar
        if not isinstance(value, _TYPES[scalar]):
            raise _wrong_type_error(operator, name, scalar.lower(), value)
        if isinstance(value, float) and not math.isfinite(value):
            raise refusal(
                "E80000",
                f"{operator}: parameter {name} has to be finite, but is {value}",
                op_name=operator,
                param_name=name,
                excepted_value="float range data",
                real_value=str(value),
            )


def _check_name(value: Any, name: str, operator: str) -> None:
    if not isinstance(value, str):
        raise _wrong_type_error(operator, name, "str", value)
    if len(value) > MAX_KERNEL_NAME_LEN:
        raise _out_of_range_error("E80002", operator, name, 0, MAX_KERNEL_NAME_LEN, len(value))
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise refusal(
            "E80020",
            f"{operator}: kernel_name has to be made of letters, digits and underscores, "
            f"beginning with no digit, but is {value!r}",
            op_name=operator,
            param_name=name,
        )


def _out_of_range_error(
    code: str, operator: str, name: str, low: Any, high: Any, value: Any
) -> Any:
    return refusal(
        code,
        f"{operator or 'operator'}: {name or 'a value'} has to be in [{low}, {high}], "
        f"but is {value}",
        op_name=operator,
        param_name=name,
        min_value=low,
        max_value=high,
        real_value=value,
    )


def check_shape(
    shape: Any,
    min_dim: int = 0,
    max_dim: int = DIM_LIMIT_INT64,
    min_rank: int = 0,
    max_rank: int = RANK_LIMIT,
    min_size: int = 0,
    max_size: int = SHAPE_SIZE_LIMIT,
    param_name: str = "",
    *,
    op_name: str = "",
) -> None:
    """Raises `CheckError` if `shape` is not a list of integers within the given limits.

    There are limits for the rank, for each size and for the number of elements. As in the CANN
    toolkit, `max_dim` applies to shapes with unknown sizes only, and `max_size` is not checked.
    """
    if not isinstance(shape, (tuple, list)):
        raise _wrong_type_error(op_name, param_name, "list or tuple", shape)
    for size in shape:
        if not isinstance(size, int):
            raise _wrong_type_error(op_name, param_name, "int", size)
    if in_dynamic():
        check_dynamic_shape(shape, max_dim, max_rank, param_name, op_name=op_name)
        return
    _check_rank(shape, min_rank, max_rank, param_name, op_name)
    for size in shape:
        if size < min_dim:
            raise _out_of_range_error(
                "E80002", op_name, f"a size of {param_name}", min_dim, None, size
            )
    if math.prod(shape) < min_size:
        raise _out_of_range_error(
            "E80011", op_name, f"elements of {param_name}", min_size, max_size, math.prod(shape)
        )


def check_dynamic_shape(
    shape: Sequence[int],
    max_dim: int = DIM_LIMIT_INT64,
    max_rank: int = RANK_LIMIT,
    param_name: str = "",
    *,
    op_name: str = "",
) -> None:
    """Raises `CheckError` if the rank exceeds `max_rank`, or a size is not in [−2, `max_dim`]."""
    _check_rank(shape, 0, max_rank, param_name, op_name)
    for size in shape:
        if not -2 <= size <= max_dim:
            raise _out_of_range_error(
                "E80002", op_name, f"a size of {param_name}", -2, max_dim, size
            )


def _check_rank(
    shape: Sequence[int], min_rank: int, max_rank: int, param_name: str, op_name: str
) -> None:
    if not min_rank <= len(shape) <= max_rank:
        raise _out_of_range_error(
            "E80012", op_name, f"rank of {param_name}", min_rank, max_rank, len(shape)
        )


def check_range(
    shape: Any, shape_range: Any, *_: Any, param_name: str = "", op_name: str = "", **__: Any
) -> None:
    """Raises `CheckError` if `shape_range` lacks the pair (least, greatest size) of an axis."""
    if not isinstance(shape_range, (tuple, list)):
        raise _wrong_type_error(op_name, param_name, "list or tuple", shape_range)
    if len(shape_range) != len(shape) and -2 not in shape:
        raise refusal(
            "E80021",
            f"{param_name}: shape has {len(shape)} sizes, range {len(shape_range)}",
            op_name=op_name,
            param_name=param_name,
            shape_len=len(shape),
            range_len=len(shape_range),
        )
    for pair in shape_range:
        _check_pair(pair, param_name, op_name)
        low, high = pair
        if not isinstance(low, int) or not isinstance(high, (int, NONE_TYPE)):
            raise _wrong_type_error(
                op_name, param_name, "int", low if not isinstance(low, int) else high
            )
        if not 0 <= low <= (low if high is None else high) <= DIM_LIMIT_INT64:
            raise _out_of_range_error(
                "E80022", op_name, f"range of {param_name}", 0, DIM_LIMIT_INT64, pair
            )


def _check_pair(pair: Any, param_name: str, op_name: str = "") -> None:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise refusal(
            "E80023",
            f"{param_name}: a range is a pair of least and greatest size, but is {pair}",
            op_name=op_name,
            param_name=param_name,
        )


def _as_list(names: Any) -> list[str]:
    # ("float32") is a string, not a tuple; operators mean one dtype
    return [names] if isinstance(names, str) else list(names)


def check_dtype(
    dtype: Any, check_list: Sequence[str] = ALL_DTYPE_LIST, param_name: str = ""
) -> None:
    """Raises `CheckError` if `check_list` does not contain `dtype` in lower case."""
    if dtype is None:
        raise refusal(
            "E80007", f"the dtype of {param_name} is None", op_name="", param_name=param_name
        )
    if not isinstance(dtype, str):
        raise _wrong_type_error("", param_name, "str", dtype)
    if dtype.lower() not in check_list:
        raise _wrong_dtype_error("", param_name, _as_list(check_list), dtype.lower())


def check_format(
    data_format: Any, check_list: Sequence[str] | None = None, param_name: str = ""
) -> None:
    """Raises `CheckError` if `check_list` does not contain `data_format`.

    By default, `check_list` contains all formats.
    """
    known = list(ALL_FORMAT_LIST if check_list is None else check_list)
    if isinstance(check_list, str):
        # a single format instead of a list
        known = [check_list]
    if data_format not in known:
        raise refusal(
            "E80017" if data_format is None else "E80015",
            f"the format of {param_name or 'an input'} has to be one of {', '.join(known)}, "
            f"but is {data_format!r}",
            op_name="",
            param_name=param_name,
            excepted_format_list=",".join(known),
            format=data_format,
        )


def check_elewise_shape_range(inputs: Sequence[Any], support_broadcast: bool = False) -> None:
    """Raises `CheckError` if the size ranges of two consecutive inputs are disjoint on an axis.

    Only operators with unknown sizes are checked. With `support_broadcast`, a range that contains
    1 is compatible with every other range.
    """
    if not in_dynamic() or len(inputs) < 2:
        return
    for given in inputs:
        if not isinstance(given, dict):
            raise _wrong_type_error("", "input", "dict", given)
        for key in ("shape", "range"):
            if key not in given:
                raise refusal(
                    "E80004", f"an input lacks the item {key!r}", op_name="", param_name="", key=key
                )
    for given in inputs:
        if len(given["range"]) != len(given["shape"]) and -2 not in given["shape"]:
            raise refusal(
                "E80021",
                f"shape has {len(given['shape'])} sizes, range {len(given['range'])}",
                op_name="",
                param_name="",
            )
    for one, other in zip(inputs, list(inputs)[1:], strict=False):
        sizes = zip(reversed(one["shape"]), reversed(other["shape"]), strict=False)
        pairs = zip(reversed(one["range"]), reversed(other["range"]), strict=False)
        for two, (first, second) in zip(sizes, pairs, strict=False):
            for pair in (first, second):
                _check_pair(pair, "")
            if support_broadcast and (1 in two or first[0] <= 1 or second[0] <= 1):
                continue
            ends = [
                pair[1] if pair[1] is not None else SHAPE_SIZE_LIMIT for pair in (first, second)
            ]
            if max(first[0], second[0]) > min(ends):
                raise refusal(
                    "E80024",
                    f"ranges {tuple(first)} and {tuple(second)} have no size in common",
                    op_name="",
                    param_name="",
                )


def check_input_type(*types: Any, **_: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that checks the types of the arguments of a function.

    `types` contains the permitted types of each parameter, in order.

    The decorated function raises `OperatorError` with the code E60038 for an argument of a wrong
    type. The decorated function has an attribute ``parameter_types``, a dict from parameter name to
    permitted types.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        code = inspect.unwrap(function).__code__
        by_name = dict(zip(code.co_varnames[: code.co_argcount], types, strict=False))

        @functools.wraps(function)
        def check_and_call(*args: Any, **keywords: Any) -> Any:
            for name, value in {**dict(zip(by_name, args, strict=False)), **keywords}.items():
                if name not in by_name:
                    continue
                if isinstance(value, dict):
                    for key, kind in (("shape", (list, tuple)), ("dtype", (str,))):
                        if key in value and not isinstance(value[key], kind):
                            raise _e6_error(
                                "E60037",
                                f"{name}[{key!r}] has type {type(value[key]).__name__}",
                                name,
                            )
                if not isinstance(value, by_name[name]):
                    raise _e6_error(
                        "E60038",
                        f"{name} has to be of type {by_name[name]}, but is {type(value).__name__}",
                        name,
                    )
            return function(*args, **keywords)

        check_and_call.parameter_types = by_name  # type: ignore[attr-defined]
        return check_and_call

    return decorate


def _e6_error(code: str, text: str, name: str = "") -> Any:
    # an `OperatorError`, not a `CheckError`: the sizes of a later call may pass the check
    return fault(code, text, op_name="", param_name=name, desc=text)


def check_dtype_rule(dtype: Any, check_list: Sequence[str], param_name: str = "default") -> None:
    """Raises `OperatorError` if `check_list` does not contain `dtype` in lower case."""
    if dtype is None:
        raise _e6_error("E60038", "dtype is None", param_name)
    if str(dtype).lower() not in check_list:
        code = "E60038" if param_name == "default" else "E60005"
        raise _e6_error(
            code,
            f"dtype {dtype} is not supported, only {', '.join(_as_list(check_list))}",
            param_name,
        )


def check_shape_rule(
    shape: Any,
    min_dim: int | None = None,
    max_dim: int | None = None,
    max_shape_num: int | None = None,
) -> None:
    """Raises `OperatorError` if `shape` is not a list of min_dim to max_dim positive integers."""
    low = DEFAULT_MIN_SHAPE_DIM if min_dim is None else min_dim
    high = DEFAULT_MAX_SHAPE_DIM if max_dim is None else max_dim
    if not isinstance(shape, (tuple, list)):
        raise _e6_error(
            "E60037", f"a shape is a list or tuple, not {type(shape).__name__}", "shape"
        )
    if not low <= len(shape) <= high:
        raise _e6_error(
            "E60011",
            f"a shape has to have {low} to {high} dimensions, but has {len(shape)}",
            "shape",
        )
    for size in shape:
        if type(size) is not int:
            raise _e6_error("E60037", f"a size is an int, not {type(size).__name__}", "shape")
        if size <= 0:
            raise _e6_error("E60039", f"a size has to be more than 0, but is {size}", "shape")


def check_kernel_name(kernel_name: Any) -> None:
    """Raises `OperatorError` for a bad kernel name.

    A kernel name is good if it is None, or an identifier of at most 200 characters.
    """
    if kernel_name is None:
        return
    text = str(kernel_name)
    if len(text) > MAX_KERNEL_NAME_LEN:
        raise _e6_error(
            "E60039",
            f"kernel_name has to have at most {MAX_KERNEL_NAME_LEN} characters, "
            f"but has {len(text)}",
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise _e6_error(
            "E60038", f"kernel_name has to be an identifier, but is {text!r}", "kernel_name"
        )


def check_and_init_5hdc_reduce_support(
    input_tensor: dict[str, Any], axis: Sequence[int], *_: Any
) -> bool:
    """Whether a tensor is float16 in NC1HWC0 and `axis` contains both channel axes, 1 and 4."""
    if (
        input_tensor.get("format") == "NC1HWC0"
        and 1 in axis
        and 4 in axis
        and input_tensor.get("dtype") == "float16"
    ):
        if "ori_shape" in input_tensor and "ori_format" in input_tensor:
            return True
        raise _e6_error("E60040", "an NC1HWC0 input lacks ori_shape or ori_format", "input tensor")
    return False


def is_scalar(shape: Any) -> bool:
    """Whether a shape is ``[1]``."""
    return isinstance(shape, (list, tuple)) and list(shape) == [1]


def check_shape_size(shape: Sequence[int], limit: int = SHAPE_SIZE_LIMIT + 1) -> None:
    """Raises `OperatorError` if the shape has `limit` elements or more."""
    if math.prod(shape) >= limit:
        raise _e6_error(
            "E60039",
            f"a shape has to have less than {limit} elements, but has {math.prod(shape)}",
            "shape",
        )


def check_tensor_shape_size(shape: Sequence[int], *_: Any) -> int:
    """Returns the number of elements of a shape."""
    return math.prod(shape)


def check_reduce_shape_rule(shape: Sequence[int]) -> None:
    """Raises `OperatorError` if the shape has more than 200 million elements."""
    if math.prod(shape) > MAX_REDUCE_SHAPE_NUM:
        raise _e6_error(
            "E60039",
            f"at most {MAX_REDUCE_SHAPE_NUM} elements are reduced, not {math.prod(shape)}",
            "shape",
        )
