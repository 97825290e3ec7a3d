"""Transposes around products: the library uses strides, against the formulas in float64."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from custom_ops.onednn import Prepared
from ms_fusion.kernel_server.sequence_assembly import assemble, compile_own, own_kernels
from ms_fusion.ledger import BuildStep
from tests.cases import cases
from tests.ms_fusion.kernel_server.composites import Text
from tests.ms_fusion.lowering.onednn.test_groups import check, needs_onednn, normal

HEADS, LAST = (0, 2, 1, 3), (0, 1, 3, 2)
BATCH, TOKENS, COUNT, SIZE = 2, 33, 3, 16
LIES, SEEN, SCORES = (
    (BATCH, TOKENS, COUNT, SIZE),
    (BATCH, COUNT, TOKENS, SIZE),
    (BATCH, COUNT, TOKENS, TOKENS),
)


def transposed(text: Text, name: str, order: Sequence[int], dtype: str = "float32") -> str:
    shape = [text.made[name]["shape"][axis] for axis in order]
    return text.step("Transpose", [name, text.constant(list(order), "int64")], shape, dtype)


def forward(text: Text) -> tuple[str, str, str]:
    """Attention's query after its transpose, its weights, its result."""
    query, key, value = (text.input(LIES, "float32") for _ in "qkv")
    seen = transposed(text, query, HEADS)
    scores = text.step(
        "BatchMatMul",
        [seen, transposed(text, transposed(text, key, HEADS), LAST)],
        SCORES,
        "float32",
    )
    weights = text.step("Sigmoid", [scores], SCORES, "float32")
    mixed = text.step("BatchMatMul", [weights, transposed(text, value, HEADS)], SEEN, "float32")
    return seen, weights, transposed(text, mixed, HEADS)


@needs_onednn
def test_attention_lays_nothing_anew() -> None:
    text = Text("Fused_attention")
    *_, result = forward(text)
    kernel = text.kernel(result)
    assert check(kernel, {name: normal(*LIES) for name in kernel.graph.inputs}) == [
        "BatchMatMul",
        "own",
        "BatchMatMul",
    ]
    (product, work, other), _ = compile_own(kernel)
    assert product == BuildStep("onednn", ("Transpose", "Transpose", "Transpose", "BatchMatMul"))
    assert work == BuildStep("c", ("Sigmoid",), 1)
    assert other == BuildStep("onednn", ("Transpose", "BatchMatMul", "Transpose"))


@needs_onednn
def test_what_is_handed_out_is_written_all_the_same() -> None:
    text = Text("Fused_handed_out")
    kernel = text.kernel(*forward(text))
    assert check(kernel, {name: normal(*LIES) for name in kernel.graph.inputs})[0] == "own"


@needs_onednn
def test_gradients_of_attention() -> None:
    text = Text("Fused_gradients")
    grad, value, weights, query, key = (
        text.input(shape, "float32")
        for shape in (LIES, SEEN, SCORES, SEEN, (BATCH, COUNT, SIZE, TOKENS))
    )
    seen = transposed(text, grad, HEADS)
    of_weights = text.step("BatchMatMul", [seen, transposed(text, value, LAST)], SCORES, "float32")
    of_scores = text.step("Mul", [weights, of_weights], SCORES, "float32")
    of_query = text.step("BatchMatMul", [of_scores, transposed(text, key, LAST)], SEEN, "float32")
    of_key = text.step(
        "BatchMatMul",
        [transposed(text, query, LAST), of_scores],
        (BATCH, COUNT, SIZE, TOKENS),
        "float32",
    )
    of_value = text.step("BatchMatMul", [transposed(text, weights, LAST), seen], SEEN, "float32")
    kernel = text.kernel(
        transposed(text, of_query, HEADS),
        transposed(text, transposed(text, of_key, LAST), HEADS),
        transposed(text, of_value, HEADS),
    )
    given = {name: normal(*kernel.graph.values[name].shape) for name in kernel.graph.inputs}
    found = check(kernel, given)
    assert sorted(found) == ["BatchMatMul"] * 4 + ["own"]


