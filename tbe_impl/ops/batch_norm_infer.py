"""Batch normalisation with given mean and variance.

y = (x − mean) / √(variance + epsilon)·scale + offset for each channel; axis 1 is the channel.

Shapes: x and y (N, C, …); scale, offset, mean and variance (C,).
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x has fewer than two axes.
    RuntimeError: scale, offset, mean or variance does not have the shape (C,).
"""

from kernel_building import build_kernel
from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("BatchNormInfer", op_mode="static", support_fusion=True)
def batch_norm_infer_compute(
    x, scale, offset, mean, variance, y, epsilon, kernel_name="batch_norm_infer"
):
    """Returns the graph of `batch_norm_infer`."""
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
    shape, dtype = x.get("shape"), x.get("dtype").lower()
    para_check.check_shape(shape, param_name="x", min_rank=2)
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    channel = [1, shape[1], *[1] * (len(shape) - 2)]
    for name, item in (
        ("scale", scale),
        ("offset", offset),
        ("mean", mean),
        ("variance", variance),
    ):
        if tuple(item.get("shape")) != (shape[1],):
            raise RuntimeError(f"{name} has to have the shape ({shape[1]},), one for each channel")
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    data = [
        tvm.placeholder(channel, name=f"data_{name}", dtype=dtype)
        for name in ("scale", "offset", "mean", "variance")
    ]
    build_kernel(
        kernel_name,
        [data_x, *data],
        batch_norm_infer_compute(data_x, *data, y, epsilon, kernel_name),
    )
