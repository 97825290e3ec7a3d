"""Computes non-maximum suppression: selects the best box of each set of overlapping boxes."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from custom_ops.core.c_kernels import CKernel
from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ms, ops
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import FOR_FLOATS, FOR_SUMS, OpSpec
from custom_ops.core.row_helpers import broadcast_like, sizes, widen
from custom_ops.operators.iou import formula as iou
from custom_ops.operators.iou import pairwise_iou
from custom_ops.operators.matmul_steps import PLACES, PLACES_MAX
from custom_ops.tbe_bridge.tbe_sequence import TbeBlocks, TbeStep, TbeSteps, step_operator
from tbe_impl import dsl
from tbe_impl.errors import InputError

_ELEMENTS = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3}


def _check(boxes: ArraySpec, scores: ArraySpec) -> None:
    """Raises `InputError` for wrong shapes or dtypes of boxes and scores."""
    for name, one in (("boxes", boxes), ("scores", scores)):
        if len(one.shape) != 3 or (name == "boxes" and one.shape[2] != 4):
            expected = "(images, boxes, 4)" if name == "boxes" else "(images, boxes, classes)"
            raise InputError(
                f"NMS: {name} has a wrong shape", place="NMS", expected=expected, got=str(one)
            )
    if boxes.dtype not in _ELEMENTS or boxes.dtype != scores.dtype:
        raise InputError(
            "NMS: boxes and scores are of one float dtype",
            place="NMS",
            expected=", ".join(_ELEMENTS),
            got=f"{boxes.dtype} and {scores.dtype}",
        )
    if boxes.shape[:2] != scores.shape[:2]:
        raise InputError(
            "NMS: scores do not fit boxes", place="NMS", expected=str(boxes), got=str(scores)
        )


def build_kernel(
    boxes: ArraySpec,
    scores: ArraySpec,
    *,
    score_threshold: float,
    iou_threshold: float,
    max_output: int,
    class_aware: bool,
) -> CKernel:
    """Builds the kernel for boxes and scores of these shapes."""
    _check(boxes, scores)
    images, count, classes = scores.shape
    bits = struct.unpack("<qq", struct.pack("<dd", score_threshold, iou_threshold))
    outputs = (
        ArraySpec((images, max_output, 4), boxes.dtype),
        ArraySpec((images, max_output), boxes.dtype),
        ArraySpec((images, max_output), "int32"),
        ArraySpec((images, max_output), "int32"),
        ArraySpec((images,), "int32"),
    )
    numbers = (images, count, classes, max_output, int(class_aware), *bits)
    options = (f"-DELEMENT={_ELEMENTS[boxes.dtype]}",)
    return CKernel("NMS", "nms.c", "nms", (boxes, scores), outputs, numbers, options)


def composite(
    boxes: Any,
    scores: Any,
    score_threshold: float,
    iou_threshold: float,
    max_output: int,
    class_aware: bool,
) -> Any:
    """Computes NMS with MindSpore's basic operators, in a loop.

    Each iteration selects one box of each image.
    """
    images, number, classes = scores.shape
    room = max(max_output, 1)  # MindSpore has no arrays without elements
    corners, flat = (
        ops.cast(boxes, ms.float64),
        ops.reshape(ops.cast(scores, ms.float64), (images, -1)),
    )
    span = ops.relu(corners[:, :, 2:] - corners[:, :, :2])
    area = span[:, :, 0] * span[:, :, 1]
    every = ops.arange(number * classes)
    slots = ops.expand_dims(ops.arange(room), 0)
    left = ops.select(flat > score_threshold, flat, ops.full_like(flat, -math.inf))
    kept = ops.full((images, room), -1, dtype=ms.int64)
    step, more = ops.cast(ops.zeros_like(left[0, 0]), ms.int64), ops.max(left)[0] > -math.inf
    while more and step < max_output:
        place = ops.argmax(left, 1)
        is_any = ops.expand_dims(ops.max(left, 1)[0] > -math.inf, 1)
        kept = ops.select(ops.logical_and(slots == step, is_any), ops.expand_dims(place, 1), kept)
        chosen = ops.expand_dims(place, 1)
        box = ops.expand_dims(chosen // classes, 2)
        own = ops.gather_elements(corners, 1, ops.tile(box, (1, 1, 4)))
        both = ops.relu(
            ops.minimum(own[:, :, 2:], corners[:, :, 2:])
            - ops.maximum(own[:, :, :2], corners[:, :, :2])
        )
        common = both[:, :, 0] * both[:, :, 1]
        union = area + ops.gather_elements(area, 1, chosen // classes) - common
        gone = common / ops.masked_fill(union, union == 0, 1.0) > iou_threshold
        gone = ops.reshape(ops.tile(ops.expand_dims(gone, 2), (1, 1, classes)), (images, -1))
        if class_aware:
            gone = ops.logical_and(gone, every % classes == chosen % classes)
        left = ops.masked_fill(left, ops.logical_or(gone, every == chosen), -math.inf)
        more = ops.max(left)[0] > -math.inf
        step = step + 1
    is_there = kept >= 0
    place = ops.maximum(kept, 0)
    found = ops.gather_elements(boxes, 1, ops.tile(ops.expand_dims(place // classes, 2), (1, 1, 4)))
    best = ops.gather_elements(ops.reshape(scores, (images, -1)), 1, place)
    none = ops.full_like(kept, -1)
    return (
        ops.masked_fill(found, ops.expand_dims(ops.logical_not(is_there), 2), 0.0)[:, :max_output],
        ops.masked_fill(best, ops.logical_not(is_there), 0.0)[:, :max_output],
        ops.cast(ops.select(is_there, place % classes, none), ms.int32)[:, :max_output],
        ops.cast(ops.select(is_there, place // classes, none), ms.int32)[:, :max_output],
        ops.cast(ops.sum(ops.cast(is_there, ms.int64), 1), ms.int32),
    )


def formula(
    boxes: np.ndarray,
    scores: np.ndarray,
    *,
    score_threshold: float = 0.05,
    iou_threshold: float = 0.5,
    max_output: int = 100,
    class_aware: bool = True,
) -> tuple[np.ndarray, ...]:
    """Computes the reference result with NumPy.

    The function repeatedly selects the best remaining box, and removes the boxes that overlap it.
    """
    images, number, classes = scores.shape
    made = (
        np.zeros((images, max_output, 4), boxes.dtype),
        np.zeros((images, max_output), scores.dtype),
        np.full((images, max_output), -1, np.int32),
        np.full((images, max_output), -1, np.int32),
        np.zeros(images, np.int32),
    )
    for image in range(images):
        left = [
            (-scores[image, box, kind], box, kind)
            for box in range(number)
            for kind in range(classes)
            if scores[image, box, kind] > score_threshold
        ]
        left.sort()
        overlaps = iou(boxes[image].astype(np.float64), boxes[image].astype(np.float64))
        count = 0
        while left and count < max_output:
            _, box, kind = left.pop(0)
            for place, value in zip(
                made, (boxes[image, box], scores[image, box, kind], kind, box), strict=False
            ):
                place[image, count] = value
            left = [
                one
                for one in left
                if not (
                    overlaps[box, one[1]] > iou_threshold and (one[2] == kind or not class_aware)
                )
            ]
            count += 1
        made[4][image] = count
    return made


def _round_down(number: float) -> float:
    """Returns the largest float32 that is at most `number`.

    Each float32 that is greater than the result is also greater than `number`, and vice versa.
    """
    found = np.float32(number)
    return float(found if found <= number else np.nextafter(found, np.float32(-math.inf)))


def _start(scores: Any, *, score_threshold: float) -> Any:
    given = widen(scores)
    return dsl.vcmpsel(given, _round_down(score_threshold), "gt", given, -math.inf)


def _marked_element(marks: Any, x: Any, axes: list[int]) -> Any:
    """Returns the element of x that is marked 1 in `marks`; along `axes`, one element is marked.

    NaN and inf in the other elements have no effect.
    """
    return dsl.reduce_sum(dsl.vcmpsel(marks, 0.5, "gt", x, 0.0), axis=axes, keepdims=True)


def _equal(x: Any, y: Any) -> Any:
    return dsl.vcmpsel(x, broadcast_like(y, x), "eq", 1.0, 0.0)


def _suppress(
    boxes: Any,
    box_places: Any,
    class_places: Any,
    left: Any,
    *,
    iou_threshold: float,
    class_aware: bool,
) -> tuple[Any, ...]:
    """Selects the box with the largest score of each image, and suppresses overlapping boxes.

    Of several boxes with the largest score, the first box is selected. Of several classes with this
    score in the selected box, the first class is selected. In the returned scores, the selected
    score and the suppressed scores are −∞. If an image has no score left, the box and score are 0,
    the class and index are −1, and `is_kept` is 0.
    """
    images, number, classes = sizes(left)
    if number * classes > PLACES_MAX:
        raise InputError(
            "NMS: an image has more scores than float32 numbers",
            place="NMS",
            expected=f"at most {PLACES_MAX}",
            got=str(number * classes),
        )
    box_at = broadcast_like(dsl.ext.reshape(box_places, [1, number, 1]), left)
    class_at = broadcast_like(dsl.ext.reshape(class_places, [1, 1, classes]), left)
    at = dsl.vadd(dsl.vmuls(box_at, float(classes)), class_at)
    best = dsl.reduce_max(left, axis=[1, 2], keepdims=True)
    place = dsl.vcmpsel(left, broadcast_like(best, left), "eq", at, float(PLACES_MAX))
    is_best = _equal(at, dsl.reduce_min(place, axis=[1, 2], keepdims=True))
    box, kind = (_marked_element(is_best, one, [1, 2]) for one in (box_at, class_at))

    corners = dsl.split(widen(boxes), 2, [1] * 4)[1]
    own_places = dsl.broadcast(dsl.ext.reshape(box_places, [1, number, 1]), [images, number, 1])
    is_box = _equal(own_places, box)
    taken = [_marked_element(is_box, corner, [1]) for corner in corners]
    overlap = pairwise_iou(corners, [broadcast_like(one, corners[0]) for one in taken])

    gone = dsl.vcmpsel(broadcast_like(overlap, left), _round_down(iou_threshold), "gt", 1.0, 0.0)
    if class_aware:
        gone = dsl.vmul(gone, _equal(class_at, kind))
    following = dsl.vcmpsel(dsl.vmax(gone, is_best), 0.5, "gt", -math.inf, left)

    is_kept = dsl.vcmpsel(best, -math.inf, "gt", 1.0, 0.0)
    kept = [dsl.vcmpsel(is_kept, 0.5, "gt", one, 0.0) for one in (*taken, best)]
    numbers = [dsl.vcmpsel(is_kept, 0.5, "gt", one, -1.0) for one in (kind, box)]
    made = (
        dsl.cast_to(kept[4], boxes.dtype),
        *(dsl.cast_to(one, "int32") for one in numbers),
        is_kept,
    )
    return (
        following,
        dsl.cast_to(dsl.concat(kept[:4], 2), boxes.dtype),
        *(dsl.ext.reshape(one, [images, 1]) for one in made),
    )


_PLACES = {"box_places": "float32", "class_places": "float32"}
_OUTPUT_NAMES = ("kept_boxes", "kept_scores", "classes", "indices", "is_kept")
START = step_operator(
    "NMSStart",
    ("scores",),
    ("left",),
    _start,
    lambda _: ("float32",),
    "Scores above the threshold; −∞ for the others.",
    tbe=FOR_FLOATS,
    attributes={"score_threshold": 0.05},
)
ROUND = step_operator(
    "NMSRound",
    ("boxes", "box_places", "class_places", "left"),
    ("next_left", *_OUTPUT_NAMES),
    _suppress,
    lambda boxes, *_: ("float32", boxes, boxes, "int32", "int32", "float32"),
    "The best remaining box, and the remaining scores without the boxes that overlap it.",
    tbe=FOR_FLOATS,
    attributes={"iou_threshold": 0.5, "class_aware": True},
    given={"left": "float32", **_PLACES},
)
COUNT = step_operator(
    "NMSCount",
    ("is_kept",),
    ("counts",),
    lambda is_kept: dsl.cast_to(dsl.reduce_sum(is_kept, axis=[1]), "int32"),
    lambda _: ("int32",),
    "Number of boxes that each image keeps.",
    tbe=FOR_SUMS,
    given={"is_kept": "float32"},
)


def tbe_steps(
    score_threshold: float, iou_threshold: float, max_output: int, class_aware: bool
) -> TbeSteps:
    """Returns the sequence of CANN operators; it is mainly a loop of `max_output` iterations.

    Each iteration runs one kernel. The kernel selects one box of each image, and passes the scores
    of the remaining boxes to the next iteration.

    Raises:
        InputError: `max_output` is 0. MindSpore does not support empty outputs on Ascend.
    """
    if max_output < 1:
        raise InputError(
            "NMS: max_output is wrong",
            place="NMS",
            expected="a number from 1 on Ascend",
            got=repr(max_output),
        )
    told = {"iou_threshold": iou_threshold, "class_aware": class_aware}
    one = TbeStep(
        ROUND, ("boxes", "box_places", "class_places", "left"), ("next_left", *_OUTPUT_NAMES), told
    )
    return TbeSteps(
        (
            TbeStep(START, ("scores",), ("left",), {"score_threshold": score_threshold}),
            TbeStep(PLACES, ("boxes",), ("box_places",), {"axis": 1}),
            TbeStep(PLACES, ("scores",), ("class_places",), {"axis": 2, "in_row": True}),
            TbeBlocks(
                (one,),
                times=max_output,
                carried={"left": "next_left"},
                joined=dict.fromkeys(_OUTPUT_NAMES, 1),
            ),
            TbeStep(COUNT, ("is_kept",), ("counts",)),
        )
    )


SUPPRESSION = OpSpec(
    name="NMS",
    inputs=("boxes", "scores"),
    outputs=("kept_boxes", "kept_scores", "classes", "indices", "counts"),
    kernel_builder=build_kernel,
    composite=composite,
    attributes={
        "score_threshold": 0.05,
        "iou_threshold": 0.5,
        "max_output": 100,
        "class_aware": True,
    },
    undifferentiable=frozenset({"boxes", "scores"}),
    formula=formula,
    samples=(((2, 12, 4), (2, 12, 3)), ((1, 7, 4), (1, 7, 1)), ((3, 0, 4), (3, 0, 2))),
    tbe_steps=tbe_steps,
    nan="undefined",
    doc="non-maximum suppression: selects the box with the best score among overlapping boxes",
)


class NMS(FusedCell):
    r"""Class-wise non-maximum suppression of a batch of images, with outputs of fixed size.

    Each (box, class) pair with a score above ``score_threshold`` is a candidate. The candidate with
    the best score is selected first. If scores are equal, the candidate with the lower box index is
    selected. If the box is also the same, the candidate with the lower class index is selected.
    Then each candidate is removed if its intersection over union with the selected box exceeds
    ``iou_threshold``. Then the best remaining candidate is selected, and so on. Intersection over
    union is computed as in `IoU`, but in float64. A pair with a NaN score is never a candidate. A
    box whose area is 0 or whose coordinates contain NaN overlaps no other box.

    Args:
        score_threshold: only pairs with a score above this value are candidates.
        iou_threshold: a box is removed if its intersection over union with a selected box exceeds
            this value.
        max_output: maximum number of selected boxes for each image.
        class_aware: whether a selected box removes only candidates of the same class. If false, a
            selected box removes candidates of all classes.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route. ``composite`` needs at least one box, one class and one
            result.

    Inputs:
        - **boxes** (Tensor) - float16, bfloat16, float32 or float64, of shape (images, boxes, 4):
          x and y of the first corner, then x and y of the second corner.
        - **scores** (Tensor) - of shape (images, boxes, classes) and the dtype of boxes.

    Outputs:
        Tuple of five Tensors. The first has the shape (images, max_output, 4): the selected boxes,
        best first. The next three have the shape (images, max_output): the scores, the classes and
        the indices in `boxes` of the selected boxes. The last has the shape (images,): the number
        of selected boxes of each image. In unused entries, boxes and scores are 0, and classes and
        indices are −1. No output has a gradient.

    Raises:
        InputError: a shape or dtype is wrong, or ``max_output`` is negative.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested; overlaps are computed in float32)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import NMS
        >>> boxes = np.float32([[[0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]]])
        >>> scores = np.float32([[[0.5], [0.7], [0.6]]])
        >>> NMS(max_output=3).forward(boxes, scores)[3:]
        (array([[ 1,  2, -1]], dtype=int32), array([2], dtype=int32))
    """

    def __init__(
        self,
        score_threshold: float = 0.05,
        iou_threshold: float = 0.5,
        max_output: int = 100,
        class_aware: bool = True,
        route: str = "",
    ):
        if isinstance(max_output, bool) or not isinstance(max_output, int) or max_output < 0:
            raise InputError(
                "NMS: max_output is wrong",
                place="NMS",
                expected="a number from 0",
                got=repr(max_output),
            )
        attributes: dict[str, Any] = {
            "score_threshold": float(score_threshold),
            "iou_threshold": float(iou_threshold),
            "max_output": max_output,
            "class_aware": bool(class_aware),
        }
        super().__init__(SUPPRESSION, attributes, route)
