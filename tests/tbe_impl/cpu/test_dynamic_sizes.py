"""Kernels with dynamic sizes, some of them not sums or products of sizes."""

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.tensor import compute, placeholder
from tbe_impl.interpreter import evaluate

N, M = dsl.var("n"), dsl.var("m")
X = placeholder((N, M), "float32", "x")
HALF = compute(((N + 1) // 2, M), lambda i, j: X(i * 2, j) * 2.0)
EXP = dsl.vexp(X)
SHARE = dsl.vdiv(EXP, dsl.broadcast(dsl.reduce_sum(EXP, 1, keepdims=True), (N, M)))


OUTPUTS = {
    "every second row": [HALF],
    "rows": [dsl.reduce_sum(X, 1, keepdims=True)],
    "columns": [dsl.reduce_sum(X, 0)],
    "softmax and more": [SHARE, HALF],
    "of every second row": [dsl.vadds(HALF, 1.0), dsl.reduce_max(HALF, [0])],
}


def test_one_kernel_for_all_sizes(subtests):
    planned = [
        prepared_kernel.plan(outputs, [X], name=f"sizes_{n}")
        for n, outputs in enumerate(OUTPUTS.values())
    ]
    prepared_kernel.build_together(planned)
    for (name, outputs), one in zip(OUTPUTS.items(), planned, strict=True):
        with subtests.test(name):
            check(one.compile(), outputs)


def check(kernel, outputs):
    """Raises unless the kernel equals NumPy for arrays of several sizes."""
    assert kernel.only_program is not None
    random = np.random.default_rng(0)
    for rows, columns in ((5, 7), (64, 100), (1, 1), (33, 1024)):
        array = random.standard_normal((rows, columns)).astype(np.float32)
        values = {id(N): rows, id(M): columns}
        wanted = evaluate.run(outputs, {id(X): array}, values, rounding="float64")
        for got, right in zip(kernel.run([array], values, 2), wanted, strict=True):
            assert got.shape == right.shape
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)
