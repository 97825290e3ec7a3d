"""Short polynomials for half-precision results; no half result is off by more than one ULP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.codegen.passes.half_accuracy import find_short_form_calls
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import marches, prepare, run_both

vadd, vsub, vmul, vdiv, vadds, vmuls, vexp, vlog, vrec = (
    OPERATIONS[name] for name in "vadd vsub vmul vdiv vadds vmuls vexp vlog vrec".split()
)
Tensor = dsl.Tensor


def swish(x: Tensor) -> Tensor:
    return vmul(x, vrec(vadds(vexp(vmuls(x, -1.0)), 1.0)))


def softmax(x: Tensor) -> Tensor:
    powers = vexp(x)
    return vdiv(
        powers, OPERATIONS["broadcast"](OPERATIONS["reduce_sum"](powers, -1, True), x.shape)
    )


def squared(y: Tensor, times: int) -> Tensor:
    for _ in range(times):
        y = vmul(y, y)
    return y


def of_wrapped(x: Tensor) -> Tensor:
    """A sum with a square of integers, which may have wrapped around to a negative value."""
    whole = squared(dsl.cast_to(vexp(x), "int32"), 3)
    return vadd(vexp(x), dsl.cast_to(whole, "float16"))


CASES: dict[str, tuple[Callable[[Tensor], Any], int]] = {
    "an exponential": (vexp, 1),
    "swish: the exponential and the inverse": (swish, 2),
    "softmax": (softmax, 1),
    "what is cast to float32 and back": (
        lambda x: dsl.cast_to(swish(dsl.cast_to(x, "float32")), "float16"),
        2,
    ),
    "an inverse that two products read": (lambda x: vmul(vmul(x, (y := vrec(vexp(x)))), y), 1),
    "a difference": (lambda x: vsub(vexp(x), x), 0),
    "a sum with what may be negative": (lambda x: vadd(vexp(x), x), 0),
    "less a number": (lambda x: vadds(vexp(x), -1.0), 0),
    "a logarithm": (lambda x: vlog(vexp(x)), 0),
    "an exponential of another": (lambda x: vexp(vexp(x)), 1),
    "float32 beside float16": (
        lambda x: (y := vexp(dsl.cast_to(x, "float32")), dsl.cast_to(y, "float16")),
        0,
    ),
    "a sum with whole numbers that may have wrapped around": (of_wrapped, 0),
    "float32 results": (lambda _: swish(dsl.placeholder((4, 8), "float32")), 0),
    "few squares": (lambda x: squared(vexp(x), 3), 1),
    "many squares": (lambda x: squared(vexp(x), 4), 0),
}


@cases("case", CASES)
def test_calls_are_short_where_rounding_hides_it(case: str) -> None:
    build, wanted = CASES[case]
    made = build(dsl.placeholder((4, 8), "float16"))
    assert len(find_short_form_calls(made if isinstance(made, tuple) else [made])) == wanted


def test_a_long_graph_is_searched_without_recursion() -> None:
    x = dsl.placeholder((4, 8), "float16")
    y = vexp(x)
    for _ in range(2000):
        y = vadds(y, 1.0)
    assert len(find_short_form_calls([y])) == 1


@cases("dtype", ["float16", "bfloat16"], sample=2)
@cases("march", marches())
def test_every_half_input_is_within_a_unit(march: str, dtype: str, cache: Store) -> None:
    x = np.arange(65536, dtype=np.uint16).view(dtype_of(dtype).numpy)
    kernel, _, _ = prepare(lambda x: [vexp(x), swish(x)], x, cache=cache, march=march)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        power = np.exp(-wide)
        # float32 intermediates overflow to infinity there
        exact = np.exp(wide), wide / (1 + np.where(power < 2.0**128, power, np.inf))
        wanted = [item.astype(x.dtype) for item in exact]
    for found, right in zip(kernel.run([x], {}, 1), wanted, strict=True):
        missing = np.isnan(right.astype(np.float32))
        np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), missing)
        places = [item.view(np.int16).astype(np.int32) for item in (found, right)]
        places = [np.where(item < 0, -(item & 0x7FFF), item) for item in places]
        away = np.where(missing, 0, np.abs(places[0] - places[1]))
        assert away.max() <= 1, (
            f"{x[away.argmax()]}: {found[away.argmax()]}, {right[away.argmax()]}"
        )


def test_what_is_computed_in_float64_has_no_short_form(cache: Store) -> None:
    x = np.linspace(-8, 8, 96)
    kernel, _, _ = prepare(lambda x: dsl.cast_to(swish(x), "float16"), x, cache=cache)
    assert "_to_half" not in kernel.source
    (found,) = kernel.run([x], {}, 1)
    np.testing.assert_array_equal(found, (x / (1 + np.exp(-x))).astype(np.float16))


@cases("rounding, wanted", [("accurate", 1.0), ("device", 0.0)])
@cases("dtype", ["float16", "bfloat16"])
def test_outputs_that_a_later_nest_reads(
    dtype: str, rounding: str, wanted: float, cache: Store
) -> None:
    """(x · (1 + ε) − x) / ε, transposed, where 1 + ε rounds to 1 in half precision."""
    transpose = OPERATIONS["transpose"]

    def build(x: Tensor) -> tuple[Tensor, Tensor]:
        y = vmuls(x, 1 + 2.0**-13)
        return y, vmuls(vsub(transpose(y, (1, 0)), transpose(x, (1, 0))), 2.0**13)

    x = np.ones((64, 48), dtype_of(dtype).numpy)
    (y, _), (rest, _) = run_both(build, x, cache=cache, rounding=rounding)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(rest.astype(np.float64), np.full((48, 64), wanted))
