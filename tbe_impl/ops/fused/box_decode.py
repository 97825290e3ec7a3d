"""Boxes and scores from what a YOLO head predicts.

boxes = (centre − span / 2, centre + span / 2), centre = (σ(p) + place)·stride and span = anchor·e^q; of v5 centre =
(2·σ(p) − 0.5 + place)·stride and span = anchor·4·σ(q)²; p and q are elements 0 to 1 and 2 to 3 of a prediction.
scores = σ(objectness)·σ(classes), elements 4 and 5 on. Places and anchors are stages by their expression, which CANN's words lack.

Shapes: x (images, height, width, anchors, 5 + classes); boxes (images, height·width·anchors, 4) and scores (images,
height·width·anchors, classes) are float32; anchors: width and height of each, one after the other. dtypes: float16, float32; computed in
float32, or, where `float16_inside` is set, with activations rounded to float16. Errors: another dtype: the error of
`para_check`; another number of anchors, or an unknown version.
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
    """The graph of `box_decode`; two tensors."""
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
