"""Attention as CANN builds it: products of the cube and vectors between them, in a row, one block of keys after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from custom_ops.operators.products import (
    PLACES,
    PRODUCT_ADDED,
    PRODUCT_ON_SHARE,
    PRODUCT_WITH_ROWS,
    PRODUCTS_OF_ROWS,
    ROUNDED,
    ZEROS,
)
from custom_ops.tbe_bridge.steps import AnyStep, TbeBlocks, TbeStep, TbeSteps, step_operator

KEYS = 256
"""Of a block: what is held of weights is so much for each query."""
_SUMS = dict.fromkeys(("scores", "most", "total", "key_places", "query_places"), "float32")
_SLOPES = dict.fromkeys(
    ("scores", "grad_weights", "normaliser", "share", "key_places", "query_places"), "float32"
)


def _column(shape: Sequence[int], size: int = 1) -> tuple[int, ...]:
    return (*shape[:-1], size)


START = step_operator(
    "AttentionStart",
    ("q", "v"),
    ("most", "total", "sums"),
    "attention_start",
    lambda q, v: (_column(q), _column(q), _column(q, v[-1])),
    lambda q, v: ("float32",) * 3,
    "What streaming softmax begins with.",
)
WEIGHTS = step_operator(
    "AttentionWeights",
    ("scores", "most", "total", "mask", "key_places", "query_places"),
    ("weights", "next_most", "next_total", "share"),
    "attention_weights",
    lambda scores, most, *_, **__: (scores, most, most, most),
    lambda *_: ("float16", *("float32",) * 3),
    "Weights of a block of keys, and what is known of all up to there.",
    attributes={"is_causal": False, "masked": False},
    given=_SUMS | {"mask": "bool"},
)
FINISH = step_operator(
    "AttentionFinish",
    ("sums", "most", "total"),
    ("y", "normaliser"),
    "attention_finish",
    lambda sums, most, total: (sums, most[:-1]),
    lambda *_: ("float16", "float32"),
    "What streaming softmax ends with.",
    given=dict.fromkeys(("sums", "most", "total"), "float32"),
)
SHARE = step_operator(
    "RowsProduct",
    ("x", "y"),
    ("total",),
    "rows_product",
    lambda x, y: (_column(x),),
    lambda *_: ("float32",),
    "Σ x·y over the last axis, in float32.",
)
SLOPES = step_operator(
    "AttentionSlopes",
    ("scores", "grad_weights", "normaliser", "share", "mask", "key_places", "query_places", "q"),
    ("weights", "slopes"),
    "attention_slopes",
    lambda scores, *_, **__: (scores, scores),
    lambda *_: ("float16",) * 2,
    "Weights of a block of keys again, and the gradient of its products.",
    attributes={"is_causal": False, "masked": False, "scale": 1.0, "by_width": False},
    given=_SLOPES | {"mask": "bool", "q": "float16"},
)
SWAPPED = step_operator(
    "SwappedAxes",
    ("x",),
    ("y",),
    "swapped_axes",
    lambda x: ((x[0], x[2], x[1], *x[3:]),),
    lambda x: (x,),
    "Axes 1 and 2 in the other order.",
)


def _scaled(scale: float | None) -> dict[str, Any]:
    return {"by_width": True} if scale is None else {"scale": float(scale)}


def _swapped(layout: str, *names: str) -> tuple[TbeStep, ...]:
    """Heads before tokens, or back again."""
    if layout == "BNSD":
        return ()
    return tuple(TbeStep(SWAPPED, (name,), (name,)) for name in names)


_PLACES = (
    TbeStep(PLACES, ("k",), ("key_places",), {"in_row": True}),
    TbeStep(PLACES, ("q",), ("query_places",)),
)
_CUT = {"k": -2, "v": -2, "key_places": -1}


def tbe_steps(
    scale: float | None, is_causal: bool, layout: str, *, masked: bool = False
) -> TbeSteps:
    """y and the normaliser: each block's scores, its weights, and the values that they weigh, added to those before."""
    mask = "mask" if masked else "key_places"  # which is not read as a mask then
    told = {"is_causal": is_causal, "masked": masked}
    block: tuple[AnyStep, ...] = (
        TbeStep(PRODUCT_WITH_ROWS, ("q", "k"), ("scores",), _scaled(scale)),
        TbeStep(
            WEIGHTS,
            ("scores", "most", "total", mask, "key_places", "query_places"),
            ("weights", "next_most", "next_total", "share"),
            told,
        ),
        TbeStep(PRODUCT_ON_SHARE, ("sums", "share", "weights", "v"), ("next_sums",)),
    )
    carried = {name: f"next_{name}" for name in ("most", "total", "sums")}
    cut = _CUT | ({"mask": -1} if masked else {})
    return TbeSteps(
        (
            *_swapped(layout, "q", "k", "v"),
            *_PLACES,
            TbeStep(START, ("q", "v"), ("most", "total", "sums")),
            TbeBlocks(block, cut, KEYS, carried=carried),
            TbeStep(FINISH, ("sums", "most", "total"), ("y", "normaliser")),
            *_swapped(layout, "y"),
        )
    )


def tbe_gradient_steps(
    scale: float | None, is_causal: bool, layout: str, *, masked: bool = False
) -> TbeSteps:
    """The gradients of q, added up block by block, and of each block's keys and values; weights are computed again."""
    mask = "mask" if masked else "key_places"
    told = {"is_causal": is_causal, "masked": masked, **_scaled(scale)}
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
        TbeStep(PRODUCT_WITH_ROWS, ("q", "k"), ("scores",), _scaled(scale)),
        TbeStep(PRODUCT_WITH_ROWS, ("grad_y", "v"), ("grad_weights",)),
        TbeStep(SLOPES, reads, ("weights", "slopes"), told),
        TbeStep(PRODUCTS_OF_ROWS, ("weights", "grad_y", "v"), ("grad_v",)),
        TbeStep(PRODUCTS_OF_ROWS, ("slopes", "q", "k"), ("grad_k",)),
        TbeStep(PRODUCT_ADDED, ("sums", "slopes", "k"), ("next_sums",)),
    )
    cut = _CUT | ({"mask": -1} if masked else {})
    joined = {"grad_k": -2, "grad_v": -2}
    return TbeSteps(
        (
            *_swapped(layout, "q", "k", "v", "y", "grad_y"),
            *_PLACES,
            TbeStep(SHARE, ("y", "grad_y"), ("share",)),
            TbeStep(ZEROS, ("q",), ("sums",)),
            TbeBlocks(block, cut, KEYS, carried={"sums": "next_sums"}, joined=joined),
            TbeStep(ROUNDED, ("sums",), ("grad_q",)),
            *_swapped(layout, "grad_q", "grad_k", "grad_v"),
        )
    )
