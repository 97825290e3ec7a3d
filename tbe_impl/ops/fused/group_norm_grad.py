"""Gradients of group normalisation.

grad_x = (g − mean g − n·mean(g·n))·rstd
grad_gamma = Σ grad_y·n
grad_beta = Σ grad_y
where n = (x − mean)·rstd and g = grad_y·gamma.

Shapes: x (N, C, …), C a multiple of num_groups; gamma and beta (C,);
    mean and rstd (N, num_groups, 1, 1).
dtypes: float16, float32; computed in float32. mean and rstd are float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsGroupNormGrad", op_mode="static", support_fusion=True)
def group_norm_grad_compute(
    x,
    gamma,
    mean,
    rstd,
    grad_y,
    grad_x,
    grad_gamma,
    grad_beta,
    num_groups=1,
    eps=1e-05,
    kernel_name="group_norm_grad",
):
    """Returns the graph of `group_norm_grad`."""
    grad, factor = words.wide(grad_y), words.spread(rstd, x)
    normal = dsl.vmul(dsl.vsub(words.wide(x), words.spread(mean, x)), factor)
    scaled = dsl.vmul(grad, words.spread(words.wide(gamma), x))
    of_x = words.normalised_slope(normal, rstd, scaled, [2, 3])
    of_gamma = words.total(dsl.vmul(grad, normal), [0, 3])
    of_beta = words.total(grad, [0, 3])
    return [dsl.cast_to(of_x, x.dtype), *words.narrow([of_gamma, of_beta], gamma.dtype)]


@para_check.check_op_params(*params(5, 3, ("int", "float")))
def group_norm_grad(
    x,
    gamma,
    mean,
    rstd,
    grad_y,
    grad_x,
    grad_gamma,
    grad_beta,
    num_groups=1,
    eps=1e-05,
    kernel_name="group_norm_grad",
):
    """Builds the kernel."""
    samples, channels, *places = x.get("shape")
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(f"{channels} channels make no {num_groups} groups")
    size = channels // num_groups
    whole = [samples, num_groups, size, math.prod(places)]
    of_channels = [1, num_groups, size, 1]
    views = {"x": whole, "grad_y": whole, "gamma": of_channels}
    build(
        group_norm_grad_compute,
        {"x": x, "gamma": gamma, "mean": mean, "rstd": rstd, "grad_y": grad_y},
        [grad_x, grad_gamma, grad_beta],
        [num_groups, eps],
        kernel_name,
        views=views,
    )
