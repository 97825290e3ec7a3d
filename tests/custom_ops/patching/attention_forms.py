"""Attention in the styles of MindSpore libraries, for `patch`; the code is our own."""

import math

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, mint, nn, ops
from mindspore import numpy as mnp
from mindspore.ops import functional as F
from mindspore.ops import operations as P

SIZE, HEADS, WIDTH, TOKENS = 8, 2, 4, 6


class Projected(nn.Cell):
    """Three dense layers; each form defines the rest."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Dense(SIZE, SIZE) for _ in range(3))
        self.drop = nn.Dropout(p=0.1)

    def apart(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, WIDTH).swapaxes(1, 2)

    def stacked(self, x):
        return self.apart(x).reshape(-1, x.shape[1], WIDTH)

    def all_apart(self, x):
        return self.apart(self.query(x)), self.apart(self.key(x)), self.apart(self.value(x))

    def all_stacked(self, x):
        return self.stacked(self.query(x)), self.stacked(self.key(x)), self.stacked(self.value(x))

    def together(self, x):
        return x.swapaxes(1, 2).reshape(x.shape[0], -1, SIZE)


class GptNeo(Projected):
    """A dtype's minimum as a tensor of a tensor, behind a kept mask; a mask of numbers besides."""

    def __init__(self):
        super().__init__()
        self.bias = Tensor(np.tril(np.ones((1, 1, 16, 16), bool)))

    def _attn(self, query, key, value, attention_mask=None, head_mask=None):
        query = query.astype(ms.float32)
        key = key.astype(ms.float32)
        weights = ops.matmul(query, key.swapaxes(-1, -2))
        queries, keys = query.shape[-2], key.shape[-2]
        causal = self.bias[:, :, keys - queries : keys, :keys]
        mask_value = Tensor(np.finfo(np.float32).min)
        mask_value = Tensor(mask_value, dtype=weights.dtype)
        weights = ops.where(causal, weights, mask_value)
        if attention_mask is not None:
            weights = weights + attention_mask
        weights = ops.softmax(weights, axis=-1)
        weights = weights.astype(value.dtype)
        weights = self.drop(weights)
        if head_mask is not None:
            weights = weights * head_mask
        return ops.matmul(weights, value), weights

    def construct(self, x, attention_mask=None):
        made, _ = self._attn(
            self.apart(self.query(x)),
            self.apart(self.key(x)),
            self.apart(self.value(x)),
            attention_mask,
        )
        return self.together(made)


class Bloom(Projected):
    """ALiBi slopes in the product; another shape for the mask, the softmax and the dropout."""

    def construct(self, x, alibi, attention_mask):
        batch, tokens, _ = x.shape
        query = self.stacked(self.query(x))
        key = self.apart(self.key(x)).transpose(0, 1, 3, 2).reshape(batch * HEADS, WIDTH, tokens)
        value = self.stacked(self.value(x))
        product = alibi.baddbmm(batch1=query, batch2=key, beta=1.0, alpha=1 / math.sqrt(WIDTH))
        scores = product.view(batch, HEADS, tokens, tokens)
        given = scores.dtype
        if given == ms.float16:
            scores = scores.to(ms.float32)
        least = Tensor(np.finfo(np.float32).min, scores.dtype)
        weights = ops.masked_fill(scores, attention_mask, least)
        shares = ops.softmax(weights, axis=-1, dtype=ms.float32).astype(given)
        shares = self.drop(shares)
        shares = shares.view(batch * HEADS, tokens, tokens)
        made = ops.bmm(shares, value).view(batch, HEADS, tokens, WIDTH)
        return self.together(made)


