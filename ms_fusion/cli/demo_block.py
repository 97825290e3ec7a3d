"""Defines the net of `ms-fusion demo`: a GPT-like transformer block in plain MindSpore code."""

import mindspore
from mindspore import nn, ops


class Attention(nn.Cell):
    """Causal self-attention with several heads."""

    def __init__(self, width: int, heads: int, length: int):
        super().__init__()
        self.heads = heads
        self.head_width = width // heads
        self.query = nn.Dense(width, width)
        self.key = nn.Dense(width, width)
        self.value = nn.Dense(width, width)
        self.output = nn.Dense(width, width)
        future = 1 - ops.tril(ops.ones((length, length), mindspore.float32))
        self.mask = mindspore.Parameter(-1e4 * future, name="mask", requires_grad=False)

    def split(self, x):
        """Splits the heads: (batch, length, width) → (batch, heads, length, width / heads)."""
        batch, length, _ = x.shape
        return x.reshape(batch, length, self.heads, self.head_width).transpose(0, 2, 1, 3)

    def construct(self, x):
        batch, length, width = x.shape
        query = self.split(self.query(x))
        key = self.split(self.key(x))
        value = self.split(self.value(x))
        scores = ops.matmul(query, key.transpose(0, 1, 3, 2)) / self.head_width**0.5
        weights = ops.softmax(scores + self.mask, -1)
        mixed = ops.matmul(weights, value).transpose(0, 2, 1, 3)
        return self.output(mixed.reshape(batch, length, width))


class FeedForward(nn.Cell):
    """Two dense layers with SiLU, x · sigmoid(x), between them."""

    def __init__(self, width: int):
        super().__init__()
        self.up = nn.Dense(width, 4 * width)
        self.down = nn.Dense(4 * width, width)

    def construct(self, x):
        hidden = self.up(x)
        return self.down(hidden * ops.sigmoid(hidden))


class Block(nn.Cell):
    """Layer norm and attention, then layer norm and feed-forward.

    There are two residual connections. One adds the result of attention to the input of the first
    layer norm. The other adds the result of feed-forward to the input of the second layer norm.

    Args:
        width: size of a token's vector.
        heads: number of attention heads; divides `width`.
        length: number of tokens.
    """

    def __init__(self, width: int = 256, heads: int = 8, length: int = 128):
        super().__init__()
        self.norm1 = nn.LayerNorm((width,))
        self.attention = Attention(width, heads, length)
        self.norm2 = nn.LayerNorm((width,))
        self.feed_forward = FeedForward(width)
        self.set_train(False)

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))
