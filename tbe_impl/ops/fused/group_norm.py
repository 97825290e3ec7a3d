"""Group normalisation; mean and reciprocal standard deviation are further outputs.

y = (x − mean)·rstd·gamma + beta
rstd = 1 / √(variance + eps)
mean and variance are taken over each group of channels of each sample.

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


@register_operator_compute("CustomOpsGroupNorm", op_mode="static", support_fusion=True)
def group_norm_compute(
    x, gamma, beta, y, mean, rstd, num_groups=1, eps=1e-05, kernel_name="group_norm"
):
    """Returns the graph of `group_norm`."""
    normal, middle, scale = words.normalised(words.wide(x), [2, 3], eps)
    res = dsl.vmul(normal, words.spread(words.wide(gamma), x))
    res = dsl.vadd(res, words.spread(words.wide(beta), x))
    return [dsl.cast_to(res, x.dtype), middle, scale]


@para_check.check_op_params(*params(3, 3, ("int", "float")))
def group_norm(x, gamma, beta, y, mean, rstd, num_groups=1, eps=1e-05, kernel_name="group_norm"):
    """Builds the kernel."""
    samples, channels, *places = x.get("shape")
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(f"{channels} channels make no {num_groups} groups")
    size = channels // num_groups
    whole = [samples, num_groups, size, math.prod(places)]
    of_channels = [1, num_groups, size, 1]
    views = {"x": whole, "gamma": of_channels, "beta": of_channels}
    build(
        group_norm_compute,
        {"x": x, "gamma": gamma, "beta": beta},
        [y, mean, rstd],
        [num_groups, eps],
        kernel_name,
        views=views,
    )
