"""Gathered rows in C against the NumPy back end, with contiguous loads within a row."""

from __future__ import annotations

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.codegen.program import write_program
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import assert_same, prepare, run_both


@cases("dtype", ["float16", "float32", "float64", "int8", "int64"], sample=3)
@cases("shape", [(7, 1), (7, 33), (7, 64), (3, 4, 19), (0, 40)])
@cases("axis", [0, 1])
def test_gathered_rows_equal_the_numpy_back_end(
    dtype: str, shape: tuple[int, ...], axis: int, cache: Store
) -> None:
    """Indices, some of them out of range."""
    rng = np.random.default_rng(0)
    table = rng.integers(-9, 9, shape).astype(dtype)
    ids = rng.integers(-2, max(shape) + 2, (5, 6)).astype("int32")
    kernel, outputs, inputs = prepare(
        lambda x, i: dsl.gather(x, i, axis), table, ids, cache=cache, parallel_elements=0
    )
    given = {id(tensor): array for tensor, array in zip(inputs, (table, ids), strict=True)}
    (wanted,) = evaluate.run(outputs, given)
    for threads in (1, 2):
        assert_same(kernel.run([table, ids], {}, threads)[0], wanted)


def test_rows_may_lie_outside_where_leading_loops_are_one(
    cache: Store,
) -> None:
    x = np.random.default_rng(0).permutation(864).reshape(2, 3, 4, 6, 6).astype("float32")
    both = run_both(
        lambda x: dsl.reduce_window(
            x, "MAX", (2, 3, 4), (2, 3, 2), (2, 1, 2), padding_mode="SAME", return_argmax=True
        ),
        x,
        cache=cache,
    )
    for found, wanted in both:
        assert_same(found, wanted)


def test_embedding_rows_are_loaded_contiguously() -> None:
    from custom_ops.core.computation import Computation
    from custom_ops.core.kernel_interface import ArraySpec
    from custom_ops.operators.token_embedding import TOKEN_EMBEDDING

    given = [ArraySpec((40,), "int32"), ArraySpec((100, 64), "float32")]
    assert "gather" not in Computation(TOKEN_EMBEDDING, {}).kernel(given).source


def test_few_rows_of_a_large_table_are_read_by_one_thread() -> None:
    """The read bytes count, not the size of the table."""
    table, numbers = placeholder((4096, 1024), "float32"), placeholder((4,), "int32")
    source = write_program([dsl.gather(table, numbers, 0)], [table, numbers]).source
    assert "threads > 1" in source
    assert "INT64_C(4194304)" not in source
