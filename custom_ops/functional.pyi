"""Exposes the operators as functions of tensors.

Written by ``python -m custom_ops.functional_stub``.
"""

from collections.abc import Sequence
from typing import Any

from custom_ops.optimizer_functions import adam as adam
from custom_ops.optimizer_functions import adam_weight_decay as adam_weight_decay
from custom_ops.optimizer_functions import momentum as momentum

__all__: list[str]

def add_layer_norm(
    x: Any,
    residual: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-07,
    route: str = "",
) -> Any:
    """Returns the layer normalisation of x + residual, and the sum x + residual itself.

    See `custom_ops.AddLayerNorm`.

    Args:
        x: float16, bfloat16, float32 or float64.
        residual: tensor of the shape and dtype of x.
        gamma, beta, begin_norm_axis, begin_params_axis, epsilon, route: as in `layer_norm`.

    Returns:
        Tuple of two tensors of the shape and dtype of x.

    Raises:
        InputError: an axis is out of range for x, or a shape does not match that of x.
    """

def add_relu(
    x: Any,
    y: Any,
    *,
    route: str = "",
) -> Any:
    """ReLU of a sum.

    z = max(x + y, 0).

    See `custom_ops.AddReLU`.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **y** (Tensor) - of the shape and dtype of x. y is not broadcast, because backward has
          only z, and z does not determine the original shape of a broadcast y.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates.

    Raises:
        InputError: the shapes or dtypes differ.
    """

def add_rms_norm(
    x: Any,
    residual: Any,
    gamma: Any,
    *,
    epsilon: float = 1e-06,
    route: str = "",
) -> Any:
    """Returns the RMS normalisation of x + residual, and the sum x + residual itself.

    See `custom_ops.AddRMSNorm`.

    Args:
        x: float16, bfloat16, float32 or float64.
        residual: tensor of the shape and dtype of x.
        gamma, epsilon, route: as in `rms_norm`.

    Returns:
        Tuple of two tensors of the shape and dtype of x.

    Raises:
        InputError: the shapes of x, residual and gamma do not match.
    """

def batch_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any = None,
    moving_variance: Any = None,
    *,
    eps: float = 1e-05,
    activation: str = "",
    alpha: float = 0.1,
    data_format: str = "NCHW",
    route: str = "",
) -> Any:
    """Returns activation((x − mean) / √(variance + eps)·gamma + beta).

    See `custom_ops.BatchNorm`.

    Args:
        x: as in `custom_ops.BatchNorm`.
        gamma, beta: tensors with one value per channel.
        moving_mean, moving_variance: moving statistics, one value per channel, which get no
            gradient. If both are None, the mean and variance of the batch are used, and the
            result is (y, mean, variance).
        eps, activation, alpha, data_format, route: as in `custom_ops.BatchNorm`.

    Returns:
        Tensor of the shape and dtype of x, or the tuple (y, mean, variance).

    Raises:
        InputError: x has no channel axis, the number of channels does not match, or the
            activation is unknown.
    """

def bias_dropout_add(
    x: Any,
    bias: Any,
    residual: Any,
    key: Any,
    *,
    p: float = 0.5,
    route: str = "",
) -> Any:
    """Returns dropout(x + bias) + residual.

    Args:
        x, bias, residual: as in `custom_ops.BiasDropoutAdd`.
        key: int32 of shape (1,), the key of the random mask. Equal keys drop the same elements.
        p: probability with which an element is dropped.
        route: as in `custom_ops.BiasDropoutAdd`.

    Returns:
        Tensor of the shape of x and the promoted dtype.

    Raises:
        InputError: p is not within 0 ≤ p < 1, or bias or residual does not broadcast to the
            shape of x.
    """

