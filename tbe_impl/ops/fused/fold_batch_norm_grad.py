"""Gradients of batch normalisation folded into a weight.

grad_weight = grad_folded·f
grad_beta = grad_offset
grad_gamma = (Σ grad_folded·weight − moving_mean·grad_offset)·rstd
where rstd = 1 / √(moving_variance + eps) and f = gamma·rstd.

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


@register_operator_compute("CustomOpsFoldBatchNormGrad", op_mode="static", support_fusion=True)
def fold_batch_norm_grad_compute(
    weight,
    gamma,
    moving_mean,
    moving_variance,
    grad_folded,
    grad_offset,
    grad_weight,
    grad_gamma,
    grad_beta,
    eps=1e-05,
    kernel_name="fold_batch_norm_grad",
):
    """Returns the graph of `fold_batch_norm_grad`."""
    rstd = dsl.vrsqrt(dsl.vadds(words.wide(moving_variance), eps))
    factor = dsl.vmul(words.wide(gamma), rstd)
    slope, grad = words.wide(grad_folded), words.wide(grad_offset)
    of_weight = dsl.vmul(slope, words.spread(factor, weight))
    by_weight = dsl.reduce_sum(dsl.vmul(slope, words.wide(weight)), axis=1, keepdims=True)
    middle = words.wide(moving_mean)
    of_gamma = dsl.vmul(dsl.vsub(by_weight, dsl.vmul(middle, grad)), rstd)
    return words.narrow([of_weight, of_gamma, grad], weight.dtype)


@para_check.check_op_params(*params(6, 3, ("float",)))
def fold_batch_norm_grad(
    weight,
    gamma,
    moving_mean,
    moving_variance,
    grad_folded,
    grad_offset,
    grad_weight,
    grad_gamma,
    grad_beta,
    eps=1e-05,
    kernel_name="fold_batch_norm_grad",
):
    """Builds the kernel."""
    number, *rest = weight.get("shape")
    rows, column = [number, math.prod(rest)], [number, 1]
    views = {
        "weight": rows,
        "grad_folded": rows,
        "gamma": column,
        "moving_mean": column,
        "moving_variance": column,
        "grad_offset": column,
    }
    build(
        fold_batch_norm_grad_compute,
        {
            "weight": weight,
            "gamma": gamma,
            "moving_mean": moving_mean,
            "moving_variance": moving_variance,
            "grad_folded": grad_folded,
            "grad_offset": grad_offset,
        },
        [grad_weight, grad_gamma, grad_beta],
        [eps],
        kernel_name,
        views=views,
    )
