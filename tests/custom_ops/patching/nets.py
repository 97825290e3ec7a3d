# ruff: noqa: RUF005, SIM108 - MindSpore reads it, and libraries write so
"""Small nets in the styles of MindSpore libraries, for `patch`; the code is our own."""

import math

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer
from mindspore.ops import operations as P


class BasicBlock(nn.Cell):
    """ResNet style: one shared relu, normalisations as attributes."""

    def __init__(self, channels, out, stride=1, down_sample=None):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, pad_mode="pad", padding=1)
        self.bn1 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, 1, pad_mode="pad", padding=1)
        self.bn2 = nn.BatchNorm2d(out)
        self.down_sample = down_sample

    def construct(self, x):
        """Forward computation."""
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.conv2(out)
        out = self.bn2(out)
        if self.down_sample is not None:
            identity = self.down_sample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Cell):
    """Layers in nn.SequentialCell, the stem as attributes with a primitive."""

    def __init__(self, widths=(8, 16), counts=(1, 1), classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], 7, 2, pad_mode="pad", padding=3)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.relu = P.ReLU()
        self.max_pool = nn.MaxPool2d(3, 2, pad_mode="same")
        layers, channels = [], widths[0]
        for number, (width, count) in enumerate(zip(widths, counts, strict=True)):
            for block in range(count):
                stride = 2 if number and not block else 1
                down = None
                if stride != 1 or channels != width:
                    down = nn.SequentialCell(
                        nn.Conv2d(channels, width, 1, stride), nn.BatchNorm2d(width)
                    )
                layers.append(BasicBlock(channels, width, stride, down))
                channels = width
        self.layers = nn.SequentialCell(layers)
        self.head = nn.Dense(channels, classes)

    def construct(self, x):
        """Forward computation."""
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu(x)
        x = self.max_pool(x)
        x = self.layers(x)
        return self.head(ops.mean(x, (2, 3)))


class ConvUnit(nn.Cell):
    """Darknet style: the activation is a function."""

    def __init__(self, channels, out, kernel, act="leaky"):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, pad_mode="same")
        self.bn = nn.BatchNorm2d(out, momentum=0.97)
        self.act = nn.LeakyReLU(0.1) if act == "leaky" else nn.SiLU()

    def construct(self, x):
        """Forward computation."""
        return self.act(self.bn(self.conv(x)))


