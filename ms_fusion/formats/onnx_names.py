"""The names of ONNX's operators under which rules and costs know them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, str] = MappingProxyType(
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
"""ONNX's name of an operator → the name under which rules and costs know it; others have the same name in both."""
