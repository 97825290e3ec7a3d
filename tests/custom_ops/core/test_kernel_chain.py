"""Kernel sequences: results, shared scratch memory, threads, machines without a compiler."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from custom_ops.core.kernel_chain import Chain, make_step
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.operators.epilogues import ROWS_SUM
from custom_ops.operators.linear import dsl_kernel
from custom_ops.operators.mul_sigmoid import MUL_SIGMOID
from tbe_impl.errors import InputError, MissingError
from tbe_impl.runtime import compiler
from tests.cases import cases

SQUARE = ArraySpec((8, 16), "float32")


def chain(length: int) -> Chain:
    """y gates x `length` times; the result is summed over rows."""
    names = ["x", *(f"step{i}" for i in range(length))]
    gate = dsl_kernel(MUL_SIGMOID, (SQUARE, SQUARE))
    steps = [make_step(gate, (names[i], "y"), (names[i + 1],)) for i in range(length)]
    steps.append(make_step(dsl_kernel(ROWS_SUM, (SQUARE,)), (names[-1],), ("total",)))
    return Chain(
        "Gated", {"x": SQUARE, "y": SQUARE}, {"total": ArraySpec((16,), "float32")}, tuple(steps)
    )


def arrays(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((8, 16)).astype(np.float32) for _ in range(2)]


def right(x, y, length):
    x, y = x.astype(np.float64), y.astype(np.float64)
    return (x * (y / (1 + np.exp(-y))) ** length).sum(0)


@cases("length", [1, 2, 5])
def test_a_sequence_computes_the_chained_formula(length):
    given = arrays(0)
    made = chain(length)
    assert made.c_function is not None
    np.testing.assert_allclose(made(*given), right(*given, length), rtol=1e-4, atol=1e-5)


def test_what_is_between_shares_memory():
    one = 8 * 16 * 4
    assert chain(1).scratch_bytes == one
    assert chain(2).scratch_bytes == chain(7).scratch_bytes == 2 * one


def test_many_threads_at_once():
    made = chain(4)
    with ThreadPoolExecutor(6) as pool:
        results = pool.map(lambda seed: (seed, made(*arrays(seed))), range(60))
        for seed, got in results:
            np.testing.assert_allclose(got, right(*arrays(seed), 4), rtol=1e-3, atol=1e-4)


def test_without_a_compiler(monkeypatch):
    def missing(*_, **__):
        raise MissingError("there is no C compiler")

    made = chain(3)
    monkeypatch.setattr(compiler, "build", missing)
    monkeypatch.setattr("tbe_impl.runtime.sequence._load_sequence_runner", missing)
    given = arrays(1)
    np.testing.assert_allclose(made(*given), right(*given, 3), rtol=1e-4, atol=1e-5)


def test_arrays_that_do_not_fit():
    with pytest.raises(InputError, match="Gated: y does not fit"):
        chain(1)(np.zeros((8, 16), np.float32), np.zeros((8, 15), np.float32))
