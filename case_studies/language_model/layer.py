"""A transformer layer twice: of MindSpore's operators and of custom_ops Cells, same weights.

The parameters have the same names in both.

.. math::
    x' = x + \\mathrm{Attention}(\\mathrm{LayerNorm}(x)), \\quad
    y = x' + W_2\\, \\mathrm{SiLU}(W_1\\, \\mathrm{LayerNorm}(x') + b_1) + b_2
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops

from custom_ops import LayerNorm, LinearResidual, MatMulBiasSiLU, ScaledDotProductAttention

NOT_YET = -1e9
"""Mask value added to the scores of later characters."""


class TransformerLayer(nn.Cell):
    """As MindSpore users write it.

    Args:
        d_model: last size of input and output.
        heads: heads of the attention.
        d_ff: inner size of the feed-forward network.
        context: characters; the causal mask hides later ones.

    Inputs:
        - **x** (Tensor) - (rows, context, d_model), float32.

    Outputs:
        Tensor of that shape.
    """

    def __init__(self, d_model: int, heads: int, d_ff: int, context: int):
        super().__init__()
        self.heads, self.width = heads, d_model // heads
        self.attention_norm, self.feed_forward_norm = (
            nn.LayerNorm((d_model,)),
            nn.LayerNorm((d_model,)),
        )
        self.query, self.key, self.value, self.out = (nn.Dense(d_model, d_model) for _ in range(4))
        self.wide, self.silu, self.narrow = (
            nn.Dense(d_model, d_ff),
            nn.SiLU(),
            nn.Dense(d_ff, d_model),
        )
        self.later = Tensor(np.triu(np.full((context, context), NOT_YET, np.float32), 1))

    def in_heads(self, x: Any) -> Any:
        """(rows, context, d_model) → (rows, heads, context, width)."""
        parted = ops.reshape(x, (x.shape[0], x.shape[1], self.heads, self.width))
        return ops.transpose(parted, (0, 2, 1, 3))

    def attention(self, x: Any) -> Any:
        """Causal attention."""
        query, key, value = (
            self.in_heads(self.query(x)),
            self.in_heads(self.key(x)),
            self.in_heads(self.value(x)),
        )
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / self.width**0.5
        weights = ops.softmax(scores + self.later, -1)
        mixed = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))
        return self.out(ops.reshape(mixed, x.shape))

    def construct(self, x: Any) -> Any:
        x = x + self.attention(self.attention_norm(x))
        return x + self.narrow(self.silu(self.wide(self.feed_forward_norm(x))))


class FusedTransformerLayer(nn.Cell):
    """The same of seven custom_ops Cells: attention stores no scores, products include their
    epilogues.

    Arguments, input and output as for `TransformerLayer`; `context` comes from the input.
    """

    def __init__(self, d_model: int, heads: int, d_ff: int, context: int):
        super().__init__()
        self.parted = (-1, context, heads, d_model // heads)
        self.attention_norm, self.feed_forward_norm = LayerNorm((d_model,)), LayerNorm((d_model,))
        self.query, self.key, self.value = (nn.Dense(d_model, d_model) for _ in range(3))
        self.attention = ScaledDotProductAttention(is_causal=True, layout="BSND")
        self.out, self.narrow = LinearResidual(d_model, d_model), LinearResidual(d_ff, d_model)
        self.wide = MatMulBiasSiLU(d_model, d_ff)

    def construct(self, x: Any) -> Any:
        y = self.attention_norm(x)
        query, key, value = (
            ops.reshape(self.query(y), self.parted),
            ops.reshape(self.key(y), self.parted),
            ops.reshape(self.value(y), self.parted),
        )
        mixed = self.attention(query, key, value)
        x = self.out(ops.reshape(mixed, x.shape), x)
        return self.narrow(self.wide(self.feed_forward_norm(x)), x)


class MeanSquare(nn.Cell):
    """Loss of a single trained layer: the mean of its squared results."""

    def __init__(self, layer: nn.Cell):
        super().__init__()
        self.layer = layer

    def construct(self, x: Any) -> Any:
        y = self.layer(x)
        return ops.mean(y * y)
