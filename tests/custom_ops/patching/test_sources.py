"""`patch` by source analysis.

Matches in nets of several styles, results, training, unpatching.
"""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.patching import patch
from tests.cases import FULL, cases

ms = pytest.importorskip("mindspore")
from mindspore import Tensor, nn  # noqa: E402

from tests.custom_ops.patching import nets  # noqa: E402

pytestmark = [pytest.mark.mindspore, pytest.mark.usefixtures("pynative")]
ATTENTION = "ScaledDotProductAttention"


GRAPH_IN_FULL = cases(
    "mode", [pytest.param(ms.GRAPH_MODE, marks=FULL), ms.PYNATIVE_MODE], ids=["graph", "pynative"]
)
"""Mode of the patched net.

The reference runs in PyNative, and in ``make test`` everything does.
"""


def tensor(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


IMAGES, TOKENS = (2, 3, 32, 32), (2, 16, 32)
KEPT = Tensor((np.random.default_rng(1).random((2, 16)) > 0.2).astype(np.int32))
NUMBERS = Tensor(np.random.default_rng(6).integers(0, 10, (2, 5)).astype(np.int32))
LATER = Tensor(np.triu(np.full((1, 1, 16, 16), -1e9, np.float32), 1))
CASES = {
    "resnet": (
        nets.ResNet,
        (IMAGES,),
        {
            "conv1": "ConvBNReLU",
            "layers.0.conv1": "ConvBNReLU",
            "layers.0.conv2": "ConvBN",
            "layers.1.conv1": "ConvBNReLU",
            "layers.1.conv2": "ConvBN",
            "layers.1.down_sample.0": "ConvBN",
        },
    ),
    "darknet": (
        nets.Darknet,
        (IMAGES,),
        {
            "stem.conv": "ConvBNLeakyReLU",
            "blocks.0.0.conv": "ConvBNLeakyReLU",
            "blocks.0.1.conv": "ConvBNLeakyReLU",
            "blocks.1.0.conv": "ConvBNLeakyReLU",
            "blocks.1.1.conv": "ConvBNLeakyReLU",
            "last": "Conv2d",
            "norm": "BatchNorm",
        },
    ),
    "listed": (
        nets.Listed,
        (IMAGES, NUMBERS),
        {
            "features.0": "ConvBNSiLU",
            "features.3": "ConvBNSiLU",
            "convs.0": "ConvBNReLU",
            "convs.1": "ConvBNReLU",
            "table": "TokenEmbedding",
        },
    ),
    "bert": (
        nets.BertLayer,
        (TOKENS, KEPT),
        {
            "attention": ATTENTION,
            "intermediate": "MatMulBiasGELU",
            "norm1": "LayerNorm",
            "norm2": "LayerNorm",
        },
    ),
    "gpt2": (
        nets.Gpt2Block,
        (TOKENS,),
        {"attn": ATTENTION, "c_fc": "MatMulBiasGELU", "ln_1": "LayerNorm", "ln_2": "LayerNorm"},
    ),
    "llama": (
        nets.LlamaBlock,
        (TOKENS, LATER),
        {
            "attention": ATTENTION,
            "w1": "MatMulBiasSiLU",
            "attention_norm": "RMSNorm",
            "ffn_norm": "RMSNorm",
        },
    ),
    "vit": (
        nets.Vit,
        (IMAGES,),
        {
            "attns.0": ATTENTION,
            "attns.1": ATTENTION,
            "patch_embed": "Conv2d",
            "mlps.0.0": "MatMulBiasGELU",
            "mlps.1.0": "MatMulBiasGELU",
            **{f"norms.{number}": "LayerNorm" for number in range(5)},
        },
    ),
    "encoder layer": (
        lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True),
        (TOKENS,),
        {
            "self_attn": ATTENTION,
            "dense1": "MatMulBiasReLU",
            "norm1": "LayerNorm",
            "norm2": "LayerNorm",
        },
    ),
}


def made(name):
    ms.set_seed(2)
    make, inputs, _ = CASES[name]
    net = make()
    rng = np.random.default_rng(3)
    for one in net.get_parameters():
        if "moving_variance" in one.name:
            one.set_data(Tensor(rng.uniform(0.5, 2, one.shape).astype(np.float32)))
    inputs = [tensor(*one) if isinstance(one, tuple) else one for one in inputs]
    return net, inputs


def array(output):
    return (output[0] if isinstance(output, tuple) else output).asnumpy()


def kinds(record):
    return {one.place: type(one.after).__name__ for one in record.replaced}


