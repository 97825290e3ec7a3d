"""Exports the fused operators as Cells and primitives for MindSpore, forward and backward.

Importing the package loads no framework; each public name is imported lazily, on first use.

In: tensors or NumPy arrays. Out: results and, on request, gradients. Must not: import `ms_fusion`,
or handle graphs, fusion rules or reports on fusions.
"""

from __future__ import annotations

import sys
from typing import Any

from custom_ops.tbe_bridge import import_hook
from tbe_impl.lazy_attributes import lazy_attributes

_HOMES = {
    "Adam": "optimizers",
    "AdamWeightDecay": "optimizers",
    "AddLayerNorm": "operators.add_layer_norm",
    "AddRMSNorm": "operators.add_rms_norm",
    "AddReLU": "operators.add_relu",
    "BatchNorm": "operators.batch_norm",
    "BiasDropoutAdd": "operators.bias_dropout_add",
    "BoxDecode": "operators.box_decode",
    "Conv2d": "operators.conv2d",
    "ConvBNLeakyReLU": "operators.conv_bn",
    "ConvBNReLU": "operators.conv_bn",
    "ConvBNSiLU": "operators.conv_bn",
    "Dense": "operators.dense",
    "FusedAddReLU": "aliases",
    "FusedCell": "core.cell",
    "FusedConvBN": "operators.conv_bn",
    "FusedMulSigmoid": "aliases",
    "GELU": "operators.gelu",
    "GeGLU": "operators.geglu",
    "GroupNorm": "operators.group_norm",
    "HardSwish": "operators.hard_swish",
    "IoU": "operators.iou",
    "LayerNorm": "operators.layer_norm",
    "LayerNormLinear": "operators.layer_norm_linear",
    "LinearCrossEntropy": "operators.linear_cross_entropy",
    "LinearResidual": "operators.matmul_bias",
    "LogSoftmax": "operators.softmax",
    "MatMulBiasGELU": "operators.matmul_bias",
    "MatMulBiasReLU": "operators.matmul_bias",
    "MatMulBiasSiLU": "operators.matmul_bias",
    "Mish": "operators.mish",
    "Momentum": "optimizers",
    "MulSigmoid": "operators.mul_sigmoid",
    "MyOp": "operators.my_op",
    "NMS": "operators.nms",
    "Operator": "core.numpy_operator",
    "RMSNorm": "operators.rms_norm",
    "RotaryEmbedding": "operators.rotary_embedding",
    "ScaleMaskSoftmax": "operators.scale_mask_softmax",
    "ScaledDotProductAttention": "operators.attention",
    "Softmax": "operators.softmax",
    "SoftmaxCrossEntropy": "operators.softmax_cross_entropy_cell",
    "SwiGLU": "operators.swiglu",
    "Swish": "operators.swish",
    "TokenEmbedding": "operators.token_embedding",
    "fold_batch_norm": "operators.fold_batch_norm",
    "formula": "core.registry",
    "get": "core.registry",
    "patch": "patching",
    "register_operator": "core.registry",
    "rotary_tables": "operators.rotary_embedding",
    "set_default_route": "core.cell",
    "tbe": "core.registry",
}
"""Dict from each public name to the module of this package that defines the name."""

__all__ = sorted(_HOMES)

import_hook.activate()


_DOCUMENTED_MODULES = {name: name for name in ("ascend", "functional", "optimizers")}
"""Submodules that are imported on first use, so that ``custom_ops.optimizers.Momentum`` works."""

_import_public_name = lazy_attributes(
    __name__, {name: f".{home}" for name, home in {**_HOMES, **_DOCUMENTED_MODULES}.items()}
)


def __getattr__(name: str) -> Any:
    """Returns the public object `name`, or the operator that a user registered under this name."""
    registry = sys.modules.get(f"{__name__}.core.registry")
    if name not in _HOMES and registry is not None and name in registry.registered_names():
        return registry.get(name)
    return _import_public_name(name)


def __dir__() -> list[str]:
    return list(__all__)
