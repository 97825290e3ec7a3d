"""Exposes the operators as functions of tensors.

This module exceeds 500 lines because it has one function for each operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import custom_ops
from custom_ops.core.cell import FusedCell, check_route
from custom_ops.core.framework import HAS_MINDSPORE, ms
from custom_ops.operators.activations import NAMES, key_of
from custom_ops.operators.conv_bn import SPECS, leak_of
from custom_ops.operators.matmul_bias import PRODUCTS
from custom_ops.operators.softmax_cross_entropy_cell import weight_labels
from custom_ops.optimizer_functions import adam as adam
from custom_ops.optimizer_functions import adam_weight_decay as adam_weight_decay
from custom_ops.optimizer_functions import momentum as momentum
from tbe_impl.errors import InputError

# `ms.amp` with level O1 copies each function that a network calls, but not the function's globals.
# It skips functions of modules that have no `__file__`.
del __file__

_index_dtypes = (ms.int32, ms.int64) if HAS_MINDSPORE else ()


@lru_cache(maxsize=0)
def _cell(name: str, *attributes: Any, **route: str) -> Any:
    """Returns the Cell of the operator `name` with these attributes.

    MindSpore parses the source of plain functions, but it calls an ``lru_cache`` wrapper at compile
    time, with constant arguments. `_cell` is such a wrapper, but caches nothing, because the
    default route may change. `_build_cell` caches the Cells.
    """
    return _build_cell(
        name, *attributes, **{key: check_route(given, name) for key, given in route.items()}
    )


@lru_cache(maxsize=None, typed=True)  # typed: 1.0 equals 1, but is not an axis
def _build_cell(name: str, *attributes: Any, **route: str) -> Any:
    if name == "BiasDropoutAdd":  # its functional form takes the key as an argument
        found = import_module("custom_ops.operators.bias_dropout_add")
        return FusedCell(
            found.BIAS_DROPOUT_ADD, {"p": found.drop_probability("p", attributes[0])}, **route
        )
    return getattr(custom_ops, name)(*attributes, **route)


@lru_cache(maxsize=0)
def _operator_cell(module: str, spec: str, *attributes: Any, route: str) -> Any:
    """Returns the Cell of an operator with weights; this Cell takes the weights as inputs.

    Args:
        module: name of a module in `custom_ops.operators`.
        spec: name of the operator's spec in this module.
        attributes: values of all attributes, in the order of the spec's attributes.
        route: as in `FusedCell`.
    """
    return _build_operator(module, spec, *attributes, route=check_route(route, spec))


@cache
def _build_operator(module: str, spec: str, *attributes: Any, route: str) -> Any:
    found = getattr(import_module(f"custom_ops.operators.{module}"), spec)
    return FusedCell(found, dict(zip(found.attributes, attributes, strict=True)), route)


@lru_cache(maxsize=0)
def _dense_cell(activation: str, has_bias: bool, *, route: str) -> Any:
    """Returns the Cell that computes a matrix product fused with the activation of this name."""
    return _build_dense_cell(activation, has_bias, route=check_route(route, "dense"))


@cache
def _build_dense_cell(activation: str, has_bias: bool, *, route: str) -> Any:
    key = key_of(activation or None)
    if key is None:
        raise InputError(
            "dense: activation is unknown",
            place="dense",
            expected=", ".join(NAMES),
            got=repr(activation),
        )
    return FusedCell(PRODUCTS[key][has_bias], {"activation": key}, route)


@lru_cache(maxsize=0)
def _convolution_cell(activation: str, *how: Any, route: str) -> Any:
    """Returns the Cell that computes a convolution with bias, fused with the activation."""
    return _build_convolution_cell(activation, *how, route=check_route(route, "fused_conv_bn"))


@cache
def _build_convolution_cell(activation: str, *how: Any, route: str) -> Any:
    if activation not in SPECS:
        raise InputError(
            "fused_conv_bn: activation is unknown",
            place="fused_conv_bn",
            expected=", ".join(filter(None, SPECS)),
            got=repr(activation),
        )
    names = ("stride", "padding", "dilation", "groups", "lowering")
    attributes = dict(zip(names, how[:-1], strict=True)) | leak_of(activation, how[-1])
    return FusedCell(SPECS[activation], attributes, route)


def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    layout: str = "BNSD",
    route: str = "",
) -> Any:
    """Returns softmax(scale · q kᵀ + mask) v; see `custom_ops.ScaledDotProductAttention`."""
    cell = _cell("ScaledDotProductAttention", scale, is_causal, layout, route=route)
    return cell(q, k, v, mask)


def add_relu(x: Any, y: Any, *, route: str = "") -> Any:
    """Returns max(x + y, 0); see `custom_ops.AddReLU`."""
    cell = _cell("AddReLU", route=route)
    return cell(x, y)


def mul_sigmoid(x: Any, y: Any, *, route: str = "") -> Any:
    """Returns x·y·σ(y); see `custom_ops.MulSigmoid`."""
    cell = _cell("MulSigmoid", route=route)
    return cell(x, y)


def my_op(x: Any, y: Any, *, route: str = "") -> Any:
    """Returns (x − y)·x; see `custom_ops.MyOp`."""
    cell = _cell("MyOp", route=route)
    return cell(x, y)


def swish(x: Any, *, beta: float = 1.0, route: str = "") -> Any:
    """Returns x·σ(beta·x); see `custom_ops.Swish`."""
    cell = _cell("Swish", beta, route=route)
    return cell(x)


def gelu(x: Any, *, approximate: bool = True, route: str = "") -> Any:
    """Returns x·Φ(x); see `custom_ops.GELU`."""
    cell = _cell("GELU", approximate, route=route)
    return cell(x)


def mish(x: Any, *, route: str = "") -> Any:
    """Returns x·tanh(ln(1 + e^x)); see `custom_ops.Mish`."""
    cell = _cell("Mish", route=route)
    return cell(x)


def hard_swish(x: Any, *, route: str = "") -> Any:
    """Returns x·min(max(x + 3, 0), 6) / 6; see `custom_ops.HardSwish`."""
    cell = _cell("HardSwish", route=route)
    return cell(x)


def swiglu(x: Any, up: Any = None, *, route: str = "") -> Any:
    """Returns swish(x)·up; see `custom_ops.SwiGLU`.

    Without `up` it returns swish(first half of x)·(second half of x).
    """
    cell = _cell("SwiGLU", route=route)
    return cell(x, up)


def geglu(x: Any, up: Any = None, *, approximate: bool = True, route: str = "") -> Any:
    """Returns gelu(x)·up; see `custom_ops.GeGLU`.

    Without `up` it returns gelu(first half of x)·(second half of x).
    """
    cell = _cell("GeGLU", approximate, route=route)
    return cell(x, up)


def scale_mask_softmax(x: Any, mask: Any = None, *, scale: float = 1.0, route: str = "") -> Any:
    """Returns softmax(scale·x + mask) over the last axis; see `custom_ops.ScaleMaskSoftmax`."""
    cell = _cell("ScaleMaskSoftmax", scale, route=route)
    return cell(x, mask)


def bias_dropout_add(
    x: Any, bias: Any, residual: Any, key: Any, *, p: float = 0.5, route: str = ""
) -> Any:
    """Returns dropout(x + bias) + residual.

    Args:
        x, bias, residual: as in `custom_ops.BiasDropoutAdd`.
        key: int32 of shape (1,); the same key drops the same elements.
        p: probability with which an element is dropped; 0 drops none.
    """
    cell = _cell("BiasDropoutAdd", p, route=route)
    return cell(x, bias, residual, key)


def box_decode(
    x: Any,
    anchors: Sequence[Sequence[float]],
    stride: float,
    *,
    version: str = "v5",
    float16_inside: bool = True,
    route: str = "",
) -> Any:
    """Decodes the predictions of a YOLO head to boxes and scores; see `custom_ops.BoxDecode`."""
    pairs = tuple(map(tuple, anchors))
    cell = _cell("BoxDecode", pairs, stride, version, float16_inside, route=route)
    return cell(x)


def iou(boxes: Any, others: Any, *, route: str = "") -> Any:
    """Returns the intersection over union of each pair of boxes; see `custom_ops.IoU`."""
    cell = _cell("IoU", route=route)
    return cell(boxes, others)


def nms(
    boxes: Any,
    scores: Any,
    *,
    score_threshold: float = 0.05,
    iou_threshold: float = 0.5,
    max_output: int = 100,
    class_aware: bool = True,
    route: str = "",
) -> Any:
    """Removes boxes that overlap a box of a higher score (NMS); see `custom_ops.NMS`."""
    cell = _cell("NMS", score_threshold, iou_threshold, max_output, class_aware, route=route)
    return cell(boxes, scores)


def layer_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
    route: str = "",
) -> Any:
    """Returns (x − mean) / √(variance + epsilon)·gamma + beta; see `custom_ops.LayerNorm`."""
    axes = (begin_norm_axis, begin_params_axis)
    cell = _operator_cell("layer_norm", "LAYER_NORM", axes[0], axes[1], epsilon, route=route)
    return cell(x, gamma, beta)


def add_layer_norm(
    x: Any,
    residual: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
    route: str = "",
) -> Any:
    """Returns the layer normalisation of x + residual, and the sum x + residual itself.

    See `custom_ops.AddLayerNorm`.
    """
    axes = (begin_norm_axis, begin_params_axis)
    cell = _operator_cell(
        "add_layer_norm", "ADD_LAYER_NORM", axes[0], axes[1], epsilon, route=route
    )
    return cell(x, residual, gamma, beta)


def rms_norm(x: Any, gamma: Any, *, epsilon: float = 1e-6, route: str = "") -> Any:
    """Returns x / √(mean x² + epsilon)·gamma; see `custom_ops.RMSNorm`."""
    cell = _operator_cell("rms_norm", "RMS_NORM", epsilon, route=route)
    return cell(x, gamma)


def add_rms_norm(
    x: Any, residual: Any, gamma: Any, *, epsilon: float = 1e-6, route: str = ""
) -> Any:
    """Returns the RMS normalisation of x + residual, and the sum x + residual itself.

    See `custom_ops.AddRMSNorm`.
    """
    cell = _operator_cell("add_rms_norm", "ADD_RMS_NORM", epsilon, route=route)
    return cell(x, residual, gamma)


def group_norm(
    x: Any, num_groups: int, gamma: Any, beta: Any, *, eps: float = 1e-5, route: str = ""
) -> Any:
    """Normalises `x` over each group of channels; see `custom_ops.GroupNorm`."""
    cell = _operator_cell("group_norm", "GROUP_NORM", num_groups, eps, route=route)
    return cell(x, gamma, beta)


def batch_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any = None,
    moving_variance: Any = None,
    *,
    eps: float = 1e-5,
    activation: str = "",
    alpha: float = 0.1,
    data_format: str = "NCHW",
    route: str = "",
) -> Any:
    """Returns activation((x − mean) / √(variance + eps)·gamma + beta); see `custom_ops.BatchNorm`.

    Args:
        x, gamma, beta: as in `custom_ops.BatchNorm`.
        moving_mean, moving_variance: moving statistics, which get no gradient. If both are None,
            the mean and variance of the batch are used, and the result is (y, mean, variance).
        eps, activation, alpha, data_format: as in `custom_ops.BatchNorm`.
    """
    if moving_mean is None:
        cell = _operator_cell(
            "batch_norm", "BATCH_NORM_TRAINING", eps, activation, data_format, alpha, route=route
        )
        return cell(x, gamma, beta)
    cell = _operator_cell(
        "batch_norm", "BATCH_NORM_INFERENCE", eps, activation, data_format, alpha, route=route
    )
    return cell(x, gamma, beta, moving_mean, moving_variance)


def softmax(x: Any, *, axis: int = -1, route: str = "") -> Any:
    """Returns e^x / Σ e^x, with the sum over `axis`; see `custom_ops.Softmax`."""
    cell = _cell("Softmax", axis, route=route)
    return cell(x)


def log_softmax(x: Any, *, axis: int = -1, route: str = "") -> Any:
    """Returns x − ln Σ e^x, with the sum over `axis`; see `custom_ops.LogSoftmax`."""
    cell = _cell("LogSoftmax", axis, route=route)
    return cell(x)


def softmax_cross_entropy(
    logits: Any,
    labels: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    route: str = "",
) -> Any:
    """Returns −Σ weight·labels·ln softmax(logits); see `custom_ops.SoftmaxCrossEntropy`."""
    if weight is None:
        cell = _cell(
            "SoftmaxCrossEntropy", None, ignore_index, reduction, label_smoothing, route=route
        )
        return cell(logits, labels)
    if labels.dtype in _index_dtypes:
        cell = _operator_cell(
            "softmax_cross_entropy",
            "SOFTMAX_CROSS_ENTROPY_WEIGHTED",
            ignore_index,
            reduction,
            label_smoothing,
            route=route,
        )
        return cell(logits, labels, weight.astype(logits.dtype))
    cell = _cell("SoftmaxCrossEntropy", None, ignore_index, reduction, 0.0, route=route)
    return cell(logits, weight_labels(logits, labels, weight, label_smoothing))


def linear_cross_entropy(
    hidden: Any,
    weight: Any,
    labels: Any,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    route: str = "",
) -> Any:
    """Returns the cross entropy of hidden · weightᵀ, computed in chunks of rows.

    See `custom_ops.LinearCrossEntropy`.
    """
    how = (ignore_index, reduction, label_smoothing)
    cell = _operator_cell(
        "linear_cross_entropy", "LINEAR_CROSS_ENTROPY", how[0], how[1], how[2], route=route
    )
    return cell(hidden, weight, labels)


def rotary_embedding(x: Any, cos: Any, sin: Any, *, layout: str = "halves", route: str = "") -> Any:
    """Rotates pairs of elements by position-dependent angles; see `custom_ops.RotaryEmbedding`."""
    cell = _cell("RotaryEmbedding", layout, route=route)
    return cell(x, cos, sin)


def token_embedding(ids: Any, table: Any, *, scale: float = 1.0, route: str = "") -> Any:
    """Returns table[ids]·scale; see `custom_ops.TokenEmbedding`."""
    cell = _operator_cell("token_embedding", "TOKEN_EMBEDDING", scale, route=route)
    return cell(ids, table)


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns conv(x, weight) + bias.

    Args:
        x, weight, bias: as in `custom_ops.Conv2d`.
        stride, dilation: one integer, or a pair (along the height, along the width).
        padding: one integer, or (above, below, left, right), or ``same`` or ``valid``.
        groups: number of channel groups.
        lowering: as in `custom_ops.Conv2d`.
    """
    if bias is None:
        cell = _operator_cell(
            "conv2d", "CONV2D", stride, padding, dilation, groups, lowering, route=route
        )
        return cell(x, weight)
    cell = _operator_cell(
        "conv2d", "CONV2D_BIAS", stride, padding, dilation, groups, lowering, route=route
    )
    return cell(x, weight, bias)


