"""Creates lowering rules from DSL operations."""

from __future__ import annotations

from typing import Any

from ms_fusion.ops.late_imports import arrays
from ms_fusion.ops.op_info import LoweringRule


def dsl_operation(operation: Any) -> LoweringRule:
    """Returns the lowering rule that calls one DSL operation with all operands.

    The operands must have the same shape and dtype.
    """
    return lambda call: arrays.TracedArray(
        operation(*(arrays.tensor_of(item) for item in call.inputs))
    )
