"""Softmax of scaled scores with an additive mask.

y = softmax(scale·x + mask) over the last axis.

Shapes: mask broadcasts to x.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params


@register_operator_compute("CustomOpsScaleAddSoftmax", op_mode="static", support_fusion=True)
def scale_add_softmax_compute(x, mask, y, scale=1.0, kernel_name="scale_add_softmax"):
    """Returns the graph of `scale_add_softmax`."""
    given, added = words.together(x, mask)
    return dsl.cast_to(words.softmax(dsl.vadd(dsl.vmuls(given, scale), added)), x.dtype)


@para_check.check_op_params(*params(2, 1, ("float",)))
def scale_add_softmax(x, mask, y, scale=1.0, kernel_name="scale_add_softmax"):
    """Builds the kernel."""
    build(
        scale_add_softmax_compute,
        {"x": x, "mask": mask},
        [y],
        [scale],
        kernel_name,
        views=of_one_rank(x=x, mask=mask),
    )
