"""Convolution chains with epilogues: few calls, no layout changes between, exact results."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.onednn import why_missing
from ms_fusion.graph import Graph
from ms_fusion.lowering.onednn.channels_last import propagate_channels_last
from tests.cases import FULL, cases
from tests.ms_fusion.kernel_server.composites import Text
from tests.ms_fusion.lowering.onednn.test_groups import CONVOLUTION, check, normal

pytestmark = pytest.mark.skipif(bool(why_missing()), reason="oneDNN is not there")
POOLED = {
    "kernel_size": [1, 1, 3, 3],
    "strides": [1, 1, 2, 2],
    "pad_mode": "SAME",
    "format": "NCHW",
}
F = "float32"
FLAG = {"tensor_name": "input_flag", "shape": [1], "data_type": "bool"}
"""MindSpore's representation of an unset flag."""


class Net(Text):
    """Parts of a convolutional net."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.given: dict[str, np.ndarray] = {}

    def array(self, *shape: int) -> str:
        """An input with values."""
        name = self.input(shape, F)
        self.given[name] = normal(*shape) * 0.5
        return name

    def normed(self, x: str, before: int, after: int, size: int, *, relu: bool = False) -> str:
        """A 3×3 convolution with an inference batch norm, in MindSpore's basic operators."""
        shape, row = (2, after, size, size), (after,)
        y = self.step("Conv2D", [x, self.array(after, before, 3, 3)], shape, F, **CONVOLUTION)
        gamma, beta, mean, spread = (self.array(after) for _ in range(4))
        self.given[spread] = np.abs(self.given[spread]) + 0.5
        rooted = self.step("Rsqrt", [spread], row, F)
        scale = self.step("Mul", [gamma, rooted], row, F)
        shift = self.step("Sub", [beta, self.step("Mul", [mean, scale], row, F)], row, F)
        y = self.step("Mul", [y, self.beside(scale, after)], shape, F)
        y = self.step("Add", [y, self.beside(shift, after)], shape, F)
        return self.relu(y, shape) if relu else y

    def beside(self, value: str, channels: int) -> str:
        """A row as per-channel values."""
        one = self.step("Reshape", [value, self.constant([channels, 1], "int64")], (channels, 1), F)
        return self.step(
            "Reshape", [one, self.constant([channels, 1, 1], "int64")], (channels, 1, 1), F
        )

    def relu(self, x: str, shape: tuple[int, ...]) -> str:
        """max(0, x)."""
        return self.step("Maximum", [x, self.constant(0.0, F)], shape, F)

    def mean(self, x: str, shape: tuple[int, ...]) -> str:
        """The sums over the positions of each image."""
        return self.step(
            "ReduceSum", [x, self.constant([2, 3], "int64")], shape[:2], F, keep_dims=False
        )


def moves(graph: Graph) -> int:
    """Number of layout changes of images."""
    return sum(node.op == "Transpose" for node in propagate_channels_last(graph))


@cases("shortcut", [pytest.param(False, marks=FULL), True])
def test_a_residual_block_is_its_convolutions(shortcut: bool) -> None:
    net, shape = Net(f"Fused_block_{shortcut}"), (2, 6, 8, 8)
    x = net.array(*shape)
    y = net.normed(net.normed(x, 6, 6, 8, relu=True), 6, 6, 8)
    beside = net.normed(x, 6, 6, 8) if shortcut else x
    y = net.relu(net.step("Add", [y, beside], shape, F), shape)
    kernel = net.kernel(net.mean(y, shape))
    found = check(kernel, net.given)
    # scales and shifts, the convolutions with all the rest, and the sums
    assert found.count("Conv2D") == (3 if shortcut else 2)
    assert found[0] == found[-1] == "own" and found.count("own") == 2
    # x and the residual keep their layout
    assert moves(kernel.graph) == 0


