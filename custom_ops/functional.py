"""The operators as functions of tensors."""

from __future__ import annotations

from functools import cache
from typing import Any

from custom_ops.operators.attention import ScaledDotProductAttention


@cache
def _cell(kind: Any, *attributes: Any, route: str) -> Any:
    """The Cell of these attributes, made once."""
    return kind(*attributes, route=route)


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
    cell = _cell(ScaledDotProductAttention, scale, is_causal, layout, route=route)
    return cell(q, k, v, mask)
