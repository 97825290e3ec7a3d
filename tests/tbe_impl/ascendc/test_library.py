"""Library functions of the host model against NumPy in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tbe_impl.ascendc.kernel import load_ascendc
from tests.cases import cases
from tests.tbe_impl.ascendc.harness import PROGRAMS, check_case, run_case, warnings_of

SIZE, COUNT = 256, 200
DTYPES = {"float32": 0, "float16": 1, "int16": 2}
FORMS = {"hidden": 0, "given": 1, "hidden_all": 2, "given_all": 3}

Compute = Callable[..., np.ndarray]


def _inputs(dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    if dtype == "int16":
        return list(random.integers(-9999, 9999, (2, 3, SIZE)).astype(dtype))
    x = np.stack(
        [
            random.uniform(-0.9, 0.9, SIZE),
            random.uniform(1.2, 4, SIZE),
            random.uniform(-30, 30, SIZE),
        ]
    )
    x[2, ::9] = np.rint(x[2, ::9]) + 0.5
    return [x.astype(dtype), random.uniform(-4, 4, (3, SIZE)).astype(dtype)]


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * (0.5 + 0.5 * np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _each(function: Callable[[float], float]) -> Compute:
    return np.vectorize(function, otypes=[np.float64])


def _digamma(x: np.ndarray) -> np.ndarray:
    """ψ(x) = −γ + Σ (1/(k+1) − 1/(k+x)), the tail by its integral."""
    k = np.arange(200_000)[:, None]
    tail = np.log((200_000 - 0.5 + x) / (200_000 + 0.5))
    return -np.euler_gamma + (1 / (k + 1) - 1 / (k + x)).sum(0) + tail


# name: the result of u in (-1, 1), p in (1, 4), w in (-30, 30), in float64.
ALL_FORMS: dict[str, Compute] = {
    "tanh": lambda u, p, w: np.tanh(u),
    "sin": lambda u, p, w: np.sin(w),
    "cos": lambda u, p, w: np.cos(w),
    "tan": lambda u, p, w: np.tan(u),
    "sinh": lambda u, p, w: np.sinh(p),
    "cosh": lambda u, p, w: np.cosh(p),
    "asin": lambda u, p, w: np.arcsin(u),
    "acos": lambda u, p, w: np.arccos(u),
    "atan": lambda u, p, w: np.arctan(w),
    "asinh": lambda u, p, w: np.arcsinh(w),
    "acosh": lambda u, p, w: np.arccosh(p),
    "atanh": lambda u, p, w: np.arctanh(u),
    "erf": lambda u, p, w: _each(math.erf)(u),
    "erfc": lambda u, p, w: _each(math.erfc)(u),
    "lgamma": lambda u, p, w: _each(math.lgamma)(p),
    "digamma": lambda u, p, w: _digamma(p),
    "log": lambda u, p, w: np.log(p),
    "log2": lambda u, p, w: np.log2(p),
    "log10": lambda u, p, w: np.log10(p),
    "ceil": lambda u, p, w: np.ceil(w),
    "floor": lambda u, p, w: np.floor(w),
    "trunc": lambda u, p, w: np.trunc(w),
    "round": lambda u, p, w: np.rint(w),
    "rint": lambda u, p, w: np.rint(w),
    "frac": lambda u, p, w: w - np.trunc(w),
    "sign": lambda u, p, w: np.sign(w),
    "sigmoid": lambda u, p, w: 1 / (1 + np.exp(-w)),
    "fmod": lambda u, p, w: np.fmod(w, p),
    "hypot": lambda u, p, w: np.hypot(u, p),
    "geglu": lambda u, p, w: w * _gelu(u),
    "reglu": lambda u, p, w: w * np.maximum(u, 0),
    "power": lambda u, p, w: p**u,
    "power_of": lambda u, p, w: p**2,
    "power_base": lambda u, p, w: 2**u,
}
COUNT_FORMS: dict[str, Compute] = {
    "gelu": lambda u, p, w: _gelu(w),
    "faster_gelu": lambda u, p, w: w / (1 + np.exp(-1.702 * w)),
    "silu": lambda u, p, w: w / (1 + np.exp(-w)),
    "swish": lambda u, p, w: w / (1 + np.exp(-2 * w)),
    "clamp_max": lambda u, p, w: np.minimum(w, 2),
    "clamp_min": lambda u, p, w: np.maximum(w, 2),
    "exp_taylor": lambda u, p, w: np.exp(u),
    "axpy": lambda u, p, w: 7 + 2 * u,
    "is_inf": lambda u, p, w: np.arange(len(u)) < 8,
    "is_nan": lambda u, p, w: np.arange(len(u)) < 8,
    "is_finite": lambda u, p, w: np.arange(len(u)) >= 8,
}


def _check(name: str, dtype: str, form: str, compute: Compute, relative: float | None) -> None:
    inputs = _inputs(dtype)
    expected = np.full(4 * SIZE, 7, np.float64)
    count = SIZE if form.endswith("all") else COUNT
    expected[:count] = compute(*inputs[0][:, :count].astype(np.float64))
    code = DTYPES[dtype] + 10 * FORMS[form]
    report = check_case(
        "library", name, inputs, expected.astype(dtype), dtype=code, relative=relative
    )
    assert not warnings_of(report), warnings_of(report)


@cases("form", list(FORMS))
@cases("dtype", ["float32", "float16"])
@cases("name", list(ALL_FORMS))
def test_functions_in_four_forms(name: str, dtype: str, form: str) -> None:
    """With and without a tensor for the work space, with and without a count."""
    _check(name, dtype, form, ALL_FORMS[name], None)


@cases("form", ["hidden", "given"])
@cases("dtype", ["float32", "float16"])
@cases("name", list(COUNT_FORMS))
def test_functions_with_a_count(name: str, dtype: str, form: str) -> None:
    _check(name, dtype, form, COUNT_FORMS[name], None)


def test_the_polynomial_gelu_is_near_the_exact_one() -> None:
    _check(
        "faster_gelu_v2",
        "float32",
        "hidden",
        lambda u, p, w: w / 2 * (1 + _each(math.erf)(w / np.sqrt(2))),
        0.025,
    )


@cases("form", ["hidden", "given"])
def test_sine_and_cosine_at_once(form: str) -> None:
    inputs = _inputs("float32")
    w = inputs[0][2, :COUNT].astype(np.float64)
    expected = np.full(4 * SIZE, 7, np.float64)
    expected[:COUNT], expected[512 : 512 + COUNT] = np.sin(w), np.cos(w)
    check_case("library", "sin_cos", inputs, expected.astype("float32"), dtype=10 * FORMS[form])


@cases("form", list(FORMS))
@cases(
    "name, compute",
    [
        ("xor", np.bitwise_xor),
        ("bitwise_and", np.bitwise_and),
        ("bitwise_or", np.bitwise_or),
        ("bitwise_xor", np.bitwise_xor),
    ],
)
def test_bits(name: str, compute: Compute, form: str) -> None:
    inputs = _inputs("int16")
    count = SIZE if form.endswith("all") else COUNT
    expected = np.full(4 * SIZE, 7, np.int16)
    expected[:count] = compute(inputs[0][0, :count], inputs[0][1, :count])
    check_case("library", name, inputs, expected, dtype=DTYPES["int16"] + 10 * FORMS[form])


@cases("form", ["hidden", "given"])
def test_a_sum_of_exclusive_ors_saturates(form: str) -> None:
    inputs = _inputs("int16")
    expected = np.full(4 * SIZE, 7, np.int16)
    total = int((inputs[0][0] ^ inputs[0][1])[:COUNT].astype(np.int64).sum())
    assert abs(total) > 32768
    expected[0] = np.clip(total, -32768, 32767)
    check_case("library", "reduce_xor_sum", inputs, expected, dtype=2 + 10 * FORMS[form])


def _rows(dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng(6)
    return [
        random.standard_normal(3 * SIZE).astype(dtype),
        random.uniform(0.5, 2, 3 * SIZE).astype(dtype),
    ]


def _padded(rows: np.ndarray) -> np.ndarray:
    """Rows of 60 elements as they lie in z, whose padding stays 7."""
    return np.pad(rows, ((0, 0), (0, 4)), constant_values=7).reshape(-1)


def _moments(x: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    return x.mean(axis, keepdims=True), x.var(axis, keepdims=True)


def _row_results(dtype: str) -> dict[str, dict[int, np.ndarray]]:
    """name → place in z → values there."""
    x, y = (one.astype(np.float64) for one in _rows(dtype))
    a, b = x[:256].reshape(4, 64)[:, :60], x[256:512].reshape(4, 64)[:, :60]
    gamma, beta, whole = x[512:572], x[576:636], x[:256].reshape(4, 64)
    lanes = 32 // np.dtype(dtype).itemsize

    def spread(values: np.ndarray, count: int = lanes) -> np.ndarray:
        return np.repeat(values.reshape(-1), count)

    top, top_b = a.max(-1, keepdims=True), b.max(-1, keepdims=True)
    powers, powers_b = np.exp(a - top), np.exp(b - top_b)
    total, total_b = powers.sum(-1, keepdims=True), powers_b.sum(-1, keepdims=True)
    softmax = powers / total
    joined = np.maximum(top, top_b)
    later, factor = np.exp(a - joined), np.exp(top_b - joined)
    sums = later.sum(-1, keepdims=True) + factor * total_b
    inner = (a * b).sum(-1, keepdims=True)
    mean, variance = _moments(a)
    root = 1 / np.sqrt(variance + 0.01)
    normal = (a - mean) * root
    deep = 2 * a + b
    deep_mean, deep_variance = _moments(deep)
    deep_root = 1 / np.sqrt(deep_variance + 0.01)
    adjusted = a.copy()
    adjusted[1] = 3
    power = np.exp(adjusted - adjusted.max(-1, keepdims=True))
    adjusted = np.pad(power / power.sum(-1, keepdims=True), ((0, 0), (0, 4)), constant_values=7)
    adjusted[1] = 2
    # gradient of the normalisation with moments of y
    given_variance, given_mean = y[:4, None], y[256:260, None]
    given_root = 1 / np.sqrt(given_variance + 0.01)
    slope, centred = b * gamma, a - given_mean
    pd_variance = (-0.5 * slope * centred * given_root**3).sum(-1, keepdims=True)
    pd_mean = (-slope * given_root).sum(-1, keepdims=True)
    pd_mean += pd_variance / 60 * (-2 * centred).sum(-1, keepdims=True)
    pd_x = slope * given_root + pd_variance * 2 / 60 * centred + pd_mean / 60
    groups = x[:256].reshape(2, 2, 64)
    group_mean, group_variance = _moments(groups)
    group = ((groups - group_mean) / np.sqrt(group_variance + 0.01)).reshape(2, 4, 32)
    batch_mean, batch_variance = _moments(whole, 0)
    batch = (whole - batch_mean) / np.sqrt(batch_variance + 0.01)
    return {
        "softmax": {0: _padded(softmax), 256: spread(total), 512: spread(top)},
        "softmax_alone": {0: _padded(softmax)},
        "softmax_narrow": {0: _padded(softmax), 256: total, 512: top},
        "simple_softmax": {
            0: np.pad(softmax, ((0, 0), (0, 4)), constant_values=2),
            256: spread(total),
            512: spread(top),
        },
        "flash_v2": {
            0: _padded(later),
            256: spread(sums),
            512: spread(joined),
            768: spread(factor),
        },
        "flash": {
            0: _padded(later / sums),
            256: spread(sums),
            512: spread(joined),
            768: spread(factor * total_b / sums),
        },
        "flash_reduced_max": {0: _padded(later), 256: sums, 512: joined, 768: factor, 800: top},
        "softmax_grad": {0: _padded((b - inner) * a)},
        "softmax_grad_front": {0: spread(inner)},
        "log_softmax": {0: _padded(np.log10(softmax)), 256: spread(total), 512: spread(top)},
        "adjust": {0: adjusted, 256: None, 512: None},
        "sum": {0: a.sum(-1)},
        "mean": {0: a.mean(-1)},
        "cumulative": {0: whole.cumsum(-1)},
        "cumulative_first": {0: whole.cumsum(0), 256: whole.sum(0)},
        "broadcast_row": {0: np.tile(x[512:576], 4)},
        "broadcast_column": {0: spread(x[512:516], 64)},
        "layer_norm": {0: _padded(normal * gamma + beta), 256: mean, 512: variance},
        "rms_norm": {0: _padded(a / np.sqrt((a * a).mean(-1, keepdims=True) + 0.01) * gamma)},
        "deep_norm": {
            0: _padded((deep - deep_mean) * deep_root * gamma + beta),
            256: deep_mean,
            512: deep_root,
        },
        "layer_norm_grad": {0: _padded(pd_x), 256: _padded(centred * given_root)},
        "layer_norm_grad_beta": {0: (a * b).sum(0), 256: b.sum(0)},
        "group_norm": {
            0: group * x[512:516, None] + x[576:580, None],
            256: group_mean,
            512: group_variance,
        },
        "batch_norm": {
            0: batch * x[512:516, None] + x[576:580, None],
            256: batch_mean,
            512: batch_variance,
        },
    }


def _check_rows(
    name: str, dtype: str, form: str, results: dict[int, np.ndarray], relative: float
) -> None:
    got, report = run_case(
        "library",
        name,
        *_rows(dtype),
        out_bytes=4 * SIZE * np.dtype(dtype).itemsize,
        dtype=DTYPES[dtype] + 10 * FORMS[form],
    )
    assert not report.findings, report.findings
    z, expected = got.view(dtype).astype(np.float64), np.full(4 * SIZE, 7, np.float64)
    for place, values in results.items():
        if values is None:
            expected[place : place + 256] = z[place : place + 256]
        else:
            expected[place : place + values.size] = values.reshape(-1)
    np.testing.assert_allclose(z, expected, rtol=relative, atol=relative, err_msg=name)


@cases("form", ["hidden", "given"])
@cases("dtype", ["float32", "float16"])
@cases("name", list(_row_results("float32")))
def test_rows(name: str, dtype: str, form: str) -> None:
    """Rows with padding: the padding takes no part, and stays."""
    tolerance = 2e-5 if dtype == "float32" else 1e-2
    _check_rows(name, dtype, form, _row_results(dtype)[name], tolerance)


def _float_results() -> dict[str, dict[int, np.ndarray]]:
    x, y = (one.astype(np.float64) for one in _rows("float32"))
    a, parts = x[:256].reshape(4, 64)[:, :60], x.reshape(3, 256)[:, :64]
    mean, root = y[256:260, None], 1 / np.sqrt(y[:4, None] + 0.01)
    distance = ((parts - parts.mean(0)) ** 2).sum(0)
    short, tail = np.concatenate([parts[:, :40].ravel(), parts[:2, 40:].ravel()]), parts[:2, 40:]
    tail_distance = distance.copy()
    tail_distance[40:] = ((tail - tail.mean(0)) ** 2).sum(0)
    tail_mean = parts.mean(0)
    tail_mean[40:] = tail.mean(0)
    zero_row, zero_start = a.copy(), a.copy()
    zero_row[0], zero_start[0, :8] = 0, 0
    return {
        "normalize": {
            0: _padded((a - mean) * root * x[512:572] + x[576:636]),
            256: root,
        },
        "welford": {0: parts.mean(), 8: parts.var(), 256: parts.mean(0), 512: distance},
        "welford_tail": {0: short.mean(), 8: short.var(), 256: tail_mean, 512: tail_distance},
        "reduce_sum_last": {0: a.sum(1)},
        "reduce_sum_first": {0: a.sum(0)},
        "reduce_mean_last": {0: a.mean(1)},
        "reduce_max_first": {0: a.max(0)},
        "reduce_min_last": {0: a.min(1)},
        "reduce_prod_first": {0: a.prod(0)},
        "reduce_any_last": {0: (zero_row != 0).any(1)},
        "reduce_all_first": {0: (zero_start != 0).all(0)},
    }


@cases("form", ["hidden", "given"])
@cases("name", list(_float_results()))
def test_rows_of_float(name: str, form: str) -> None:
    results = {place: np.asarray(one) for place, one in _float_results()[name].items()}
    _check_rows(name, "float32", form, results, 2e-5)


@cases("form", ["hidden", "given"])
@cases("dtype", ["float32", "float16"])
@cases("name", ["layer_norm_rstd", "layer_norm_variance"])
def test_layer_norm_with_float_moments(name: str, dtype: str, form: str) -> None:
    """The form for [A, R]: the moments are float for any type."""
    got, report = run_case(
        "library",
        name,
        *_rows(dtype),
        out_bytes=4 * SIZE * np.dtype(dtype).itemsize,
        dtype=DTYPES[dtype] + 10 * FORMS[form],
    )
    assert not report.findings, report.findings
    x = _rows(dtype)[0].astype(np.float64)
    mean, variance = _moments(x[:256].reshape(4, 64)[:, :60])
    root = 1 / np.sqrt(variance + 0.01)
    normal = (x[:256].reshape(4, 64)[:, :60] - mean) * root
    whole = name == "layer_norm_rstd"
    y = normal * x[512:572] + x[576:636] if whole else normal + x[576:636]
    tolerance = 2e-5 if dtype == "float32" else 1e-2
    np.testing.assert_allclose(
        got.view(dtype)[:256].astype(np.float64), _padded(y), rtol=tolerance, atol=tolerance
    )
    moments = got.view("float32")[256:]
    np.testing.assert_allclose(moments[:4], mean[:, 0], rtol=1e-4, atol=1e-5)
    second = root if whole else variance
    np.testing.assert_allclose(moments[64:68], second[:, 0], rtol=1e-4, atol=1e-5)


FAULTS = {
    "count_beyond_source": ("argument", "a count of 264 elements, the source has 256"),
    "count_beyond_second_source": ("argument", "a count of 264 elements, the source has 256"),
    "work_space_does_not_fit": ("workspace_overflow", "Erfc takes 1792 bytes of hidden work space"),
    "softmax_of_odd_rows": ("alignment", "rows of 60 elements are 240 bytes, no multiple of 32"),
    "norm_of_odd_rows": ("alignment", "rows of 60 elements are 240 bytes, no multiple of 32"),
    "sum_of_odd_rows": ("alignment", "rows of 60 elements are 240 bytes, no multiple of 32"),
    "cumulative_of_odd_rows": ("alignment", "rows of 60 elements are 240 bytes"),
    "softmax_without_shape": ("argument", "the shape is unknown"),
    "softmax_work_space": ("workspace_overflow", "SoftMax takes 320 bytes of hidden work space"),
    "broadcast_of_other_shape": ("argument", "axis 1 of the source has 60 elements"),
    "reduce_unpadded": ("argument", "srcInnerPad is false"),
}


@cases("name", list(FAULTS))
def test_faults(name: str) -> None:
    _, report = run_case("library", name, *_inputs("float32"), out_bytes=4096)
    kind, message = FAULTS[name]
    assert [one.kind for one in report.errors] == [kind], report.errors
    assert message in report.errors[0].message


@cases("alpha", [0.5, 0.9375])
def test_softmax_in_rounds(alpha: float) -> None:
    """SoftmaxFlashV3: the first round scaled by the factor plus the second is the whole softmax.

    A shift of each row by a constant leaves its softmax; the shifts by parts of a row do not.
    """
    x = np.random.default_rng(5).uniform(-0.5, 0.5, (2, 8, 512)).astype(np.float16)
    kernel = load_ascendc(PROGRAMS / "softmax_rounds.cpp").build(
        x,
        outputs=[(x.shape, "float16"), ((3, 8, 8), "float32"), ((8, 16), "float16")],
        arguments={"alpha": alpha},
        blocks=1,
    )
    y, rows, factor = (one.astype(np.float64) for one in kernel(x))
    scale = alpha / (1 - alpha)
    parts = x.astype(np.float64).reshape(2, 8, 8, 64)
    means = parts.mean((2, 3), keepdims=True)
    shifted = (parts - (means - parts.mean(3, keepdims=True)) * scale).reshape(2, 8, 512)
    means = means.reshape(2, 8, 1)
    running = np.stack([means[0], means.mean(0)])
    joined = shifted + (means - running[1]) * scale
    top = joined.max((0, 2))[:, None]
    first_top = (shifted[0]).max(1)[:, None]
    np.testing.assert_allclose(y[0], np.exp(shifted[0] - first_top), rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(y[1], np.exp(joined[1] - top), rtol=2e-3, atol=1e-3)
    expected = np.stack([running[1], np.exp(joined - top).sum((0, 2))[:, None], top])
    np.testing.assert_allclose(rows, np.repeat(expected, 8, 2), rtol=1e-4, atol=1e-5)
    before = first_top + (means[0] - running[1]) * scale
    np.testing.assert_allclose(factor, np.repeat(np.exp(before - top), 16, 1), rtol=2e-3)
