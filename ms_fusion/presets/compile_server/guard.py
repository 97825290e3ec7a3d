"""Which kernels MindSpore's own CPU generator must not build: it dies on them, or builds them wrong.

Read from the composite JSON that MindSpore hands over for each kernel, before anything is built.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ms_fusion import operators

FLOATS = frozenset({"float16", "float32", "float64"})
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
CAST_FROM_FLOAT = frozenset({"float16", "float32", "float64", "int32", "int64"})
"""Casts of a float that agree with MindSpore's own also for NaN, inf and what does not fit."""

_WRONG: Mapping[str, Callable[[str, str], bool]] = {
    "Cast": lambda source, target: (
        (source == "float64" and target == "float16")
        or (source in FLOATS and target not in CAST_FROM_FLOAT)
    ),
    "Reciprocal": lambda source, _: source in INTEGERS,
    "ReduceSum": lambda source, _: source == "bool",
    "Neg": lambda source, _: source in UNSIGNED,
    "NotEqual": lambda source, _: source in FLOATS,
}
_WHY = {
    "Cast": "NaN, inf and what does not fit come out differently",
    "NotEqual": "NaN would be equal to everything",
}


def refusal(op: str, source: str, target: str) -> str:
    """Why MindSpore's own CPU generator must not build `op` from dtype `source` to `target`; empty when it may."""
    if "bfloat16" in (source, target):
        return f"it cannot build bfloat16 ({op})"
    if op in operators.CRASHES:
        dtypes = operators.CRASHES[op]
        if dtypes is None or source in dtypes:
            return f"it cannot build {op} of {source}"
    wrong = _WRONG.get(op)
    if wrong is not None and wrong(source, target):
        to = f" to {target}" if op == "Cast" else ""
        return (
            f"it computes {op} of {source}{to} wrongly: {_WHY.get(op, operators.WRONG.get(op, ''))}"
        )
    return ""


def kernel_refusal(text: str) -> str:
    """The same for a whole kernel, as composite JSON; also for JSON that cannot be read."""
    try:
        description = json.loads(text)
        for op, source, target in _steps(description):
            reason = refusal(op, source, target)
            if reason:
                return reason
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        return f"its description cannot be read: {error}"
    return ""


def _steps(description: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for step in description["op_desc"]:
        sources = [item["data_type"] for group in step["input_desc"] for item in group]
        targets = [item["data_type"] for item in step["output_desc"]]
        # the first input of Select is its condition
        source = (
            sources[1]
            if step["name"] == "Select" and len(sources) > 1
            else sources[0]
            if sources
            else targets[0]
        )
        if "bfloat16" in sources:
            source = "bfloat16"
        yield step["name"], source, targets[0]
