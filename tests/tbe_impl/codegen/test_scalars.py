"""Scalar arguments of each call: the compiled kernel equals the NumPy back end."""

from __future__ import annotations

import numpy as np
import pytest

import tbe_impl
import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import call, select
from tbe_impl.errors import InputError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import assert_same

VALUES = (0.1, -2.5, 3.0, 0.0, -0.0, 1e-30, float("inf"), float("nan"), 1 + 2**-11 + 2**-40)


@cases("rounding", ["accurate", "device"], sample=1)
@cases("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_one_kernel_for_all_values(dtype: str, rounding: str, cache: Store) -> None:
    alpha, beta = dsl.var("alpha", dtype), dsl.var("beta", dtype)
    x = dsl.placeholder((3, 40), dtype)
    scaled = dsl.compute((3, 40), lambda i, j: x(i, j) * alpha + beta)
    chosen = dsl.compute(
        (3, 40), lambda i, j: select(x(i, j) < alpha * beta, alpha / beta, call("exp", beta))
    )
    same = dsl.compute((3, 40), lambda i, j: select(alpha < beta, x(i, j), beta))
    total = dsl.reduce_sum(dsl.compute((3, 40), lambda i, j: x(i, j) * beta), 1)
    outputs = [scaled, same, total]
    kernel = prepared_kernel.prepare(outputs, [x], options=Options(rounding=rounding), cache=cache)
    rare = prepared_kernel.prepare([chosen], [x], options=Options(rounding=rounding), cache=cache)
    given = np.random.default_rng(3).standard_normal((3, 40)).astype(dtype_of(dtype).numpy)
    for one, other in zip(VALUES, (*VALUES[1:], 0.3), strict=True):
        values = {id(alpha): one, id(beta): other}
        wanted = evaluate.run(outputs, {id(x): given}, values, rounding=rounding)
        found = kernel.run([given], values, 1)
        assert_same(found[0], wanted[0])
        assert_same(found[1], wanted[1])
        wide = [item.astype(np.float64) for item in (found[2], wanted[2])]
        np.testing.assert_allclose(*wide, rtol=0.05, atol=0.1)
        wide = [
            evaluate.run([chosen], {id(x): given}, values, rounding=rounding)[0],
            rare.run([given], values, 1)[0],
        ]
        np.testing.assert_allclose(*(item.astype(np.float64) for item in wide), rtol=1e-2)


def test_scalars_and_sizes_together(cache: Store) -> None:
    n, alpha, count = dsl.var("n"), dsl.var("alpha", "float32"), dsl.var("count", "int32")
    x = dsl.placeholder((n,), "float32")
    y = dsl.compute((n,), lambda i: x(i) * alpha + count.astype("float32"))
    for _ in range(2):
        kernel = prepared_kernel.prepare([y], [x], cache=cache)
        for size in (1, 7, 100):
            given = np.arange(size, dtype=np.float32)
            found = kernel.run([given], {id(n): size, id(alpha): 0.5, id(count): 3}, 1)[0]
            np.testing.assert_array_equal(found, given * np.float32(0.5) + 3)


def scale(x: dict, y: dict, kernel_name: str = "scale") -> None:
    from tbe import dsl as language  # type: ignore[import-not-found]
    from te import tvm  # type: ignore[import-not-found]

    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    alpha = tvm.var("alpha", dtype="float32")
    result = language.vmuls(data, alpha)
    schedule = language.auto_schedule(result)
    language.build(schedule, {"name": kernel_name, "tensor_list": [data, result]})


def test_an_operator_takes_its_scalars_by_name() -> None:
    described = {"shape": (6,), "dtype": "float32"}
    kernel = tbe_impl.load_operator(scale).build(described, described, soc="cpu")
    x = np.arange(6, dtype=np.float32)
    for which in ("cpu", "numpy"):
        for alpha in (0.25, -3):
            np.testing.assert_array_equal(
                kernel(x, scalars={"alpha": alpha}, backend=which), x * np.float32(alpha)
            )
    assert kernel.compiled.programs
    with pytest.raises(InputError, match=r"alpha is not the size of any input.*scalars="):
        kernel(x)
    with pytest.raises(InputError, match="there is no scalar beta; expected alpha"):
        kernel(x, scalars={"alpha": 1.0, "beta": 2.0})