@needs_onednn
def test_a_transpose_with_other_readers_stays_right() -> None:
    text = Text("Fused_others")
    a, b = text.input(LIES, "float32"), text.input(SEEN, "float32")
    seen = transposed(text, a, HEADS)
    product = text.step("BatchMatMul", [seen, b], SCORES, "float32", transpose_b=True)
    turned = transposed(text, product, LAST)
    results = (
        text.step("Exp", [seen], SEEN, "float32"),
        text.step("Exp", [product], SCORES, "float32"),
        turned,
    )
    kernel = text.kernel(*results)
    assert check(kernel, {a: normal(*LIES), b: normal(*SEEN)}).count("BatchMatMul") == 1


@needs_onednn
def test_orders_and_batches_that_onednn_gets_wrong_are_ours() -> None:
    text = Text("Fused_orders")
    a, b = text.input((3, 4, 2, 5), "float32"), text.input((2, 1, 5, 6), "float32")
    product = text.step(
        "BatchMatMul", [transposed(text, a, (2, 0, 1, 3)), b], (2, 3, 4, 6), "float32"
    )
    kernel = text.kernel(transposed(text, product, HEADS))
    assert check(kernel, {a: normal(3, 4, 2, 5), b: normal(2, 1, 5, 6)}) == [
        "own",
        "BatchMatMul",
        "own",
    ]


@needs_onednn
@cases("seed", range(60), quick=4, per_item=20)
def test_transposes_in_rows(seed: int) -> None:
    """Up to three before each operand and after the result, in any order."""
    chance = random.Random(seed)
    rank, dtype = chance.choice([2, 3, 4, 4, 4]), chance.choice(["float32"] * 3 + ["float16"])
    text = Text(f"Fused_rows_{seed}")
    batch = [chance.choice([1, 2, 3]) for _ in range(rank - 2)]
    rows, inner, columns = (chance.choice([1, 2, 7, 16, 33]) for _ in range(3))
    likely = {2: [(1, 0)], 3: [(0, 2, 1)], 4: [HEADS, HEADS, LAST]}[rank]
    orders = [
        [
            chance.choice(likely)
            if chance.random() < 0.8
            else tuple(chance.sample(range(rank), rank))
            for _ in range(chance.randint(0, 3))
        ]
        for _ in "aby"
    ]
    operands, flags = [], {}
    for name, sizes, many in (("a", [rows, inner], orders[0]), ("b", [inner, columns], orders[1])):
        flags[f"transpose_{name}"] = chance.random() < 0.5
        shape = [*batch, *(sizes[::-1] if flags[f"transpose_{name}"] else sizes)]
        if chance.random() < 0.2:
            shape[: rank - 2] = [1] * (rank - 2)
        for order in reversed(many):
            shape = [shape[axis] for axis in np.argsort(order)]
        operands.append(text.input(shape, dtype))
    inputs = {name: normal(*text.made[name]["shape"]) for name in operands}
    for at in range(2):
        for order in orders[at]:
            operands[at] = transposed(text, operands[at], order, dtype)
    batches = [tuple(text.made[name]["shape"][:-2]) for name in operands]
    product = text.step(
        "MatMul" if rank == 2 else "BatchMatMul",
        operands,
        (*np.broadcast_shapes(*batches), rows, columns),
        dtype,
        **flags,
    )
    results = [product]
    for order in orders[2]:
        results.append(transposed(text, results[-1], order, dtype))
    wanted = [results[-1], *(name for name in results[:-1] if chance.random() < 0.1)]
    kernel = text.kernel(*wanted)
    check(kernel, inputs)


@needs_onednn
def test_tuning_sees_the_kernels_that_are_compiled() -> None:
    text = Text("Fused_tuned")
    kernel = text.kernel(forward(text)[-1])
    chain = [
        step.kernel for step in assemble(kernel).steps if not isinstance(step.kernel, Prepared)
    ]
    tuned = [own for own, *_ in own_kernels(kernel)]
    assert [[one.shape for one in own.inputs] for own in tuned] == [
        [one.shape for one in own.inputs] for own in chain
    ]


@needs_onednn
def test_what_is_written_in_place_is_read_before() -> None:
    text = Text("Fused_in_place")
    weight, x, new = (text.input(shape, "float32") for shape in ((5, 7), (5, 4), (5, 7)))
    product = text.step("MatMul", [transposed(text, weight, (1, 0)), x], (7, 4), "float32")
    written = text.step(
        "Assign", [weight, text.step("Exp", [new], (5, 7), "float32")], (5, 7), "float32"
    )
    kernel = text.kernel(product, written)
    check(kernel, {weight: normal(5, 7), x: normal(5, 4), new: normal(5, 7)})
