"""Maps values to C types: every value is one vector of LANES elements, for every dtype.

Function names refer to the headers in `include/`.
"""

from __future__ import annotations

import math

import numpy as np

from tbe_impl.dsl.expr import COMPARISONS, LOGICAL_OPERATORS
from tbe_impl.errors import CompileError

MASK = "mask"
"""Kind of boolean vectors: an ``i32v`` whose lanes are 0 or −1."""
FLAG = "flag"
"""Kind of a boolean that has the same value in all lanes."""

_TAGS = {
    "float16": "f32",
    "bfloat16": "f32",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": MASK,
}
_MEMORY = {"float16": "f16", "bfloat16": "bf16", "bool": "b8"}
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
}
_HALF_FORM_FUNCTIONS = frozenset({"sigmoid"})
"""Functions with a cheaper form for results of 11 significand bits or fewer."""
_INTEGER_NAMES = {"div": "truncdiv"}


def tag_of(dtype: str) -> str:
    """Returns the kind of vector that holds values of a dtype."""
    return _TAGS[dtype]


def memory_prefix(dtype: str) -> str:
    """Returns the prefix of the load and store functions of a dtype."""
    return _MEMORY.get(dtype, _TAGS[dtype])


def c_type(tag: str) -> str:
    """Returns the C type of a vector kind; ``int`` for `FLAG`."""
    return {MASK: "i32v", FLAG: "int"}.get(tag, f"{tag}v")


def lane_bits(tag: str) -> int:
    """Returns the number of bits in a lane."""
    return 32 if tag == MASK else int(tag[1:])


def splat(tag: str, number: str) -> str:
    """Returns C for a vector with one value in every lane."""
    return f"SPLAT({c_type(tag)}, {number})"


def literal(value: float | int | bool, tag: str) -> str:
    """Returns C for a constant vector.

    >>> literal(0.5, "f32"), literal(True, "mask")
    ('SPLAT(f32v, 0x1.0000000000000p-1f)', 'SPLAT(i32v, -1)')
    >>> literal(-2**63, "i64")
    'SPLAT(i64v, (-INT64_C(9223372036854775807)-1))'
    """
    if tag == MASK:
        return splat(tag, "-1" if value else "0")
    if tag[0] == "f":
        number = float(value)
        suffix = "f" if tag == "f32" else ""
        if number != number:
            return splat(tag, f'__builtin_nan{suffix}("")')
        if number in (float("inf"), float("-inf")):
            return splat(tag, f"{'-' if number < 0 else ''}__builtin_inf{suffix}()")
        return splat(tag, number.hex() + suffix)
    size = lane_bits(tag)
    wrapped = int(value) & ((1 << size) - 1)
    if tag[0] == "u":
        return splat(tag, f"UINT64_C({wrapped})")
    signed = wrapped - (1 << size) if wrapped >> (size - 1) else wrapped
    if signed == -(1 << 63):
        return splat(tag, "(-INT64_C(9223372036854775807)-1)")
    return splat(tag, f"INT64_C({signed})")


def binary(op: str, tag: str, a: str, b: str) -> str:
    """Returns C for `a op b` with two vectors of one kind."""
    if op in COMPARISONS:
        if tag == MASK:
            a, b = b, a  # true is −1, so the order is reversed
        return to_mask(f"({a} {_OPERATORS[op]} {b})", lane_bits(tag))
    if op in LOGICAL_OPERATORS or (tag == MASK and op in ("bitand", "bitor", "bitxor")):
        return f"({a} {_OPERATORS[op]} {b})"
    if tag == MASK:
        logical = {"max": "|", "min": "&", "mul": "&", "add": "|", "sub": "^"}.get(op)
        if logical is None:
            raise CompileError(f"{op} of truth values has no meaning")
        return f"({a} {logical} {b})"
    if tag[0] == "f":
        if op in ("add", "sub", "mul", "div"):
            return f"({a} {_OPERATORS[op]} {b})"
        name = {
            "max": "maximum",
            "min": "minimum",
            "floordiv": "floordiv",
            "truncdiv": "truncdiv",
            "truncmod": "fmod",
        }.get(op, op)
        return f"{tag}_{name}({a}, {b})"
    if op in ("add", "sub", "mul", "bitand", "bitor", "bitxor"):
        return f"({a} {_OPERATORS[op]} {b})"
    name = {"max": "maximum", "min": "minimum", "div": "truncdiv"}.get(op, op)
    return f"{tag}_{name}({a}, {b})"


