"""Operators of `benchmarks.operators` as MindSpore users write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mindspore import nn, ops

from benchmarks.operators import EPSILON


class Swish(nn.Cell):
    """x · sigmoid(x)."""

    def construct(self, x: Any) -> Any:
        return x * ops.sigmoid(x)


class Chain(nn.Cell):
    """A chain of ten operators."""

    def construct(self, x: Any, y: Any) -> Any:
        b = ops.maximum((x + y) * 0.5 * x - y, 0.0) + 1.0
        return (ops.minimum(b * b, 6.0) + x) * 0.25


class Softmax(nn.Cell):
    """Softmax over the last axis."""

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, -1)


class LayerNorm(nn.Cell):
    """LayerNorm over the last axis, with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.normal = ops.LayerNorm(1, 1, EPSILON)

    def construct(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.normal(x, gamma, beta)[0]


class Moving(nn.Cell):
    """One output from several inputs, almost no arithmetic: the lower bound in MindSpore."""

    def construct(self, *arrays: Any) -> Any:
        whole = arrays[0]
        for one in arrays[1:]:
            whole = whole + one
        # our generator does not build single operators
        return ops.maximum(whole, -3e38) * 0.5


OPERATOR_NETS: Mapping[str, Callable[[], nn.Cell]] = {
    "swish": Swish,
    "chain": Chain,
    "softmax": Softmax,
    "layer_norm": LayerNorm,
}
