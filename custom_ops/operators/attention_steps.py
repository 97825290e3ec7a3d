"""Builds the CANN operator sequences of attention, which loop over blocks of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from custom_ops.operators.matmul_steps import (
    CAST_TO_FLOAT16,
    PLACES,
    PRODUCT_ACCUMULATION,
    PRODUCT_ON_SHARE,
    PRODUCT_WITH_ROWS,
    PRODUCTS_OF_ROWS,
    ZEROS,
)
from custom_ops.tbe_bridge.tbe_sequence import AnyStep, TbeBlocks, TbeStep, TbeSteps, step_operator

KEYS = 256
"""Number of keys in a block; it bounds the memory for the attention weights of a query."""
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
    "Initial state of the online softmax.",
)
WEIGHTS = step_operator(
    "AttentionWeights",
    ("scores", "most", "total", "mask", "key_places", "query_places"),
    ("weights", "next_most", "next_total", "share"),
    "attention_weights",
    lambda scores, most, *_, **__: (scores, most, most, most),
    lambda *_: ("float16", *("float32",) * 3),
    "Weights of a block of keys, and the online softmax state after it.",
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
    "Output and normaliser from the final online softmax state.",
    given=dict.fromkeys(("sums", "most", "total"), "float32"),
)
ROWS_PRODUCT = step_operator(
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
    "Recomputed weights of a block of keys, and the gradient of its scores.",
    attributes={"is_causal": False, "masked": False, "scale": 1.0, "by_width": False},
    given=_SLOPES | {"mask": "bool", "q": "float16"},
)
SWAP_AXES = step_operator(
    "SwappedAxes",
    ("x",),
    ("y",),
    "swapped_axes",
    lambda x: ((x[0], x[2], x[1], *x[3:]),),
    lambda x: (x,),
    "Transposes axes 1 and 2.",
)


def _scale_attributes(scale: float | None) -> dict[str, Any]:
    return {"by_width": True} if scale is None else {"scale": float(scale)}


def _swap_steps(layout: str, *names: str) -> tuple[TbeStep, ...]:
    """Returns steps that swap the head and token axes of tensors in BSND; none for BNSD."""
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
    """Returns the forward steps, which compute y and the normaliser (log-sum-exp of the scores).

    The steps for a block of keys compute its scores and attention weights, and accumulate the
    weighted values.
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
    """Returns the backward steps, which recompute the attention weights of each block of keys.

    The gradient of q is accumulated over the blocks. The gradients of k and v are written block by
    block: the steps for a block of keys write the rows of these keys.
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
