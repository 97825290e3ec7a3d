"""Gradient of boxes and scores for the predictions of a YOLO head.

For p: (g + h)·stride·σ'(p), twice that in version v5.
For q: (h − g)·anchor·e^q / 2; version v5: (h − g)·anchor·4·σ(q)·σ'(q).
For the classes: grad_scores·σ(objectness)·σ'(classes).
For the objectness: Σ grad_scores·σ(classes)·σ'(objectness).
g is the gradient of a box's first corner, h the gradient of its second, and σ' = σ·(1 − σ).
Anchors are a stage with an explicit expression, which CANN's operations lack.

Shapes: x and grad_x (images, height, width, anchors, 5 + classes);
    grad_boxes (images, height·width·anchors, 4);
    grad_scores (images, height·width·anchors, classes);
    anchors: width and height of each anchor in turn.
dtypes: float16, float32; computed in float32. grad_boxes and grad_scores are float32.
Raises:
    OperatorError: the dtype is unsupported.
    RuntimeError: the number of anchors is wrong, or the version is unknown.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, check_predictions, params


@register_operator_compute("CustomOpsBoxDecodeGrad", op_mode="static", support_fusion=True)
def box_decode_grad_compute(
    x,
    grad_boxes,
    grad_scores,
    grad_x,
    anchors,
    stride,
    version="v5",
    float16_inside=False,
    kernel_name="box_decode_grad",
):
    """Returns the graph of `box_decode_grad`."""
    *lead, size = words.sizes(x)
    parts = [2, 2, 1, size - 5]
    _, (centre, span, objectness, classes) = dsl.split(words.wide(x), 4, parts)
    _, (first, second) = dsl.split(words.wide(grad_boxes), 4, [2, 2])
    share = words.sigmoid_slope(words.sigmoid(centre))
    of_centre = dsl.vmuls(dsl.vmul(dsl.vadd(first, second), share), float(stride))
    if version == "v3":
        share = dsl.vmuls(dsl.vexp(span), 0.5)
    else:
        of_centre = dsl.vmuls(of_centre, 2.0)
        gate = words.sigmoid(span)
        share = dsl.vmuls(dsl.vmul(gate, words.sigmoid_slope(gate)), 4.0)
    of_span = dsl.vmul(dsl.vsub(second, first), words.sides([*lead, 2], anchors))
    of_span = dsl.vmul(of_span, share)
    classes, objectness = words.sigmoid(classes), words.sigmoid(objectness)
    grad = words.wide(grad_scores)
    of_classes = dsl.vmul(grad, words.sigmoid_slope(classes))
    of_classes = dsl.vmul(of_classes, words.spread(objectness, classes))
    of_objectness = dsl.reduce_sum(dsl.vmul(grad, classes), axis=4, keepdims=True)
    of_objectness = dsl.vmul(of_objectness, words.sigmoid_slope(objectness))
    res = dsl.concat([of_centre, of_span, of_objectness, of_classes], 4)
    return dsl.cast_to(res, x.dtype)


@para_check.check_op_params(*params(3, 1, ("list_float", "float", "str", "bool")))
def box_decode_grad(
    x,
    grad_boxes,
    grad_scores,
    grad_x,
    anchors=(10.0, 13.0, 16.0, 30.0, 33.0, 23.0),
    stride=8.0,
    version="v5",
    float16_inside=False,
    kernel_name="box_decode_grad",
):
    """Builds the kernel."""
    check_predictions(x, anchors, version)
    *lead, size = x.get("shape")
    build(
        box_decode_grad_compute,
        {"x": x, "grad_boxes": grad_boxes, "grad_scores": grad_scores},
        [grad_x],
        [anchors, stride, version, float16_inside],
        kernel_name,
        views={"grad_boxes": [*lead, 4], "grad_scores": [*lead, size - 5]},
        by_expression=True,
    )