def names(net):
    return [(one.name, id(one)) for one in net.get_parameters()]


def state(net):
    return [
        (place, type(cell), list(cell._cells), cell.training)
        for place, cell in net.cells_and_names()
    ]


IN_QUICK = ("resnet", "listed", "llama", "encoder layer")
"""Nets patched in ``make test``; it also trains gpt2, and other tests patch bert."""


@cases(
    "name",
    [pytest.param(name, marks=[] if name in IN_QUICK else FULL) for name in CASES],
    per_item=8,
)
@GRAPH_IN_FULL
def test_nets_of_several_styles(name, mode):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    net, inputs = made(name)
    net.set_train(False)
    before, known, want = state(net), names(net), array(net(*inputs))
    record = patch(net, *inputs)
    assert kinds(record) == CASES[name][2]
    assert record.refused == ()
    assert names(net) == known
    ms.set_context(mode=mode)
    np.testing.assert_allclose(array(net(*inputs)), want, rtol=1e-4, atol=1e-5)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    record.undo()
    assert state(net) == before
    np.testing.assert_array_equal(array(net(*inputs)), want)


def trained(name, *, mode=None, steps):
    net, inputs = made(name)
    net.set_train()
    for _, cell in net.cells_and_names():
        if isinstance(cell, nn.Dropout):
            cell.p = 0.0  # dropout would vary between runs
    optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)
    if mode is not None:
        record = patch(net, *inputs)
        assert kinds(record) == CASES[name][2]
        ms.set_context(mode=mode)
    forward = ms.value_and_grad(nets.Loss(net), None, optimizer.parameters)
    losses = []
    for _ in range(steps):
        loss, slopes = forward(*inputs)
        optimizer(slopes)
        losses.append(float(loss.asnumpy()))
    return losses, {one.name: one.asnumpy() for one in net.get_parameters()}


@cases(
    "name, mode",
    [
        pytest.param("resnet", ms.GRAPH_MODE, marks=FULL),
        pytest.param("darknet", ms.PYNATIVE_MODE, marks=FULL),
        ("gpt2", ms.PYNATIVE_MODE),
        pytest.param("llama", ms.GRAPH_MODE, marks=FULL),
    ],
)
def test_nets_train_with_an_optimizer_that_was_there(name, mode, full):
    """Three steps; two in ``make test``."""
    steps = 3 if full else 2
    ms.set_context(mode=ms.PYNATIVE_MODE)
    want, got = trained(name, steps=steps), trained(name, mode=mode, steps=steps)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4)
    assert got[1].keys() == want[1].keys()
    for key, values in want[1].items():
        np.testing.assert_allclose(got[1][key], values, rtol=5e-3, atol=5e-4, err_msg=key)


def test_checkpoints_load_both_ways(tmp_path):
    net, inputs = made("resnet")
    want = array(net(*inputs))
    ms.save_checkpoint(net, str(tmp_path / "plain.ckpt"))
    patch(net, *inputs)
    ms.save_checkpoint(net, str(tmp_path / "patched.ckpt"))
    for source, is_patched in (("plain", True), ("patched", False)):
        other, _ = made("resnet")
        for one in other.get_parameters():
            one.set_data(one * 0 + 1)
        if is_patched:
            patch(other, *inputs)
        left, _ = ms.load_param_into_net(
            other, ms.load_checkpoint(str(tmp_path / f"{source}.ckpt"))
        )
        assert left == []
        np.testing.assert_allclose(array(other(*inputs)), want, rtol=1e-4, atol=1e-5)


def test_other_calls_do_what_they_did():
    net, (x, mask) = made("bert")
    net.set_train(False)
    heads = tensor(1, 4, 1, 1, seed=5)
    calls = (
        lambda: net(x, mask, True)[1],
        lambda: net(x)[0],
        lambda: net.attention(x, None, heads)[0],
    )
    want = [one().asnumpy() for one in calls]
    record = patch(net, x, mask)
    assert kinds(record)["attention"] == ATTENTION
    for call, values in zip(calls, want, strict=True):
        np.testing.assert_allclose(call().asnumpy(), values, rtol=1e-4, atol=1e-5)


def test_attributes_that_change_count():
    net, (x,) = made("gpt2")
    patch(net, x)
    net.attn.scale_by_layer = False
    changed = array(net(x))
    net, _ = made("gpt2")
    net.attn.scale_by_layer = False
    np.testing.assert_allclose(changed, array(net(x)), rtol=1e-4, atol=1e-5)


