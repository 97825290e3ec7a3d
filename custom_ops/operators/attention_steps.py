"""Builds CANN operator sequences for attention; the sequences loop over blocks of keys."""

from __future__ import annotations

import math
from typing import Any

from custom_ops.core.operator_spec import FOR_FLOATS, FOR_SUMS, TbeComputation
from custom_ops.core.row_helpers import broadcast_like, sizes, widen
from custom_ops.operators.matmul_steps import (
    CAST_TO_FLOAT16,
    PLACES,
    PRODUCT_ACCUMULATION,
    PRODUCT_ON_SHARE,
    PRODUCT_WITH_ROWS,
    PRODUCTS_OF_ROWS,
    ZEROS,
    score_scale,
)
from custom_ops.tbe_bridge.tbe_sequence import AnyStep, TbeBlocks, TbeStep, TbeSteps, step_operator
from tbe_impl import dsl

LOWEST = -3.4e38
"""Finite lower bound of row maxima.

With this bound, a row in which all scores are −∞ gives e^−∞ = 0 instead of NaN.
"""
KEYS = 256
"""Number of keys in a block; limits the memory for the attention weights of a query."""
_SUMS = dict.fromkeys(("scores", "most", "total", "key_places", "query_places"), "float32")
_SLOPES = dict.fromkeys(
    ("scores", "grad_weights", "normaliser", "share", "key_places", "query_places"), "float32"
)


def _start(q: Any, v: Any) -> tuple[Any, ...]:
    *lead, _ = sizes(q)
    ends = ((-math.inf, 1), (0.0, 1), (0.0, sizes(v)[-1]))
    return tuple(dsl.broadcast(dsl.const(one, "float32"), [*lead, size]) for one, size in ends)


def _mask_scores(scores: Any, mask: Any, key_places: Any, query_places: Any) -> Any:
    """Applies the masks to the scores: an excluded score becomes −∞.

    A bool or int8 mask excludes the scores where the mask is 1. A mask of any other dtype is added
    to the scores. `key_places` and `query_places` are positions in the sequence. With positions, a
    score is also excluded if the key comes after the query. The mask may be None, and both
    positions may be None.
    """
    if mask is not None and mask.dtype in ("bool", "int8"):
        marked = broadcast_like(dsl.cast_to(mask, "float16"), scores)
        scores = dsl.vcmpsel(widen(marked), 0.5, "gt", -math.inf, scores)
    elif mask is not None:
        scores = dsl.vadd(scores, broadcast_like(widen(mask), scores))
    if key_places is not None:
        places = (broadcast_like(one, scores) for one in (key_places, query_places))
        scores = dsl.vcmpsel(*places, "gt", -math.inf, scores)
    return scores


def _weights(
    scores: Any,
    most: Any,
    total: Any,
    mask: Any,
    key_places: Any,
    query_places: Any,
    *,
    is_causal: bool,
    masked: bool,
) -> tuple[Any, ...]:
    """Computes the weights of a block of keys, and the updated state of the online softmax.

    The state consists of most, the maximum of all scores so far, and total, the sum of all weights
    so far. Let s be the scores of the block, most' = max(most, max s) and share = e^(most − most').
    Then the weights are e^(s − most'). The updated state is most' and total' = total·share + Σ
    weights. If all keys of a query are excluded, most stays −∞ and total stays 0.
    """
    places = (key_places, query_places) if is_causal else (None, None)
    left = _mask_scores(scores, mask if masked else None, *places)
    largest = dsl.vmax(most, dsl.reduce_max(left, axis=-1, keepdims=True))
    middle = dsl.vmaxs(largest, LOWEST)
    power = dsl.vexp(dsl.vsub(left, broadcast_like(middle, left)))
    share = dsl.vexp(dsl.vsub(most, middle))
    summed = dsl.vadd(dsl.vmul(total, share), dsl.reduce_sum(power, axis=-1, keepdims=True))
    return dsl.cast_to(power, "float16"), largest, summed, share


