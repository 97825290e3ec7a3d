"""Gradients of softmax of scaled scores with an additive mask, from its result.

grad_x = scale·s
grad_mask = s, summed over the axes along which mask was broadcast
where s = y·(grad_y − Σ y·grad_y) over the last axis.

Shapes: mask broadcasts to y.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params


@register_operator_compute("CustomOpsScaleAddSoftmaxGrad", op_mode="static", support_fusion=True)
def scale_add_softmax_grad_compute(
    mask, y, grad_y, grad_x, grad_mask, scale=1.0, kernel_name="scale_add_softmax_grad"
):
    """Returns the graph of `scale_add_softmax_grad`."""
    found = words.softmax_slope(words.wide(y), words.wide(grad_y))
    return [dsl.cast_to(dsl.vmuls(found, scale), y.dtype), words.summed(found, mask)]


@para_check.check_op_params(*params(3, 2, ("float",)))
def scale_add_softmax_grad(
    mask, y, grad_y, grad_x, grad_mask, scale=1.0, kernel_name="scale_add_softmax_grad"
):
    """Builds the kernel."""
    build(
        scale_add_softmax_grad_compute,
        {"mask": mask, "y": y, "grad_y": grad_y},
        [grad_x, grad_mask],
        [scale],
        kernel_name,
        views=of_one_rank(mask=mask, y=y, grad_y=grad_y),
    )
