"""The interpreter: roundings, conversions, raw stages, missing formulas."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.dsl.array_semantics import convert, truncated_division
from tbe_impl.dsl.expr import Reduce, call, make_binary, select
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.errors import InputError
from tbe_impl.interpreter.evaluate import run
from tests.cases import cases


def one(tensor: Tensor, given: dict[int, Any], values: Any = None, **how: Any) -> np.ndarray:
    """The array of one tensor, equal with and without formulas."""
    (found,) = run([tensor], given, values, **how)
    (again,) = run([tensor], given, values, bodies=True, **how)
    np.testing.assert_array_equal(found, again)
    return found


@cases(
    "dtype, wanted",
    [
        ("int8", [127, -128, 0, -2, 2, 127]),
        ("int32", [2**31 - 1, -(2**31), 0, -2, 2, 300]),
        ("int64", [2**63 - 1, -(2**63), 0, -2, 2, 300]),
        ("uint8", [255, 0, 0, 0, 2, 255]),
        ("uint64", [2**64 - 1, 0, 0, 0, 2, 300]),
    ],
)
@cases("source", ["float32", "float64", "bfloat16"])
def test_floats_to_integers_are_cut_and_saturate(
    source: str, dtype: str, wanted: list[int]
) -> None:
    given = np.array([np.inf, -np.inf, np.nan, -2.7, 2.7, 300]).astype(
        np.dtype(source) if source != "bfloat16" else ml_dtypes.bfloat16
    )
    assert convert(given, np.dtype(dtype)).tolist() == wanted
    near = np.array([2.0**63, 2.0**64, -(2.0**63)])
    assert convert(near, np.dtype("int64")).tolist() == [2**63 - 1, 2**63 - 1, -(2**63)]
    assert convert(near, np.dtype("uint64")).tolist() == [2**63, 2**64 - 1, 0]


def test_integers_divide_towards_0() -> None:
    a, b = np.array([7, -7, 7, -7, 5, -128], np.int8), np.array([2, 2, -2, -2, 0, -1], np.int8)
    assert truncated_division(a, b).tolist() == [3, -3, -3, 3, 0, -128]


def test_three_ways_of_rounding() -> None:
    x = placeholder((1,), "float16", "x")
    made = dsl.vadds(dsl.vadds(x, 2048.0), -2047.9)
    given = {id(x): np.array([1], np.float16)}
    # 1 + 2048 is 2049, which float16 cannot represent; 2047.9 becomes 2048
    assert one(made, given, rounding="device").tolist() == [0.0]
    exact = np.float16(1 + 2048 - 2047.9)
    assert one(made, given, rounding="accurate").tolist() == [exact]
    assert one(made, given, rounding="float64").tolist() == [exact]
    with pytest.raises(InputError, match="unknown rounding"):
        run([made], given, rounding="exact")


def test_an_explicit_cast_rounds_also_when_accurate() -> None:
    x = placeholder((1,), "float32", "x")
    made = dsl.cast_to(dsl.cast_to(dsl.vadds(x, 2048.0), "float16"), "float32")
    given = {id(x): np.array([1], np.float32)}
    assert one(made, given).tolist() == [2048.0]
    assert one(made, given, rounding="float64").tolist() == [2049.0]


def test_a_scalar_is_rounded_as_the_device_does() -> None:
    x = placeholder((1,), "float16", "x")
    given = {id(x): np.array([1000], np.float16)}
    for made in (dsl.vmuls(x, 0.1), compute((1,), lambda i: x(i) * 0.1)):
        assert one(made, given, rounding="device").tolist() == [
            np.float16(1000 * float(np.float16(0.1)))
        ]
        assert one(made, given).tolist() == [np.float16(100)]


def test_no_dimensions_and_no_elements() -> None:
    point, empty = placeholder((), "float32", "p"), placeholder((0, 4), "float32", "e")
    assert one(dsl.vexp(point), {id(point): np.float32(0)}).shape == ()
    assert one(dsl.vexp(empty), {id(empty): np.zeros((0, 4), np.float32)}).shape == (0, 4)
    # a select may read discarded elements of an empty tensor
    made = compute((3,), lambda i: select(i < 0, empty(i, 0), 7.0))
    assert one(made, {id(empty): np.zeros((0, 4), np.float32)}).tolist() == [7, 7, 7]


def test_reads_outside_count_where_a_select_takes_them() -> None:
    x = placeholder((3,), "float32", "x")
    made = compute((5,), lambda i: select(make_binary("and", i >= 1, i < 4), x(i - 1), 0.0))
    assert one(made, {id(x): np.array([1, 2, 3], np.float32)}).tolist() == [0, 1, 2, 3, 0]


def test_a_raw_reduction_and_its_condition() -> None:
    x = placeholder((2, 4), "int32", "x")
    k = dsl.reduce_axis((0, 4), "k")
    made = compute((2,), lambda i: Reduce("max", x(i, k), [k], k < 3))
    given = {id(x): np.array([[1, 2, 3, 9], [-5, -4, -6, 0]], np.int32)}
    assert one(made, given).tolist() == [3, -4]
    k = dsl.reduce_axis((1, 3), "k")
    assert one(compute((2,), lambda i: Reduce("sum", x(i, k), [k])), given).tolist() == [5, -10]


def test_several_outputs_of_one_stage() -> None:
    x = placeholder((3,), "float16", "x")
    double, whole = compute((3,), lambda i: [x(i) * 2, x(i).astype("int32")], name="both")
    assert double.op is whole.op
    found = run([whole, double], {id(x): np.array([1.5, -2.5, 0], np.float16)})
    assert [array.tolist() for array in found] == [[1, -2, 0], [3, -5, 0]]


def test_a_phony_operand_is_named_but_not_added() -> None:
    x = placeholder((3,), "float32", "x")
    zero = dsl.broadcast(0.0, (3,), "float32")
    made = compute((3,), lambda i: zero(i) + x(i), "phony", "elewise_binary_phony")
    given = {id(x): np.array([1, np.nan, 3], np.float32)}
    assert one(made, given).tolist() == [0, 0, 0]
    assert x in made.op.input_tensors
    with pytest.raises(InputError, match="the input x is missing"):
        run([made], {})


def test_bfloat16_and_bool_come_back_as_they_are() -> None:
    x, b = placeholder((2,), "bfloat16", "x"), placeholder((2,), "bool", "b")
    given = {id(x): np.array([1.25, -3], ml_dtypes.bfloat16), id(b): np.array([True, False])}
    found = one(dsl.vmuls(x, 1.5), given)
    assert found.dtype == ml_dtypes.bfloat16 and found.astype(float).tolist() == [1.875, -4.5]
    assert one(dsl.vlogic(b, operation="logic_not"), given).tolist() == [False, True]


def test_an_index_is_a_number_too() -> None:
    made = compute((2, 3), lambda i, j: (i * 100_000 * 30_000 + j).astype("int64"))
    assert one(made, {}).tolist() == [[0, 1, 2], [3 * 10**9 + j for j in range(3)]]


def test_results_belong_to_the_caller() -> None:
    x = placeholder((2, 3), "float32", "x")
    given = np.ones((2, 3), np.float32)
    for made in (x, dsl.transpose(x), dsl.broadcast(x, (4, 2, 3)), dsl.ext.reverse(x, 0)):
        found = one(made, {id(x): given})
        found += 1
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(given, 1)


def test_values_at_run_time() -> None:
    n, alpha = dsl.var("n"), dsl.var("alpha", "float32")
    x = placeholder((n,), "float32", "x")
    given = {id(x): np.arange(3, dtype=np.float32)}
    made = dsl.vadds(dsl.vmuls(x, alpha), n * 2)
    assert one(made, given, {id(n): 3, id(alpha): 0.5}).tolist() == [6, 6.5, 7]
    with pytest.raises(InputError, match="the value of alpha is not known"):
        run([made], given, {id(n): 3})


def test_shapes_that_do_not_fit_at_run_time_name_the_line() -> None:
    n, m = dsl.var("n"), dsl.var("m")
    x, y = placeholder((n,), "float32", "x"), placeholder((m,), "float32", "y")
    made = dsl.vadd(x, y)
    with pytest.raises(InputError, match=r"vadd cannot be computed.*got \(2,\), \(3,\)") as caught:
        run([made], {id(x): np.zeros(2), id(y): np.zeros(3)}, {id(n): 2, id(m): 3})
    assert "test_evaluate.py" in str(caught.value)


def test_functions_in_raw_stages() -> None:
    x = placeholder((4,), "float16", "x")
    given = {id(x): np.array([0.5, -1, 2, np.nan], np.float16)}
    made = compute(
        (4,), lambda i: select(call("isnan", x(i), dtype="bool"), 0.0, call("tanh", x(i)))
    )
    np.testing.assert_allclose(
        one(made, given), [np.tanh(0.5), np.tanh(-1), np.tanh(2), 0], atol=1e-3
    )