class MindFormers(Projected):
    """Primitives and their types as attributes, an inverted mask, a softmax in a method with
    another shape.
    """

    def __init__(self, is_ascend=True):
        super().__init__()
        self.batch_matmul = P.BatchMatMul()
        self.sub, self.mul, self.add, self.reshape = P.Sub(), P.Mul(), P.Add(), P.Reshape()
        self.multiply_data = Tensor([-10000.0], dtype=ms.float32)
        self.one = Tensor([1.0], dtype=ms.float32)
        self.scale_factor = Tensor(math.sqrt(math.sqrt(WIDTH)))
        self.real_div = P.RealDiv()
        self.softmax, self.softmax_3d = (
            nn.Softmax().to_float(ms.float32),
            nn.Softmax().to_float(ms.float32),
        )
        self.softmax_dtype, self._is_ascend = ms.float32, is_ascend
        self.transpose = P.Transpose()

    def _softmax(self, scores):
        shares = None
        if (self._is_ascend and self.softmax_dtype == ms.float16) or not self._is_ascend:
            shares = self.softmax(scores)
        else:
            shape = F.shape(scores)
            shares = self.softmax_3d(self.reshape(scores, (shape[0], -1, shape[-1])))
            shares = self.reshape(shares, shape)
        return shares

    def _attn(self, query, key, value, attention_mask):
        factor = P.Cast()(self.scale_factor, P.DType()(query))
        query = self.real_div(query, factor)
        key = self.real_div(key, P.Cast()(self.scale_factor, P.DType()(key)))
        score = self.batch_matmul(query, key)
        ori_dtype = P.DType()(score)
        scores = P.Cast()(score, self.softmax_dtype)
        if attention_mask is not None:
            turned = self.sub(self.one, P.Cast()(attention_mask, P.DType()(scores)))
            adder = self.mul(turned, self.multiply_data)
            scores = self.add(adder, scores)
        shares = self._softmax(scores)
        shares = P.Cast()(shares, ori_dtype)
        shares = self.drop(shares)
        return self.batch_matmul(shares, value)

    def construct(self, x, attention_mask=None):
        query = self.apart(self.query(x))
        key = self.transpose(self.key(x).view(x.shape[0], x.shape[1], HEADS, WIDTH), (0, 2, 3, 1))
        return self.together(self._attn(query, key, self.apart(self.value(x)), attention_mask))


class MindFormersElsewhere(MindFormers):
    """For a device whose softmax has no other shape."""

    def __init__(self):
        super().__init__(is_ascend=False)


def attn_mask_fill(scores, mask):
    """The mask function of a configuration."""
    return ops.masked_fill(scores, mask.astype(ms.bool_), Tensor(-1e10, scores.dtype))


class ScaleMaskSoftmax(nn.Cell):
    """A separate attention Cell that receives the mask function."""

    def __init__(self, mask_func, softmax_compute_type=ms.float32):
        super().__init__()
        self.mask_func, self.compute = mask_func, softmax_compute_type
        self.softmax = nn.Softmax(axis=-1)

    def construct(self, x, mask=None, scale=None):
        origin = x.dtype
        if self.compute is not None:
            x = ops.cast(x, self.compute)
        if scale is not None:
            x = x * scale
        x = self.mask_func(x, mask) if mask is not None else x
        shares = self.softmax(x)
        return ops.cast(shares, origin)


class DotProduct(Projected):
    """mint functions, heads in the batch, softmax with scale and mask in a separate Cell."""

    def __init__(self):
        super().__init__()
        self.softmax_scale = Tensor(1.0 / math.sqrt(WIDTH), ms.float32)
        self.scale_mask_softmax = ScaleMaskSoftmax(attn_mask_fill)

    def construct(self, x, attention_mask=None):
        query, key, value = self.all_stacked(x)
        score = mint.bmm(query, mint.transpose(key, -2, -1))
        score = mint.mul(score, self.softmax_scale)
        shares = self.scale_mask_softmax(score, attention_mask)
        made = mint.bmm(shares, value).reshape(x.shape[0], -1, x.shape[1], WIDTH)
        return mint.transpose(made, -3, -2).reshape(x.shape[0], x.shape[1], SIZE)


