"""Defines one record for each operator type; all tables of operators are derived from them.

In: nothing. Out: `OPERATORS` and selections from `OPERATORS`. This package must not read files,
must not import MindSpore, and must not depend on how other packages use a record.

Each module describes one family of operators: the formulas, lowering rules and records of these
operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ms_fusion.ops import (
    activations,
    arithmetic,
    comparisons,
    elementary_functions,
    framework,
    images,
    layout,
    losses,
    normalisations,
    optimizers,
    products,
    random,
    reductions,
    scalar_activations,
)
from ms_fusion.ops.op_info import OnnxOperator, OpInfo, Trait

FAMILIES = (
    arithmetic,
    comparisons,
    elementary_functions,
    activations,
    scalar_activations,
    reductions,
    normalisations,
    layout,
    products,
    images,
    losses,
    optimizers,
    random,
    framework,
)
OPERATORS: Mapping[str, OpInfo] = MappingProxyType(
    {
        operator.name: operator
        for operator in sorted(
            (one for family in FAMILIES for one in family.OPERATORS), key=lambda one: one.name
        )
    }
)
"""A dict from operator type to record, in alphabetical order."""

ONNX_OPERATORS: Mapping[str, tuple[OpInfo, OnnxOperator]] = MappingProxyType(
    {
        form.name: (operator, form)
        for operator in OPERATORS.values()
        for one in operator.onnx
        for form in (OnnxOperator(one) if isinstance(one, str) else one,)
    }
)
"""A dict from an operator type of ONNX's own domain to (its record, its `OnnxOperator`)."""

UNKNOWN = OpInfo("")
"""The record of an operator type that no module describes."""


def operator_info(name: str) -> OpInfo:
    """Returns the record of an operator type, or `UNKNOWN` if the type has no record."""
    return OPERATORS.get(name, UNKNOWN)


def record_name(onnx: str) -> str:
    """Returns the name of an ONNX operator type's record, or the type if there is no record."""
    return ONNX_OPERATORS[onnx][0].name if onnx in ONNX_OPERATORS else onnx


def operators_with(trait: Trait) -> frozenset[str]:
    """Returns the operator types that have a trait."""
    return frozenset(name for name, operator in OPERATORS.items() if trait in operator.traits)


def operators_where(condition: Callable[[OpInfo], bool]) -> frozenset[str]:
    """Returns the operator types whose record meets a condition."""
    return frozenset(name for name, operator in OPERATORS.items() if condition(operator))


def table(field: Callable[[OpInfo], Any]) -> Mapping[str, Any]:
    """Returns a dict from operator type to the value of a field, without empty values.

    `field` is a function that returns the value for a record. Empty values are None and empty
    strings, tuples and sets.
    """
    values = {name: field(operator) for name, operator in OPERATORS.items()}
    return MappingProxyType({name: value for name, value in values.items() if value})