@GRAPH_IN_FULL
def test_dropped_weights_are_dropped_in_training(mode):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    net, inputs = made("bert")
    net.set_train(False)
    net.dropout.p = 0.0
    record = patch(net, *inputs)
    (attention,) = (one for one in record.replaced if one.place == "attention")
    assert attention.note == "not in training" and str(attention).endswith("(not in training)")
    ms.set_context(mode=mode)
    first = net(*inputs)[0].asnumpy()
    net.set_train()
    assert np.abs(net(*inputs)[0].asnumpy() - first).max() > 1e-3


def test_attention_of_half_precision():
    net, (x, _) = made("llama")
    net.to_float(ms.float32)
    attention = nets.LlamaAttention(32, 4, 2)
    x = x.astype(ms.float16)
    for one in attention.get_parameters():
        one.set_dtype(ms.float16)
    want = attention(x, LATER).astype(ms.float32).asnumpy()
    holder = nn.SequentialCell(attention)
    record = patch(holder[0], x, LATER)
    assert [type(one.after).__name__ for one in record.replaced] == [ATTENTION]
    np.testing.assert_allclose(
        attention(x, LATER).astype(ms.float32).asnumpy(), want, rtol=1e-2, atol=1e-2
    )


@GRAPH_IN_FULL
def test_without_a_sample_optional_masks_stay_optional(mode):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    net = nets.LlamaAttention(32, 4, 2)
    x = tensor(*TOKENS)
    want = [net(x, mask).asnumpy() for mask in (None, LATER)]
    record = patch(net)
    ms.set_context(mode=mode)
    assert [type(one.after).__name__ for one in record.replaced] == [ATTENTION]
    for mask, values in zip((None, LATER), want, strict=True):
        np.testing.assert_allclose(net(x, mask).asnumpy(), values, rtol=1e-4, atol=1e-5)


class Biased(nn.Cell):
    """A learned bias of the scores."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Dense(8, 24)
        self.table = ms.Parameter(Tensor(np.zeros((6, 6), np.float32)), name="table")

    def construct(self, x):
        """Forward computation."""
        q, k, v = ms.ops.split(self.proj(x), 8, 2)
        weights = ms.ops.softmax(ms.ops.bmm(q, k.swapaxes(1, 2)) / 3.0 + self.table, -1)
        return ms.ops.bmm(weights, v)


class Biasing(nn.Cell):
    """The same bias as an input."""

    def __init__(self):
        super().__init__()
        self.table = ms.Parameter(Tensor(np.zeros((6, 6), np.float32)), name="table")
        self.plain = Plain()

    def construct(self, x):
        """Forward computation."""
        return self.plain(x, self.table * 2)


class Plain(nn.Cell):
    """A mask as an input."""

    def construct(self, x, mask):
        """Forward computation."""
        weights = ms.ops.softmax(ms.ops.bmm(x, x.swapaxes(1, 2)) + mask, -1)
        return ms.ops.bmm(weights, x)


@cases("kind, reason", [(Biased, "the gradient of table: "), (Biasing, "its mask has a gradient")])
def test_a_bias_that_is_learned_stays_learned(kind, reason):
    net, x = kind(), tensor(2, 6, 8)
    net.set_train()
    record = patch(net, x)
    (attention,) = (one for one in record.refused if one.before == ("attention",))
    assert reason in attention.reason
    net.set_train(False)
    record.undo()
    assert [one.note for one in patch(net, x).replaced if one.before == ("attention",)] == [
        "not in training"
    ]
    net.set_train()
    slopes = ms.grad(nets.Loss(net), None, [net.table])(x)
    assert np.abs(slopes[0].asnumpy()).max() > 1e-3


class Kept(nn.Cell):
    """Always returns the weights."""

    def construct(self, q, k, v):
        """Forward computation."""
        weights = ms.ops.softmax(ms.ops.matmul(q, k.swapaxes(-1, -2)), -1)
        return ms.ops.matmul(weights, v), weights


class Little(nn.Cell):
    """Masked scores are small but count."""

    def construct(self, q, k, v):
        """Forward computation."""
        scores = ms.ops.matmul(q, k.swapaxes(-1, -2)).masked_fill(q[..., :1] > 0, -3.0)
        return ms.ops.matmul(ms.ops.softmax(scores, -1), v)


class Scaled(nn.Cell):
    """A scale after the mask."""

    def construct(self, q, k, v):
        """Forward computation."""
        scores = (ms.ops.matmul(q, k.swapaxes(-1, -2)) + ms.ops.sin(v[:, :, :, :1])) * 0.5
        return ms.ops.matmul(ms.ops.softmax(scores, -1), v)


class Rows(nn.Cell):
    """Each key has its own scale."""

    def construct(self, q, k, v):
        """Forward computation."""
        scores = ms.ops.matmul(q, k.swapaxes(-1, -2)) * v[:, :, :, 0].expand_dims(2)
        return ms.ops.matmul(ms.ops.softmax(scores, -1), v)


class Columns(nn.Cell):
    """A softmax over queries."""

    def construct(self, q, k, v):
        """Forward computation."""
        return ms.ops.matmul(ms.ops.softmax(ms.ops.matmul(q, k.swapaxes(-1, -2)), -2), v)


@cases(
    "kind, reason",
    [
        (Kept, "weights is read elsewhere too"),
        (Little, "scores are replaced by -3, which may count beside others"),
        (Scaled, "the scores are scaled behind a mask"),
        (Rows, "may be more than one number"),
    ],
)
def test_what_is_not_attention_is_told(kind, reason):
    q = tensor(1, 2, 5, 5)
    net = kind()
    record = patch(net, q, q, q)
    (refused,) = (one for one in record.refused if one.before == ("attention",))
    assert reason in refused.reason
    assert ATTENTION not in kinds(record).values()


def test_a_softmax_over_queries_is_no_attention():
    q = tensor(1, 2, 5, 5)
    assert kinds(patch(Columns(), q, q, q)) == {"Columns": "Softmax"}


class Chains(nn.Cell):
    """Convolutions with a conditional normalisation, or with further readers."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)
        self.again, self.other = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)
        self.third, self.last = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)
        self.relu = nn.ReLU()

    def construct(self, x, flag):
        """Forward computation."""
        y = self.conv(x)
        if flag.sum() > 0:
            y = self.norm(y)
        z = self.again(y)
        w = self.other(z)
        u = self.last(self.third(w)) if x.shape[0] > 1 else w
        return self.relu(u) + z