def _conv_bn(
    activation: str,
    x: Any,
    weight: Any,
    bias: Any,
    statistics: Any,
    eps: float,
    how: Any,
    route: str,
) -> Any:
    """Folds the batch normalisation into the weights, then computes the convolution.

    Args:
        activation: name of the activation that follows the convolution.
        statistics: (gamma, beta, mean, variance).
        how: (stride, padding, dilation, groups, lowering) of the convolution, then the alpha of the
            activation.
    """
    if bias is None:
        fold = _operator_cell("fold_batch_norm", "FOLD_BATCH_NORM", eps, route=route)
        folded, offset = fold(weight, statistics[0], statistics[1], statistics[2], statistics[3])
    else:
        fold = _operator_cell("fold_batch_norm", "FOLD_BATCH_NORM_BIAS", eps, route=route)
        folded, offset = fold(
            weight, bias, statistics[0], statistics[1], statistics[2], statistics[3]
        )
    cell = _convolution_cell(
        activation, how[0], how[1], how[2], how[3], how[4], how[5], route=route
    )
    return cell(x, folded.astype(x.dtype), offset.astype(x.dtype))


def fused_conv_bn(
    x: Any,
    conv_weight: Any,
    conv_bias: Any,
    bn_weight: Any,
    bn_bias: Any,
    bn_mean: Any,
    bn_var: Any,
    *,
    eps: float = 1e-5,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    activation: str = "",
    alpha: float = 0.1,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns activation(z) for a convolution z with batch normalisation.

    z = (conv(x, conv_weight) + conv_bias − bn_mean) / √(bn_var + eps)·bn_weight + bn_bias.

    See `custom_ops.FusedConvBN`.

    Args:
        x, conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var: tensors, as in
            `custom_ops.FusedConvBN`. conv_bias may be None; bn_mean and bn_var get no gradient.
        eps, stride, padding, dilation, groups, activation, alpha, lowering: as in
            `custom_ops.FusedConvBN`.
    """
    how = (stride, padding, dilation, groups, lowering, alpha)
    statistics = (bn_weight, bn_bias, bn_mean, bn_var)
    return _conv_bn(activation, x, conv_weight, conv_bias, statistics, eps, how, route)


def conv_bn_relu(
    x: Any,
    weight: Any,
    bias: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_variance: Any,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    eps: float = 1e-5,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns max(z, 0) for a convolution z with batch normalisation.

    z = (conv(x, weight) + bias − moving_mean) / √(moving_variance + eps)·gamma + beta.

    Args:
        x, weight: as in `custom_ops.ConvBNReLU`.
        bias: one value per output channel, or None.
        gamma, beta, moving_mean, moving_variance: one value per output channel. The moving
            statistics get no gradient.
        stride, padding, dilation, groups, lowering: as in `conv2d`.
        eps: added to the variance.
    """
    how = (stride, padding, dilation, groups, lowering, 0.1)
    statistics = (gamma, beta, moving_mean, moving_variance)
    return _conv_bn("relu", x, weight, bias, statistics, eps, how, route)


def conv_bn_leaky_relu(
    x: Any,
    weight: Any,
    bias: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_variance: Any,
    *,
    alpha: float = 0.1,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    eps: float = 1e-5,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns max(z, 0) + alpha·min(z, 0); see `custom_ops.ConvBNLeakyReLU`.

    z and all arguments but `alpha` are those of `conv_bn_relu`.
    """
    how = (stride, padding, dilation, groups, lowering, alpha)
    statistics = (gamma, beta, moving_mean, moving_variance)
    return _conv_bn("leaky_relu", x, weight, bias, statistics, eps, how, route)


def conv_bn_silu(
    x: Any,
    weight: Any,
    bias: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_variance: Any,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    eps: float = 1e-5,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns z·σ(z); see `custom_ops.ConvBNSiLU`.

    z and the arguments are those of `conv_bn_relu`.
    """
    how = (stride, padding, dilation, groups, lowering, 0.1)
    statistics = (gamma, beta, moving_mean, moving_variance)
    return _conv_bn("silu", x, weight, bias, statistics, eps, how, route)


def dense(x: Any, weight: Any, bias: Any = None, *, activation: str = "", route: str = "") -> Any:
    """Returns activation(x·weightᵀ + bias); the activation is relu, gelu, silu, or empty for none.

    See `custom_ops.Dense`.
    """
    cell = _dense_cell(activation, bias is not None, route=route)
    return cell(x, weight) if bias is None else cell(x, weight, bias)


def matmul_bias_relu(x: Any, weight: Any, bias: Any, *, route: str = "") -> Any:
    """Returns max(x·weightᵀ + bias, 0); see `custom_ops.MatMulBiasReLU`."""
    cell = _operator_cell("matmul_bias", "MATMUL_BIAS_RELU", "relu", "auto", route=route)
    return cell(x, weight, bias)


def matmul_bias_gelu(
    x: Any, weight: Any, bias: Any, *, approximate: bool = True, route: str = ""
) -> Any:
    """Returns gelu(x·weightᵀ + bias); see `custom_ops.MatMulBiasGELU`."""
    activation = "gelu_tanh" if approximate else "gelu"
    cell = _operator_cell("matmul_bias", "MATMUL_BIAS_GELU", activation, "auto", route=route)
    return cell(x, weight, bias)


def matmul_bias_silu(x: Any, weight: Any, bias: Any, *, route: str = "") -> Any:
    """Returns silu(x·weightᵀ + bias); see `custom_ops.MatMulBiasSiLU`."""
    cell = _operator_cell("matmul_bias", "MATMUL_BIAS_SILU", "silu", "auto", route=route)
    return cell(x, weight, bias)


def linear_residual(x: Any, weight: Any, bias: Any, residual: Any, *, route: str = "") -> Any:
    """Returns x·weightᵀ + bias + residual; see `custom_ops.LinearResidual`."""
    cell = _operator_cell("matmul_bias", "LINEAR_RESIDUAL", "", "auto", route=route)
    return cell(x, weight, bias, residual)


def layer_norm_linear(
    x: Any, gamma: Any, beta: Any, weight: Any, bias: Any, *, epsilon: float = 1e-7, route: str = ""
) -> Any:
    """Returns layer_norm(x)·weightᵀ + bias; see `custom_ops.LayerNormLinear`."""
    cell = _operator_cell("layer_norm_linear", "LAYER_NORM_LINEAR", epsilon, "auto", route=route)
    return cell(x, gamma, beta, weight, bias)
