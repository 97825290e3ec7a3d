"""Layer normalisation; mean and variance are further outputs.

y = (x − mean) / √(variance + epsilon)·gamma + beta.
mean and variance are taken over the axes from begin_norm_axis on.

Shapes: x any; gamma and beta have the axes of x from begin_norm_axis on.
    mean and variance have size 1 in these axes.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks the axis.
    RuntimeError: gamma or beta has another shape.
"""

import te.lang.cce
from kernel_building import build_kernel, check_inputs, make_placeholders
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("layer_norm")
def layer_norm_compute(
    x, gamma, beta, y, mean, variance, begin_norm_axis, epsilon, kernel_name="layer_norm"
):
    """Builds the DSL graph of `layer_norm` and returns the three output tensors."""
    shape, dtype = shape_util.shape_to_list(x.shape), x.dtype
    axes = list(range(begin_norm_axis, len(shape)))
    share = 1.0
    for axis in axes:
        share = share / shape[axis]
    wide = te.lang.cce.cast_to(x, "float32")
    middle = te.lang.cce.vmuls(te.lang.cce.sum(wide, axis=axes, keepdims=True), share)
    distance = te.lang.cce.vsub(wide, te.lang.cce.broadcast(middle, shape))
    square = te.lang.cce.vmul(distance, distance)
    spread = te.lang.cce.vmuls(te.lang.cce.sum(square, axis=axes, keepdims=True), share)
    root = te.lang.cce.vsqrt(te.lang.cce.vadds(spread, epsilon))
    normal = te.lang.cce.vdiv(distance, te.lang.cce.broadcast(root, shape))
    factor = te.lang.cce.broadcast(te.lang.cce.cast_to(gamma, "float32"), shape)
    offset = te.lang.cce.broadcast(te.lang.cce.cast_to(beta, "float32"), shape)
    res = te.lang.cce.vadd(te.lang.cce.vmul(normal, factor), offset)
    return [te.lang.cce.cast_to(item, dtype) for item in (res, middle, spread)]


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_INT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def layer_norm(
    x, gamma, beta, y, mean, variance, begin_norm_axis, epsilon=1e-12, kernel_name="layer_norm"
):
    """Builds the kernel."""
    shape, dtype = list(x.get("shape")), check_inputs({"x": x}, ("float16", "float32"), min_rank=1)
    begin = shape_util.axis_check(len(shape), begin_norm_axis)
    if list(gamma.get("shape")) != shape[begin:] or list(beta.get("shape")) != shape[begin:]:
        raise RuntimeError(f"gamma and beta have to have the shape {shape[begin:]}")
    filled = [1] * begin + shape[begin:]
    data = make_placeholders(("x", "gamma", "beta"), (shape, filled, filled), dtype)
    build_kernel(
        kernel_name,
        data,
        layer_norm_compute(*data, y, mean, variance, begin, epsilon, kernel_name),
    )
