"""Checks attributes of ONNX operators against ONNX's schemas; returns defaults of attributes.

Other modules write attribute values into generated code. So this module must refuse a string where
ONNX requires a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from tbe_impl.errors import InputError


def check_attributes(node: ir.Node, version: int) -> None:
    """Checks the attributes of an operator against the operator's schema.

    Args:
        node: the operator. Only operators that ONNX itself defines are checked.
        version: opset version of the model.

    Raises:
        InputError: the operator has an attribute that the schema does not define, or an attribute
            with another type than in the schema.
    """
    known = _attribute_types(node.op_type, version) if node.domain in ("", "ai.onnx") else None
    if known is None:
        return
    for name, item in node.attributes.items():
        if known.get(name) != item.type:
            raise InputError(
                f"{node.op_type} has no attribute {name!r} of this type",
                place=node.name or node.op_type,
                expected=known[name].name.lower()
                if name in known
                else ", ".join(sorted(known)) or "no attributes",
                got=item.type.name.lower(),
                remedy="Export the model again, or look at it with onnx.checker",
            )


def default_attributes(op: str, version: int) -> Mapping[str, Any]:
    """Returns the defaults of an operator's attributes, except defaults that are graphs or tensors.

    The result excludes the default bounds of Clip before opset 11, because these bounds mean that
    Clip has no bound.
    """
    return MappingProxyType({}) if op == "Clip" else _defaults(op, version)


@lru_cache(maxsize=1024)
def _defaults(op: str, version: int) -> Mapping[str, Any]:
    schema = _schema(op, version)
    found = {
        name: onnx.helper.get_attribute_value(item.default_value)
        for name, item in (schema.attributes if schema else {}).items()
        if item.default_value.type
    }
    return MappingProxyType(
        {
            name: _python_value(value)
            for name, value in found.items()
            if isinstance(value, bytes | int | float)
        }
    )


def _python_value(value: bytes | float) -> str | float:
    """Returns a default as str, int or float.

    A float32 default is returned as the float with its shortest decimal representation.
    """
    if isinstance(value, bytes):
        return value.decode()
    return float(str(np.float32(value))) if isinstance(value, float) else value


@lru_cache(maxsize=1024)
def _attribute_types(op: str, version: int) -> Mapping[str, ir.AttributeType] | None:
    """Returns a dict from attribute name to type, or None for an unknown operator."""
    schema = _schema(op, version)
    return schema and {
        name: ir.AttributeType[item.type.name] for name, item in schema.attributes.items()
    }


def _schema(op: str, version: int) -> Any:
    """Returns the schema of an operator, or None for an unknown operator.

    If the opset version has no schema for the operator, the newest schema is used.
    """
    if not onnx.defs.has(op):
        return None
    try:
        return onnx.defs.get_schema(op, version)
    except onnx.defs.SchemaError:
        return onnx.defs.get_schema(op)
