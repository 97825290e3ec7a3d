"""An output that reshapes a loop's result is written by that loop."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tbe_impl import dsl
from tbe_impl.arguments import Argument
from tbe_impl.codegen.program import strip_output_reshapes, write_program
from tbe_impl.kernel import Kernel
from tests.cases import FULL, cases

X = np.random.default_rng(1).standard_normal((6, 4, 10)).astype(np.float32)


def kernel(make):
    x = dsl.placeholder(X.shape, "float32", "x")
    outputs = make(x)
    results = [
        Argument(one, tuple(int(size.value) for size in one.shape), f"y{i}")
        for i, one in enumerate(outputs)
    ]
    return Kernel("shapes", "cpu", (Argument(x, X.shape, "x"),), tuple(results)), outputs, x


def centred(x):
    return dsl.vsub(
        x, dsl.broadcast(dsl.vmuls(dsl.reduce_sum(x, [1, 2], keepdims=True), 1 / 40), x.shape)
    )


RIGHT = X - X.mean((1, 2), keepdims=True)
CASES = {
    "of a result": (lambda x: [dsl.ext.reshape(centred(x), [24, 10])], [RIGHT.reshape(24, 10)], 1),
    "of a shape": (
        lambda x: [dsl.ext.reshape(dsl.ext.reshape(centred(x), [240]), [2, 120])],
        [RIGHT.reshape(2, 120)],
        1,
    ),
    "of an input": (lambda x: [dsl.ext.reshape(x, [24, 10])], [X.reshape(24, 10)], 0),
}


def both(x):
    made = centred(x)
    return [dsl.ext.reshape(made, [24, 10]), dsl.ext.reshape(made, [240])]


def with_itself(x):
    made = centred(x)
    return [dsl.ext.reshape(made, [24, 10]), made]


def read_again(x):
    made = dsl.ext.reshape(centred(x), [24, 10])
    return [made, dsl.reduce_sum(made, [0])]


CASES["twice"] = both, [RIGHT.reshape(24, 10), RIGHT.reshape(240)], 1
CASES["with itself"] = with_itself, [RIGHT.reshape(24, 10), RIGHT], 0
CASES["that is read"] = read_again, [RIGHT.reshape(24, 10), RIGHT.sum((0, 1))], 0


@cases(
    "name",
    [pytest.param(name, marks=FULL if name in ("of a shape", "twice") else ()) for name in CASES],
)
def test_reshaped_outputs_have_the_right_values(name):
    make, wanted, changed = CASES[name]
    made, outputs, x = kernel(make)
    lying = strip_output_reshapes(outputs, [x])
    assert sum(one is not other for one, other in zip(lying, outputs, strict=True)) == changed
    found = made(X)
    for got, want in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_what_is_there_already_is_read_where_it_lies():
    x = dsl.placeholder(X.shape, "float32", "x")
    made = dsl.ext.reshape(centred(x), [24, 10])
    again = dsl.ext.reshape(made, [240])
    assert strip_output_reshapes([again], [made]) == (again,)


def test_a_shape_that_two_products_read():
    x = dsl.placeholder(X.shape, "float32", "x")
    rows = dsl.ext.reshape(dsl.transpose(x, (0, 2, 1)), [60, 4])
    one = dsl.matmul(rows, rows, True, dst_dtype="float32")
    two = dsl.matmul(
        dsl.ext.reshape(rows, [40, 6]), dsl.ext.reshape(x, [6, 40]), dst_dtype="float32"
    )
    results = Argument(one, (4, 4), "one"), Argument(two, (40, 40), "two")
    got = Kernel("products", "cpu", (Argument(x, X.shape, "x"),), results)(X)
    wanted = X.transpose(0, 2, 1).reshape(60, 4)
    np.testing.assert_allclose(got[0], wanted.T @ wanted, atol=1e-4)
    np.testing.assert_allclose(got[1], wanted.reshape(40, 6) @ X.reshape(6, 40), atol=1e-4)


def test_a_reshaped_output_needs_no_second_nest():
    _, outputs, x = kernel(CASES["of a result"][0])
    assert len(re.findall(r"static void \w*nest\d+\(", write_program(outputs, [x]).source)) == 1


def test_sizes_that_only_the_shape_asks_for():
    size = dsl.var("size")
    x = dsl.placeholder((size * 4, 10), "float32", "x")
    made = dsl.ext.reshape(dsl.vadds(x, 1.0), [x.shape[0] // 4, 4, 10])
    arguments = Argument(x, (-1, 10), "x"), Argument(made, (-1, 4, 10), "y")
    np.testing.assert_array_equal(
        Kernel("open", "cpu", arguments[:1], arguments[1:])(X.reshape(24, 10)), X + 1
    )
