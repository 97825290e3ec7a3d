"""Boxes and scores from the predictions of a YOLO head.

boxes = (centre − span / 2, centre + span / 2)
centre = (σ(p) + place)·stride; version v5: (2·σ(p) − 0.5 + place)·stride
span = anchor·e^q; version v5: anchor·4·σ(q)²
scores = σ(objectness)·σ(classes)
In a prediction p is elements 0 and 1, q is elements 2 and 3, the objectness is element 4, and the
classes follow.
Places and anchors are stages with an explicit expression, which CANN's operations lack.

Shapes: x (images, height, width, anchors, 5 + classes);
    boxes (images, height·width·anchors, 4); scores (images, height·width·anchors, classes);
    anchors: width and height of each anchor in turn.
dtypes: float16, float32; computed in float32. boxes and scores are float32. Where `float16_inside`
    is set, activations are rounded to float16.
Raises:
    OperatorError: the dtype is unsupported.
    RuntimeError: the number of anchors is wrong, or the version is unknown.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, check_predictions, params


def _places(shape):
    """Column and row of each prediction."""
    return tvm.compute(
        shape,
        lambda *i: tvm.select(i[4] == 0, i[2].astype("float32"), i[1].astype("float32")),
        name="places",
    )


@register_operator_compute("CustomOpsBoxDecode", op_mode="static", support_fusion=True)
def box_decode_compute(
    x,
    boxes,
    scores,
    anchors,
    stride,
    version="v5",
    float16_inside=False,
    kernel_name="box_decode",
):
    """Returns the graph of `box_decode`; two tensors."""
    *lead, size = words.sizes(x)
    _, (centre, span, objectness, classes) = dsl.split(words.wide(x), 4, [2, 2, 1, size - 5])
    centre = words.held(words.sigmoid(centre), float16_inside)
    if version == "v3":
        span = words.held(dsl.vexp(span), float16_inside)
    else:
        centre = dsl.vadds(dsl.vmuls(centre, 2.0), -0.5)
        share = words.held(words.sigmoid(span), float16_inside)
        span = dsl.vmuls(dsl.vmul(share, share), 4.0)
    pairs = [*lead, 2]
    centre = dsl.vmuls(dsl.vadd(centre, _places(pairs)), float(stride))
    half = dsl.vmuls(dsl.vmul(span, words.sides(pairs, anchors)), 0.5)
    corners = dsl.concat([dsl.vsub(centre, half), dsl.vadd(centre, half)], 4)
    classes = words.held(words.sigmoid(classes), float16_inside)
    objectness = words.held(words.sigmoid(objectness), float16_inside)
    made = dsl.vmul(classes, words.spread(objectness, classes))
    return [corners, made]


@para_check.check_op_params(*params(1, 2, ("list_float", "float", "str", "bool")))
def box_decode(
    x,
    boxes,
    scores,
    anchors=(10.0, 13.0, 16.0, 30.0, 33.0, 23.0),
    stride=8.0,
    version="v5",
    float16_inside=False,
    kernel_name="box_decode",
):
    """Builds the kernel."""
    check_predictions(x, anchors, version)
    build(
        box_decode_compute,
        {"x": x},
        [boxes, scores],
        [anchors, stride, version, float16_inside],
        kernel_name,
        by_expression=True,
    )