def box_decode(
    x: Any,
    anchors: Sequence[Sequence[float]],
    stride: float,
    *,
    version: str = "v5",
    float16_inside: bool = True,
    route: str = "",
) -> Any:
    """Decodes the predictions that a YOLO head makes at one scale into boxes and scores.

    boxes and scores from the predictions of a YOLO head.

    See `custom_ops.BoxDecode`.

    Args:
        anchors: width and height of each anchor.
        stride: size of a grid cell, in the unit of the anchors.
        version: ``v3`` or ``v5``.
        float16_inside: whether to round exponentials and sigmoids to float16, like devices that
            compute these functions in float16. The relative error of this rounding is 2^-11, and
            values above 65,504 become infinite. Coordinates are never rounded to float16. Float16
            cannot represent every integer above 2,048, so neighbouring pixels would get the same
            coordinate.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, of shape
          (images, height, width, anchors, 5 + classes). The last axis holds x, y, width, height,
          objectness and classes.

    Outputs:
        Tuple of two Tensors: corners (images, height · width · anchors, 4) and scores (…, classes).
        Both Tensors are float32, or float64 if x is float64. `NMS` takes them as inputs.

    Raises:
        InputError: x does not have the shape above, an anchor is not a pair of numbers, or the
                version is unknown.
    """

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
    """Returns conv(x, weight) + bias; see `custom_ops.Conv2d`.

    Args:
        x: (batch, channels, height, width).
        weight: (output channels, channels per group, kernel height, kernel width).
        bias: (output channels,), or None.
        stride, dilation: one integer, or a pair (along the height, along the width).
        padding: one integer, or (above, below, left, right), or ``same`` or ``valid``.
        groups: number of channel groups.
        lowering, route: as in `custom_ops.Conv2d`.

    Returns:
        Tensor (batch, output channels, output height, output width) of the dtype of x.

    Raises:
        InputError: an attribute or the size of an input is invalid.
    """

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
    eps: float = 1e-05,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns max(z, 0) + alpha·min(z, 0); see `custom_ops.ConvBNLeakyReLU`.

    z, the shape and dtype of the result, and all arguments except `alpha` are as in
    `conv_bn_relu`.

    Args:
        alpha: slope for negative z, at least 0.
    """

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
    eps: float = 1e-05,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns max(z, 0) for a convolution z with batch normalisation.

    z = (conv(x, weight) + bias − moving_mean) / √(moving_variance + eps)·gamma + beta.

    See `custom_ops.ConvBNReLU`.

    Args:
        x: (batch, channels, height, width).
        weight: (output channels, channels per group, kernel height, kernel width).
        bias: one value per output channel, or None.
        gamma, beta, moving_mean, moving_variance: one value per output channel. The moving
            statistics get no gradient.
        stride, padding, dilation, groups, lowering, route: as in `conv2d`.
        eps: added to the variance.

    Returns:
        Tensor (batch, output channels, output height, output width) of the dtype of x.

    Raises:
        InputError: an attribute or the size of an input is invalid.
    """

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
    eps: float = 1e-05,
    lowering: str = "auto",
    route: str = "",
) -> Any:
    """Returns z·σ(z); see `custom_ops.ConvBNSiLU`.

    z, the shape and dtype of the result, and the arguments are as in `conv_bn_relu`.
    """

def dense(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    activation: str = "",
    route: str = "",
) -> Any:
    """Returns activation(x·weightᵀ + bias); see `custom_ops.Dense`.

    Args:
        x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
        weight: (out, in).
        bias: (out,), or None.
        activation: ``relu``, ``gelu``, ``silu``, or empty for none.
        route: as in `custom_ops.Dense`.

    Returns:
        Tensor (…, out) of the dtype of x.

    Raises:
        InputError: the activation is unknown, or the sizes of the tensors do not match.
    """

