"""Maps ONNX operator names to the names that rules and costs use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MINDSPORE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "And": "LogicalAnd",
        "AveragePool": "AvgPool",
        "BatchNormalization": "BatchNorm",
        "Conv": "Conv2D",
        "ConvTranspose": "Conv2DTranspose",
        "Expand": "BroadcastTo",
        "Gelu": "GeLU",
        "Gemm": "MatMul",
        "GreaterOrEqual": "GreaterEqual",
        "HardSigmoid": "HSigmoid",
        "HardSwish": "HSwish",
        "LayerNormalization": "LayerNorm",
        "LeakyRelu": "LeakyReLU",
        "LessOrEqual": "LessEqual",
        "Max": "Maximum",
        "Min": "Minimum",
        "Not": "LogicalNot",
        "Or": "LogicalOr",
        "RMSNormalization": "RmsNorm",
        "Relu": "ReLU",
        "Sum": "AddN",
        "Unsqueeze": "ExpandDims",
        "Where": "Select",
        "Xor": "LogicalXor",
        "Swish": "SiLU",
        "GlobalAveragePool": "ReduceMean",
        "GlobalMaxPool": "ReduceMax",
        "Round": "Rint",
        "IsNaN": "IsNan",
        "IsInf": "IsInf",
        "Acos": "ACos",
        "Identity": "Reshape",
    }
)
"""ONNX operator name → name in rules and costs; absent where both are equal."""