def _finish(sums: Any, most: Any, total: Any) -> tuple[Any, Any]:
    """Computes y = sums / total and the normaliser most + ln total.

    If all keys of a query are excluded, y is 0 and the normaliser is −∞.
    """
    # the key with the largest score adds 1; a smaller sum means that all keys are excluded
    total = dsl.vmaxs(total, 0.5)
    y = dsl.vmul(sums, broadcast_like(dsl.vrec(total), sums))
    normaliser = dsl.vadd(most, dsl.vlog(total))
    return dsl.cast_to(y, "float16"), dsl.ext.reshape(normaliser, sizes(most)[:-1])


def _slopes(
    scores: Any,
    grad_weights: Any,
    normaliser: Any,
    share: Any,
    mask: Any,
    key_places: Any,
    query_places: Any,
    q: Any,
    *,
    is_causal: bool,
    masked: bool,
    scale: float,
    by_width: bool,
) -> tuple[Any, Any]:
    """Computes the weights e^(s − normaliser) of the scores s, and the gradient of q kᵀ.

    The gradient of q kᵀ is scale·weights·(grad_weights − share). Here share is the sum Σ y·grad_y
    of each query, and grad_weights is the gradient of the weights.
    """
    places = (key_places, query_places) if is_causal else (None, None)
    left = _mask_scores(scores, mask if masked else None, *places)
    middle = dsl.vmaxs(dsl.ext.reshape(normaliser, sizes(share)), LOWEST)
    power = dsl.vexp(dsl.vsub(left, broadcast_like(middle, left)))
    rest = dsl.vsub(grad_weights, broadcast_like(share, grad_weights))
    slopes = dsl.vmuls(dsl.vmul(power, rest), score_scale(q, scale, by_width=by_width))
    return dsl.cast_to(power, "float16"), dsl.cast_to(slopes, "float16")


_WITH_MASK = TbeComputation(dtypes=("float32",), other_dtypes={"mask": ("float16", "float32")})
"""Dtypes of the input ``mask``: a bool mask, an added mask, or an unread float32 placeholder."""
START = step_operator(
    "AttentionStart",
    ("q", "v"),
    ("most", "total", "sums"),
    _start,
    lambda q, v: ("float32",) * 3,
    "Initial state of the online softmax.",
    tbe=FOR_FLOATS,
)
WEIGHTS = step_operator(
    "AttentionWeights",
    ("scores", "most", "total", "mask", "key_places", "query_places"),
    ("weights", "next_most", "next_total", "share"),
    _weights,
    lambda *_: ("float16", *("float32",) * 3),
    "Weights of a block of keys, and the online softmax state after it.",
    tbe=_WITH_MASK,
    attributes={"is_causal": False, "masked": False},
    given=_SUMS | {"mask": "bool"},
)
FINISH = step_operator(
    "AttentionFinish",
    ("sums", "most", "total"),
    ("y", "normaliser"),
    _finish,
    lambda *_: ("float16", "float32"),
    "Output and normaliser from the final online softmax state.",
    tbe=FOR_SUMS,
    given=dict.fromkeys(("sums", "most", "total"), "float32"),
)
ROWS_PRODUCT = step_operator(
    "RowsProduct",
    ("x", "y"),
    ("total",),
    lambda x, y: dsl.reduce_sum(dsl.vmul(widen(x), widen(y)), axis=-1, keepdims=True),
    lambda *_: ("float32",),
    "Σ x·y over the last axis, in float32.",
    tbe=FOR_FLOATS,
)
SLOPES = step_operator(
    "AttentionSlopes",
    ("scores", "grad_weights", "normaliser", "share", "mask", "key_places", "query_places", "q"),
    ("weights", "slopes"),
    _slopes,
    lambda *_: ("float16",) * 2,
    "Recomputed weights of a block of keys, and the gradient of its scores.",
    tbe=_WITH_MASK,
    attributes={"is_causal": False, "masked": False, "scale": 1.0, "by_width": False},
    given=_SLOPES | {"mask": "bool", "q": "float16"},
)
SWAP_AXES = step_operator(
    "SwappedAxes",
    ("x",),
    ("y",),
    lambda x: dsl.transpose(x, [0, 2, 1, *range(3, len(x.shape))]),
    lambda x: (x,),
    "Transposes axes 1 and 2.",
    tbe=FOR_FLOATS,
)


def _scale_attributes(scale: float | None) -> dict[str, Any]:
    return {"by_width": True} if scale is None else {"scale": float(scale)}


