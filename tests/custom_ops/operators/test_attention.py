"""Attention: masks, grouped keys, layouts, queries without keys, memory, errors."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops import ScaledDotProductAttention
from custom_ops.operators.attention import formula
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import InputError
from tests.cases import FULL, cases

TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 5e-6, "float64": 1e-13}
QUERIES, KEYS = 150, 210


def arrays(dtype="float64", heads=4, shared=2, width=24, value_width=20, seed=0):
    rng = np.random.default_rng(seed)
    shapes = (
        (2, heads, QUERIES, width),
        (2, heads // shared, KEYS, width),
        (2, heads // shared, KEYS, value_width),
    )
    made = [rng.standard_normal(shape).astype(dtype_of(dtype).numpy) for shape in shapes]
    return [*made, rng.standard_normal((*shapes[0][:3], value_width)).astype(made[0].dtype)]


def mask_of(kind: str, dtype: str):
    rng = np.random.default_rng(5)
    if kind == "none":
        return None
    shape = {
        "keys": (2, 1, 1, KEYS),
        "full": (2, 4, QUERIES, KEYS),
        "two": (QUERIES, KEYS),
        "queries": (QUERIES, 1),
        "heads": (4, 1, KEYS),
    }[kind.split()[0]]
    left_out = rng.random(shape) < 0.4
    if "bool" in kind:
        return left_out
    added = np.where(left_out, -np.inf, rng.standard_normal(shape))
    return added.astype(dtype_of(dtype).numpy)


def gradients(q, k, v, mask, grad, **attributes):
    """By the chain rule, per head, from the full matrix of weights."""
    q, k, v, grad = (one.astype(np.float64) for one in (q, k, v, grad))
    shared = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, shared, 1), np.repeat(v, shared, 1)
    identity = np.broadcast_to(np.eye(k.shape[2]), (*k.shape[:3], k.shape[2]))
    mask = mask if mask is None or mask.dtype == bool else mask.astype(np.float64)
    weights = formula(q, k, identity, mask, **attributes)
    scale = q.shape[-1] ** -0.5
    change = grad @ v.swapaxes(-1, -2)
    change = weights * (change - (weights * change).sum(-1, keepdims=True)) * scale
    found = change.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ grad
    grouped = [one.reshape(2, -1, shared, *one.shape[2:]).sum(2) for one in found]
    return [change @ k, *grouped]


def close(got, want, dtype):
    got = np.asarray(got, np.float64)
    assert got.shape == want.shape
    np.testing.assert_array_less(np.abs(got - want), TOLERANCE[dtype] * (1 + np.abs(want)) + 1e-300)


KINDS = (
    "none",
    "keys bool",
    "keys",
    "full bool",
    "full",
    "two bool",
    "two",
    "queries bool",
    "heads",
)
DTYPES = ("float32", "float16", "bfloat16", "float64")


@cases(
    "kind, is_causal, dtype",
    [
        pytest.param(
            kind,
            is_causal,
            dtype,
            marks=() if is_causal == number % 2 and place == number % 3 else FULL,
        )
        for number, kind in enumerate(KINDS)
        for is_causal in (False, True)
        for place, dtype in enumerate(DTYPES)
    ],
    sample=6,
)
def test_numbers_and_gradients(kind, is_causal, dtype):
    q, k, v, grad = arrays(dtype)
    mask = mask_of(kind, dtype)
    given = (q, k, v) if mask is None else (q, k, v, mask)
    op = ScaledDotProductAttention(is_causal=is_causal)
    wide = [one if one.dtype == bool else one.astype(np.float64) for one in given]
    close(op.forward(*given), formula(*wide, is_causal=is_causal), dtype)
    want = gradients(q, k, v, mask, grad, is_causal=is_causal)
    for got, one in zip(op.backward(grad), want, strict=True):
        close(got, one, dtype)


@cases("threads", ["1", "2", "7"])
def test_few_heads_are_shared_among_threads(threads, monkeypatch):
    monkeypatch.setenv("MS_FUSION_THREADS", threads)
    q, k, v, grad = (one[:1, :1] for one in arrays("float32", heads=1, shared=1))
    op = ScaledDotProductAttention()
    close(op.forward(q, k, v), formula(*(one.astype(np.float64) for one in (q, k, v))), "float32")
    want = gradients(*(np.repeat(one, 2, 0) for one in (q, k, v)), None, np.repeat(grad, 2, 0))
    for got, one in zip(op.backward(grad), want, strict=True):
        close(got, one[:1], "float32")


def test_queries_without_keys_give_zero_and_have_no_gradient():
    q, k, v, grad = arrays("float32")
    mask = np.zeros((QUERIES, KEYS), bool)
    mask[3] = mask[100] = True
    for one in (mask, np.where(mask, -np.inf, 0).astype(np.float32)):
        op = ScaledDotProductAttention()
        y = op.forward(q, k, v, one)
        grad_q, grad_k, grad_v = op.backward(grad)
        for row in (3, 100):
            assert not y[:, :, row].any()
            assert not grad_q[:, :, row].any()
        assert np.isfinite(grad_k).all()
        assert np.isfinite(grad_v).all()


def test_masks_of_large_numbers_are_no_infinities():
    q, k, v, _ = arrays("float32")
    mask = np.full((QUERIES, KEYS), np.finfo(np.float32).min, np.float32)
    mask[:, 7] = np.finfo(np.float32).min / 2
    y = ScaledDotProductAttention().forward(q, k, v, mask)
    want = np.repeat(v[:, :, 7:8], 2, 1)
    np.testing.assert_array_equal(y, np.broadcast_to(want, y.shape))


def test_scores_beyond_the_exponential():
    q, k, v, _ = arrays("float32")
    y = ScaledDotProductAttention(scale=300.0).forward(q, k, v)
    wide = [one.astype(np.float64) for one in (q, k, v)]
    assert np.isfinite(y).all()
    # one key has nearly all the weight; its score is a sum of many products
    assert np.quantile(np.abs(y - formula(*wide, scale=300.0)), 0.99) < 1e-2


def test_nan_stays_in_its_query():
    q, k, v, _ = arrays("float32")
    q[0, 0, 5, 3] = np.nan
    y = ScaledDotProductAttention().forward(q, k, v)
    assert np.isnan(y[0, 0, 5]).all()
    assert np.isnan(y).sum() == y.shape[-1]


def test_tokens_before_heads():
    q, k, v, grad = arrays("float32")
    one, other = ScaledDotProductAttention(), ScaledDotProductAttention(layout="BSND")
    turned = [np.ascontiguousarray(a.swapaxes(1, 2)) for a in (q, k, v, grad)]
    np.testing.assert_array_equal(other.forward(*turned[:3]).swapaxes(1, 2), one.forward(q, k, v))
    for got, want in zip(other.backward(turned[3]), one.backward(grad), strict=True):
        np.testing.assert_array_equal(got.swapaxes(1, 2), want)


def shapes(*given, dtype="float32"):
    return [np.zeros(shape, dtype) for shape in given]


Q, K = (2, 4, 5, 8), (2, 2, 6, 8)


@cases(
    "given, words",
    [
        (shapes((2, 4, 5), K, K), "q has a wrong number of dimensions; expected four: BNSD"),
        (
            shapes(Q, (2, 3, 6, 8), (2, 3, 6, 8)),
            "k does not fit q; expected batch 2, width 8 and a number of heads that divides 4",
        ),
        (shapes(Q, (2, 2, 6, 7), K), "k does not fit q"),
        (
            shapes((2, 4, 5, 0), (2, 2, 6, 0), (2, 2, 6, 0)),
            "q has a width that no scale follows from; expected a width of 1 or more, or scale",
        ),
        (shapes(Q, K, (2, 2, 7, 8)), "v does not fit k"),
        (
            shapes(Q, K, K, (3, 6)),
            "mask does not fit; expected a shape that broadcasts to (2, 4, 5, 6)",
        ),
        (
            shapes(Q, K, K, (6,), dtype="int32"),
            "dtype of q is not supported; expected float16, bfloat16, float32, float64, got int32",
        ),
        (
            [*shapes(Q, K, K), np.zeros(6)],
            "the dtype of mask is not supported; expected bool or float32, got float64",
        ),
        (
            [*shapes(Q, K), np.zeros(K)],
            "the dtypes of v and q differ; expected float32, got float64",
        ),
    ],
)
def test_what_does_not_fit(given, words):
    with pytest.raises(InputError) as caught:
        ScaledDotProductAttention().forward(*given)
    assert words in str(caught.value)
    assert "ScaledDotProductAttention: " in str(caught.value)


def test_an_unknown_layout_is_refused():
    with pytest.raises(InputError, match="unknown layout; expected BNSD or BSND, got 'BSH'"):
        ScaledDotProductAttention(layout="BSH")


def test_backward_before_forward_is_refused():
    with pytest.raises(InputError, match="was called before forward"):
        ScaledDotProductAttention().backward(np.zeros(Q, np.float32))


@pytest.mark.mindspore
@cases("route", ["native", "composite"])
@cases("mode", [pytest.param("graph", marks=FULL), "pynative"])
def test_inside_mindspore(mode, route):
    ms = pytest.importorskip("mindspore")
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    q, k, v, _ = arrays("float32")
    mask = np.triu(np.ones((QUERIES, KEYS), bool), 50)
    mask[9] = True
    cell = ScaledDotProductAttention(is_causal=True, route=route)
    tensors = [ms.Tensor(one) for one in (q, k, v)]
    wide = [one.astype(np.float64) for one in (q, k, v)]
    close(cell(*tensors).asnumpy(), formula(*wide, is_causal=True), "float32")
    for one in (mask, np.where(mask, -np.inf, 0).astype(np.float32)):
        y, found = ms.value_and_grad(cell, (0, 1, 2))(*tensors, ms.Tensor(one))
        close(y.asnumpy(), formula(*wide, mask, is_causal=True), "float32")
        want = gradients(q, k, v, mask, np.ones(y.shape, np.float32), is_causal=True)
        for got, right in zip(found, want, strict=True):
            close(got.asnumpy(), right, "float32")


@pytest.mark.mindspore
def test_the_function():
    ms = pytest.importorskip("mindspore")
    from custom_ops.functional import scaled_dot_product_attention

    q, k, v, _ = arrays("float32")
    y = scaled_dot_product_attention(*map(ms.Tensor, (q, k, v)), is_causal=True)
    np.testing.assert_array_equal(
        y.asnumpy(), ScaledDotProductAttention(is_causal=True).forward(q, k, v)
    )


@pytest.mark.mindspore
def test_numbers_of_tokens_that_are_not_known():
    ms = pytest.importorskip("mindspore")
    ms.set_context(mode=ms.GRAPH_MODE)
    cell = ScaledDotProductAttention(is_causal=True)
    unknown = ms.Tensor(shape=[None, 4, None, 8], dtype=ms.float32)
    cell.set_inputs(unknown, unknown, unknown)
    for tokens in (5, 130, 5):
        x = np.random.default_rng(tokens).standard_normal((2, 4, tokens, 8)).astype(np.float32)
        y = cell(*(ms.Tensor(x) for _ in range(3))).asnumpy()
        np.testing.assert_array_equal(y, ScaledDotProductAttention(is_causal=True).forward(x, x, x))
