"""Maps values to vectors of the loop IR: every value has LANES lanes, for every dtype.

Function names refer to the headers in `include/`.
"""

from __future__ import annotations

import math

import numpy as np

from tbe_impl.codegen.loop_ir import MASK, Call, Cast, Expr, Literal, Op
from tbe_impl.dsl.expr import COMPARISONS, LOGICAL_OPERATORS
from tbe_impl.errors import CompileError

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
_BITWISE = {"bitand": "and", "bitor": "or", "bitxor": "xor"}
_ON_MASKS = {"max": "or", "min": "and", "mul": "and", "add": "or", "sub": "xor"}
_FLOAT_NAMES = {"max": "maximum", "min": "minimum", "truncmod": "fmod"}
_INTEGER_NAMES = {"max": "maximum", "min": "minimum", "div": "truncdiv"}
_HALF_FORM_FUNCTIONS = frozenset({"sigmoid"})
"""Functions with a cheaper form for results of 11 significand bits or fewer."""


def tag_of(dtype: str) -> str:
    """Returns the kind of vector that holds values of a dtype."""
    return _TAGS[dtype]


def memory_prefix(dtype: str) -> str:
    """Returns the prefix of the load and store functions of a dtype."""
    return _MEMORY.get(dtype, _TAGS[dtype])


def memory_bytes(prefix: str) -> int:
    """Returns the size of an element in memory; `prefix` is from `memory_prefix`.

    >>> memory_bytes("bf16"), memory_bytes("b8"), memory_bytes("f64")
    (2, 1, 8)
    """
    return int(prefix.lstrip("bfiu")) // 8


def lane_bits(tag: str) -> int:
    """Returns the number of bits in a lane."""
    return 32 if tag == MASK else int(tag[1:])


def literal(value: float | int | bool, tag: str) -> Literal:
    """Returns a constant vector; integers wrap around.

    >>> literal(0.5, "f32").text, literal(True, "mask").text, literal(2**63, "i64").value
    ('0x1.0000000000000p-1', 'True', -9223372036854775808)
    """
    if tag == MASK:
        return Literal(tag, str(bool(value)), bool(value))
    if tag[0] == "f":
        return Literal(tag, float(value).hex(), float(value))
    size = lane_bits(tag)
    wrapped = int(value) & ((1 << size) - 1)
    if tag[0] == "i" and wrapped >> (size - 1):
        wrapped -= 1 << size
    return Literal(tag, str(wrapped), wrapped)


def binary(op: str, tag: str, a: Expr, b: Expr) -> Expr:
    """Returns `a op b` for two vectors of one kind."""
    if op in COMPARISONS:
        return Op(op, (a, b), MASK)
    if op in LOGICAL_OPERATORS or op in _BITWISE:
        return Op(_BITWISE.get(op, op), (a, b), tag)
    if tag == MASK:
        if op not in _ON_MASKS:
            raise CompileError(f"{op} of truth values has no meaning")
        return Op(_ON_MASKS[op], (a, b), tag)
    if op in ("add", "sub", "mul") or (op == "div" and tag[0] == "f"):
        return Op(op, (a, b), tag)
    names = _FLOAT_NAMES if tag[0] == "f" else _INTEGER_NAMES
    return Call(names.get(op, op), (a, b), tag, tag)


def binary_with_scalar(op: str, tag: str, value: Expr, number: float) -> Expr | None:
    """Returns a cheaper form of ``max`` or ``min`` with a scalar, or of a product with −1.

    Returns None if there is no such form. The cheaper form of ``max`` or ``min`` is one
    instruction. It returns the second operand when one operand is NaN or both operands are 0. The
    cheaper form of the product is a negation. The C compiler folds the negation into the next
    instruction.
    """
    if op == "mul" and tag[0] == "f" and number == -1:
        return Op("neg", (value,), tag)
    if op not in ("max", "min") or tag[0] != "f":
        return None
    with np.errstate(over="ignore"):
        number = float(np.float32(number)) if tag == "f32" else number
    if math.isnan(number):
        return None
    negative = math.copysign(1, number) < 0
    if op == "max" and number == 0 and not negative:
        return Call("relu", (value,), tag, tag)
    if op == "min" and number == 0 and negative:
        return None
    return Call("above" if op == "max" else "below", (literal(number, tag), value), tag, tag)


