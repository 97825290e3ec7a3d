"""Errors of DSL operations name user file and line, argument, expected and actual value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tbe_impl.dsl as dsl
from tbe_impl.errors import InputError
from tests.cases import cases

X = dsl.placeholder((4, 6), "float16", "x")
Y = dsl.placeholder((4, 5), "float16", "y")
N = dsl.placeholder((4,), "int32", "n")
B = dsl.placeholder((4, 6), "bool", "b")

CASES: list[tuple[Callable[[], Any], str, str, str]] = [
    (
        lambda: dsl.vmul(X, 2.0),
        "vmul takes tensors only",
        "a tensor",
        "`vmuls` takes a tensor and a scalar",
    ),
    (lambda: dsl.ext.tanh(N), "tanh takes floating-point tensors", "float16", "int32 (n)"),
    (lambda: dsl.vand(X, X), "vand has no meaning for float16", "integers or bool", "float16 (x)"),
    (lambda: dsl.vnot(X), "vnot has no meaning for float16", "integers or bool", "float16 (x)"),
    (lambda: dsl.vsub(B, B), "vsub has no meaning for bool", "numbers", "bool (b)"),
    (lambda: dsl.ext.neg(B), "neg has no meaning for bool", "numbers", "bool (b)"),
    (lambda: dsl.vadds(X, Y), "vadds takes a scalar", "a number for scalar", "the tensor y"),
    (lambda: dsl.vadd(X, Y), "vadd takes tensors of one shape", "(4, 6)", "(4, 5) (y)"),
    (lambda: dsl.vcmp(X, Y), "vcmp takes tensors of one shape", "(4, 6)", "(4, 5) (y)"),
    (lambda: dsl.vcmp(X, 1, "less"), "vcmp: unknown operation", "eq or ne or lt", "'less'"),
    (lambda: dsl.vcmp(X, 1, "lt", "bits"), "vcmp: unknown mode", "bool or bit", "'bits'"),
    (lambda: dsl.vsel(X, X, X), "vsel takes a condition", "bool, or uint8", "float16 (x)"),
    (
        lambda: dsl.vsel(B, Y, 1.0),
        "vsel takes tensors of the shape of its condition",
        "(4, 6)",
        "(4, 5) (y)",
    ),
    (
        lambda: dsl.vcmpsel(X, 1, "lt", B, 0),
        "vcmpsel takes tensors of one dtype",
        "float16",
        "bool (b)",
    ),
    (lambda: dsl.vlogic(X, X), "vlogic takes truth values", "bool", "float16 (x)"),
    (lambda: dsl.cast_to(X, "float12"), "unknown dtype", "float16, bfloat16", "'float12'"),
    (
        lambda: dsl.cast_to(1.0, "float16"),
        "cast_to takes tensors only",
        "a tensor for data",
        "the scalar 1.0",
    ),
    (lambda: dsl.reduce_sum(X, None), "reduce_sum needs axis", "an integer or a list", "got None"),
    (lambda: dsl.reduce_max(X, 2), "reduce_max: x has no such axis", "axis from -2 to 1", "got 2"),
    (
        lambda: dsl.reduce_max(X, "0"),
        "reduce_max takes whole numbers for axis",
        "an integer",
        "'0'",
    ),
    (
        lambda: dsl.tuple_sum(X, 0),
        "tuple_sum takes several tensors",
        "a list of two tensors",
        "Tensor(x",
    ),
    (lambda: dsl.broadcast(X, (4, 12)), "x cannot be broadcast", "(4, 12)", "got (4, 6)"),
    (lambda: dsl.broadcast(X, (6,)), "x cannot be broadcast", "(6,)", "got (4, 6)"),
    (lambda: dsl.broadcast("1", (6,)), "broadcast takes a tensor or a scalar", "a number", "str"),
    (lambda: dsl.concat(X, 0), "concat takes tensors in a list", "a list of tensors", "Tensor(x"),
    (
        lambda: dsl.concat([X, Y], 0),
        "differ along its axis only",
        "(4, 6) but for axis 0",
        "(4, 5) (y)",
    ),
    (lambda: dsl.split(X, 1, [4, 4]), "split has to use up its axis", "sum is 6", "[4, 4]"),
    (
        lambda: dsl.transpose(X, [0, 0]),
        "transpose takes each axis once",
        "a permutation of [0, 1]",
        "[0, 0]",
    ),
    (
        lambda: dsl.gather(X, Y),
        "gather takes whole numbers for indices",
        "an integer dtype",
        "float16 (y)",
    ),
    (
        lambda: dsl.scatter(X, N, Y),
        "scatter: the updates do not fit",
        "float16 (4, 6)",
        "(4, 5) (y)",
    ),
    (lambda: dsl.scatter(X, N, X, "plus"), "scatter: unknown reduction", "update or add", "'plus'"),
    (
        lambda: dsl.inplace_add(X, [4], X),
        "inplace_add: x has no such row",
        "rows from 0 to 3",
        "got 4",
    ),
    (
        lambda: dsl.inplace_sub(X, [0, 1], X),
        "inplace_sub: the rows do not fit",
        "(2, 6)",
        "(4, 6) (x)",
    ),
    (
        lambda: dsl.unsorted_segment_sum(X, [0, 1], 2),
        "every row needs a segment",
        "shape (4,)",
        "got (2,)",
    ),
    (lambda: dsl.matmul(X, Y), "matmul: the matrices do not fit", "6 rows in y", "got 4"),
    (
        lambda: dsl.matmul(X, Y, format_a="NZ16"),
        "matmul: unknown format_a",
        "ND or FRACTAL_NZ",
        "'NZ16'",
    ),
    (
        lambda: dsl.pooling2d(X, [2, 2], [1, 1], "MAX"),
        "pooling2d takes NC1HWC0 or NCHW",
        "five axes or four",
        "2 (x)",
    ),
    (
        lambda: dsl.ext.reshape(X, (5, 5)),
        "reshape keeps the number of elements",
        "24 elements",
        "25 in (5, 5)",
    ),
    (
        lambda: dsl.ext.pad(X, [(1, 1)]),
        "pad takes one number per axis for paddings",
        "expected 2",
        "got 1",
    ),
]


@cases("use, what, expected, got", CASES, ids=[case[1] for case in CASES])
def test_a_wrong_use(use: Callable[[], Any], what: str, expected: str, got: str) -> None:
    with pytest.raises(InputError) as caught:
        use()
    message = str(caught.value)
    for part in (what, expected, got):
        assert part in message
    if "unknown dtype" not in what:
        assert f"test_operation_errors.py:{use.__code__.co_firstlineno}: " in message