class T5(Projected):
    """Unscaled; relative positions have a bias to which the mask is added in place."""

    def __init__(self):
        super().__init__()
        self.relative = nn.Embedding(2 * TOKENS, HEADS)

    def compute_bias(self, queries, keys):
        apart = ops.arange(keys)[None, :] - ops.arange(queries)[:, None]
        values = self.relative(apart + TOKENS)
        return values.transpose(2, 0, 1).expand_dims(0)

    def construct(self, hidden_states, mask=None, position_bias=None):
        queries, keys, values = (
            self.apart(self.query(hidden_states)),
            self.apart(self.key(hidden_states)),
            self.apart(self.value(hidden_states)),
        )
        scores = ops.matmul(queries, keys.swapaxes(3, 2))
        if position_bias is None:
            position_bias = self.compute_bias(queries.shape[2], keys.shape[2])
            if mask is not None:
                position_bias = position_bias + mask
        scores += position_bias
        weights = ops.softmax(scores.float(), axis=-1).type_as(scores)
        weights = ops.dropout(weights, p=0.1, training=self.training)
        made = self.together(ops.matmul(weights, values))
        return (made, position_bias)


class Vanilla(Projected):
    """A mask of kept positions, tiled and inverted; an infinity."""

    def construct(self, x, mask=None):
        query, key, value = self.all_apart(x)
        attn = ops.bmm(query, key.transpose(0, 1, 3, 2)) * WIDTH**-0.5
        attn = attn.to(ms.float32)
        if mask is not None:
            mask = mask.astype(ms.bool_).tile((1, HEADS, 1, 1))
            mask = ops.logical_not(mask)
            attn = ops.masked_fill(attn, mask, -mnp.inf)
        attn = ops.softmax(attn, axis=-1).to(x.dtype)
        return self.together(ops.bmm(attn.to(value.dtype), value))


class Fairseq(Projected):
    """Heads in the batch; padded keys are filled on four-dimensional scores, then reshaped to
    three.
    """

    def construct(self, x, key_padding_mask=None, attn_mask=None):
        batch, tokens, _ = x.shape
        query = self.stacked(self.query(x)) * WIDTH**-0.5
        key, value = self.stacked(self.key(x)), self.stacked(self.value(x))
        weights = ops.bmm(query, key.swapaxes(1, 2))
        if attn_mask is not None:
            weights += attn_mask.expand_dims(0)
        if key_padding_mask is not None:
            weights = weights.view(batch, HEADS, tokens, tokens)
            weights = weights.masked_fill(
                key_padding_mask.expand_dims(1).expand_dims(2).astype(ms.bool_), float("-inf")
            )
            weights = weights.view(batch * HEADS, tokens, tokens)
        weights = ops.softmax(weights, axis=-1)
        made = ops.bmm(weights, value).view(batch, HEADS, tokens, WIDTH)
        return self.together(made)


class Opt(Projected):
    """Heads in the batch; scores are four-dimensional for the mask alone."""

    def construct(self, x, mask=None):
        batch, tokens, _ = x.shape
        query, key, value = (
            self.stacked(self.query(x) * 0.5),
            self.stacked(self.key(x)),
            self.stacked(self.value(x)),
        )
        weights = ops.bmm(query, key.swapaxes(1, 2))
        if mask is not None:
            weights = weights.view(batch, HEADS, tokens, tokens) + mask
            weights = weights.view(batch * HEADS, tokens, tokens)
        weights = ops.softmax(weights, -1)
        return self.together(ops.bmm(weights, value).view(batch, HEADS, tokens, WIDTH))


class Swin(Projected):
    """Shifted windows in the batch; the windows of an image have separate masks."""

    def __init__(self):
        super().__init__()
        self.bias = Parameter(ops.ones((HEADS, TOKENS, TOKENS)) * 0.1, name="position_bias")

    def construct(self, x, mask=None):
        _, tokens, _ = x.shape
        query, key, value = self.all_apart(x)
        scores = ops.matmul(query, key.swapaxes(-1, -2)) / WIDTH**0.5
        scores = scores + self.bias.expand_dims(0)
        if mask is not None:
            windows = mask.shape[0]
            scores = scores.view(-1, windows, HEADS, tokens, tokens)
            scores = scores + mask.expand_dims(1).expand_dims(0)
            scores = scores.view(-1, HEADS, tokens, tokens)
        shares = ops.softmax(scores, -1)
        return self.together(ops.matmul(shares, value))