def test_pooling_between_convolutions_and_a_result_on_the_way() -> None:
    net = Net("Fused_stem")
    y = net.normed(net.array(2, 3, 8, 8), 3, 5, 8, relu=True)
    pooled = net.step("MaxPool", [y], (2, 5, 4, 4), F, **POOLED)
    z = net.normed(pooled, 5, 4, 4)
    halves = net.step("Sigmoid", [z], (2, 4, 4, 4), F)
    last = net.normed(net.step("Mul", [z, halves], (2, 4, 4, 4), F), 4, 6, 4)
    kernel = net.kernel(last, pooled)
    assert check(kernel, net.given).count("Conv2D") == 3
    assert moves(kernel.graph) == 1


def averaged(net: Net, op: str, images: list[str], shape: tuple[int, ...]) -> str:
    """A mean over windows of 2×2, or its gradient, in MindSpore's format."""
    told = [[2, 2], [2, 2], 2, 0]
    return net.step(op, [*images, *(net.constant(one, "int64") for one in told)], shape, F)


def test_means_of_windows_between_convolutions() -> None:
    net = Net("Fused_means")
    y = net.normed(net.array(2, 3, 8, 8), 3, 5, 8, relu=True)
    kernel = net.kernel(net.normed(averaged(net, "AvgPool", [y], (2, 5, 4, 4)), 5, 4, 4))
    assert check(kernel, net.given).count("Conv2D") == 2
    assert moves(kernel.graph) == 0


def test_pooling_gradients_between_convolutions_move_nothing() -> None:
    net, large, small = Net("Fused_means_backwards"), (2, 4, 8, 8), (2, 4, 4, 4)
    gradient, last, first = (net.array(*item) for item in (small, (4, 4, 3, 3), (4, 4, 3, 3)))
    shapes = [
        {"tensor_name": f"input_shape_{n}", "shape": [4], "data_type": "int64"} for n in range(2)
    ]
    x, y = net.array(*large), net.array(*small)
    back = net.step("Conv2DBackpropInput", [gradient, last, shapes[0]], small, F, **CONVOLUTION)
    spread = averaged(net, "AvgPoolGrad", [x, y, back], large)
    kernel = net.kernel(
        net.step("Conv2DBackpropInput", [spread, first, shapes[1]], large, F, **CONVOLUTION)
    )
    assert check(kernel, net.given).count("Conv2DBackpropInput") == 2
    assert moves(kernel.graph) == 0


def test_sizes_change_between_convolutions() -> None:
    net = Net("Fused_sizes")
    y = net.normed(net.array(2, 3, 9, 9), 3, 5, 9, relu=True)
    shares = net.step("AdaptiveAvgPool2D", [y], (2, 5, 4, 4), F, output_size=[4, 4])
    z = net.normed(shares, 5, 6, 4)
    size = net.constant([8, 8], "int64")
    large = net.step("ResizeNearestNeighbor", [z, size, FLAG, FLAG], (2, 6, 8, 8), F)
    last = net.step(
        "AdaptiveAvgPool2D", [net.normed(large, 6, 7, 8)], (2, 7, 1, 1), F, output_size=[1, 1]
    )
    flat = net.step("Reshape", [last, net.constant([2, 7], "int64")], (2, 7), F)
    kernel = net.kernel(flat)
    assert check(kernel, net.given).count("Conv2D") == 3
    assert moves(kernel.graph) == 0


def test_resizing_gradients_between_convolutions_move_nothing() -> None:
    net, large, small = Net("Fused_sizes_backwards"), (2, 4, 8, 8), (2, 4, 4, 4)
    shapes = [
        {"tensor_name": f"input_shape_{n}", "shape": [4], "data_type": "int64"} for n in range(3)
    ]
    size = {"tensor_name": "input_size", "shape": [2], "data_type": "int64"}

    def back(gradient: str, number: int, shape: tuple[int, ...]) -> str:
        return net.step(
            "Conv2DBackpropInput",
            [gradient, net.array(4, 4, 3, 3), shapes[number]],
            shape,
            F,
            **CONVOLUTION,
        )

    first = back(net.array(*small), 0, small)
    spread = net.step("AdaptiveAvgPool2DGrad", [first], large, F)
    drawn = net.step(
        "ResizeNearestNeighborGrad", [back(spread, 1, large), size, FLAG, FLAG], small, F
    )
    kernel = net.kernel(back(drawn, 2, small))
    assert check(kernel, net.given).count("Conv2DBackpropInput") == 3
    assert moves(kernel.graph) == 0


