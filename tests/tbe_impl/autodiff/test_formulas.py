"""Derived backwards of operators against textbook formulas, their loops, and random graphs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.autodiff.reverse_mode import gradients
from tbe_impl.codegen.program import layout_of
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl import ext
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.errors import InputError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen import random_graphs
from tests.tbe_impl.dsl.differences import STEP, Derived, assert_derivatives, derived

GRAPHS = int(os.environ.get("TBE_FUZZ", "0")) or 60
FIRST = int(os.environ.get("TBE_FUZZ_FIRST", "0"))
Arrays = tuple[np.ndarray, ...]


def along(tensor: Tensor, like: Tensor) -> Tensor:
    return dsl.broadcast(tensor, like.shape)


def softmax(x: Tensor) -> Tensor:
    power = dsl.vexp(dsl.vsub(x, along(dsl.reduce_max(x, -1, True), x)))
    return dsl.vdiv(power, along(dsl.reduce_sum(power, -1, True), x))


def softmax_backward(x: np.ndarray, g: np.ndarray) -> Arrays:
    y = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    return (y * (g - (g * y).sum(-1, keepdims=True)),)


def softmax_of_columns(x: Tensor) -> Tensor:
    """Rows minus their maxima: each column has those of all rows."""
    level = dsl.vsub(x, along(dsl.reduce_max(x, -1, True), x))
    power = dsl.vexp(dsl.vmuls(level, 0.5))
    return dsl.vdiv(power, along(dsl.reduce_sum(power, 0, True), x))


def turned_ratio(x: Tensor) -> Tensor:
    """Powers of a square matrix by its transpose."""
    square = dsl.compute((2, 2), lambda i, j: x(i, j), "square")
    power = dsl.vexp(dsl.vsub(square, along(dsl.reduce_max(square, -1, True), square)))
    turned = dsl.compute(power.shape, lambda i, j: power(j, i), "turned")
    return dsl.vdiv(power, turned)


def log_softmax(x: Tensor) -> Tensor:
    shifted = dsl.vsub(x, along(dsl.reduce_max(x, -1, True), x))
    return dsl.vsub(shifted, along(dsl.vlog(dsl.reduce_sum(dsl.vexp(shifted), -1, True)), x))


def log_softmax_backward(x: np.ndarray, g: np.ndarray) -> Arrays:
    y = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    return (g - y * g.sum(-1, keepdims=True),)


def logsumexp(x: Tensor) -> Tensor:
    largest = dsl.reduce_max(x, -1, True)
    return dsl.vadd(
        largest, dsl.vlog(dsl.reduce_sum(dsl.vexp(dsl.vsub(x, along(largest, x))), -1, True))
    )


def logsumexp_backward(x: np.ndarray, g: np.ndarray) -> Arrays:
    return (g * np.exp(x) / np.exp(x).sum(-1, keepdims=True),)


def cross_entropy(x: Tensor, labels: Tensor) -> Tensor:
    return dsl.vmuls(dsl.reduce_sum(dsl.vmul(log_softmax(x), labels), -1), -1.0)


def cross_entropy_backward(x: np.ndarray, labels: np.ndarray, g: np.ndarray) -> Arrays:
    total = np.exp(x).sum(-1, keepdims=True)
    column = g[:, None]
    return (
        column * (np.exp(x) / total * labels.sum(-1, keepdims=True) - labels),
        -column * (x - np.log(total)),
    )


def layer_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    away = dsl.vsub(x, along(dsl.reduce_mean(x, -1, True), x))
    variance = dsl.reduce_mean(dsl.vmul(away, away), -1, True)
    normal = dsl.vmul(away, along(dsl.vrsqrt(dsl.vadds(variance, 1e-5)), x))
    return dsl.vadd(dsl.vmul(normal, along(scale, x)), along(shift, x))


def layer_norm_backward(
    x: np.ndarray, scale: np.ndarray, shift: np.ndarray, g: np.ndarray
) -> Arrays:
    away = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)
    normal, inner = away * inverse, g * scale
    means = inner.mean(-1, keepdims=True), (inner * normal).mean(-1, keepdims=True)
    return inverse * (inner - means[0] - normal * means[1]), (g * normal).sum(0), g.sum(0)


def gelu(x: Tensor) -> Tensor:
    return dsl.vmuls(dsl.vmul(x, dsl.vadds(ext.erf(dsl.vmuls(x, 0.5**0.5)), 1.0)), 0.5)


def gelu_backward(x: np.ndarray, g: np.ndarray) -> Arrays:
    from scipy.special import erf

    inside = 0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return (g * inside,)


def silu_of_two(x: Tensor, y: Tensor) -> Tensor:
    return dsl.vmul(dsl.vmul(x, ext.sigmoid(x)), y)


def silu_of_two_backward(x: np.ndarray, y: np.ndarray, g: np.ndarray) -> Arrays:
    s = 1 / (1 + np.exp(-x))
    return g * y * (s + x * s * (1 - s)), g * x * s


def add_relu(x: Tensor, y: Tensor) -> Tensor:
    return dsl.vrelu(dsl.vadd(x, y))


def add_relu_backward(x: np.ndarray, y: np.ndarray, g: np.ndarray) -> Arrays:
    return (g * (x + y > 0),) * 2


def dense_relu(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    product = dsl.matmul(x, w, False, True, dst_dtype=x.dtype)
    return dsl.vrelu(dsl.vadd(product, along(b, product)))


def dense_relu_backward(x: np.ndarray, w: np.ndarray, b: np.ndarray, g: np.ndarray) -> Arrays:
    inner = g * (x @ w.T + b > 0)
    return inner @ w, inner.T @ x, inner.sum(0)


WIDE = (6, 40)
FORMULAS: dict[str, tuple[Callable[..., Tensor], Callable[..., Arrays], list[tuple[int, ...]]]] = {
    "softmax": (softmax, softmax_backward, [WIDE]),
    "log_softmax": (log_softmax, log_softmax_backward, [WIDE]),
    "logsumexp": (logsumexp, logsumexp_backward, [WIDE]),
    "cross_entropy": (cross_entropy, cross_entropy_backward, [WIDE, WIDE]),
    "layer_norm": (layer_norm, layer_norm_backward, [WIDE, (40,), (40,)]),
    "gelu": (gelu, gelu_backward, [WIDE]),
    "silu_of_two": (silu_of_two, silu_of_two_backward, [WIDE, WIDE]),
    "add_relu": (add_relu, add_relu_backward, [WIDE, WIDE]),
    "dense_relu": (dense_relu, dense_relu_backward, [WIDE, (8, 40), (8,)]),
}
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "float64": 1e-14}


def case_of(name: str, dtype: str) -> tuple[Derived, list[np.ndarray], list[np.ndarray]]:
    """The derived graph, its arrays, and the textbook result."""
    build, formula, shapes = FORMULAS[name]
    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=shape).astype(dtype_of(dtype).numpy) for shape in shapes]
    graph = derived(build, *arrays)
    shape = [size.value for size in graph.outputs[0].shape]
    arrays.append(rng.normal(size=shape).astype(arrays[0].dtype))
    return graph, arrays, list(formula(*(array.astype(np.float64) for array in arrays)))


IN_C = {"softmax-float16", "layer_norm-float32"}
"""Backwards that ``make test`` compiles; the other dtypes use the NumPy back end alone."""
BOOK = [
    pytest.param(name, dtype, id=label, marks=FULL if compiled and label not in IN_C else ())
    for name in FORMULAS
    for dtype in TOLERANCE
    for label, compiled in [(f"{name}-{dtype}", dtype in ("float16", "float32"))]
]


@cases("name, dtype", BOOK)
def test_both_back_ends_say_what_the_book_says(name: str, dtype: str, cache: Store) -> None:
    graph, arrays, wanted = case_of(name, dtype)
    inputs = [*graph.inputs, *graph.given]
    given = {id(tensor): array for tensor, array in zip(inputs, arrays, strict=True)}
    results = [evaluate.run(graph.found, given)]
    if dtype in ("float16", "float32"):
        kernel = prepared_kernel.prepare(graph.found, inputs, name=f"{name}_backward", cache=cache)
        results.append(kernel.run(arrays, {}, 1))
    for found in results:
        for one, other in zip(found, wanted, strict=True):
            size = np.abs(other).max()
            assert one.dtype == arrays[0].dtype
            assert np.abs(one.astype(np.float64) - other).max() <= TOLERANCE[dtype] * (1 + size)


@cases("name", [name for name in FORMULAS if name != "dense_relu"])
def test_a_backward_is_one_nest_without_work_for_the_extreme(name: str) -> None:
    graph, _, _ = case_of(name, "float32")
    assert (
        len(
            layout_of(
                graph.found, [*graph.inputs, *graph.given], prepared_kernel.DEFAULT_OPTIONS
            ).nests
        )
        == 1
    )
    reductions = [
        body.op for op in stages_of(graph.found) for body in op.body if isinstance(body, Reduce)
    ]
    assert reductions.count("max") <= 1
    assert reductions.count("sum") <= 6


@cases(
    "build",
    [
        lambda x: dsl.vsub(x, along(dsl.reduce_max(x, -1, True), x)),
        lambda x: dsl.vdiv(x, along(dsl.reduce_max(x, -1, True), x)),
        lambda x: dsl.vexp(dsl.vsub(x, along(dsl.reduce_max(x, -1, True), x))),
        lambda x: dsl.vadd(softmax(x), along(dsl.reduce_max(x, -1, True), x)),
        softmax_of_columns,
        turned_ratio,
    ],
)
def test_an_extreme_that_counts_is_not_left_out(build: Callable[..., Tensor]) -> None:
    x = np.random.default_rng(3).normal(size=(2, 5))
    assert_derivatives(derived(build, x), [x])


def test_the_backward_takes_what_the_forward_computed() -> None:
    x, g = dsl.placeholder((6, 40)), dsl.placeholder((6, 40))
    y = softmax(x)
    (found,) = gradients([ext.tanh(dsl.vexp(y))], [x], [g])
    assert found is not None
    names = [op.dsl_call.name for op in stages_of([found]) if op.dsl_call is not None]
    assert names.count("vexp") == 2
    assert names.count("tanh") == 1
    bodies = [str(part) for op in stages_of([found]) if op.dsl_call is None for part in op.body]
    assert not any("exp(" in body or "tanh(" in body for body in bodies if "vexp" not in body)


def float64_graph(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Derived, list[np.ndarray], Any] | None:
    """A random graph with float64 or integer inputs; None if something in it has no derivative."""
    monkeypatch.setattr(random_graphs, "DTYPES", ("float64",) * 6 + ("int32", "bool"))
    monkeypatch.setattr(random_graphs, "MOST_ELEMENTS", 200)
    graph = random_graphs.make(seed)
    inputs = [tensor for tensor, _ in graph.inputs]
    outputs = [
        dsl.cast_to(node.tensor, "float64") for node in graph.outputs if is_float(node.tensor.dtype)
    ]
    if not outputs:
        return None
    try:
        made = Derived(outputs, inputs)
    except InputError as error:
        assert "cannot be differentiated" in str(error)
        return None
    # integers would hit kinks, where formulas may choose
    rng = np.random.default_rng(seed)
    arrays = [
        array + rng.uniform(-0.1, 0.1, array.shape) if array.dtype == np.float64 else array
        for _, array in graph.inputs
    ]
    return made, arrays, graph.values


def smooth_change(total: Callable[[float], float]) -> float | None:
    """The derivative at 0; None at or near a kink or a step, or for NaN."""
    middle, changes = total(0), []
    for step in (STEP, STEP / 4):
        right, left = (total(step) - middle) / step, (middle - total(-step)) / step
        changes += [right, left]
    spread = max(changes) - min(changes)
    return None if not spread <= 1e-3 * (1 + abs(changes[0])) else (changes[0] + changes[1]) / 2


def test_random_graphs(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests, full: bool
) -> None:
    """Half of them in `make test`."""
    compared, graphs = 0, GRAPHS if full else GRAPHS // 2
    for seed in range(FIRST, FIRST + graphs):
        with subtests.test(seed=seed), np.errstate(all="ignore"):
            made = float64_graph(seed, monkeypatch)
            compared += made is not None and agrees(seed, *made)
    assert compared > graphs // 4


def agrees(seed: int, graph: Derived, arrays: list[np.ndarray], values: Any) -> bool:
    """Whether a graph could be compared; raises when its gradient differs."""
    rng = np.random.default_rng(seed)
    feed = {id(tensor): array for tensor, array in zip(graph.inputs, arrays, strict=True)}
    floats = [
        (tensor, one)
        for tensor, one in zip(graph.inputs, graph.found, strict=True)
        if one is not None and one.dtype == "float64"
    ]
    outputs = evaluate.run(graph.outputs, feed, values, rounding="float64")
    weights = [rng.normal(size=one.shape) for one in outputs]
    feed |= {id(tensor): weight for tensor, weight in zip(graph.given, weights, strict=True)}
    found = evaluate.run([one for _, one in floats], feed, values, rounding="float64")
    directions = {id(tensor): rng.normal(size=feed[id(tensor)].shape) for tensor, _ in floats}

    def total(step: float) -> float:
        moved = {key: feed[key] + step * directions[key] for key in directions}
        made = evaluate.run(graph.outputs, feed | moved, values, rounding="float64")
        return sum(float((one * weight).sum()) for one, weight in zip(made, weights, strict=True))

    wanted = smooth_change(total)
    parts = [directions[id(tensor)] * one for (tensor, _), one in zip(floats, found, strict=True)]
    if wanted is None:
        return False
    got, scale = sum(part.sum() for part in parts), 1 + sum(np.abs(part).sum() for part in parts)
    assert abs(got - wanted) <= 1e-3 * scale, f"seed {seed}: {got} instead of {wanted}"
    return True