def combine(op: str, tag: str, so_far: Expr, value: Expr) -> Expr:
    """Combines the partial result of a reduction with one more value."""
    if op == "max" and tag in ("f32", "f64"):
        return Call("max_so_far", (so_far, value), tag, tag)
    name = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}[op]
    return binary(name, tag, so_far, value)


def neutral(op: str, tag: str) -> Literal:
    """Returns the identity element of ``sum``, ``prod``, ``max`` or ``min``."""
    if op in ("sum", "prod"):
        return literal(op == "prod", tag)
    if tag == MASK:
        return literal(op == "min", tag)
    if tag[0] == "f":
        return literal(-math.inf if op == "max" else math.inf, tag)
    size = lane_bits(tag) - (tag[0] == "i")
    least = -(1 << size) if tag[0] == "i" else 0
    return literal(least if op == "max" else (1 << size) - 1, tag)


def identity(op: str, dtype: str) -> float | int | bool:
    """Returns the identity element of ``sum``, ``prod``, ``max`` or ``min`` in a dtype."""
    return neutral(op, tag_of(dtype)).value


def select(tag: str, condition: Expr, a: Expr, b: Expr) -> Expr:
    """Returns a vector with the lanes of `a` where the condition holds, else those of `b`."""
    return Call("select", (condition, a, b), tag, "i32" if tag == MASK else tag)


def cast(source: str, target: str, value: Expr) -> Expr:
    """Returns a value cast between dtypes; half-precision results are rounded."""
    here, there = tag_of(source), tag_of(target)
    if there == MASK:
        return value if here == MASK else Op("ne", (value, literal(0, here)), MASK)
    if here == MASK:
        found = select(there, value, literal(1, there), literal(0, there))
    elif source == "float64" and target in ("float16", "bfloat16"):
        # rounds to odd first: double rounding to nearest would turn a near tie into a tie
        found = Call("from_f64_to_odd", (value,), "f32", "f32")
    elif target == "bfloat16" and source in ("int32", "uint32", "int64", "uint64"):
        found = Call(f"from_{here}_to_odd", (value,), "f32", "f32")
    else:
        found = convert(value, there)
    if target in ("float16", "bfloat16"):
        return Call(f"round_{memory_prefix(target)}", (found,), "f32", "f32")
    return found


def convert(value: Expr, tag: str) -> Expr:
    """Returns a vector of another kind with the same values, rounded."""
    return value if value.kind == tag else Call(f"from_{value.kind}", (value,), tag, tag)


def function(name: str, dtype: str, arguments: tuple[Expr, ...]) -> Expr:
    """Returns a scalar function of `tbe_impl.dsl.functions`, applied to vectors."""
    tag = tag_of(dtype)
    if name == "not":
        return Op("not", (cast(dtype, "bool", arguments[0]),), MASK)
    if name == "bitnot":
        return Op("not", arguments, tag)
    if name == "float_of_bits":
        return Cast("f32", cast(dtype, "uint32", arguments[0]))
    if name in ("isnan", "isinf", "isfinite"):
        if tag[0] != "f":
            return literal(name == "isfinite", MASK)
        return Call(name, arguments, MASK, tag)
    if tag[0] != "f" and name in ("floor", "ceil", "rint", "trunc", "round_away"):
        return arguments[0]
    if tag[0] != "f" and name not in ("abs", "neg", "sign", "relu", "fmod", "gcd"):
        raise CompileError(
            f"{name} of {dtype} has no meaning", remedy="Cast the tensor to a float first"
        )
    if name in _HALF_FORM_FUNCTIONS and dtype in ("float16", "bfloat16"):
        name += "_to_half"
    return Call(name, arguments, tag, tag)