class WhereReshaped(Projected):
    """`where` on reshaped scores with an inferred size, and a tensor of the dtype's minimum."""

    def construct(self, x, mask):
        batch, tokens, _ = x.shape
        query, key, value = self.all_stacked(x)
        scores = ops.matmul(query, key.swapaxes(1, 2)) / math.sqrt(WIDTH)
        scores = ops.reshape(scores, (batch, -1, tokens, tokens))
        scores = ops.where(mask, scores, Tensor(np.finfo(np.float32).min, scores.dtype))
        scores = ops.reshape(scores, (-1, tokens, tokens))
        made = ops.matmul(ops.softmax(scores), value).view(batch, HEADS, tokens, WIDTH)
        return self.together(made)


class Selected(Projected):
    """`select` between scores and a tensor created like them."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        scores = ops.matmul(query, key.swapaxes(-2, -1)) / math.sqrt(WIDTH)
        fill = ops.ones_like(scores) * -1e9
        kept = ops.broadcast_to(mask, scores.shape)
        scores = ops.select(kept, scores, fill)
        return self.together(ops.matmul(ops.Softmax(-1)(scores), value))


class SelectedFull(Projected):
    """`Select` and `full_like`."""

    def __init__(self):
        super().__init__()
        self.select, self.softmax = P.Select(), P.Softmax(axis=-1)

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        scores = ops.matmul(query, key.swapaxes(-2, -1)) * (1.0 / math.sqrt(query.shape[-1]))
        scores = self.select(
            ops.broadcast_to(mask, scores.shape), scores, ops.full_like(scores, float("-inf"))
        )
        return self.together(ops.matmul(self.softmax(scores), value))


class Subtracted(Projected):
    """A mask of ones and zeros, inverted and subtracted."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        scores = query @ key.swapaxes(-2, -1) / math.sqrt(WIDTH)
        scores = scores - 1e9 * (1.0 - mask[:, None, None, :].astype(scores.dtype))
        return self.together(scores.softmax(-1) @ value)


