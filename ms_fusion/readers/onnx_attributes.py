"""Checks that attributes of ONNX operators have the names and types that the schemas define.

Attribute values reach generated code, so a string where ONNX requires a number must be refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import onnx
import onnx_ir as ir

from tbe_impl.errors import InputError


def check_attributes(node: ir.Node, version: int) -> None:
    """Check an operator's attributes against its schema.

    Args:
        node: the operator; it is checked only if ONNX itself defines it.
        version: opset version of the model.

    Raises:
        InputError: the schema does not define an attribute of the operator, or defines it with
            another type.
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


@lru_cache(maxsize=1024)
def _attribute_types(op: str, version: int) -> Mapping[str, ir.AttributeType] | None:
    """Returns the type of each attribute of an operator, by name; None for an unknown operator.

    If the opset version has no schema for the operator, the newest schema is used.
    """
    if not onnx.defs.has(op):
        return None
    try:
        schema = onnx.defs.get_schema(op, version)
    except onnx.defs.SchemaError:
        schema = onnx.defs.get_schema(op)
    return {
        name: ir.AttributeType[item.type.name]  # type: ignore[attr-defined]
        for name, item in schema.attributes.items()
    }
