"""Maps ONNX operator names to the names that the fusion rules and the cost model use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ms_fusion.ops import OPERATORS

MINDSPORE_NAMES: Mapping[str, str] = MappingProxyType(
    {onnx: operator.name for operator in OPERATORS.values() for onnx in operator.onnx}
)
"""ONNX operator name → name in rules and cost model; a name that is equal in both is absent."""