class Darknet(nn.Cell):
    """Residual blocks in an nn.CellList; the intermediate of the last layer has two readers."""

    def __init__(self, channels=8, act="leaky"):
        super().__init__()
        self.stem = ConvUnit(3, channels, 3, act)
        self.blocks = nn.CellList(
            [
                nn.SequentialCell(
                    ConvUnit(channels, channels // 2, 1, act),
                    ConvUnit(channels // 2, channels, 3, act),
                )
                for _ in range(2)
            ]
        )
        self.last = nn.Conv2d(channels, channels, 1)
        self.norm = nn.BatchNorm2d(channels)

    def construct(self, x):
        """Forward computation."""
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        y = self.last(x)
        return self.norm(y) + y


class Listed(nn.Cell):
    """Layers in an nn.CellList, called in a loop; an embedding; a function of `ops` after a
    convolution.
    """

    def __init__(self, depth=2):
        super().__init__()
        cells = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.SiLU()]
        for _ in range(depth - 1):
            cells += [nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.SiLU()]
        self.features, self.depth = nn.CellList(cells), depth
        self.convs = nn.CellList([nn.Conv2d(4, 4, 1) for _ in range(depth)])
        self.norms = nn.CellList([nn.BatchNorm2d(4) for _ in range(depth)])
        self.table = nn.Embedding(10, 4)

    def construct(self, x, ids):
        """Forward computation."""
        for layer in self.features:
            x = layer(x)
        for number in range(self.depth):
            x = ops.relu(self.norms[number](self.convs[number](x)))
        return ops.mean(x, (2, 3)) + ops.mean(self.table(ids), 1)


class BertSelfAttention(nn.Cell):
    """Helper methods, optional arguments, a shape check, weights that only some calls request."""

    def __init__(self, size, heads, drop=0.1):
        super().__init__()
        self.num_attention_heads, self.attention_head_size = heads, size // heads
        self.all_head_size = size
        self.query, self.key, self.value = (nn.Dense(size, size) for _ in range(3))
        self.dropout = nn.Dropout(p=drop)
        self.is_decoder = False

    def transpose_for_scores(self, x):
        """(batch, heads, tokens, width)"""
        shape = x.shape[:-1] + (self.num_attention_heads, self.attention_head_size)
        return x.view(shape).transpose(0, 2, 1, 3)

    def construct(
        self, hidden_states, attention_mask=None, head_mask=None, past=None, output_attentions=False
    ):
        """Forward computation."""
        query_layer = self.transpose_for_scores(self.query(hidden_states))
        if past is not None:
            key_layer = ops.cat([past[0], self.transpose_for_scores(self.key(hidden_states))], 2)
            value_layer = ops.cat(
                [past[1], self.transpose_for_scores(self.value(hidden_states))], 2
            )
        else:
            key_layer = self.transpose_for_scores(self.key(hidden_states))
            value_layer = self.transpose_for_scores(self.value(hidden_states))
        if self.is_decoder:
            past = (key_layer, value_layer)
        attention_scores = ops.matmul(query_layer, key_layer.swapaxes(-1, -2))
        attention_scores = attention_scores / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            attention_scores = attention_scores + attention_mask
        attention_probs = ops.softmax(attention_scores, axis=-1)
        attention_probs = self.dropout(attention_probs)
        if head_mask is not None:
            attention_probs = attention_probs * head_mask
        context_layer = ops.matmul(attention_probs, value_layer)
        context_layer = context_layer.transpose(0, 2, 1, 3)
        context_layer = context_layer.view(context_layer.shape[:-2] + (self.all_head_size,))
        outputs = (context_layer, attention_probs) if output_attentions else (context_layer,)
        if self.is_decoder:
            outputs = outputs + (past,)
        return outputs


class BertLayer(nn.Cell):
    """A mask computed from one of numbers; a feed-forward of a dense layer and a function."""

    def __init__(self, size=32, heads=4, drop=0.1):
        super().__init__()
        self.attention = BertSelfAttention(size, heads, drop)
        self.dense = nn.Dense(size, size)
        self.norm1, self.norm2 = nn.LayerNorm((size,)), nn.LayerNorm((size,))
        self.intermediate, self.output = nn.Dense(size, 4 * size), nn.Dense(4 * size, size)
        self.dropout = nn.Dropout(p=drop)

    def construct(self, x, mask=None, output_attentions=False):
        """Forward computation."""
        added = None
        if mask is not None:
            added = (1.0 - mask[:, None, None, :].astype(x.dtype)) * -10000.0
        outputs = self.attention(x, attention_mask=added, output_attentions=output_attentions)
        x = self.norm1(x + self.dropout(self.dense(outputs[0])))
        y = self.output(ops.gelu(self.intermediate(x)))
        y = self.norm2(x + self.dropout(y))
        return (y,) + outputs[1:]


class Gpt2Attention(nn.Cell):
    """A stored causal mask, the dtype's minimum where it is false, a method that also returns
    weights.
    """

    def __init__(self, size, heads, places=32):
        super().__init__()
        self.bias = Tensor(np.tril(np.ones((1, 1, places, places), bool)))
        self.embed_dim, self.num_heads, self.head_dim = size, heads, size // heads
        self.scale_attn_weights, self.is_cross_attention, self.layer_idx = True, False, 1
        self.scale_by_layer = True
        self.c_attn, self.c_proj = nn.Dense(size, 3 * size), nn.Dense(size, size)
        self.attn_dropout = nn.Dropout(p=0.0)

    def _attn(self, query, key, value, attention_mask=None):
        attn_weights = ops.matmul(query, key.swapaxes(-1, -2))
        if self.scale_attn_weights:
            attn_weights = attn_weights / ops.full(
                [], value.shape[-1] ** 0.5, dtype=attn_weights.dtype
            )
        if self.scale_by_layer:
            attn_weights = attn_weights / float(self.layer_idx + 1)
        if not self.is_cross_attention:
            query_length, key_length = query.shape[-2], key.shape[-2]
            causal_mask = self.bias[:, :, key_length - query_length : key_length, :key_length]
            mask_value = Tensor(-3.4e38, attn_weights.dtype)
            attn_weights = ops.where(
                causal_mask, attn_weights.astype(attn_weights.dtype), mask_value
            )
        if attention_mask is not None:
            attn_weights = attn_weights + attention_mask
        attn_weights = ops.softmax(attn_weights, axis=-1)
        attn_weights = attn_weights.astype(value.dtype)
        attn_weights = self.attn_dropout(attn_weights)
        attn_output = ops.matmul(attn_weights, value)
        return attn_output, attn_weights

    def _split_heads(self, tensor, num_heads, attn_head_size):
        tensor = tensor.view(tensor.shape[:-1] + (num_heads, attn_head_size))
        return tensor.permute(0, 2, 1, 3)

    def _merge_heads(self, tensor, num_heads, attn_head_size):
        tensor = tensor.permute(0, 2, 1, 3)
        return tensor.view(tensor.shape[:-2] + (num_heads * attn_head_size,))

    def construct(
        self, hidden_states, attention_mask=None, use_cache=False, output_attentions=False
    ):
        """Forward computation."""
        query, key, value = ops.split(self.c_attn(hidden_states), self.embed_dim, 2)
        query = self._split_heads(query, self.num_heads, self.head_dim)
        key = self._split_heads(key, self.num_heads, self.head_dim)
        value = self._split_heads(value, self.num_heads, self.head_dim)
        if use_cache is True:
            present = (key, value)
        else:
            present = None
        attn_output, attn_weights = self._attn(query, key, value, attention_mask)
        attn_output = self._merge_heads(attn_output, self.num_heads, self.head_dim)
        outputs = (self.c_proj(attn_output), present)
        if output_attentions:
            outputs += (attn_weights,)
        return outputs


class Gpt2Block(nn.Cell):
    """Pre-norm."""

    def __init__(self, size=32, heads=4):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm((size,)), nn.LayerNorm((size,))
        self.attn = Gpt2Attention(size, heads)
        self.c_fc, self.c_proj = nn.Dense(size, 4 * size), nn.Dense(4 * size, size)
        self.act = nn.GELU()

    def construct(self, x):
        """Forward computation."""
        x = x + self.attn(self.ln_1(x))[0]
        y = self.act(self.c_fc(self.ln_2(x)))
        return x + self.c_proj(y)


class LlamaRMSNorm(nn.Cell):
    """Primitives as attributes."""

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = Parameter(initializer("ones", (dim,), ms.float32), name="weight")
        self.mul, self.square, self.mean = P.Mul(), P.Square(), P.ReduceMean(keep_dims=True)
        self.add, self.rsqrt, self.cast = P.Add(), P.Rsqrt(), P.Cast()

    def construct(self, x):
        """Forward computation."""
        factor = self.rsqrt(
            self.add(self.mean(self.square(self.cast(x, ms.float32)), -1), self.eps)
        )
        output = self.mul(x, self.cast(factor, x.dtype))
        return self.mul(output, self.cast(self.weight, x.dtype))


class LlamaAttention(nn.Cell):
    """Primitives, the scale as a tensor, grouped keys, softmax in float32."""

    def __init__(self, dim, n_head, n_kv_head):
        super().__init__()
        self.n_head, self.n_kv_head, self.head_dim = n_head, n_kv_head, dim // n_head
        self.n_rep = n_head // n_kv_head
        self.wq = nn.Dense(dim, dim, has_bias=False)
        self.wk = nn.Dense(dim, n_kv_head * self.head_dim, has_bias=False)
        self.wv = nn.Dense(dim, n_kv_head * self.head_dim, has_bias=False)
        self.wo = nn.Dense(dim, dim, has_bias=False)
        self.inv_norm_factor = Tensor(1.0 / math.sqrt(self.head_dim), ms.float32)
        self.shape, self.reshape, self.transpose = P.Shape(), P.Reshape(), P.Transpose()
        self.batch_matmul, self.batch_matmul_q_k = P.BatchMatMul(), P.BatchMatMul(transpose_b=True)
        self.mul, self.add, self.softmax, self.cast = P.Mul(), P.Add(), P.Softmax(), P.Cast()
        self.tile_kv = P.Tile()

    def _repeat_kv(self, x, rep):
        if rep == 1:
            return x
        bs, n_kv_head, seqlen, head_dim = self.shape(x)
        x = self.reshape(x, (bs, n_kv_head, 1, seqlen * head_dim))
        x = self.tile_kv(x, (1, 1, rep, 1))
        return self.reshape(x, (bs, n_kv_head * rep, seqlen, head_dim))

    def _merge_heads(self, x):
        x = self.transpose(x, (0, 2, 1, 3))
        bs, seq_len, n_head, head_dim = self.shape(x)
        return self.reshape(x, (bs, seq_len, n_head * head_dim))

    def _attn(self, query, key, value, mask):
        score = self.batch_matmul_q_k(query, key)
        score = self.mul(score, self.inv_norm_factor)
        if mask is not None:
            score = self.add(mask, score)
        attention_probs = self.softmax(self.cast(score, ms.float32))
        weighted_values = self.batch_matmul(self.cast(attention_probs, value.dtype), value)
        return self._merge_heads(weighted_values)

    def construct(self, x, mask=None):
        """Forward computation."""
        bs, seq_len, _ = self.shape(x)
        query, key, value = self.wq(x), self.wk(x), self.wv(x)
        query = self.transpose(
            self.reshape(query, (bs, seq_len, self.n_head, self.head_dim)), (0, 2, 1, 3)
        )
        key = self.transpose(
            self.reshape(key, (bs, seq_len, self.n_kv_head, self.head_dim)), (0, 2, 1, 3)
        )
        value = self.transpose(
            self.reshape(value, (bs, seq_len, self.n_kv_head, self.head_dim)), (0, 2, 1, 3)
        )
        key, value = self._repeat_kv(key, self.n_rep), self._repeat_kv(value, self.n_rep)
        return self.wo(self._attn(query, key, value, mask))


class LlamaBlock(nn.Cell):
    """A gated feed-forward."""

    def __init__(self, dim=32, heads=4, kv_heads=2):
        super().__init__()
        self.attention_norm, self.ffn_norm = LlamaRMSNorm(dim), LlamaRMSNorm(dim, 1e-5)
        self.attention = LlamaAttention(dim, heads, kv_heads)
        self.w1, self.w3 = (
            nn.Dense(dim, 2 * dim, has_bias=False),
            nn.Dense(dim, 2 * dim, has_bias=False),
        )
        self.w2, self.silu = nn.Dense(2 * dim, dim, has_bias=False), nn.SiLU()

    def construct(self, x, mask=None):
        """Forward computation."""
        h = x + self.attention(self.attention_norm(x), mask)
        y = self.ffn_norm(h)
        return h + self.w2(self.silu(self.w1(y)) * self.w3(y))


class VitAttention(nn.Cell):
    """One product for q, k and v; layers and primitives constructed inside the calls."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Dense(dim, 3 * dim), nn.Dense(dim, dim)
        self.attn_drop = nn.Dropout(p=0.0)

    def construct(self, x):
        """Forward computation."""
        b, n, c = x.shape
        qkv = (
            self.qkv(x)
            .reshape(b, n, 3, self.num_heads, c // self.num_heads)
            .transpose((2, 0, 3, 1, 4))
        )
        q, k, v = ops.unstack(qkv, axis=0)
        softmax, product = nn.Softmax(axis=-1), ops.BatchMatMul()
        attn = softmax((q @ k.transpose((0, 1, 3, 2))) * self.scale)
        drop = self.attn_drop
        attn = drop(attn)
        x = product(attn, v).transpose((0, 2, 1, 3)).reshape(b, n, c)
        return self.proj(x)


class Vit(nn.Cell):
    """Patches, blocks, a head."""

    def __init__(self, dim=32, heads=4, depth=2, patch=4, classes=5):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, patch, pad_mode="valid", has_bias=True)
        self.norms = nn.CellList([nn.LayerNorm((dim,)) for _ in range(2 * depth + 1)])
        self.attns = nn.CellList([VitAttention(dim, heads) for _ in range(depth)])
        self.mlps = nn.CellList(
            [
                nn.SequentialCell(
                    nn.Dense(dim, 4 * dim), nn.GELU(approximate=False), nn.Dense(4 * dim, dim)
                )
                for _ in range(depth)
            ]
        )
        self.head, self.depth = nn.Dense(dim, classes), depth

    def construct(self, x):
        """Forward computation."""
        x = self.patch_embed(x)
        x = x.reshape(x.shape[0], x.shape[1], -1).swapaxes(1, 2)
        for number in range(self.depth):
            x = x + self.attns[number](self.norms[2 * number](x))
            x = x + self.mlps[number](self.norms[2 * number + 1](x))
        return self.head(ops.mean(self.norms[2 * self.depth](x), 1))


class Loss(nn.Cell):
    """Uses the first result."""

    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, *inputs):
        """Forward computation."""
        y = self.net(*inputs)
        if isinstance(y, tuple):
            y = y[0]
        return ((y - 0.25) ** 2).mean()
