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
    """Ten operators in a row."""

    def construct(self, x: Any, y: Any) -> Any:
        b = ops.maximum((x + y) * 0.5 * x - y, 0.0) + 1.0
        return (ops.minimum(b * b, 6.0) + x) * 0.25


class Softmax(nn.Cell):
    """Of each row."""

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, -1)


class LayerNorm(nn.Cell):
    """Of each row, with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.normal = ops.LayerNorm(1, 1, EPSILON)

    def construct(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.normal(x, gamma, beta)[0]


class Moving(nn.Cell):
    """One output from so many arrays, nearly nothing computed: no kernel that MindSpore calls can be quicker."""

    def construct(self, *arrays: Any) -> Any:
        whole = arrays[0]
        for one in arrays[1:]:
            whole = whole + one
        # one operator by itself is not built by us
        return ops.maximum(whole, -3e38) * 0.5


OPERATOR_NETS: Mapping[str, Callable[[], nn.Cell]] = {
    "swish": Swish,
    "chain": Chain,
    "softmax": Softmax,
    "layer_norm": LayerNorm,
}
