"""Instance normalisation: separate statistics for each sample and channel.

y = (x − mean) / √(variance + epsilon)·gamma + beta.
mean and variance are taken over the axes from 2 on; gamma and beta are per channel.

Shapes: x and y (N, C, …) with three or more axes; gamma and beta (C,).
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported, or x has fewer than three axes.
"""

from kernel_building import build_kernel, check_inputs, make_placeholders
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("InstanceNorm", op_mode="static", support_fusion=True)
def instance_norm_compute(x, gamma, beta, y, epsilon, kernel_name="instance_norm"):
    """Builds the DSL graph of `instance_norm` and returns the output tensor."""
    shape = shape_util.shape_to_list(x.shape)
    axes = list(range(2, len(shape)))
    share = 1.0
    for axis in axes:
        share = share / shape[axis]
    wide = dsl.cast_to(x, "float32")
    mean = dsl.vmuls(dsl.reduce_sum(wide, axis=axes, keepdims=True), share)
    distance = dsl.vsub(wide, dsl.broadcast(mean, shape))
    square = dsl.reduce_sum(dsl.vmul(distance, distance), axis=axes, keepdims=True)
    root = dsl.vsqrt(dsl.vadds(dsl.vmuls(square, share), epsilon))
    normal = dsl.vdiv(distance, dsl.broadcast(root, shape))
    factor = dsl.broadcast(dsl.cast_to(gamma, "float32"), shape)
    offset = dsl.broadcast(dsl.cast_to(beta, "float32"), shape)
    return dsl.cast_to(dsl.vadd(dsl.vmul(normal, factor), offset), x.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def instance_norm(x, gamma, beta, y, epsilon=1e-6, kernel_name="instance_norm"):
    """Builds the kernel."""
    shape, dtype = x.get("shape"), check_inputs({"x": x}, ("float16", "float32"), min_rank=3)
    channel = [1, shape[1], *[1] * (len(shape) - 2)]
    data = make_placeholders(("x", "gamma", "beta"), (shape, channel, channel), dtype)
    build_kernel(kernel_name, data, instance_norm_compute(*data, y, epsilon, kernel_name))
