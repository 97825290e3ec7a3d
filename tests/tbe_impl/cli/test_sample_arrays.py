"""Sample arrays for kernels: seeded, of both signs, valid indices; given arrays are unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from tbe_impl.arguments import Argument
from tbe_impl.cli.arguments import ArrayDescription
from tbe_impl.cli.sample_arrays import make_inputs
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel
from tests.cases import cases


def kernel(output: Tensor, *inputs: Tensor) -> Kernel:
    def argument(tensor: Tensor) -> Argument:
        return Argument(tensor, tuple(int(str(size)) for size in tensor.shape), tensor.name)

    return Kernel("k", "cpu", tuple(map(argument, inputs)), (argument(output),))


def tensor(shape: tuple[int, ...], dtype: str, name: str = "x") -> Tensor:
    made: Tensor = placeholder(shape, dtype, name)
    return made


@cases("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_are_of_both_signs_and_seeded(dtype: str) -> None:
    x = tensor((400,), dtype)
    made = kernel(OPERATIONS["vabs"](x), x)
    described = [ArrayDescription((400,), dtype, name="data")]
    (one,), (same,), (other,) = (make_inputs(made, described, seed=seed) for seed in (1, 1, 2))
    wide = one.array.astype(np.float64)
    assert one.name == "data" and one.array.dtype == made.inputs[0].dtype
    assert abs(wide.mean()) < 0.2 and 0.8 < wide.std() < 1.2
    assert np.array_equal(one.array, same.array) and not np.array_equal(one.array, other.array)


@cases(
    "dtype, name, operator, values",
    [
        ("int32", "x", "", (-50, 50)),
        ("uint8", "x", "", (0, 100)),
        ("int8", "condition", "", (0, 1)),
        ("int8", "x", "logical_and", (0, 1)),
        ("bool", "x", "", (0, 1)),
    ],
)
def test_whole_numbers(dtype: str, name: str, operator: str, values: tuple[int, int]) -> None:
    x = tensor((4000,), dtype)
    made = kernel(OPERATIONS["cast_to"](x, "float32"), x)
    (found,) = make_inputs(made, [ArrayDescription((4000,), dtype, name=name)], operator=operator)
    assert (int(found.array.min()), int(found.array.max())) == values


def test_indices_lie_inside(subtests: pytest.Subtests) -> None:
    table, ids = tensor((7, 3), "float32", "table"), tensor((500,), "int32", "ids")
    for name, output in {
        "a word": OPERATIONS["gather"](table, ids, 0),
        "a raw compute": compute((500, 3), lambda i, j: table(ids(i), j), "taken"),
    }.items():
        with subtests.test(name):
            _, found = make_inputs(kernel(output, table, ids), [])
            assert (int(found.array.min()), int(found.array.max())) == (0, 6)
    rows = tensor((500, 2), "float32", "rows")
    segments = OPERATIONS["unsorted_segment_sum"](rows, ids, 5)
    _, found = make_inputs(kernel(segments, rows, ids), [])
    assert (int(found.array.min()), int(found.array.max())) == (0, 4)


def test_given_arrays_are_used_and_matched_by_size_and_dtype() -> None:
    x, y = tensor((6,), "float32", "x"), tensor((6,), "int32", "y")
    made = kernel(OPERATIONS["vadd"](x, OPERATIONS["cast_to"](y, "float32")), x, y)
    given = np.arange(6, dtype=np.int32).reshape(2, 3)
    found = make_inputs(
        made,
        [
            ArrayDescription((2, 3), "int32", array=given, name="second"),
            ArrayDescription((6,), "float32", name="first"),
        ],
    )
    assert [item.name for item in found] == ["first", "second"]
    assert found[1].array.tolist() == [0, 1, 2, 3, 4, 5]

    other = tensor((6,), "float32", "other")  # equal descriptions keep their order
    alike = kernel(OPERATIONS["vsub"](x, other), x, other)
    found = make_inputs(alike, [ArrayDescription((6,), name=name) for name in ("first", "second")])
    assert [item.name for item in found] == ["first", "second"]
    assert not np.array_equal(found[0].array, found[1].array)


def test_a_size_of_call_time_is_refused() -> None:
    x = tensor((6,), "float32")
    made = kernel(OPERATIONS["vabs"](x), x)
    with pytest.raises(InputError, match="known at call time only"):
        make_inputs(Kernel("k", "cpu", (Argument(x, (-1,), "x"),), made.outputs), [])
