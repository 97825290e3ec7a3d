"""A matrix that all batches share is read in place: no copy of a weight for each batch."""

from __future__ import annotations

import numpy as np

from custom_ops.onednn import Prepared
from ms_fusion.kernel_server.sequence_assembly import assemble, compile_own
from ms_fusion.ledger import BuildStep
from tests.cases import cases
from tests.ms_fusion.kernel_server.composites import Text
from tests.ms_fusion.lowering.onednn.test_groups import check, needs_onednn, normal

pytestmark = needs_onednn


def broadcast(text: Text, name: str, shape: tuple[int, ...], dtype: str = "float32") -> str:
    return text.step("BroadcastTo", [name, text.constant(list(shape), "int64")], shape, dtype)


@cases("dtype", ["float32", "float16"])
@cases("batch", [(8,), (2, 3), (1,)])
@cases("transpose_b", [False, True])
def test_a_weight_is_one_matrix(batch: tuple[int, ...], dtype: str, transpose_b: bool) -> None:
    """With bias, which the library adds, and relu, its second pass."""
    text = Text("Fused_weight")
    x, bias = text.input((*batch, 4, 6), dtype), text.input((10,), dtype)
    sizes = (10, 6) if transpose_b else (6, 10)
    weight = text.input(sizes, dtype)
    result = (*batch, 4, 10)
    many = broadcast(text, weight, (*batch, *sizes), dtype)
    made = text.step("BatchMatMul", [x, many], result, dtype, transpose_b=transpose_b)
    made = text.step("Add", [made, bias], result, dtype)
    made = text.step("Maximum", [made, text.constant(0.0, dtype)], result, dtype)
    kernel = text.kernel(made)
    given = {x: normal(*batch, 4, 6), bias: normal(10), weight: normal(*sizes)}
    assert check(kernel, given) == ["BatchMatMul"]
    product = assemble(kernel).steps[0].kernel
    assert isinstance(product, Prepared)
    rows = 4 * int(np.prod(batch))
    assert [one.shape for one in product.inputs] == [(rows, 6), sizes, (10,)]
    operators = ("BroadcastTo", "BatchMatMul", "Add", "Maximum")
    (step,), _ = compile_own(kernel)
    written = rows * 10 * np.dtype(dtype).itemsize
    assert step == BuildStep("onednn", operators, second_pass_bytes=written)


def test_a_weight_of_float16_is_not_broadcast_in_float32() -> None:
    """In MindSpore's form: a Cast before and after the BroadcastTo."""
    text = Text("Fused_half")
    x, weight = text.input((8, 4, 6), "float16"), text.input((6, 10), "float16")
    wide = text.step("Cast", [weight], (6, 10), "float32")
    many = text.step("Cast", [broadcast(text, wide, (8, 6, 10))], (8, 6, 10), "float16")
    kernel = text.kernel(text.step("BatchMatMul", [x, many], (8, 4, 10), "float16"))
    given = {x: normal(8, 4, 6), weight: normal(6, 10)}
    assert check(kernel, given) == ["own", "BatchMatMul"]
    product = assemble(kernel).steps[1].kernel
    assert isinstance(product, Prepared)
    assert [one.shape for one in product.inputs] == [(32, 6), (6, 10)]


def test_a_weight_behind_a_transpose_and_its_gradient() -> None:
    """In the form of `ops.matmul(x, w.T)` and of the gradient of x."""
    text = Text("Fused_gradient")
    weight, x, dy = (
        text.input(shape, "float32") for shape in ((10, 6), (2, 3, 4, 6), (2, 3, 4, 10))
    )
    order = text.constant([1, 0], "int64")
    turned = text.step("Transpose", [weight, order], (6, 10), "float32")
    y = text.step(
        "BatchMatMul", [x, broadcast(text, turned, (2, 3, 6, 10))], (2, 3, 4, 10), "float32"
    )
    again = text.step("Transpose", [turned, order], (10, 6), "float32")
    slope = text.step(
        "Mul", [dy, text.step("Tanh", [y], (2, 3, 4, 10), "float32")], (2, 3, 4, 10), "float32"
    )
    of_x = text.step(
        "BatchMatMul", [slope, broadcast(text, again, (2, 3, 10, 6))], (2, 3, 4, 6), "float32"
    )
    kernel = text.kernel(of_x)
    given = {name: normal(*kernel.graph.values[name].shape) for name in kernel.graph.inputs}
    assert check(kernel, given) == ["BatchMatMul", "own", "BatchMatMul"]


def test_what_others_read_or_what_is_turned_stays_right() -> None:
    """The broadcast is a result; x is stored by columns; the first operand is the shared one."""
    text = Text("Fused_others")
    weight, x = text.input((6, 10), "float32"), text.input((3, 6, 4), "float32")
    many = broadcast(text, weight, (3, 6, 10))
    of_columns = text.step("BatchMatMul", [x, many], (3, 4, 10), "float32", transpose_a=True)
    first = text.input((5, 6), "float32")
    of_first = text.step(
        "BatchMatMul", [broadcast(text, first, (3, 5, 6)), many], (3, 5, 10), "float32"
    )
    left = text.step("BatchMatMul", [broadcast(text, first, (3, 5, 6)), x], (3, 5, 4), "float32")
    kernel = text.kernel(
        of_columns, of_first, left, text.step("Exp", [many], (3, 6, 10), "float32")
    )
    given = {name: normal(*kernel.graph.values[name].shape) for name in kernel.graph.inputs}
    assert check(kernel, given).count("BatchMatMul") == 3


def test_several_matrices_are_not_one() -> None:
    """(2, 1, 6, 10) for batches of 2 × 3: three batches read each."""
    text = Text("Fused_several")
    weight, x = text.input((2, 1, 6, 10), "float32"), text.input((2, 3, 4, 6), "float32")
    many = broadcast(text, weight, (2, 3, 6, 10))
    kernel = text.kernel(text.step("BatchMatMul", [x, many], (2, 3, 4, 10), "float32"))
    given = {weight: normal(2, 1, 6, 10), x: normal(2, 3, 4, 6)}
    assert check(kernel, given) == ["own", "BatchMatMul"]
