"""Gradients of intersection over union of all pairs of boxes.

For a side: the sum over the boxes of the other input of a·∂C + c·∂A, where ∂C and ∂A are the
derivatives of C and of the area of the side's own box.
a = grad_iou·(U + C) / U² and c = −grad_iou·C / U², with C the common area and U the union.
The gradient is 0 where the union is empty.
If two sides lie in the same place, the common area follows the side of the other input.

Shapes: boxes and grad_boxes (N, 4), others and grad_others (M, 4), grad_iou (N, M).
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


def _of_sides(four, other, both, of_common, of_area, over):
    """Returns the gradients of left, top, right, bottom, summed and concatenated along `over`."""
    whole = [words.span(four[k], four[k + 2]) for k in (0, 1)]
    low, high = [], []
    for k in (0, 1):
        # a side moves an area by the span across it, where there is an area at all
        moved = dsl.vmul(of_common, words.where_above(both[k], 0.0, both[1 - k]))
        grown = dsl.vmul(of_area, words.where_above(whole[k], 0.0, whole[1 - k]))
        kept = words.where_above(four[k], other[k], moved)
        low.append(dsl.vmuls(dsl.vadd(kept, grown), -1.0))
        kept = words.where_above(other[k + 2], four[k + 2], moved)
        high.append(dsl.vadd(kept, grown))
    return dsl.concat(
        [dsl.reduce_sum(one, axis=over, keepdims=True) for one in (*low, *high)], over
    )


@register_operator_compute("CustomOpsIoUGrad", op_mode="static", support_fusion=True)
def iou_grad_compute(boxes, others, grad_iou, grad_boxes, grad_others, kernel_name="iou_grad"):
    """Returns the graph of `iou_grad`; two tensors."""
    own, their = words.every_pair(boxes, others)
    both = words.common_spans(own, their)
    common = dsl.vmul(*both)
    union = dsl.vsub(dsl.vadd(words.area(*own), words.area(*their)), common)
    safe = dsl.vcmpsel(union, 0.0, "eq", 1.0, union)
    share = dsl.vdiv(words.wide(grad_iou), dsl.vmul(safe, safe))
    of_common = dsl.vmul(share, dsl.vadd(union, common))
    of_area = dsl.vmuls(dsl.vmul(share, common), -1.0)
    of_boxes = _of_sides(own, their, both, of_common, of_area, 1)
    of_others = _of_sides(their, own, both, of_common, of_area, 0)
    return words.narrow([of_boxes, dsl.transpose(of_others, [1, 0])], boxes.dtype)


@para_check.check_op_params(*params(3, 2))
def iou_grad(boxes, others, grad_iou, grad_boxes, grad_others, kernel_name="iou_grad"):
    """Builds the kernel."""
    build(
        iou_grad_compute,
        {"boxes": boxes, "others": others, "grad_iou": grad_iou},
        [grad_boxes, grad_others],
        [],
        kernel_name,
    )
