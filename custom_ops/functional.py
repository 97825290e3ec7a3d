"""The operators as functions of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import custom_ops
from custom_ops.cell import FusedCell, check_route


@lru_cache(maxsize=0)
def _cell(name: str, *attributes: Any, **route: str) -> Any:
    """The Cell of that name with these attributes.

    MindSpore reads functions as source, but not those behind a cache, which it calls with the names and numbers that it
    knows when it builds a graph. What is kept is in `_made`, since the default route may change.
    """
    return _made(
        name, *attributes, **{key: check_route(given, name) for key, given in route.items()}
    )


@cache
def _made(name: str, *attributes: Any, **route: str) -> Any:
    if name == "BiasDropoutAdd":  # with a key that is handed over
        spec = import_module("custom_ops.operators.bias_dropout_add").BIAS_DROPOUT_ADD
        return FusedCell(spec, {"p": attributes[0]}, **route)
    return getattr(custom_ops, name)(*attributes, **route)


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
    cell = _cell("ScaledDotProductAttention", scale, is_causal, layout, route=route)
    return cell(q, k, v, mask)


def add_relu(x: Any, y: Any, *, route: str = "") -> Any:
    """max(x + y, 0); see `custom_ops.AddReLU`."""
    cell = _cell("AddReLU", route=route)
    return cell(x, y)


def mul_sigmoid(x: Any, y: Any, *, route: str = "") -> Any:
    """x·y·σ(y); see `custom_ops.MulSigmoid`."""
    cell = _cell("MulSigmoid", route=route)
    return cell(x, y)


def my_op(x: Any, y: Any, *, route: str = "") -> Any:
    """(x − y)·x; see `custom_ops.MyOp`."""
    cell = _cell("MyOp", route=route)
    return cell(x, y)


def swish(x: Any, *, beta: float = 1.0, route: str = "") -> Any:
    """x·σ(beta·x); see `custom_ops.Swish`."""
    cell = _cell("Swish", beta, route=route)
    return cell(x)


def gelu(x: Any, *, approximate: bool = True, route: str = "") -> Any:
    """x·Φ(x); see `custom_ops.GELU`."""
    cell = _cell("GELU", approximate, route=route)
    return cell(x)


def mish(x: Any, *, route: str = "") -> Any:
    """x·tanh(ln(1 + e^x)); see `custom_ops.Mish`."""
    cell = _cell("Mish", route=route)
    return cell(x)


def hard_swish(x: Any, *, route: str = "") -> Any:
    """x·min(max(x + 3, 0), 6) / 6; see `custom_ops.HardSwish`."""
    cell = _cell("HardSwish", route=route)
    return cell(x)


def swiglu(x: Any, up: Any = None, *, route: str = "") -> Any:
    """swish(x)·up, or of the halves of x; see `custom_ops.SwiGLU`."""
    cell = _cell("SwiGLU", route=route)
    return cell(x, up)


def geglu(x: Any, up: Any = None, *, approximate: bool = True, route: str = "") -> Any:
    """gelu(x)·up, or of the halves of x; see `custom_ops.GeGLU`."""
    cell = _cell("GeGLU", approximate, route=route)
    return cell(x, up)


def scale_mask_softmax(x: Any, mask: Any = None, *, scale: float = 1.0, route: str = "") -> Any:
    """softmax(scale·x + mask) over the last axis; see `custom_ops.ScaleMaskSoftmax`."""
    cell = _cell("ScaleMaskSoftmax", scale, route=route)
    return cell(x, mask)


def bias_dropout_add(
    x: Any, bias: Any, residual: Any, key: Any, *, p: float = 0.5, route: str = ""
) -> Any:
    """dropout(x + bias) + residual.

    Args:
        x, bias, residual: as `custom_ops.BiasDropoutAdd` takes them.
        key: int32 of shape (1,): the same key drops the same elements.
        p: the share that is dropped; 0 drops none.
    """
    cell = _cell("BiasDropoutAdd", p, route=route)
    return cell(x, bias, residual, key)


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
    pairs = tuple(map(tuple, anchors))
    cell = _cell("BoxDecode", pairs, stride, version, float16_inside, route=route)
    return cell(x)


def iou(boxes: Any, others: Any, *, route: str = "") -> Any:
    """How much each box and each other overlap; see `custom_ops.IoU`."""
    cell = _cell("IoU", route=route)
    return cell(boxes, others)


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
    cell = _cell("NMS", score_threshold, iou_threshold, max_output, class_aware)
    return cell(boxes, scores)