def fused_conv_bn(
    x: Any,
    conv_weight: Any,
    conv_bias: Any,
    bn_weight: Any,
    bn_bias: Any,
    bn_mean: Any,
    bn_var: Any,
    *,
    eps: float = 1e-05,
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
        x: (batch, channels, height, width).
        conv_weight, conv_bias, bn_weight, bn_bias, bn_mean, bn_var: tensors, as in
            `custom_ops.FusedConvBN`. conv_bias may be None; bn_mean and bn_var get no gradient.
        eps, stride, padding, dilation, groups, activation, alpha, lowering: as in
            `custom_ops.FusedConvBN`.
        route: as in `conv2d`.

    Returns:
        Tensor (batch, output channels, output height, output width) of the dtype of x.

    Raises:
        InputError: an attribute or the size of an input is invalid.
    """

def geglu(
    x: Any,
    up: Any = None,
    *,
    approximate: bool = True,
    route: str = "",
) -> Any:
    """Gated linear unit with GELU.

    y = activation(gate)·up.

    See `custom_ops.GeGLU`.

    Args:
        approximate: whether to use the tanh formula of GELU instead of erf.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64. If `up` is given, x is :math:`a`,
          the input of the activation. Otherwise the first half of x along the last axis is
          :math:`a`, and the second half is :math:`b`.
        - **up** (Tensor, optional) - the factor :math:`b`. x and up are broadcast to one shape and
          promoted to one dtype.

    Outputs:
        Tensor y. If `up` is given, y has the broadcast shape. Otherwise y has the shape of x with
        half the size of the last axis. NaN propagates. The result for a = −inf is NaN, as in the
        formula.

    Raises:
        InputError: the shapes do not match, the last axis has odd size, or an input does not have a
            floating-point dtype.
    """

def gelu(
    x: Any,
    *,
    approximate: bool = True,
    route: str = "",
) -> Any:
    """Gaussian error linear unit; replaces nn.GELU.

    y = x·Φ(x).

    See `custom_ops.GELU`.

    Args:
        approximate: whether to use the tanh formula instead of erf.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates. The result for x = −inf is NaN, as in
        the formula.

    Raises:
        InputError: x does not have a floating-point dtype.
    """

def group_norm(
    x: Any,
    num_groups: int,
    gamma: Any,
    beta: Any,
    *,
    eps: float = 1e-05,
    route: str = "",
) -> Any:
    """Returns (x − mean) / √(variance + eps)·gamma + beta, with statistics of channel groups.

    See `custom_ops.GroupNorm`.

    Args:
        x: (N, C, …); float16, bfloat16, float32 or float64.
        num_groups: number of groups; it divides C.
        gamma, beta: tensors of shape (C,).
        eps, route: as in `custom_ops.GroupNorm`.

    Returns:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: `num_groups` does not divide C, or gamma or beta has another shape.
    """

def hard_swish(
    x: Any,
    *,
    route: str = "",
) -> Any:
    """Piecewise approximation of Swish; replaces nn.HSwish.

    y = x·min(max(x + 3, 0), 6) / 6.

    See `custom_ops.HardSwish`.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates. The result for x = −inf is NaN, as in
        the formula.

    Raises:
        InputError: x does not have a floating-point dtype.
    """

def iou(
    boxes: Any,
    others: Any,
    *,
    route: str = "",
) -> Any:
    """Pairwise intersection over union of two lists of boxes.

    iou[i, j] = |boxes[i] ∩ others[j]| / |boxes[i] ∪ others[j]|.

    See `custom_ops.IoU`.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **boxes** (Tensor) - float16, bfloat16, float32 or float64, of shape (n, 4): x and y of
          the first corner, then x and y of the second corner.
        - **others** (Tensor) - of shape (m, 4) and the dtype of boxes.

    Outputs:
        Tensor of shape (n, m) and the dtype of the boxes.

    Raises:
        InputError: a shape is not (number, 4), or the dtypes differ.
    """

def layer_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-07,
    route: str = "",
) -> Any:
    """Returns (x − mean) / √(variance + epsilon)·gamma + beta; see `custom_ops.LayerNorm`.

    Args:
        x: float16, bfloat16, float32 or float64.
        gamma, beta: tensors of the shape of the axes of x from `begin_params_axis` on.
        begin_norm_axis, begin_params_axis, epsilon, route: as in `custom_ops.LayerNorm`.

    Returns:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: an axis is out of range, or gamma or beta does not match x.
    """

def layer_norm_linear(
    x: Any,
    gamma: Any,
    beta: Any,
    weight: Any,
    bias: Any,
    *,
    epsilon: float = 1e-07,
    route: str = "",
) -> Any:
    """Returns layer_norm(x)·weightᵀ + bias; see `custom_ops.LayerNormLinear`.

    Args:
        x: (…, in); float16, bfloat16, float32 or float64.
        gamma, beta: (in,).
        weight: (out, in).
        bias: (out,).
        epsilon, route: as in `custom_ops.LayerNormLinear`.

    Returns:
        Tensor (…, out) of the dtype of x.

    Raises:
        InputError: the sizes of the tensors do not match.
    """

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

    Args:
        hidden: (…, D), of the dtype of weight.
        weight: (classes, D).
        labels: int32 or int64, of the shape of hidden without its last axis.
        ignore_index, reduction, label_smoothing, route: as in `custom_ops.SoftmaxCrossEntropy`.

    Returns:
        The loss: a scalar, or with ``reduction="none"`` a tensor of the shape of labels.

    Raises:
        InputError: shapes or dtypes do not match, or an attribute is out of range.
    """

def linear_residual(
    x: Any,
    weight: Any,
    bias: Any,
    residual: Any,
    *,
    route: str = "",
) -> Any:
    """Returns x·weightᵀ + bias + residual; see `custom_ops.LinearResidual`.

    Args:
        x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
        weight: (out, in).
        bias: (out,).
        residual: (…, out), of the dtype of x.
        route: as in `custom_ops.LinearResidual`.

    Returns:
        Tensor (…, out) of the dtype of x.

    Raises:
        InputError: the sizes of the tensors do not match.
    """

def log_softmax(
    x: Any,
    *,
    axis: int = -1,
    route: str = "",
) -> Any:
    """Log-softmax over an axis; replaces `mindspore.nn.LogSoftmax`.

    y = x − ln Σ e^x.

    See `custom_ops.LogSoftmax`.

    Args:
        axis (int): the reduced axis. Default: ``-1``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, with at least one axis.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the axis is not an integer, or is out of range for x.
    """

def matmul_bias_gelu(
    x: Any,
    weight: Any,
    bias: Any,
    *,
    approximate: bool = True,
    route: str = "",
) -> Any:
    """Returns gelu(x·weightᵀ + bias); see `custom_ops.MatMulBiasGELU`.

    Args:
        x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
        weight: (out, in).
        bias: (out,).
        approximate: whether to use the tanh formula instead of erf.
        route: as in `custom_ops.MatMulBiasGELU`.

    Returns:
        Tensor (…, out) of the dtype of x.

    Raises:
        InputError: the sizes of the tensors do not match.
    """

def matmul_bias_relu(
    x: Any,
    weight: Any,
    bias: Any,
    *,
    route: str = "",
) -> Any:
    """Returns max(x·weightᵀ + bias, 0); see `custom_ops.MatMulBiasReLU`.

    Args:
        x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
        weight: (out, in).
        bias: (out,).
        route: as in `custom_ops.MatMulBiasReLU`.

    Returns:
        Tensor (…, out) of the dtype of x.

    Raises:
        InputError: the sizes of the tensors do not match.
    """

def matmul_bias_silu(
    x: Any,
    weight: Any,
    bias: Any,
    *,
    route: str = "",
) -> Any:
    """Returns silu(x·weightᵀ + bias); see `custom_ops.MatMulBiasSiLU`.

    Args:
        x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
        weight: (out, in).
        bias: (out,).
        route: as in `custom_ops.MatMulBiasSiLU`.

    Returns:
        Tensor (…, out) of the dtype of x.

    Raises:
        InputError: the sizes of the tensors do not match.
    """

def mish(
    x: Any,
    *,
    route: str = "",
) -> Any:
    """Mish, a smooth non-monotonic activation; replaces nn.Mish.

    y = x·tanh(ln(1 + e^x)).

    See `custom_ops.Mish`.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates. The result for x = −inf is NaN, as in
        the formula.

    Raises:
        InputError: x does not have a floating-point dtype.
    """

def mul_sigmoid(
    x: Any,
    y: Any,
    *,
    route: str = "",
) -> Any:
    """Computes x · SiLU(y).

    z = x·y·σ(y).

    See `custom_ops.MulSigmoid`.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **y** (Tensor) - of the same dtypes as x, any shape. x and y are broadcast to one shape
          and promoted to one dtype.

    Outputs:
        Tensor of the broadcast shape and the promoted dtype. NaN propagates. The result for y =
        −inf is NaN, as in the formula.

    Raises:
        InputError: the shapes do not match, or an input does not have a floating-point dtype.
    """

def my_op(
    x: Any,
    y: Any,
    *,
    route: str = "",
) -> Any:
    """Multiplies the difference x − y by x.

    z = (x − y)·x.

    See `custom_ops.MyOp`.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **y** (Tensor) - of the same dtypes as x, any shape. x and y are broadcast to one shape
          and promoted to one dtype.

    Outputs:
        Tensor of the broadcast shape and the promoted dtype. NaN propagates.

    Raises:
        InputError: the shapes do not match, or an input does not have a floating-point dtype.
    """

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
    """Class-wise non-maximum suppression of a batch of images, with outputs of fixed size.

    non-maximum suppression: selects the box with the best score among overlapping boxes.

    See `custom_ops.NMS`.

    Args:
        score_threshold: only pairs with a score above this value are candidates.
        iou_threshold: a box is removed if its intersection over union with a selected box exceeds
            this value.
        max_output: maximum number of selected boxes for each image.
        class_aware: whether a selected box removes only candidates of the same class. If false, a
            selected box removes candidates of all classes.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route. ``composite`` needs at least one box, one class and one
            result.

    Inputs:
        - **boxes** (Tensor) - float16, bfloat16, float32 or float64, of shape (images, boxes, 4):
          x and y of the first corner, then x and y of the second corner.
        - **scores** (Tensor) - of shape (images, boxes, classes) and the dtype of boxes.

    Outputs:
        Tuple of five Tensors. The first has the shape (images, max_output, 4): the selected boxes,
        best first. The next three have the shape (images, max_output): the scores, the classes and
        the indices in `boxes` of the selected boxes. The last has the shape (images,): the number
        of selected boxes of each image. In unused entries, boxes and scores are 0, and classes and
        indices are −1. No output has a gradient.

    Raises:
        InputError: a shape or dtype is wrong, or ``max_output`` is negative.
    """

def rms_norm(
    x: Any,
    gamma: Any,
    *,
    epsilon: float = 1e-06,
    route: str = "",
) -> Any:
    """Returns x / √(mean x² + epsilon)·gamma; see `custom_ops.RMSNorm`.

    Args:
        x: float16, bfloat16, float32 or float64.
        gamma: tensor of the shape of the last axes of x, which are normalised.
        epsilon, route: as in `custom_ops.RMSNorm`.

    Returns:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the last axes of x do not have the shape of gamma.
    """

def rotary_embedding(
    x: Any,
    cos: Any,
    sin: Any,
    *,
    layout: str = "halves",
    route: str = "",
) -> Any:
    """Rotary position embedding.

    y = x·cos + partner(x)·sin.

    See `custom_ops.RotaryEmbedding`.

    Args:
        layout (str): ``halves`` or ``interleaved``. Default: ``'halves'``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (…, D) with D even; float16, bfloat16, float32 or float64.
        - **cos** (Tensor) - from `rotary_tables`, of a shape that broadcasts to the shape of x,
          such as (S, D); float16, bfloat16, float32 or float64. cos has no gradient.
        - **sin** (Tensor) - as cos.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the layout is unknown, the size of the last axis is odd, or cos or sin does not
            broadcast to the shape of x.
    """

def scale_mask_softmax(
    x: Any,
    mask: Any = None,
    *,
    scale: float = 1.0,
    route: str = "",
) -> Any:
    """Softmax of scaled inputs over the last axis, with an optional mask.

    y = softmax(z) with z = scale·x, but z = −inf where mask is true.

    See `custom_ops.ScaleMaskSoftmax`.

    Args:
        scale: factor of x.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, at least one axis.
        - **mask** (Tensor, optional) - broadcast to the shape of x. Where a bool mask is true, the
          result is 0. A floating mask is added to scale·x and has a gradient.

    Outputs:
        Tensor of the shape and dtype of x. The result of a fully masked row is 0. The result of a
        row with NaN or +inf is NaN.

    Raises:
        InputError: the mask does not broadcast to x, or an input has an unsupported dtype.
    """

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
    r"""Scaled dot-product attention with an online softmax over blocks of keys.

    y = softmax(scale q k' + mask) v.

    See `custom_ops.ScaledDotProductAttention`.

    Args:
        scale: factor of the scores; by default :math:`1 / \sqrt{width}`.
        is_causal: whether each query ignores the keys at later positions.
        layout: ``BNSD`` (batch, heads, tokens, width) or ``BSND`` (batch, tokens, heads, width).
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **q** (Tensor) - float16, bfloat16, float32 or float64.
        - **k** (Tensor) - of the dtype of q. Its number of heads divides the number of heads of q.
          If k has fewer heads than q, neighbouring heads of q share one head of k.
        - **v** (Tensor) - of the dtype of k, and of the shape of k except for the head width.
        - **mask** (Tensor) - optional, of a shape that broadcasts to
          (batch, heads, tokens of q, tokens of k). A bool mask is true for masked keys, as for
          `nn.MultiheadAttention`. A mask of q's dtype is added to the scores. Masks have no
          gradient.

    Outputs:
        Tensor of the shape and dtype of q, but with the head width of v.

    Raises:
        InputError: the shape or dtype of an input does not match; the message names the input.
    """

def softmax(
    x: Any,
    *,
    axis: int = -1,
    route: str = "",
) -> Any:
    """Softmax over an axis; replaces `mindspore.nn.Softmax`.

    y = e^x / Σ e^x.

    See `custom_ops.Softmax`.

    Args:
        axis (int): the reduced axis. Default: ``-1``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, with at least one axis.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the axis is not an integer, or is out of range for x.
    """

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
    """Returns −Σ weight·labels·ln softmax(logits); see `custom_ops.SoftmaxCrossEntropy`.

    Args:
        logits, labels: as in `custom_ops.SoftmaxCrossEntropy`.
        weight: (C,), one value per class, which gets no gradient; None means 1.
        ignore_index, reduction, label_smoothing, route: as in `custom_ops.SoftmaxCrossEntropy`.

    Returns:
        The loss: a scalar, or with ``reduction="none"`` a tensor of the shape of logits without
        the axis C.

    Raises:
        InputError: the reduction is unknown, label_smoothing is out of range, or shapes do not
            match.
    """

def swiglu(
    x: Any,
    up: Any = None,
    *,
    route: str = "",
) -> Any:
    """Gated linear unit with Swish; replaces ops.swiglu.

    y = activation(gate)·up.

    See `custom_ops.SwiGLU`.

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64. If `up` is given, x is :math:`a`,
          the input of the activation. Otherwise the first half of x along the last axis is
          :math:`a`, and the second half is :math:`b`.
        - **up** (Tensor, optional) - the factor :math:`b`. x and up are broadcast to one shape and
          promoted to one dtype.

    Outputs:
        Tensor y. If `up` is given, y has the broadcast shape. Otherwise y has the shape of x with
        half the size of the last axis. NaN propagates. The result for a = −inf is NaN, as in the
        formula.

    Raises:
        InputError: the shapes do not match, the last axis has odd size, or an input does not have a
            floating-point dtype.
    """

def swish(
    x: Any,
    *,
    beta: float = 1.0,
    route: str = "",
) -> Any:
    """Swish activation; for beta = 1, Swish is nn.SiLU.

    y = x·σ(beta·x).

    See `custom_ops.Swish`.

    Args:
        beta: factor of x in the sigmoid.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates. The result for x = −inf is NaN, as in
        the formula.

    Raises:
        InputError: x does not have a floating-point dtype, or beta is not a number.
    """

def token_embedding(
    ids: Any,
    table: Any,
    *,
    scale: float = 1.0,
    route: str = "",
) -> Any:
    """Returns table[ids]·scale; see `custom_ops.TokenEmbedding`.

    Args:
        ids: int32 or int64, any shape; an id out of range gives 0.
        table: (tokens, D).
        scale, route: as in `custom_ops.TokenEmbedding`.

    Returns:
        Tensor of the shape of ids with the axis D appended, and of the table's dtype.

    Raises:
        InputError: ids are not int32 or int64, or the table is not a matrix.
    """
