"""Defines the dtypes of the DSL: size, kind, NumPy dtype and C type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tbe_impl.errors import InputError


@dataclass(frozen=True)
class DType:
    """A dtype of the DSL.

    Attributes:
        name: the name that operators use, such as ``float16``.
        bytes: size of an element in memory.
        kind: ``float``, ``int``, ``uint`` or ``bool``.
        c: the C type of an element in memory.
    """

    name: str
    bytes: int
    kind: str
    c: str

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype; bfloat16 comes from ml_dtypes."""
        if self.name == "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(self.name)


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("float16", 2, "float", "uint16_t"),
        DType("bfloat16", 2, "float", "uint16_t"),
        DType("float32", 4, "float", "float"),
        DType("float64", 8, "float", "double"),
        DType("int8", 1, "int", "int8_t"),
        DType("int16", 2, "int", "int16_t"),
        DType("int32", 4, "int", "int32_t"),
        DType("int64", 8, "int", "int64_t"),
        DType("uint8", 1, "uint", "uint8_t"),
        DType("uint16", 2, "uint", "uint16_t"),
        DType("uint32", 4, "uint", "uint32_t"),
        DType("uint64", 8, "uint", "uint64_t"),
        DType("bool", 1, "bool", "uint8_t"),
    )
}
"""Maps a name to its dtype. A ``bool`` element occupies one byte with the value 0 or 1."""

ALIASES = {
    "handle": "int64",
    "int1": "bool",
    "uint1": "bool",
    "float": "float32",
    "int": "int32",
    "double": "float64",
    "bool_": "bool",
    "fp16": "float16",
    "fp32": "float32",
    "bf16": "bfloat16",
}


def dtype_of(name: Any) -> DType:
    """Returns the dtype called `name`; accepts the aliases that CANN operators use.

    >>> dtype_of("Float16").bytes
    2
    """
    known = DTYPES.get(name) if type(name) is str else None
    if known is not None:
        return known
    text = str(name).lower()
    found = DTYPES.get(ALIASES.get(text, text))
    if found is None:
        raise InputError("unknown dtype", expected=", ".join(DTYPES), got=repr(name))
    return found


def is_float(name: str) -> bool:
    """Whether the dtype called `name` is floating-point."""
    return dtype_of(name).kind == "float"


def common_dtype(first: str, second: str) -> str:
    """Returns the common dtype to which an operator in a ``tvm.compute`` promotes its operands.

    If exactly one dtype is a float dtype, the result is that dtype. bool is promoted to any other
    dtype. float16 with bfloat16 gives float32. In all other cases the result is the wider dtype. If
    both dtypes have the same width, the result is `first`.
    """
    one, other = dtype_of(first), dtype_of(second)
    if one == other:
        return one.name
    if (one.kind == "float") != (other.kind == "float"):
        return one.name if one.kind == "float" else other.name
    if "bool" in (one.kind, other.kind):
        return other.name if one.kind == "bool" else one.name
    if {one.name, other.name} == {"float16", "bfloat16"}:
        return "float32"
    return one.name if one.bytes >= other.bytes else other.name
