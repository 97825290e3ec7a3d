"""The operators as functions of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from custom_ops.cell import check_route
from custom_ops.operators.attention import ScaledDotProductAttention
from custom_ops.operators.box_decode import BoxDecode
from custom_ops.operators.iou import IoU
from custom_ops.operators.nms import NMS


@cache
def _made(kind: Any, *attributes: Any) -> Any:
    """The Cell of these attributes, made once."""
    return kind(*attributes)


def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    layout: str = "BNSD",
    route: str = "",
) -> Any:
    """softmax(scale · q kᵀ + mask) v; see `custom_ops.ScaledDotProductAttention`."""
    route = check_route(route, "scaled_dot_product_attention")
    return _made(ScaledDotProductAttention, scale, is_causal, layout, route)(q, k, v, mask)


def box_decode(
    x: Any,
    anchors: Sequence[Sequence[float]],
    stride: float,
    *,
    version: str = "v5",
    float16_inside: bool = True,
    route: str = "",
) -> Any:
    """Boxes and scores from what a YOLO head predicts; see `custom_ops.BoxDecode`."""
    route, pairs = check_route(route, "box_decode"), tuple(map(tuple, anchors))
    return _made(BoxDecode, pairs, stride, version, float16_inside, route)(x)


def iou(boxes: Any, others: Any, *, route: str = "") -> Any:
    """How much each box and each other overlap; see `custom_ops.IoU`."""
    return _made(IoU, check_route(route, "iou"))(boxes, others)


def nms(
    boxes: Any,
    scores: Any,
    *,
    score_threshold: float = 0.05,
    iou_threshold: float = 0.5,
    max_output: int = 100,
    class_aware: bool = True,
) -> Any:
    """Of boxes that overlap, the ones with the best scores; see `custom_ops.NMS`."""
    return _made(NMS, score_threshold, iou_threshold, max_output, class_aware)(boxes, scores)