class AddedWhere(Projected):
    """An additive mask, computed from a boolean one at its use."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        scores = query @ key.swapaxes(-2, -1) / math.sqrt(WIDTH)
        scores += ops.where(mask, Tensor(0.0, scores.dtype), Tensor(float("-inf"), scores.dtype))
        return self.together(ops.softmax(scores, -1) @ value)


class MinGpt(Projected):
    """A slice of a stored mask, compared with 0."""

    def __init__(self):
        super().__init__()
        self.mask = Tensor(np.tril(np.ones((1, 1, 16, 16), np.float32)))

    def construct(self, x):
        batch, tokens, size = x.shape
        key = self.key(x).view(batch, tokens, HEADS, size // HEADS).swapaxes(1, 2)
        query = self.query(x).view(batch, tokens, HEADS, size // HEADS).swapaxes(1, 2)
        value = self.value(x).view(batch, tokens, HEADS, size // HEADS).swapaxes(1, 2)
        att = (query @ key.swapaxes(-2, -1)) * (1.0 / math.sqrt(key.shape[-1]))
        att = att.masked_fill(self.mask[:, :, :tokens, :tokens] == 0, float("-inf"))
        att = ops.softmax(att, axis=-1)
        att = self.drop(att)
        return self.together(att @ value)


class MinGptWeak(MinGpt):
    """The first mask value of GPT-2."""

    def __init__(self):
        super().__init__()
        self.masked_bias = Tensor(-1e4, ms.float32)

    def construct(self, x):
        batch, tokens, size = x.shape
        key = self.key(x).view(batch, tokens, HEADS, size // HEADS).swapaxes(1, 2)
        query = self.query(x).view(batch, tokens, HEADS, size // HEADS).swapaxes(1, 2)
        value = self.value(x).view(batch, tokens, HEADS, size // HEADS).swapaxes(1, 2)
        att = ops.matmul(query, key.swapaxes(-2, -1)) / (float(value.shape[-1]) ** 0.5)
        causal = self.mask[:, :, :tokens, :tokens].bool()
        att = ops.where(causal, att, self.masked_bias.to(att.dtype))
        att = ops.softmax(att, axis=-1)
        return self.together(ops.matmul(self.drop(att), value))


def scaled_dot_product_attention(query, key, value, mask=None, dropout_p=0.0, training=False):
    """A function of the module."""
    scale = 1.0 / math.sqrt(query.shape[-1])
    weights = ops.matmul(query, ops.swapaxes(key, -2, -1)) * scale
    if mask is not None:
        weights = ops.masked_fill(weights, ops.logical_not(mask), -1e30)
    weights = ops.softmax(weights, axis=-1)
    weights = ops.dropout(weights, p=dropout_p, training=training)
    return ops.matmul(weights, value)


class ByFunction(Projected):
    """The attention is a function."""

    def construct(self, x, mask=None):
        query, key, value = self.all_apart(x)
        made = scaled_dot_product_attention(query, key, value, mask, 0.1, self.training)
        return self.together(made)


def rotate_half(x):
    """The two halves of the last axis exchanged, one of them negated."""
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return ops.cat((-second, first), axis=-1)


def apply_rotary_pos_emb(query, key, cos, sin, unsqueeze_dim=1):
    """Positions as angles."""
    cos, sin = cos.expand_dims(unsqueeze_dim), sin.expand_dims(unsqueeze_dim)
    turned = (query * cos) + (rotate_half(query) * sin)
    return turned, (key * cos) + (rotate_half(key) * sin)


def repeat_kv(states, count):
    """Repeats key heads for several query heads."""
    batch, heads, tokens, width = states.shape
    if count == 1:
        return states
    states = states[:, :, None, :, :].broadcast_to((batch, heads, count, tokens, width))
    return states.reshape(batch, heads * count, tokens, width)


class Rotary(nn.Cell):
    """Llama's: rotary positions, grouped keys, a key cache, a sliced mask."""

    def __init__(self, heads=4):
        super().__init__()
        self.heads, self.groups, self.width = heads, heads // 2, WIDTH
        self.q_proj = nn.Dense(SIZE, heads * WIDTH, has_bias=False)
        self.k_proj = nn.Dense(SIZE, 2 * WIDTH, has_bias=False)
        self.v_proj = nn.Dense(SIZE, 2 * WIDTH, has_bias=False)
        self.o_proj = nn.Dense(heads * WIDTH, SIZE, has_bias=False)
        angles = np.arange(16)[:, None] / 100.0 ** (np.arange(WIDTH) % 2 / 2)
        self.cos, self.sin = Tensor(np.cos(angles), ms.float32), Tensor(np.sin(angles), ms.float32)
        self.attention_dropout = 0.0

    def construct(self, x, attention_mask=None, past_key_value=None, use_cache=True):
        bsz, q_len, _ = x.shape
        query_states = self.q_proj(x).view(bsz, q_len, self.heads, self.width).swapaxes(1, 2)
        key_states = self.k_proj(x).view(bsz, q_len, 2, self.width).swapaxes(1, 2)
        value_states = self.v_proj(x).view(bsz, q_len, 2, self.width).swapaxes(1, 2)
        cos, sin = self.cos[:q_len][None], self.sin[:q_len][None]
        query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
        if past_key_value is not None:
            key_states = ops.cat([past_key_value[0], key_states], axis=2)
            value_states = ops.cat([past_key_value[1], value_states], axis=2)
        past = (key_states, value_states) if use_cache else None
        key_states = repeat_kv(key_states, self.groups)
        value_states = repeat_kv(value_states, self.groups)
        attn_weights = ops.matmul(query_states, key_states.swapaxes(2, 3)) / math.sqrt(self.width)
        if attention_mask is not None:
            causal_mask = attention_mask[:, :, :, : key_states.shape[-2]]
            attn_weights = attn_weights + causal_mask
        attn_weights = ops.softmax(attn_weights, axis=-1, dtype=ms.float32).to(query_states.dtype)
        attn_weights = ops.dropout(attn_weights, p=self.attention_dropout, training=self.training)
        attn_output = ops.matmul(attn_weights, value_states)
        attn_output = attn_output.swapaxes(1, 2).reshape(bsz, q_len, self.heads * self.width)
        return self.o_proj(attn_output), past


