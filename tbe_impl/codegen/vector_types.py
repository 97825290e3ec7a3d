"""C types of values: one vector of LANES elements for every value, whatever its dtype.

Names of functions are those of the headers beside this file.
"""

from __future__ import annotations

import math

import numpy as np

from tbe_impl.dsl.expr import COMPARISONS, LOGICAL
from tbe_impl.errors import CompileError

MASK = "mask"
"""Truth values: an ``i32v`` of 0 and −1."""
FLAG = "flag"
"""One truth value for all lanes."""

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
_TO_HALF = frozenset({"sigmoid"})
"""Functions that are quicker where a float of 11 bits or fewer is asked for."""
_INTEGER_NAMES = {"div": "truncdiv"}


def tag_of(dtype: str) -> str:
    """The kind of vector that holds values of a dtype."""
    return _TAGS[dtype]


def memory_of(dtype: str) -> str:
    """The prefix of the functions that load and store a dtype."""
    return _MEMORY.get(dtype, _TAGS[dtype])


def c_type(tag: str) -> str:
    """The C type of a vector, or of what holds for all its lanes."""
    return {MASK: "i32v", FLAG: "int"}.get(tag, f"{tag}v")


def bits(tag: str) -> int:
    """Bits of a lane."""
    return 32 if tag == MASK else int(tag[1:])


def splat(tag: str, number: str) -> str:
    """A vector of one number in every lane."""
    return f"SPLAT({c_type(tag)}, {number})"


def literal(value: float | int | bool, tag: str) -> str:
    """A constant in C.

    >>> literal(0.5, "f32"), literal(-2**63, "i64"), literal(True, "mask")
    ('SPLAT(f32v, 0x1.0000000000000p-1f)', 'SPLAT(i64v, (-INT64_C(9223372036854775807)-1))', 'SPLAT(i32v, -1)')
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
    size = bits(tag)
    wrapped = int(value) & ((1 << size) - 1)
    if tag[0] == "u":
        return splat(tag, f"UINT64_C({wrapped})")
    signed = wrapped - (1 << size) if wrapped >> (size - 1) else wrapped
    if signed == -(1 << 63):
        return splat(tag, "(-INT64_C(9223372036854775807)-1)")
    return splat(tag, f"INT64_C({signed})")


def binary(op: str, tag: str, a: str, b: str) -> str:
    """`a op b` of two vectors of one kind."""
    if op in COMPARISONS:
        if tag == MASK:
            a, b = b, a  # true is −1 there, and false is above it
        return to_mask(f"({a} {_OPERATORS[op]} {b})", bits(tag))
    if op in LOGICAL or (tag == MASK and op in ("bitand", "bitor", "bitxor")):
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


def beside_number(op: str, tag: str, value: str, number: float) -> str | None:
    """``max`` or ``min`` of a vector and a number, and products with −1, quicker than of two vectors; None where there is no such way.

    Of two operands the instruction gives back the second when one of them is NaN or both are 0; a sign goes into what follows.
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
    """A comparison's result as the one kind of truth values."""
    return mask if width == 32 else f"__builtin_convertvector({mask}, i32v)"


def from_mask(mask: str, tag: str) -> str:
    """A truth value as a mask as wide as a vector of `tag`."""
    width = bits(tag)
    return mask if width == 32 else f"__builtin_convertvector({mask}, i{width}v)"


def select(tag: str, condition: str, a: str, b: str) -> str:
    """`a` where the truth value holds, else `b`."""
    name = "i32" if tag == MASK else tag
    return f"{name}_select({from_mask(condition, tag)}, {a}, {b})"


def cast(source: str, target: str, value: str) -> str:
    """A value of dtype `source` in dtype `target`; narrow floats are rounded."""
    here, there = tag_of(source), tag_of(target)
    if there == MASK:
        return value if here == MASK else to_mask(f"({value} != {literal(0, here)})", bits(here))
    if here == MASK:
        found = select(there, value, literal(1, there), literal(0, there))
    elif source == "float64" and target in ("float16", "bfloat16"):
        # to odd first: rounded twice to nearest, what lies beside a half would become one
        found = f"f32_from_f64_to_odd({value})"
    elif target == "bfloat16" and source in ("int32", "uint32", "int64", "uint64"):
        found = f"f32_from_{here}_to_odd({value})"
    else:
        found = value if here == there else f"{there}_from_{here}({value})"
    if target in ("float16", "bfloat16"):
        return f"f32_round_{memory_of(target)}({found})"
    return found


def function(name: str, dtype: str, arguments: list[str]) -> str:
    """A function of scalars from `tbe_impl.dsl.functions`, on vectors."""
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
        return to_mask(f"{tag}_{name}({arguments[0]})", bits(tag))
    if tag[0] != "f" and name in ("floor", "ceil", "rint", "trunc", "round_away"):
        return arguments[0]
    if tag[0] != "f" and name not in ("abs", "neg", "sign", "relu", "fmod", "gcd"):
        raise CompileError(
            f"{name} of {dtype} has no meaning", remedy="Cast the tensor to a float first"
        )
    if name in _TO_HALF and dtype in ("float16", "bfloat16"):
        name += "_to_half"
    return f"{tag}_{name}({', '.join(arguments)})"
