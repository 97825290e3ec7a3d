"""Layer normalisation of a sum; the sum is a second output.

sum = x + residual
y = (sum − mean)·rstd·gamma + beta
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


@register_operator_compute("CustomOpsAddLayerNorm", op_mode="static", support_fusion=True)
def add_layer_norm_compute(
    x,
    residual,
    gamma,
    beta,
    y,
    sum,
    mean,
    rstd,
    begin_norm_axis=-1,
    begin_params_axis=-1,
    epsilon=1e-07,
    kernel_name="add_layer_norm",
):
    """Returns the graph of `add_layer_norm`."""
    axes = words.axes_from(x, begin_norm_axis)
    both = dsl.vadd(words.wide(x), words.wide(residual))
    normal, middle, scale = words.normalised(both, axes, epsilon)
    res = dsl.vmul(normal, words.spread(words.wide(gamma), x))
    res = dsl.vadd(res, words.spread(words.wide(beta), x))
    held = dsl.cast_to(both, x.dtype)
    if x.dtype == "float16":
        middle = words.mean(words.wide(held), axes)  # that of the sum which the gradient reads
    return [dsl.cast_to(res, x.dtype), held, middle, scale]


@para_check.check_op_params(*params(4, 4, ("int", "int", "float")))
def add_layer_norm(
    x,
    residual,
    gamma,
    beta,
    y,
    sum,
    mean,
    rstd,
    begin_norm_axis=-1,
    begin_params_axis=-1,
    epsilon=1e-07,
    kernel_name="add_layer_norm",
):
    """Builds the kernel."""
    build(
        add_layer_norm_compute,
        {"x": x, "residual": residual, "gamma": gamma, "beta": beta},
        [y, sum, mean, rstd],
        [begin_norm_axis, begin_params_axis, epsilon],
        kernel_name,
    )
