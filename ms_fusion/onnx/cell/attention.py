"""Emits MindSpore code for ONNX ``Attention``.

The emitted code supports grouped queries, a KV cache, masks and sliding windows.
"""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx.cell.functions import tanh
from ms_fusion.onnx.cell.operator_use import OperatorUse, python_literal

DTYPES = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}
"""ONNX's dtype code → name of the dtype, for the supported values of ``softmax_precision``."""
_MINUS_INFINITY = float("-inf")


def attention(use: OperatorUse) -> str:
    """Emits a call of `scaled_dot_product` for ONNX ``Attention``."""
    given = ", ".join(use.text(place) or "None" for place in range(7))
    heads = int(use.attr("q_num_heads", 0)), int(use.attr("kv_num_heads", 0))
    scale = use.attr("scale")
    window = int(use.attr("left_window_size", -1)), int(use.attr("right_window_size", -1))
    precision = use.attr("softmax_precision")
    if precision is not None and precision not in DTYPES:
        raise use.refusal("a softmax in that dtype")
    told = (
        str(heads),
        "None" if scale is None else python_literal(float(scale)),
        str(bool(use.attr("is_causal", 0))),
        str(window),
        python_literal(float(use.attr("softcap", 0.0))),
        str(int(use.attr("qk_matmul_output_mode", 0))),
        "None" if precision is None else use.dtype(DTYPES[precision]),
    )
    made, count = f"attention.scaled_dot_product({given}, {', '.join(told)})", len(use.node.outputs)
    return f"{made}[:{count}]" if count > 1 else f"{made}[0]"


def split_heads(x: Any, heads: int) -> Any:
    """Reshapes (batch, tokens, heads · width) to (batch, heads, tokens, width)."""
    return ops.swapaxes(ops.reshape(x, (x.shape[0], x.shape[1], heads, -1)), 1, 2)


def scaled_dot_product(
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    past_key: Any,
    past_value: Any,
    lengths: Any,
    heads: tuple[int, int],
    scale: Any,
    causal: bool,
    window: tuple[int, int],
    softcap: float,
    mode: int,
    precision: Any,
) -> tuple[Any, Any, Any, Any]:
    """Computes softmax(scale · q kᵀ + mask) v with a KV cache.

    The result is 0 for a query that attends to no key. bfloat16 operands are multiplied in float32,
    because MindSpore has no matrix product for bfloat16.

    Args:
        q, k, v: tensors (batch, heads, tokens, width) or (batch, tokens, heads · width).
        mask: additive or boolean mask, or None.
        past_key, past_value: the cached keys and values, or None.
        lengths: number of valid keys of each sequence of the batch, or None.
        heads: (number of query heads, number of key heads), for tensors of three axes.
        scale: factor of the scores; None for 1 / √width.
        causal: whether a query attends only to keys at the same or an earlier position.
        window: largest distance of a key (to the left, to the right) of a query; −1 for no limit.
        softcap: limit c of the scores, by c · tanh(scores / c); 0 for no limit.
        mode: ONNX's ``qk_matmul_output_mode``, which selects the returned scores. These are the
            scores after the softcap (0 or 1), after the addition of the mask (2), or after the
            softmax (3).
        precision: dtype of the softmax; None for the dtype of the scores.

    Returns:
        A tuple (result, keys, values, scores). ``keys`` and ``values`` are `k` and `v` with
        separate heads, including the cached keys and values.
    """
    dtype, is_flat = q.dtype, q.ndim == 3
    if is_flat:
        q, k, v = split_heads(q, heads[0]), split_heads(k, heads[1]), split_heads(v, heads[1])
    offset = 0
    if past_key is not None:
        k, v = ops.concat((past_key, k), 2), ops.concat((past_value, v), 2)
        offset = past_key.shape[2]
    elif lengths is not None:
        offset = ops.reshape(lengths, (-1, 1, 1, 1)) - q.shape[2]
    kept = k, v
    if dtype == mindspore.bfloat16:
        q, k, v = (
            ops.cast(q, mindspore.float32),
            ops.cast(k, mindspore.float32),
            ops.cast(v, mindspore.float32),
        )
    shared = q.shape[1] // k.shape[1]
    if shared > 1:
        k, v = ops.repeat_interleave(k, shared, 1), ops.repeat_interleave(v, shared, 1)
    root = (q.shape[3] ** -0.5 if scale is None else scale) ** 0.5
    scores = ops.matmul(q * root, ops.swapaxes(k, 2, 3) * root)
    if softcap > 0:
        scores = tanh(scores / softcap) * softcap
    added = bias(q, k.shape[2], mask, offset, lengths, causal, window)
    masked = scores + added
    found = masked_softmax(masked if precision is None else ops.cast(masked, precision))
    is_empty = ops.amax(added, -1, True) == _MINUS_INFINITY
    found = ops.cast(ops.where(is_empty, ops.zeros_like(found), found), q.dtype)
    made = ops.cast(ops.matmul(found, v), dtype)
    if is_flat:
        made = ops.reshape(ops.swapaxes(made, 1, 2), (made.shape[0], made.shape[2], -1))
    told = (scores, scores, masked, found)[mode]
    return made, kept[0], kept[1], ops.cast(told, dtype)


def bias(
    q: Any, keys: int, mask: Any, offset: Any, lengths: Any, causal: bool, window: tuple[int, int]
) -> Any:
    """Returns the additive mask of the scores, with −∞ where a query must not attend to a key.

    `keys` is the number of keys, and `offset` is the position of the first query among the keys.
    The other arguments are those of `scaled_dot_product`.
    """
    place = ops.expand_dims(ops.arange(q.shape[2]), 1) + offset
    key = ops.expand_dims(ops.arange(keys), 0)
    is_seen = key >= 0
    if causal:
        is_seen = ops.logical_and(is_seen, key <= place)
    if window[0] >= 0:
        is_seen = ops.logical_and(is_seen, place - key <= window[0])
    if window[1] >= 0:
        is_seen = ops.logical_and(is_seen, key - place <= window[1])
    if lengths is not None:
        is_seen = ops.logical_and(is_seen, key < ops.reshape(lengths, (-1, 1, 1, 1)))
    nothing = ops.full((1, 1), _MINUS_INFINITY, dtype=q.dtype)
    if mask is None:
        return ops.where(is_seen, ops.zeros_like(nothing), nothing)
    lacking = keys - mask.shape[-1]
    if mask.dtype == mindspore.bool_:
        mask = ops.where(mask, ops.zeros_like(nothing), nothing)
    mask = ops.cast(mask, q.dtype)
    if lacking > 0:
        mask = ops.concat(
            (mask, ops.full((*mask.shape[:-1], lacking), _MINUS_INFINITY, dtype=q.dtype)), -1
        )
    return ops.where(is_seen, mask, nothing)


def masked_softmax(x: Any) -> Any:
    """Returns the softmax over the last axis, which is zero for rows that contain only −∞."""
    top = ops.amax(x, -1, True)
    found = ops.exp(x - ops.where(top == _MINUS_INFINITY, ops.zeros_like(top), top))
    total = ops.sum(found, -1, True)
    return found / ops.where(total == 0, ops.ones_like(total), total)