@cases("bias", ["ReduceSum", "BiasAddGrad"])
def test_gradients_in_a_row(bias: str) -> None:
    net, shape = Net("Fused_backwards"), (2, 4, 8, 8)
    x, gradient, weight, earlier = (
        net.array(*item) for item in (shape, shape, (4, 4, 3, 3), (4, 4, 3, 3))
    )
    whole = [
        {"tensor_name": f"input_shape_{n}", "shape": [4], "data_type": "int64"} for n in range(3)
    ]
    back = net.step("Conv2DBackpropInput", [gradient, weight, whole[0]], shape, F, **CONVOLUTION)
    through = net.step(
        "Select",
        [net.step("Greater", [x, net.constant(0.0, F)], shape, "bool"), back, net.constant(0.0, F)],
        shape,
        F,
    )
    told = [net.constant([0, 2, 3], "int64")] if bias == "ReduceSum" else []
    sums = net.step(bias, [through, *told], (4,), F)
    level = net.step(
        "ReduceSum", [through, net.constant([1], "int64")], (2, 1, 8, 8), F, keep_dims=True
    )
    of_weight = net.step(
        "Conv2DBackpropFilter", [through, x, whole[1]], (4, 4, 3, 3), F, **CONVOLUTION
    )
    last = net.step("Conv2DBackpropInput", [through, earlier, whole[2]], shape, F, **CONVOLUTION)
    kernel = net.kernel(sums, of_weight, net.step("Sub", [last, level], shape, F))
    # the comparison is fused into its reader
    parts = check(kernel, net.given)
    assert parts == [
        "Conv2DBackpropInput",
        "own",
        "Conv2DBackpropFilter",
        "Conv2DBackpropInput",
        "own",
    ]


def test_images_that_meet_others_from_outside_lie_as_those_do() -> None:
    net, shape = Net("Fused_backwards_alone"), (2, 4, 8, 8)
    x, gradient, weight = (net.array(*item) for item in (shape, shape, (4, 4, 3, 3)))
    whole = {"tensor_name": "input_shape", "shape": [4], "data_type": "int64"}
    back = net.step("Conv2DBackpropInput", [gradient, weight, whole], shape, F, **CONVOLUTION)
    through = net.step(
        "Select",
        [net.step("Greater", [x, net.constant(0.0, F)], shape, "bool"), back, net.constant(0.0, F)],
        shape,
        F,
    )
    sums = net.step(
        "ReduceSum", [through, net.constant([0, 2, 3], "int64")], (4,), F, keep_dims=False
    )
    kernel = net.kernel(through, sums)
    assert check(kernel, net.given) == ["Conv2DBackpropInput", "own"]
    assert not any(name.endswith("@last") for name in propagate_channels_last(kernel.graph).values)


def test_a_residual_is_part_of_a_matrix_product() -> None:
    net = Net("Fused_residual")
    a, b, bias, beside = net.array(4, 6), net.array(6, 5), net.array(5), net.array(4, 5)
    y = net.step("MatMul", [a, b], (4, 5), F, transpose_a=False, transpose_b=False)
    y = net.step("Add", [net.step("Add", [y, bias], (4, 5), F), beside], (4, 5), F)
    assert check(net.kernel(y), net.given) == ["MatMul"]


def test_two_products_of_one_sum_are_added_once() -> None:
    net = Net("Fused_twins")
    one, two = (
        net.step(
            "MatMul",
            [net.array(4, 6), net.array(6, 5)],
            (4, 5),
            F,
            transpose_a=False,
            transpose_b=False,
        )
        for _ in range(2)
    )
    assert check(net.kernel(net.step("Add", [one, two], (4, 5), F)), net.given) == ["MatMul"] * 2