def test_rows_with_other_readers_stay():
    net = Chains()
    record = patch(net, tensor(2, 3, 6, 6), Tensor(np.ones(2, np.float32)))
    rows = {place: kind for place, kind in kinds(record).items() if "BN" in kind}
    assert rows == {"third": "ConvBN"}


@cases("kind", ["bool", "float"], sample=2)
@cases("batch_first", [True, False])
@GRAPH_IN_FULL
def test_heads_of_mindspore_with_masks(kind, batch_first, mode):
    ms.set_context(mode=ms.PYNATIVE_MODE)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.attn = nn.MultiheadAttention(16, 4, batch_first=batch_first)

        def construct(self, q, k, padding, mask):
            return self.attn(q, k, k, key_padding_mask=padding, need_weights=False, attn_mask=mask)[
                0
            ]

    net = Net()
    q, k = (
        (tensor(2, 5, 16), tensor(2, 7, 16, seed=1))
        if batch_first
        else (tensor(5, 2, 16), tensor(7, 2, 16, seed=1))
    )
    rng = np.random.default_rng(4)
    padding, mask = rng.random((2, 7)) > 0.8, rng.random((5, 7)) > 0.8
    padding[:, 0] = mask[:, 0] = False
    if kind == "float":
        padding, mask = (np.where(one, -1e9, 0).astype(np.float32) for one in (padding, mask))
    given = (q, k, Tensor(padding), Tensor(mask))
    want = net(*given).asnumpy()
    record = patch(net, *given)
    assert kinds(record) == {"attn": ATTENTION}
    ms.set_context(mode=mode)
    np.testing.assert_allclose(net(*given).asnumpy(), want, rtol=1e-4, atol=1e-5)
    record.undo()
    assert type(net.attn) is nn.MultiheadAttention and "fused_attention" not in net.attn._cells


class GemmaRMSNorm(nn.Cell):
    """The name misleads: it computes one plus the weight."""

    def __init__(self, size):
        super().__init__()
        self.eps = 1e-6
        self.weight = ms.Parameter(Tensor(np.full(size, 1e-7, np.float32)), name="weight")

    def construct(self, x):
        """Forward computation."""
        return x * ms.ops.rsqrt((x * x).mean(-1, True) + self.eps) * (1.0 + self.weight)


def test_a_name_alone_is_not_believed():
    net = nn.SequentialCell(GemmaRMSNorm(8))
    record = patch(net, tensor(3, 8))
    assert not record.replaced and " off where " in record.refused[0].reason
    assert "only on a sample" in patch(nn.SequentialCell(nets.LlamaRMSNorm(8))).refused[0].reason
