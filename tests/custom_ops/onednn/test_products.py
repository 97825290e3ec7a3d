"""Matrix products against float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy import special

from custom_ops.onednn import prepare_matmul, why_missing
from tbe_impl.errors import InputError
from tests.cases import cases

DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}
LOWERINGS = ("im2col",) if why_missing() else ("onednn", "im2col")


def arrays(seed: int, *shapes: tuple[int, ...], dtype: Any = np.float32) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(dtype) for shape in shapes]


SHAPES = [
    ((4, 5), (5, 3)),
    ((64, 32), (32, 48)),
    ((1, 7), (7, 1)),
    ((17, 1), (1, 13)),
    ((3, 8, 5), (3, 5, 6)),
    ((2, 3, 8, 5), (2, 3, 5, 6)),
    ((2, 3, 8, 5), (5, 6)),
    ((2, 1, 8, 5), (3, 5, 6)),
    ((8, 5), (4, 5, 6)),
]


@cases("dtype", DTYPES, sample=72, per_item=110)
@cases("turned", [(False, False), (True, False), (False, True), (True, True)])
@cases("a_shape, b_shape", SHAPES)
@cases("lowering", LOWERINGS)
def test_products(
    a_shape: tuple[int, ...],
    b_shape: tuple[int, ...],
    turned: tuple[bool, bool],
    dtype: str,
    lowering: str,
) -> None:
    a, b = arrays(1, a_shape, b_shape, dtype=DTYPES[dtype])
    given = [
        np.ascontiguousarray(item.swapaxes(-1, -2)) if turn else item
        for item, turn in zip((a, b), turned, strict=True)
    ]
    prepared = prepare_matmul(
        given[0].shape,
        given[1].shape,
        dtype=dtype,
        transpose_a=turned[0],
        transpose_b=turned[1],
        lowering=lowering,
    )
    (found,) = prepared.call(given)
    wide = a.astype(np.float64), b.astype(np.float64)
    error = np.abs(found.astype(np.float64) - wide[0] @ wide[1])
    assert found.dtype == DTYPES[dtype]
    np.testing.assert_array_less(
        error, TOLERANCE[dtype] * (np.abs(wide[0]) @ np.abs(wide[1])) + 1e-30
    )


HEADS = [(), ("a",), ("b",), ("y",), ("a", "b"), ("a", "b", "y")]
# batch, heads, rows, inner, columns
SIZES = [
    (2, 3, 8, 5, 7),
    (1, 4, 33, 16, 48),
    (3, 1, 1, 9, 17),
    (2, 2, 64, 128, 1),
    (8, 8, 128, 64, 128),
    (2, 3, 4, 0, 5),
    (2, 3, 0, 4, 5),
    (2, 3, 4, 5, 0),
]


@cases("dtype", DTYPES, sample=48, per_item=300)
@cases("turned", [(a, b, y) for a in (0, 1) for b in (0, 1) for y in (0, 1)])
@cases("heads", HEADS)
@cases("lowering", LOWERINGS)
@cases("sizes", SIZES)
def test_heads_behind_tokens(
    heads: tuple[str, ...],
    turned: tuple[int, int, int],
    dtype: str,
    lowering: str,
    sizes: tuple[int, ...],
) -> None:
    def as_it_lies(name: str, array: np.ndarray) -> np.ndarray:
        array = array.swapaxes(2, 3) if turned["aby".index(name)] else array
        return np.ascontiguousarray(array.swapaxes(1, 2) if name in heads else array)

    batch, count, rows, inner, columns = sizes
    a, b = arrays(
        4, (batch, count, rows, inner), (batch, count, inner, columns), dtype=DTYPES[dtype]
    )
    given = [as_it_lies("a", a), as_it_lies("b", b)]
    transposed = dict(
        zip(("transpose_a", "transpose_b", "transpose_y"), map(bool, turned), strict=True)
    )
    prepared = prepare_matmul(
        given[0].shape,
        given[1].shape,
        dtype=dtype,
        heads_third=heads,
        lowering=lowering,
        **transposed,
    )
    wide = a.astype(np.float64), b.astype(np.float64)
    wanted, scale = (
        as_it_lies("y", one) for one in (wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1]))
    )
    held = np.full(wanted.size + 512, 7, DTYPES[dtype])
    found = held[256:-256].reshape(wanted.shape)
    prepared.call(given, [found])
    np.testing.assert_array_less(
        np.abs(found.astype(np.float64) - wanted), TOLERANCE[dtype] * scale + 1e-30
    )
    assert (held[:256] == 7).all() and (held[-256:] == 7).all()


@cases("residual", [False, True])
@cases("shapes", [((9, 5), (5, 7)), ((2, 9, 5), (2, 5, 7)), ((2, 3, 9, 5), (5, 7))])
@cases("lowering", LOWERINGS)
def test_a_transposed_result_with_what_follows(
    shapes: tuple[tuple[int, ...], ...], residual: bool, lowering: str
) -> None:
    a, b, bias = arrays(5, *shapes, (7,))
    wide = [item.astype(np.float64) for item in (a, b, bias)]
    sums = (wide[0] @ wide[1] + wide[2]).swapaxes(-1, -2)
    before = arrays(6, sums.shape)
    prepared = prepare_matmul(
        a.shape,
        b.shape,
        transpose_y=True,
        bias=True,
        residual=residual,
        activation="relu",
        lowering=lowering,
    )
    (found,) = prepared.call([a, b, bias, *(before if residual else [])])
    np.testing.assert_allclose(
        found, np.maximum(sums + (before[0] if residual else 0), 0), rtol=1e-5, atol=1e-5
    )


@cases(
    "shapes, more",
    [
        (((2, 3, 4, 5), (2, 3, 5, 6)), {"heads_third": ("c",)}),
        (((3, 4, 5), (3, 5, 6)), {"heads_third": ("a",)}),
        (((2, 3, 4, 5), (5, 6)), {"heads_third": ("y",)}),
        (((2, 3, 4, 5), (1, 3, 5, 6)), {"heads_third": ("y",)}),
        (((2, 3, 4, 5), (2, 3, 5, 6)), {"heads_third": ("y",), "bias": True}),
        (((2, 3, 4, 5), (2, 3, 5, 6)), {"heads_third": ("y",), "residual": True}),
    ],
)
def test_heads_where_onednn_is_wrong_are_refused(
    shapes: tuple[tuple[int, ...], ...], more: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="heads_third"):
        prepare_matmul(*shapes, **more)


@cases("dtype", DTYPES, sample=72, per_item=150)
@cases("rank", [2, 3])
@cases("residual", [False, True])
@cases(
    "activation, formula",
    [
        ("", lambda x: x),
        ("relu", lambda x: np.maximum(x, 0)),
        ("leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x)),
        ("silu", lambda x: x * special.expit(x)),
        ("gelu", lambda x: x * special.ndtr(x)),
        (
            "gelu_tanh",
            lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        ),
    ],
)
@cases("lowering", LOWERINGS)
def test_epilogues_agree_with_their_formulas(
    activation: str, formula: Any, residual: bool, rank: int, dtype: str, lowering: str
) -> None:
    shapes = [(2, 33, 16), (2, 16, 40), (40,), (2, 33, 40)]
    shapes = [shape[-rank:] for shape in shapes]
    a, b, bias, before = arrays(2, *shapes, dtype=DTYPES[dtype])
    prepared = prepare_matmul(
        a.shape,
        b.shape,
        dtype=dtype,
        bias=True,
        residual=residual,
        activation=activation,
        lowering=lowering,
    )
    (found,) = prepared.call([a, b, bias, *([before] if residual else [])])
    wide = [item.astype(np.float64) for item in (a, b, bias, before)]
    sums = wide[0] @ wide[1] + wide[2] + (wide[3] if residual else 0)
    scale = np.abs(wide[0]) @ np.abs(wide[1]) + 2
    np.testing.assert_array_less(
        np.abs(found.astype(np.float64) - formula(sums)), TOLERANCE[dtype] * scale
    )


@cases("lowering", LOWERINGS)
def test_weights_changed_in_place_are_seen(lowering: str) -> None:
    a, b = arrays(3, (8, 16), (16, 24))
    prepared = prepare_matmul(a.shape, b.shape, lowering=lowering)
    for _ in range(3):
        np.testing.assert_allclose(
            prepared.call([a, b])[0], a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5
        )
        b[3, 4] += 1


@cases("a_shape, b_shape", [((0, 4), (4, 3)), ((2, 4), (4, 0)), ((0, 2, 4), (0, 4, 3))])
@cases("lowering", LOWERINGS)
def test_nothing_to_compute(
    a_shape: tuple[int, ...], b_shape: tuple[int, ...], lowering: str
) -> None:
    prepared = prepare_matmul(a_shape, b_shape, activation="relu", lowering=lowering)
    (found,) = prepared.call([np.zeros(a_shape, np.float32), np.zeros(b_shape, np.float32)])
    assert found.shape == (np.zeros(a_shape) @ np.zeros(b_shape)).shape


@cases("activation", ["", "relu", "gelu"])
@cases("lowering", LOWERINGS)
def test_a_sum_of_nothing_is_zero(activation: str, lowering: str) -> None:
    prepared = prepare_matmul((3, 0), (0, 5), bias=True, activation=activation, lowering=lowering)
    bias = np.arange(5, dtype=np.float32)
    (found,) = prepared.call([np.zeros((3, 0), np.float32), np.zeros((0, 5), np.float32), bias])
    expected = bias * special.ndtr(bias) if activation == "gelu" else bias
    np.testing.assert_allclose(found, np.broadcast_to(expected, (3, 5)), rtol=1e-6)


@cases(
    "activation, expected",
    [
        ("", [np.nan, np.inf, -np.inf, 1]),
        ("relu", [np.nan, np.inf, 0, 1]),
        ("leaky_relu", [np.nan, np.inf, -np.inf, 1]),
    ],
)
@cases("lowering", LOWERINGS)
def test_infinity_and_nan_survive(activation: str, expected: list[float], lowering: str) -> None:
    a = np.array([[np.nan], [np.inf], [-np.inf], [1]], np.float32)
    prepared = prepare_matmul((4, 1), (1, 20), activation=activation, lowering=lowering)
    (found,) = prepared.call([a, np.ones((1, 20), np.float32)])
    np.testing.assert_array_equal(found, np.repeat(np.array(expected)[:, None], 20, 1))


@cases("activation", ["silu", "gelu", "gelu_tanh", "tanh", "sigmoid", "mish", "hard_swish"])
@cases("lowering", LOWERINGS)
def test_nan_and_the_limit_survive_a_curve(activation: str, lowering: str) -> None:
    a = np.array([[np.nan], [np.inf], [-np.inf], [1]], np.float32)
    prepared = prepare_matmul((4, 1), (1, 20), activation=activation, lowering=lowering)
    (found,) = prepared.call([a, np.ones((1, 20), np.float32)])
    assert np.isnan(found[0]).all()
    limit = 1 if activation in ("tanh", "sigmoid") else np.inf
    # oneDNN's gelu of infinity is NaN
    assert ((found[1] == limit) | ((activation == "gelu") & np.isnan(found[1]))).all()


@cases("lowering", LOWERINGS)
def test_a_result_may_lie_in_an_input(lowering: str) -> None:
    # sums of many blocks, accumulated in the result's memory
    a, b, before = arrays(4, (96, 3000), (3000, 96), (96, 96))
    expected = a.astype(np.float64) @ b + before
    prepared = prepare_matmul(a.shape, b.shape, residual=True, lowering=lowering)
    (found,) = prepared.call([a, b, before], [before])
    assert found is before
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
