"""Layer normalisation; mean and reciprocal standard deviation are further outputs.

y = (x − mean)·rstd·gamma + beta
rstd = 1 / √(variance + epsilon)
mean and variance are taken over the axes from begin_norm_axis on.

Shapes: gamma and beta have the axes of x from begin_params_axis on; mean and rstd have size 1
    from begin_norm_axis on.
dtypes: float16, float32; computed in float32. mean and rstd are float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsLayerNorm", op_mode="static", support_fusion=True)
def layer_norm_compute(
    x,
    gamma,
    beta,
    y,
    mean,
    rstd,
    begin_norm_axis=-1,
    begin_params_axis=-1,
    epsilon=1e-07,
    kernel_name="layer_norm",
):
    """Returns the graph of `layer_norm`."""
    axes = words.axes_from(x, begin_norm_axis)
    normal, middle, scale = words.normalised(words.wide(x), axes, epsilon)
    res = dsl.vmul(normal, words.spread(words.wide(gamma), x))
    res = dsl.vadd(res, words.spread(words.wide(beta), x))
    return [dsl.cast_to(res, x.dtype), middle, scale]


@para_check.check_op_params(*params(3, 3, ("int", "int", "float")))
def layer_norm(
    x,
    gamma,
    beta,
    y,
    mean,
    rstd,
    begin_norm_axis=-1,
    begin_params_axis=-1,
    epsilon=1e-07,
    kernel_name="layer_norm",
):
    """Builds the kernel."""
    build(
        layer_norm_compute,
        {"x": x, "gamma": gamma, "beta": beta},
        [y, mean, rstd],
        [begin_norm_axis, begin_params_axis, epsilon],
        kernel_name,
    )
