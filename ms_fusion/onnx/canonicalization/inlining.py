"""Inlines the functions of a model; rejects a model that would expand to too many operators."""

from __future__ import annotations

from collections import Counter
from graphlib import CycleError, TopologicalSorter

import onnx_ir as ir
from onnx_ir.passes import common as passes

from tbe_impl.errors import InputError

OPERATORS_MAX = 1 << 20


def inline_model_functions(model: ir.Model) -> None:
    """Replaces calls of the model's functions by their bodies, in place.

    Raises:
        InputError: functions call each other in a cycle, expand to more than `OPERATORS_MAX`
            operators, or cannot be inlined.
    """
    calls = {
        name: Counter(node.op_identifier() for node in function.all_nodes())
        for name, function in model.functions.items()
    }
    try:
        order = list(
            TopologicalSorter(
                {name: [one for one in called if one in calls] for name, called in calls.items()}
            ).static_order()
        )
    except CycleError as error:
        circle = " → ".join(name[1] for name in error.args[1])
        raise InputError(
            "the functions of the model call each other in a cycle", got=circle[:200]
        ) from None
    operators: dict[ir.OperatorIdentifier, int] = {}
    for name in order:
        operators[name] = sum(count * operators.get(one, 1) for one, count in calls[name].items())
    total = sum(operators.get(node.op_identifier(), 1) for node in model.graph.all_nodes())
    if total > OPERATORS_MAX:
        raise InputError(
            "the functions of the model expand to too many operators",
            expected=f"at most {OPERATORS_MAX}",
            got=f"{total:.3g}",
        )
    try:
        passes.InlinePass()(model)
    except Exception as error:
        # The library may raise any exception if functions do not fit the model.
        raise InputError(
            "the functions of the model cannot be inlined",
            got=f"{type(error).__name__}: {str(error)[:200]}",
        ) from error