def _swap_steps(layout: str, *names: str) -> tuple[TbeStep, ...]:
    """Returns the CANN operators that swap the head and token axes of the given tensors.

    For the layout BNSD the result is empty.
    """
    if layout == "BNSD":
        return ()
    return tuple(TbeStep(SWAP_AXES, (name,), (name,)) for name in names)


_PLACES = (
    TbeStep(PLACES, ("k",), ("key_places",), {"in_row": True}),
    TbeStep(PLACES, ("q",), ("query_places",)),
)
_CUT_AXES = {"k": -2, "v": -2, "key_places": -1}


def tbe_steps(
    scale: float | None, is_causal: bool, layout: str, *, masked: bool = False
) -> TbeSteps:
    """Returns the CANN operators that compute y and the log-sum-exp of each query's scores.

    For each block of keys, the operators compute the scores and attention weights, and accumulate
    the weighted values.
    """
    mask = "mask" if masked else "key_places"  # a placeholder that the step does not read
    told = {"is_causal": is_causal, "masked": masked}
    block: tuple[AnyStep, ...] = (
        TbeStep(PRODUCT_WITH_ROWS, ("q", "k"), ("scores",), _scale_attributes(scale)),
        TbeStep(
            WEIGHTS,
            ("scores", "most", "total", mask, "key_places", "query_places"),
            ("weights", "next_most", "next_total", "share"),
            told,
        ),
        TbeStep(PRODUCT_ON_SHARE, ("sums", "share", "weights", "v"), ("next_sums",)),
    )
    carried = {name: f"next_{name}" for name in ("most", "total", "sums")}
    cut = _CUT_AXES | ({"mask": -1} if masked else {})
    return TbeSteps(
        (
            *_swap_steps(layout, "q", "k", "v"),
            *_PLACES,
            TbeStep(START, ("q", "v"), ("most", "total", "sums")),
            TbeBlocks(block, cut, KEYS, carried=carried),
            TbeStep(FINISH, ("sums", "most", "total"), ("y", "normaliser")),
            *_swap_steps(layout, "y"),
        )
    )


def tbe_gradient_steps(
    scale: float | None, is_causal: bool, layout: str, *, masked: bool = False
) -> TbeSteps:
    """Returns the CANN operators of backward; they recompute the weights of each block of keys.

    The gradient of q is accumulated over the blocks. The gradients of k and v are written block by
    block: the operators for a block of keys write the rows of these keys.
    """
    mask = "mask" if masked else "key_places"
    told = {"is_causal": is_causal, "masked": masked, **_scale_attributes(scale)}
    reads = (
        "scores",
        "grad_weights",
        "normaliser",
        "share",
        mask,
        "key_places",
        "query_places",
        "q",
    )
    block: tuple[AnyStep, ...] = (
        TbeStep(PRODUCT_WITH_ROWS, ("q", "k"), ("scores",), _scale_attributes(scale)),
        TbeStep(PRODUCT_WITH_ROWS, ("grad_y", "v"), ("grad_weights",)),
        TbeStep(SLOPES, reads, ("weights", "slopes"), told),
        TbeStep(PRODUCTS_OF_ROWS, ("weights", "grad_y", "v"), ("grad_v",)),
        TbeStep(PRODUCTS_OF_ROWS, ("slopes", "q", "k"), ("grad_k",)),
        TbeStep(PRODUCT_ACCUMULATION, ("sums", "slopes", "k"), ("next_sums",)),
    )
    cut = _CUT_AXES | ({"mask": -1} if masked else {})
    joined = {"grad_k": -2, "grad_v": -2}
    return TbeSteps(
        (
            *_swap_steps(layout, "q", "k", "v", "y", "grad_y"),
            *_PLACES,
            TbeStep(ROWS_PRODUCT, ("y", "grad_y"), ("share",)),
            TbeStep(ZEROS, ("q",), ("sums",)),
            TbeBlocks(block, cut, KEYS, carried={"sums": "next_sums"}, joined=joined),
            TbeStep(CAST_TO_FLOAT16, ("sums",), ("grad_q",)),
            *_swap_steps(layout, "grad_q", "grad_k", "grad_v"),
        )
    )
