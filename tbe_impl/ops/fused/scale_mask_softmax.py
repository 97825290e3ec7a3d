"""Softmax of scaled scores with a boolean mask.

y = softmax of scores over the last axis.
The scores are scale·x where mask is 0, and −∞ where it is 1. A fully masked row is 0.

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


@register_operator_compute("CustomOpsScaleMaskSoftmax", op_mode="static", support_fusion=True)
def scale_mask_softmax_compute(x, mask, y, scale=1.0, kernel_name="scale_mask_softmax"):
    """Returns the graph of `scale_mask_softmax`."""
    left = words.masked_scores(dsl.vmuls(words.wide(x), scale), mask, None)
    return dsl.cast_to(words.softmax(left), x.dtype)


@para_check.check_op_params(*params(2, 1, ("float",)))
def scale_mask_softmax(x, mask, y, scale=1.0, kernel_name="scale_mask_softmax"):
    """Builds the kernel."""
    build(
        scale_mask_softmax_compute,
        {"x": x, "mask": mask},
        [y],
        [scale],
        kernel_name,
        views=of_one_rank(x=x, mask=mask),
        dtypes={"mask": words.MASKS[:2]},
    )
