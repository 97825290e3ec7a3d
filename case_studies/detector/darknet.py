"""YOLOv3 as MindSpore users write it: Darknet-53 and three heads for objects of different sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops

from case_studies.detector.design import ANCHORS, YOLO_V3, Design
from case_studies.detector.weights import initial


class ConvNormLeaky(nn.Cell):
    """Convolution, batch normalisation, leaky ReLU: the basic layer of the network."""

    def __init__(self, before: int, after: int, size: int, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(before, after, size, stride, pad_mode="pad", padding=size // 2)
        self.norm, self.leaky = nn.BatchNorm2d(after), nn.LeakyReLU(0.1)

    def construct(self, x: Any) -> Any:
        """(images, before, height, width) to (images, after, height / stride, width / stride)."""
        return self.leaky(self.norm(self.conv(x)))


class Residual(nn.Cell):
    """A residual block of a narrow and a wide convolution."""

    def __init__(self, channels: int):
        super().__init__()
        self.narrow = ConvNormLeaky(channels, channels // 2, 1)
        self.wide = ConvNormLeaky(channels // 2, channels, 3)

    def construct(self, x: Any) -> Any:
        """Keeps the shape."""
        return x + self.wide(self.narrow(x))


class Darknet(nn.Cell):
    """Darknet-53's convolutions: five stages, each of half the size and twice the channels."""

    def __init__(self, design: Design):
        super().__init__()
        self.first = ConvNormLeaky(3, design.width, 3)
        stages = []
        for number, blocks in enumerate(design.blocks):
            before = design.width * 2**number
            stages.append(
                nn.SequentialCell(
                    [
                        ConvNormLeaky(before, 2 * before, 3, 2),
                        *(Residual(2 * before) for _ in range(blocks)),
                    ]
                )
            )
        self.stem, self.fine, self.middle, self.coarse = nn.SequentialCell(stages[:2]), *stages[2:]

    def construct(self, x: Any) -> Any:
        """Features at the strides 8, 16 and 32."""
        fine = self.fine(self.stem(self.first(x)))
        middle = self.middle(fine)
        return fine, middle, self.coarse(middle)


class Head(nn.Cell):
    """Predictions at one stride, and the input of the next finer head."""

    def __init__(self, before: int, channels: int, outputs: int):
        super().__init__()
        self.mixed = nn.SequentialCell(
            [
                ConvNormLeaky(before, channels, 1),
                ConvNormLeaky(channels, 2 * channels, 3),
                ConvNormLeaky(2 * channels, channels, 1),
                ConvNormLeaky(channels, 2 * channels, 3),
                ConvNormLeaky(2 * channels, channels, 1),
            ]
        )
        self.wide = ConvNormLeaky(channels, 2 * channels, 3)
        self.last = nn.Conv2d(2 * channels, outputs, 1, has_bias=True)

    def construct(self, x: Any) -> Any:
        """Predictions (images, outputs, height, width), and the `channels` features below them."""
        mixed = self.mixed(x)
        return self.last(self.wide(mixed)), mixed


class Detector(nn.Cell):
    """Predictions for the strides 8, 16 and 32: (images, height, width, 3 anchors, 5 + classes)."""

    def __init__(self, design: Design):
        super().__init__()
        self.kinds, self.outputs = len(ANCHORS[0]), 5 + design.classes
        channels = 8 * design.width
        self.darknet = Darknet(design)
        self.coarse = Head(4 * channels, 2 * channels, self.kinds * self.outputs)
        self.to_middle = ConvNormLeaky(2 * channels, channels, 1)
        self.middle = Head(3 * channels, channels, self.kinds * self.outputs)
        self.to_fine = ConvNormLeaky(channels, channels // 2, 1)
        self.fine = Head(channels + channels // 2, channels // 2, self.kinds * self.outputs)

    def construct(self, x: Any) -> Any:
        """`x`: (images, 3, size, size)."""
        fine, middle, coarse = self.darknet(x)
        of_coarse, mixed = self.coarse(coarse)
        of_middle, mixed = self.middle(ops.concat((_upsample(self.to_middle(mixed)), middle), 1))
        of_fine, _ = self.fine(ops.concat((_upsample(self.to_fine(mixed)), fine), 1))
        return (
            self._arrange_predictions(of_fine),
            self._arrange_predictions(of_middle),
            self._arrange_predictions(of_coarse),
        )

    def _arrange_predictions(self, y: Any) -> Any:
        """Predictions with the values of each box contiguous."""
        images, _, height, width = y.shape
        return ops.reshape(
            ops.transpose(y, (0, 2, 3, 1)), (images, height, width, self.kinds, self.outputs)
        )


def _upsample(x: Any) -> Any:
    """Nearest-neighbour upsampling by 2."""
    return ops.ResizeNearestNeighbor((2 * x.shape[2], 2 * x.shape[3]))(x)


def detector(design: Design = YOLO_V3, *, seed: int = 1) -> Detector:
    """A detector in inference with weights that are identical in every process."""
    net, random = Detector(design), np.random.default_rng(seed)
    for one in net.get_parameters():
        values = initial(one.name, one.shape, random)
        if values is not None:
            one.set_data(Tensor(values))
    return net.set_train(False)
