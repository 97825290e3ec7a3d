"""Of which exponentials only shares of their sum are used, and that softmax is as near as it has to be whatever lies in its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.backends.cpu.shares import EXPONENTIAL, SHARE, shares
from tbe_impl.cache import KernelCache
from tests.tbe_impl.backends.cpu import test_maxima as graphs
from tests.tbe_impl.backends.cpu.graphs import marches, prepare

Tensor = dsl.Tensor
Build = Callable[[Tensor], list[Tensor]]


def total_too(x: Tensor) -> list[Tensor]:
    _, _, powers, total = graphs.parts(x)
    return [dsl.vdiv(powers, graphs.wide(total, x)), total]


def logarithm_too(x: Tensor) -> list[Tensor]:
    _, _, powers, total = graphs.parts(x)
    return [dsl.vdiv(powers, graphs.wide(total, x)), dsl.vlog(total)]


def deficits_too(x: Tensor) -> list[Tensor]:
    _, deficits, powers, total = graphs.parts(x)
    return [dsl.vdiv(powers, graphs.wide(total, x)), deficits]


def over_the_sum_of_others(x: Tensor) -> list[Tensor]:
    """The sum is one of exponentials of which more is asked."""
    _, _, powers, _ = graphs.parts(x)
    _, _, others, total = graphs.parts(x)
    return [dsl.vdiv(powers, graphs.wide(total, x)), others]


def twice(x: Tensor) -> list[Tensor]:
    """Two quotients of one sum."""
    _, _, powers, total = graphs.parts(x)
    row = graphs.wide(total, x)
    return [dsl.vdiv(powers, row), dsl.vmuls(dsl.vdiv(powers, row), 2.0)]


TOLD: dict[str, tuple[Build, list[str]]] = {
    "softmax": (graphs.softmax, [EXPONENTIAL, SHARE]),
    "over columns": (lambda x: graphs.softmax(x, 0), [EXPONENTIAL, SHARE]),
    "of what was computed": (lambda x: graphs.softmax(dsl.vmuls(x, 0.125)), [EXPONENTIAL, SHARE]),
    "by an inverse": (graphs.by_inverse, [EXPONENTIAL]),
    "two quotients": (twice, [EXPONENTIAL, SHARE, SHARE]),
    "beside a maximum of its own": (graphs.with_the_largest, [EXPONENTIAL, SHARE]),
    "logarithm": (graphs.logarithm, []),
    "both, and the sum": (graphs.both, []),
    "the largest is a result": (graphs.largest_too, []),
    "exponentials are a result": (graphs.powers_too, []),
    "the sum is a result": (total_too, []),
    "the sum's logarithm is one": (logarithm_too, []),
    "deficits are one": (deficits_too, []),
    "the sum of others": (over_the_sum_of_others, []),
    "exponentials alone": (graphs.powers_only, []),
    "logarithm of the sum": (graphs.log_sum, []),
    "times the sum": (graphs.times_the_sum, []),
    "the sum of a part": (graphs.of_a_part, []),
    "the sum of another row": (graphs.of_another_row, []),
    "the sum over the other axis": (graphs.over_the_other_axis, []),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_what_is_only_shared_out(case: str) -> None:
    build, wanted = TOLD[case]
    assert sorted(shares(build(dsl.placeholder((4, 8), "float32")), ()).values()) == sorted(wanted)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_only_of_float32(dtype: str) -> None:
    assert not shares(graphs.softmax(dsl.placeholder((4, 8), dtype)), ())


def test_not_of_what_lies_in_memory() -> None:
    _, deficits, powers, total = graphs.parts(x := dsl.placeholder((4, 8), "float32"))
    results = [dsl.vdiv(powers, graphs.wide(total, x))]
    assert shares(results, ())
    assert not shares(results, {id(deficits)})
    assert not shares(results, {id(powers.op.body[0])})


@pytest.mark.parametrize("options", [{}, {"march": marches()[-1]}, {"stream_bytes": 1}, {"keep_rows": False}], ids=str)  # fmt: skip
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("shape", [(37, 1024), (5, 1000), (1024, 19), (3, 7)])
def test_softmax_wherever_its_rows_lie(shape: tuple[int, int], axis: int, options: dict[str, Any], cache: KernelCache) -> None:  # fmt: skip
    """Rows around numbers up to the largest there are, some too far for what is quick: beside others of one vector, too."""
    random = np.random.default_rng(4)
    centres = np.array([0, 3, -50, 1e3, -1e5, 2e6, -1e7, 1.3e7, 1e12, -1e30, 1e38], np.float32)
    rows = shape[0] if axis else shape[1]
    row = np.resize(centres, rows).astype(np.float32)
    x = random.standard_normal(shape).astype(np.float32) * 4
    x += row[:, None] if axis else row
    kernel, *_ = prepare(lambda t: graphs.softmax(t, axis), x, cache=cache, **options)
    wide = x.astype(np.float64)
    deficits = wide - wide.max(axis, keepdims=True)
    powers = np.exp(deficits)
    wanted = powers / powers.sum(axis, keepdims=True)
    for threads in (1, 2):
        (found,) = kernel.run([x], {}, threads)
        # as for a rounded difference, some operations, and down columns sums of one number after the other
        rounded = 6 + 2 * np.abs(deficits) + (0 if axis else shape[0] / 4)
        allowed = rounded * 2.0**-24 * wanted + 1e-44
        assert (np.abs(found - wanted) <= allowed).all()


def test_rows_with_infinities(cache: KernelCache) -> None:
    x = np.random.default_rng(5).standard_normal((8, 1024)).astype(np.float32)
    x[0, ::2] = -np.inf
    x[1] = -np.inf
    x[2, 5] = np.inf
    x[3, 7] = np.nan
    x[4] = np.finfo(np.float32).min
    x[5, ::3] = np.finfo(np.float32).min
    x[6, 1:] = -1e9
    kernel, *_ = prepare(graphs.softmax, x, cache=cache)
    (found,) = kernel.run([x], {}, 1)
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(-1, keepdims=True))
    np.testing.assert_allclose(found, powers / powers.sum(-1, keepdims=True), rtol=4e-6, atol=1e-44)


def test_a_row_s_exponentials_take_no_difference(cache: KernelCache) -> None:
    x = np.zeros((4, 1024), np.float32)
    kernel, *_ = prepare(graphs.softmax, x, cache=cache)
    assert "f32_exp_below(" in kernel.source
    assert "f32_over(" not in kernel.source
    for plain in (graphs.powers_too, graphs.both):
        assert "f32_exp_below(" not in prepare(plain, x, cache=cache)[0].source
    assert "f32_exp_below(" not in prepare(graphs.softmax, x, cache=cache, rounding="device")[0].source  # fmt: skip
