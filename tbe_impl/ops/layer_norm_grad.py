"""Gradients of layer normalisation over the last axis.

dx = (g − mean g − n·mean(g·n)) / √(variance + epsilon)
dgamma = Σ dy·n
dbeta = Σ dy
where n = (x − mean) / √(variance + epsilon) and g = dy·gamma.
Σ is taken over the axes before the last.

Shapes: dy, x and dx have two or more axes; variance and mean have size 1 in the last axis.
    gamma, dgamma and dbeta have the last axis only.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported, or x has fewer than two axes.
"""

import te.lang.cce
from kernel_building import build_kernel, check_inputs, make_placeholders
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("layer_norm_grad")
def layer_norm_grad_compute(
    dy, x, variance, mean, gamma, dx, dgamma, dbeta, epsilon, kernel_name="layer_norm_grad"
):
    """Builds the DSL graph of `layer_norm_grad` and returns the three output tensors."""
    shape, dtype = shape_util.shape_to_list(x.shape), x.dtype
    last, before = [len(shape) - 1], list(range(len(shape) - 1))
    dy, x, variance, mean, gamma = (
        te.lang.cce.cast_to(item, "float32") for item in (dy, x, variance, mean, gamma)
    )
    root = te.lang.cce.vrsqrt(te.lang.cce.vadds(variance, epsilon))
    wide_root = te.lang.cce.broadcast(root, shape)
    distance = te.lang.cce.vsub(x, te.lang.cce.broadcast(mean, shape))
    normal = te.lang.cce.vmul(distance, wide_root)
    scaled = te.lang.cce.vmul(dy, te.lang.cce.broadcast(gamma, shape))
    share = 1.0 / shape[-1]
    first = te.lang.cce.vmuls(te.lang.cce.sum(scaled, axis=last, keepdims=True), share)
    product = te.lang.cce.vmul(scaled, normal)
    second = te.lang.cce.vmuls(te.lang.cce.sum(product, axis=last, keepdims=True), share)
    rest = te.lang.cce.vsub(scaled, te.lang.cce.broadcast(first, shape))
    rest = te.lang.cce.vsub(rest, te.lang.cce.vmul(normal, te.lang.cce.broadcast(second, shape)))
    outputs = (
        te.lang.cce.vmul(rest, wide_root),
        te.lang.cce.sum(te.lang.cce.vmul(dy, normal), axis=before),
        te.lang.cce.sum(dy, axis=before),
    )
    return [te.lang.cce.cast_to(item, dtype) for item in outputs]


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def layer_norm_grad(
    dy,
    x,
    variance,
    mean,
    gamma,
    dx,
    dgamma,
    dbeta,
    epsilon=1e-12,
    kernel_name="layer_norm_grad",
):
    """Builds the kernel."""
    shape, dtype = list(x.get("shape")), check_inputs({"x": x}, ("float16", "float32"), min_rank=2)
    column, row = [*shape[:-1], 1], [1] * (len(shape) - 1) + shape[-1:]
    data = make_placeholders(
        ("dy", "x", "variance", "mean", "gamma"), (shape, shape, column, column, row), dtype
    )
    build_kernel(
        kernel_name, data, layer_norm_grad_compute(*data, dx, dgamma, dbeta, epsilon, kernel_name)
    )
