"""Batch normalisation with given mean and variance.

y = (x − mean) / √(variance + epsilon)·scale + offset for each channel; axis 1 is the channel.

Shapes: x and y (N, C, …); scale, offset, mean and variance (C,).
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x has fewer than two axes.
    RuntimeError: scale, offset, mean or variance does not have the shape (C,).
"""

from kernel_building import build_kernel, check_inputs, make_placeholders
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("BatchNormInfer", op_mode="static", support_fusion=True)
def batch_norm_infer_compute(
    x, scale, offset, mean, variance, y, epsilon, kernel_name="batch_norm_infer"
):
    """Builds the DSL graph of `batch_norm_infer` and returns the output tensor."""
    root = dsl.vsqrt(dsl.vadds(variance, epsilon))
    factor = dsl.vdiv(scale, root)
    rest = dsl.vsub(offset, dsl.vmul(mean, factor))
    return dsl.vadd(dsl.vmul(x, dsl.broadcast(factor, x.shape)), dsl.broadcast(rest, x.shape))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def batch_norm_infer(
    x, scale, offset, mean, variance, y, epsilon=1e-5, kernel_name="batch_norm_infer"
):
    """Builds the kernel."""
    shape, dtype = x.get("shape"), check_inputs({"x": x}, ("float16", "float32"), min_rank=2)
    channel = [1, shape[1], *[1] * (len(shape) - 2)]
    weights = {"scale": scale, "offset": offset, "mean": mean, "variance": variance}
    for name, item in weights.items():
        if tuple(item.get("shape")) != (shape[1],):
            raise RuntimeError(f"{name} has to have the shape ({shape[1]},), one for each channel")
    data = make_placeholders(("x", *weights), (shape, *[channel] * 4), dtype)
    build_kernel(kernel_name, data, batch_norm_infer_compute(*data, y, epsilon, kernel_name))
