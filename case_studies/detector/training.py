"""A short training on drawn shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops

from case_studies.detector.darknet import Detector, detector
from case_studies.detector.data import draw_images
from case_studies.detector.design import Design
from case_studies.detector.targets import targets

LEARNING_RATE = 2e-3


class Loss(nn.Cell):
    """Loss of a detector's predictions against their targets, for each image.

    Cross entropy of place, objectness and class; the squared difference of the logarithms of width
    and height.
    """

    def __init__(self, net: nn.Cell):
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, x: Any, *wanted: Any) -> Any:
        """`wanted`: the output of `targets`."""
        fine, middle, coarse = self.net(x)
        whole = self.of_head(fine, wanted[0], wanted[1])
        whole = whole + self.of_head(middle, wanted[2], wanted[3])
        return (whole + self.of_head(coarse, wanted[4], wanted[5])) / x.shape[0]

    def of_head(self, y: Any, wanted: Any, weights: Any) -> Any:
        """Sum over all values of an image."""
        sides, others = y[..., 2:4], ops.concat((y[..., :2], y[..., 4:]), -1)
        other_wanted = ops.concat((wanted[..., :2], wanted[..., 4:]), -1)
        other_weights = ops.concat((weights[..., :2], weights[..., 4:]), -1)
        tail = ops.log(1.0 + ops.exp(-ops.abs(others)))
        entropy = ops.relu(others) - others * other_wanted + tail
        distance = ops.square(sides - wanted[..., 2:4])
        return ops.sum(other_weights * entropy) + ops.sum(weights[..., 2:4] * distance)


def batches(design: Design, batch: int, steps: int, seed: int) -> Iterator[list[Tensor]]:
    """Images and targets that differ in each step."""
    for step in range(steps):
        images = draw_images(batch, design.size, seed=seed + step)
        yield [Tensor(one) for one in (images.pixels, *targets(design, images.boxes, images.kinds))]


def train_detector(
    design: Design, *, steps: int, batch: int = 16, seed: int = 1
) -> tuple[Detector, list[float]]:
    """A trained detector with deterministic initial weights, and the loss of each step.

    Args:
        design: design of the detector.
        steps: steps of Adam, whose rate decays to zero along half a cosine.
        batch: images in a step.
        seed: seed of the images.
    """
    net = detector(design).set_train()
    rates = [
        LEARNING_RATE * min(1.0, (step + 1) / 20) * 0.5 * (1 + np.cos(np.pi * step / steps))
        for step in range(steps)
    ]
    optimizer = nn.Adam(net.trainable_params(), rates)
    one_step = nn.TrainOneStepCell(Loss(net), optimizer).set_train()
    losses = [float(one_step(*given).asnumpy()) for given in batches(design, batch, steps, seed)]
    return net.set_train(False), losses
