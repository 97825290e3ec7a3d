"""The layer of document 003, «usage 1», as a MindSpore Cell; attention has three inputs."""

from mindspore import nn, ops


class TransformerLayer(nn.Cell):
    def __init__(self, d_model=64, n_heads=4):
        super().__init__()
        self.heads, self.each = n_heads, d_model // n_heads
        self.query, self.key, self.value = (nn.Dense(d_model, d_model) for _ in range(3))
        self.out = nn.Dense(d_model, d_model)
        self.ffn = nn.SequentialCell(
            nn.Dense(d_model, d_model * 4),
            nn.SiLU(),
            nn.Dense(d_model * 4, d_model),
        )
        self.ln1 = nn.LayerNorm((d_model,))
        self.ln2 = nn.LayerNorm((d_model,))

    def attn(self, query, key, value):
        q, k, v = self.turned(query), self.turned(key), self.turned(value)
        weights = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) / self.each**0.5, -1)
        mixed = ops.matmul(weights, v).transpose(0, 2, 1, 3)
        return self.out(mixed.reshape(query.shape))

    def turned(self, x):
        return x.reshape((x.shape[0], x.shape[1], self.heads, self.each)).transpose(0, 2, 1, 3)

    def construct(self, input):
        # Attention 子层
        h = self.ln1(input)
        x = input + self.attn(self.query(h), self.key(h), self.value(h))
        # FFN 子层
        x = x + self.ffn(self.ln2(x))
        return x


model = TransformerLayer()
