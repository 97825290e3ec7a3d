"""Batch normalisation folded into weight and bias of the preceding convolution.

folded = weight·f
offset = beta − (moving_mean − bias)·f
where f = gamma / √(moving_variance + eps).

Shapes: weight (O, I, H, W); all other tensors (O,).
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsFoldBatchNormBias", op_mode="static", support_fusion=True)
def fold_batch_norm_bias_compute(
    weight,
    bias,
    gamma,
    beta,
    moving_mean,
    moving_variance,
    folded,
    offset,
    eps=1e-05,
    kernel_name="fold_batch_norm_bias",
):
    """Returns the graph of `fold_batch_norm_bias`."""
    rstd = dsl.vrsqrt(dsl.vadds(words.wide(moving_variance), eps))
    factor = dsl.vmul(words.wide(gamma), rstd)
    res = dsl.vmul(words.wide(weight), words.spread(factor, weight))
    middle = dsl.vsub(words.wide(moving_mean), words.wide(bias))
    level = dsl.vsub(words.wide(beta), dsl.vmul(middle, factor))
    return words.narrow([res, level], weight.dtype)


@para_check.check_op_params(*params(6, 2, ("float",)))
def fold_batch_norm_bias(
    weight,
    bias,
    gamma,
    beta,
    moving_mean,
    moving_variance,
    folded,
    offset,
    eps=1e-05,
    kernel_name="fold_batch_norm_bias",
):
    """Builds the kernel."""
    number, *rest = weight.get("shape")
    rows, column = [number, math.prod(rest)], [number, 1]
    views = {
        "weight": rows,
        "bias": column,
        "gamma": column,
        "beta": column,
        "moving_mean": column,
        "moving_variance": column,
    }
    build(
        fold_batch_norm_bias_compute,
        {
            "weight": weight,
            "bias": bias,
            "gamma": gamma,
            "beta": beta,
            "moving_mean": moving_mean,
            "moving_variance": moving_variance,
        },
        [folded, offset],
        [eps],
        kernel_name,
        views=views,
    )
