"""The text of a graph is complete and deterministic between processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.dsl.expr import Range, call, const, select
from tbe_impl.dsl.graph_text import graph_text
from tbe_impl.dsl.tensor import DslCall, Tensor, library_stage, reduce_axis
from tbe_impl.errors import InputError
from tests.cases import cases


def text(build: Callable[..., Any], count: int = 1) -> str:
    inputs = [dsl.placeholder((4, 6), "float32") for _ in range(count)]
    made = build(*inputs)
    outputs: Sequence[Tensor] = list(made) if isinstance(made, (tuple, list)) else [made]
    return graph_text(outputs, inputs)


def element(function: Callable[..., Any]) -> Callable[[Tensor], Tensor]:
    return lambda x: dsl.compute((4, 6), lambda i, j: function(x, i, j))


def reduced(op: str, begin: int = 0, condition: bool = False) -> Callable[[Tensor], Tensor]:
    def build(x: Tensor) -> Tensor:
        from tbe_impl.dsl.expr import Reduce

        k = reduce_axis(Range(begin, 6))
        return dsl.compute((4,), lambda i: Reduce(op, x(i, k), [k], k < 3 if condition else None))

    return build


DIFFERENT: list[Callable[..., Any]] = [
    element(lambda x, i, j: x(i, j)),
    element(lambda x, i, j: x(j - j + i, j)),
    element(lambda x, i, j: x(i, j) + x(i, j)),
    element(lambda x, i, j: x(i, j) - x(i, j)),
    element(lambda x, i, j: call("exp", x(i, j))),
    element(lambda x, i, j: call("log", x(i, j))),
    element(lambda x, i, j: x(i, j) + 1.0),
    element(lambda x, i, j: x(i, j) + 1.0000001),
    element(lambda x, i, j: x(i, j) + 0.0),
    element(lambda x, i, j: x(i, j) + -0.0),
    element(lambda x, i, j: x(i, j) + float("inf")),
    element(lambda x, i, j: x(i, j) + const(1, "float32").astype("float32") * 3.0),
    element(lambda x, i, j: x(i, j).astype("float16")),
    element(lambda x, i, j: x(i, j).astype("bfloat16")),
    element(lambda x, i, j: select(i < j, x(i, j), 0.0)),
    element(lambda x, i, j: select(j < i, x(i, j), 0.0)),
    element(lambda x, i, j: select(i < j, 0.0, x(i, j))),
    *[reduced(op) for op in ("sum", "max", "min", "prod")],
    reduced("sum", begin=1),
    reduced("sum", condition=True),
    lambda x: dsl.reduce_sum(x, 0),
    lambda x: dsl.reduce_sum(x, 1),
    lambda x: dsl.reduce_sum(x, 1, True),
    lambda x: [dsl.vexp(x), dsl.vlog(x)],
    lambda x: [dsl.vlog(x), dsl.vexp(x)],
    lambda x: library_stage("w", [(4,)], ["float32"], DslCall("w", (x,), {"a": np.arange(3)}))[0],
    lambda x: library_stage("w", [(4,)], ["float32"], DslCall("w", (x,), {"a": np.arange(4)}))[0],
    lambda x: library_stage("w", [(4,)], ["float32"], DslCall("w", (x,), {"a": [1, (2,)]}))[0],
    lambda x: library_stage("w", [(4,)], ["float32"], DslCall("w", (x,), {"a": [(1, 2)]}))[0],
    lambda x: library_stage("w", [(4,)], ["float32"], DslCall("w", (x,), {"b": [(1, 2)]}))[0],
]


def test_what_differs_reads_otherwise() -> None:
    assert len({text(build) for build in DIFFERENT}) == len(DIFFERENT)


@cases("build", DIFFERENT, ids=[str(place) for place in range(len(DIFFERENT))])
def test_the_same_graph_reads_the_same(build: Callable[..., Any]) -> None:
    assert text(build) == text(build)


def test_inputs_are_told_apart() -> None:
    assert text(dsl.vsub, 2) != text(lambda a, b: dsl.vsub(b, a), 2)
    assert text(lambda a, b: dsl.vexp(a), 2) != text(lambda a, b: dsl.vexp(b), 2)


def test_shared_expressions_are_written_once() -> None:
    def doubled(x: Tensor, i: Any, j: Any) -> Any:
        value = x(i, j)
        for _ in range(64):
            value = value + value
        return value

    assert len(text(element(doubled))) < 20_000


def test_variables_are_told_apart() -> None:
    def sum_of(first: int, second: int) -> str:
        sizes = [dsl.var("n"), dsl.var("n")]
        x = dsl.placeholder((sizes[0], sizes[1]), "float32")
        y = dsl.compute((sizes[first], sizes[second]), lambda i, j: x(i, j) * 2)
        return graph_text([y], [x])

    assert len({sum_of(0, 1), sum_of(1, 0), sum_of(0, 0)}) == 3
    assert sum_of(0, 1) == sum_of(0, 1)


def test_a_parameter_without_a_text_is_said() -> None:
    with pytest.raises(InputError, match="has no text"):
        text(lambda x: library_stage("w", [(4,)], ["float32"], DslCall("w", (x,), {"a": object()})))