class Sdpa(nn.Cell):
    """A Cell without weights that computes attention from three tensors."""

    def __init__(self, dim, dropout=0.1):
        super().__init__()
        self.sqrt_dim, self.dropout = math.sqrt(dim), nn.Dropout(p=dropout)
        self.matmul, self.transpose = ops.BatchMatMul(), ops.Transpose()

    def construct(self, query, key, value, mask=None):
        score = self.matmul(query, self.transpose(key, (0, 1, 3, 2))) / self.sqrt_dim
        if mask is not None:
            score = score.masked_fill(mask == 0, -1e12)
        score = ops.softmax(score, -1)
        return self.matmul(self.dropout(score), value)


class ByCell(Projected):
    """The attention is a separate Cell."""

    def __init__(self):
        super().__init__()
        self.attend = Sdpa(WIDTH)

    def construct(self, x, mask=None):
        made = self.attend(
            self.apart(self.query(x)), self.apart(self.key(x)), self.apart(self.value(x)), mask
        )
        return self.together(made)


class Diffusers(Projected):
    """`baddbmm` with a zero or the mask as the addend."""

    def get_attention_scores(self, query, key, attention_mask=None):
        dtype = query.dtype
        if attention_mask is None:
            empty = ops.zeros((query.shape[0], query.shape[1], key.shape[1]), query.dtype)
            beta = 0
        else:
            empty = attention_mask
            beta = 1
        scores = ops.baddbmm(empty, query, key.swapaxes(-1, -2), beta=beta, alpha=WIDTH**-0.5)
        shares = ops.softmax(scores, axis=-1)
        return shares.to(dtype)

    def construct(self, x, attention_mask=None):
        query, key, value = self.all_stacked(x)
        shares = self.get_attention_scores(query, key, attention_mask)
        made = ops.bmm(shares, value).view(x.shape[0], HEADS, x.shape[1], WIDTH)
        return self.together(made)


class MintWhere(Projected):
    """mint functions."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        scores = mint.matmul(query, mint.transpose(key, 2, 3)) / math.sqrt(WIDTH)
        scores = mint.where(mask, scores, float("-inf"))
        shares = mint.nn.functional.softmax(scores, dim=-1, dtype=ms.float32).to(query.dtype)
        shares = mint.nn.functional.dropout(shares, p=0.1, training=self.training)
        return self.together(mint.matmul(shares, value))


class Gpt2(Projected):
    """Scores times a triangle of ones, minus a large number where it is 0."""

    low = 1e10

    def __init__(self):
        super().__init__()
        self.bias = Parameter(
            Tensor(np.tril(np.ones((1, 1, 16, 16), np.float32))), requires_grad=False
        )

    def construct(self, x):
        query, key, value = self.all_apart(x)
        w = ops.matmul(query, key.swapaxes(-1, -2)) / math.sqrt(WIDTH)
        tokens = w.shape[-1]
        b = self.bias[:, :, :tokens, :tokens]
        w = w * b - self.low * (1 - b)
        return self.together(ops.matmul(ops.softmax(w, -1), value))


class MultipliedCompared(Projected):
    """The same with a compared mask, added on a separate line, with a sufficiently low value."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        kept = (mask > 0.5).astype(ms.float32)
        scores = ops.mul(kept, ops.matmul(query, key.swapaxes(-1, -2)))
        away = ops.mul(ops.sub(1.0, kept), -10000.0)
        scores = ops.add(away, scores)
        return self.together(ops.matmul(ops.softmax(scores, -1), value))


class MultipliedGiven(Projected):
    """The mask is an input: it may be 0.5."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        scores = ops.matmul(query, key.swapaxes(-1, -2)) * mask + (1 - mask) * -10000.0
        return self.together(ops.matmul(ops.softmax(scores, -1), value))


class MultipliedAlone(Projected):
    """Scores of 0 count."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        scores = ops.matmul(query, key.swapaxes(-1, -2)) * (mask > 0.5).astype(ms.float32)
        return self.together(ops.matmul(ops.softmax(scores, -1), value))


class MultipliedElse(Projected):
    """The added mask differs from the multiplied one."""

    def construct(self, x, mask):
        query, key, value = self.all_apart(x)
        kept, other = (mask > 0.5).astype(ms.float32), (mask > -0.5).astype(ms.float32)
        scores = ops.matmul(query, key.swapaxes(-1, -2)) * kept + (1 - other) * -10000.0
        return self.together(ops.matmul(ops.softmax(scores, -1), value))
