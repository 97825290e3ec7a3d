"""Reshapes of a graph that are no operations for CANN."""

from __future__ import annotations

from tbe_impl import dsl
from tbe_impl.cann.reshape_elimination import eliminate_reshapes
from tbe_impl.dsl.tensor import Tensor, placeholder


def reshape(x: Tensor, *shape: int) -> Tensor:
    made: Tensor = dsl.ext.reshape(x, list(shape))
    return made


def test_an_input_takes_the_shape_that_is_read() -> None:
    x, gamma = placeholder((2, 4, 3), "float16", "x"), placeholder((4,), "float16", "gamma")
    column = reshape(dsl.cast_to(gamma, "float32"), 1, 4, 1)
    y = dsl.vmul(dsl.cast_to(x, "float32"), dsl.broadcast(column, [2, 4, 3]))
    found = eliminate_reshapes([x, gamma], [y])
    assert found.shapes[id(gamma)] == (1, 4, 1) and id(x) not in found.shapes
    assert found.eliminated == {id(column)} and not found.copied


def test_a_result_keeps_the_shape_that_is_computed() -> None:
    x = placeholder((2, 4), "float32", "x")
    total = dsl.reduce_sum(x, axis=[0], keepdims=True)
    y = dsl.cast_to(reshape(total, 4), "float16")
    found = eliminate_reshapes([x], [y])
    assert found.shapes[id(y)] == (1, 4)
    assert len(found.eliminated) == 1 and not found.copied


def test_different_reshapes_of_one_input_stay() -> None:
    x = placeholder((6,), "float32", "x")
    wide, tall = (dsl.reduce_sum(reshape(x, *shape), axis=[0]) for shape in ((2, 3), (3, 2)))
    found = eliminate_reshapes([x], [wide, tall])
    assert not found.shapes and not found.eliminated


def test_a_reshape_between_reductions_stays() -> None:
    x = placeholder((4, 6), "float32", "x")
    y = dsl.reduce_max(reshape(dsl.reduce_sum(x, axis=[1], keepdims=True), 2, 2), axis=[0])
    found = eliminate_reshapes([x], [y])
    assert not found.shapes and not found.eliminated


def test_a_result_that_would_be_an_input_is_a_copy() -> None:
    x = placeholder((2, 3), "float32", "x")
    y = reshape(x, 6)
    found = eliminate_reshapes([x], [y])
    assert found.eliminated == found.copied == {id(y)}


def test_a_repeated_number_is_repeated_to_the_other_shape() -> None:
    x, grad = placeholder((6, 5), "float32", "x"), placeholder((1,), "float32", "grad")
    column = dsl.vmuls(dsl.broadcast(grad, [6]), 0.5)
    y = dsl.vmul(x, dsl.broadcast(reshape(column, 6, 1), [6, 5]))
    found = eliminate_reshapes([x, grad], [y])
    assert found.shapes[id(column)] == (6, 1) and id(grad) not in found.shapes
