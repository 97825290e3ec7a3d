"""Defines a subclass of nn.MultiheadAttention that uses fused attention where possible."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, Cell, ms, nn, ops
from custom_ops.operators.attention import ScaledDotProductAttention
from custom_ops.patching.inlinable_calls import ORIGINAL_CONSTRUCT

_Base: Any = nn.MultiheadAttention if HAS_MINDSPORE else Cell
PART = "fused_attention"


class MultiheadAttention(_Base):
    """Subclass of nn.MultiheadAttention whose `construct` uses fused attention.

    `patch` assigns this class to an existing nn.MultiheadAttention object.

    The original `construct` runs if the call requests the attention weights, or if the query is not
    three-dimensional. In training, the original `construct` also runs if dropout is active, or if
    there is a mask and `mask_in_training` is false.
    """

    def construct(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> Any:
        masked = key_padding_mask is not None or attn_mask is not None
        if (
            need_weights
            or query.ndim != 3
            or (
                self.training
                and (self.dropout > 0 or (masked and not self.fused_attention.mask_in_training))
            )
        ):
            return self.construct_as_written(
                query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights
            )
        if not self.batch_first:
            query, key, value = query.swapaxes(0, 1), key.swapaxes(0, 1), value.swapaxes(0, 1)
        batch, queries, keys, size = query.shape[0], query.shape[1], key.shape[1], self.embed_dim
        if self.in_proj_weight is None:
            of_q, of_k, of_v = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        else:
            weight = self.in_proj_weight
            of_q, of_k, of_v = weight[:size], weight[size : 2 * size], weight[2 * size :]
        q, k, v = ops.matmul(query, of_q.T), ops.matmul(key, of_k.T), ops.matmul(value, of_v.T)
        if self.in_proj_bias is not None:
            bias = self.in_proj_bias
            q, k, v = q + bias[:size], k + bias[size : 2 * size], v + bias[2 * size :]
        heads, width = self.num_heads, self.head_dim
        mask = None
        if attn_mask is not None:
            mask = attn_mask
            if mask.dtype == ms.uint8:
                mask = mask.astype(ms.bool_)
            if mask.ndim == 3:
                mask = mask.reshape((batch, heads, queries, keys))
        if key_padding_mask is not None:
            padding = key_padding_mask.reshape((batch, 1, 1, keys))
            if mask is None:
                mask = padding
            elif mask.dtype == ms.bool_:
                mask = ops.logical_or(mask, padding)
            else:
                mask = mask + padding
        if mask is not None and mask.dtype != ms.bool_:
            mask = mask.astype(q.dtype)
        made = self.fused_attention(
            q.reshape((batch, queries, heads, width)),
            k.reshape((batch, keys, heads, width)),
            v.reshape((batch, keys, heads, width)),
            mask,
        )
        made = self.out_proj(made.reshape((batch, queries, size)))
        if not self.batch_first:
            made = made.swapaxes(0, 1)
        return (made,)


if HAS_MINDSPORE:
    setattr(MultiheadAttention, ORIGINAL_CONSTRUCT, nn.MultiheadAttention.construct)


def why_not(cell: Any) -> str:
    """Returns the reason why an nn.MultiheadAttention cannot be patched, or an empty string."""
    if cell.bias_k is not None or cell.add_zero_attn:
        return "it adds keys of its own"
    return ""


def build_attention(*, mask_in_training: bool) -> Any:
    """Builds the fused attention that `construct` calls."""
    made = ScaledDotProductAttention(layout="BSND")
    made.mask_in_training = mask_in_training
    return made
