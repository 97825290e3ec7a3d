"""Attributes of ONNX's own operators are what ONNX says they are: a text in the place of a number would become code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import onnx
import onnx_ir as ir

from tbe_impl.errors import InputError


def check_attributes(node: ir.Node, version: int) -> None:
    """Looks at an operator's attributes.

    Args:
        node: the operator; those of other domains are let pass.
        version: of ONNX's operators in its model.

    Raises:
        InputError: ONNX's operator has no attribute of that name, or one of another type.
    """
    known = _types(node.op_type, version) if node.domain in ("", "ai.onnx") else None
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
def _types(op: str, version: int) -> Mapping[str, ir.AttributeType] | None:
    """Attribute → its type, in the newest version where the model's has no such operator; None where none has."""
    if not onnx.defs.has(op):
        return None
    try:
        schema = onnx.defs.get_schema(op, version)
    except onnx.defs.SchemaError:
        schema = onnx.defs.get_schema(op)
    return {name: ir.AttributeType[item.type.name] for name, item in schema.attributes.items()}  # type: ignore[attr-defined]