def binary_with_scalar(op: str, tag: str, value: str, number: float) -> str | None:
    """Returns a cheaper form of ``max`` or ``min`` with a scalar, or of a product with −1.

    Returns None if there is no such form. The cheaper form of ``max`` or ``min`` is one
    instruction, which returns the second operand when one operand is NaN or both are 0. The product
    becomes a negation, which folds into the next instruction.
    """
    if op == "mul" and tag[0] == "f" and number == -1:
        return f"(-{value})"
    if op not in ("max", "min") or tag[0] != "f":
        return None
    with np.errstate(over="ignore"):
        number = float(np.float32(number)) if tag == "f32" else number
    if math.isnan(number):
        return None
    negative = math.copysign(1, number) < 0
    if op == "max" and number == 0 and not negative:
        return f"{tag}_relu({value})"
    if op == "min" and number == 0 and negative:
        return None
    return f"{tag}_{'above' if op == 'max' else 'below'}({literal(number, tag)}, {value})"


def to_mask(mask: str, width: int) -> str:
    """Returns C that converts the result of a comparison of `width`-bit lanes to a `MASK`."""
    return mask if width == 32 else f"__builtin_convertvector({mask}, i32v)"


def from_mask(mask: str, tag: str) -> str:
    """Returns C that converts a `MASK` to a mask with the lane width of `tag`."""
    width = lane_bits(tag)
    return mask if width == 32 else f"__builtin_convertvector({mask}, i{width}v)"


def select(tag: str, condition: str, a: str, b: str) -> str:
    """Returns C that selects `a` where the condition holds, else `b`."""
    name = "i32" if tag == MASK else tag
    return f"{name}_select({from_mask(condition, tag)}, {a}, {b})"


def cast(source: str, target: str, value: str) -> str:
    """Returns C that casts a value between dtypes; half-precision results are rounded."""
    here, there = tag_of(source), tag_of(target)
    if there == MASK:
        return (
            value if here == MASK else to_mask(f"({value} != {literal(0, here)})", lane_bits(here))
        )
    if here == MASK:
        found = select(there, value, literal(1, there), literal(0, there))
    elif source == "float64" and target in ("float16", "bfloat16"):
        # rounds to odd first: double rounding to nearest would turn a near tie into a tie
        found = f"f32_from_f64_to_odd({value})"
    elif target == "bfloat16" and source in ("int32", "uint32", "int64", "uint64"):
        found = f"f32_from_{here}_to_odd({value})"
    else:
        found = value if here == there else f"{there}_from_{here}({value})"
    if target in ("float16", "bfloat16"):
        return f"f32_round_{memory_prefix(target)}({found})"
    return found


def function(name: str, dtype: str, arguments: list[str]) -> str:
    """Returns C that applies a scalar function of `tbe_impl.dsl.functions` to vectors."""
    tag = tag_of(dtype)
    if name == "not":
        return f"(~{arguments[0]})" if tag == MASK else f"(~{cast(dtype, 'bool', arguments[0])})"
    if name == "bitnot":
        return f"(~{arguments[0]})"
    if name == "float_of_bits":
        return f"((f32v){cast(dtype, 'uint32', arguments[0])})"
    if name in ("isnan", "isinf", "isfinite"):
        if tag[0] != "f":
            return literal(name == "isfinite", MASK)
        return to_mask(f"{tag}_{name}({arguments[0]})", lane_bits(tag))
    if tag[0] != "f" and name in ("floor", "ceil", "rint", "trunc", "round_away"):
        return arguments[0]
    if tag[0] != "f" and name not in ("abs", "neg", "sign", "relu", "fmod", "gcd"):
        raise CompileError(
            f"{name} of {dtype} has no meaning", remedy="Cast the tensor to a float first"
        )
    if name in _HALF_FORM_FUNCTIONS and dtype in ("float16", "bfloat16"):
        name += "_to_half"
    return f"{tag}_{name}({', '.join(arguments)})"
