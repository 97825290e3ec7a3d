"""The detector case study's network in torch, same names and weights; imports no MindSpore."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from case_studies.detector.design import ANCHORS, YOLO_V3, Design
from case_studies.detector.weights import initial


class ConvNormLeaky(nn.Module):
    """Convolution, batch normalisation, leaky ReLU."""

    def __init__(self, before: int, after: int, size: int, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(before, after, size, stride, size // 2, bias=False)
        self.norm, self.leaky = nn.BatchNorm2d(after), nn.LeakyReLU(0.1, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.leaky(self.norm(self.conv(x)))


class Residual(nn.Module):
    """A residual block of a narrow and a wide convolution."""

    def __init__(self, channels: int):
        super().__init__()
        self.narrow = ConvNormLeaky(channels, channels // 2, 1)
        self.wide = ConvNormLeaky(channels // 2, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.wide(self.narrow(x))


class Darknet(nn.Module):
    """Darknet-53's convolutions."""

    def __init__(self, design: Design):
        super().__init__()
        self.first = ConvNormLeaky(3, design.width, 3)
        stages = []
        for number, blocks in enumerate(design.blocks):
            before = design.width * 2**number
            stages.append(
                nn.Sequential(
                    ConvNormLeaky(before, 2 * before, 3, 2),
                    *(Residual(2 * before) for _ in range(blocks)),
                )
            )
        self.stem, self.fine, self.middle, self.coarse = nn.Sequential(*stages[:2]), *stages[2:]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        fine = self.fine(self.stem(self.first(x)))
        middle = self.middle(fine)
        return fine, middle, self.coarse(middle)


class Head(nn.Module):
    """Predictions at one stride, and the input of the next finer head."""

    def __init__(self, before: int, channels: int, outputs: int):
        super().__init__()
        self.mixed = nn.Sequential(
            ConvNormLeaky(before, channels, 1),
            ConvNormLeaky(channels, 2 * channels, 3),
            ConvNormLeaky(2 * channels, channels, 1),
            ConvNormLeaky(channels, 2 * channels, 3),
            ConvNormLeaky(2 * channels, channels, 1),
        )
        self.wide = ConvNormLeaky(channels, 2 * channels, 3)
        self.last = nn.Conv2d(2 * channels, outputs, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mixed = self.mixed(x)
        return self.last(self.wide(mixed)), mixed


class Detector(nn.Module):
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
        self.doubled = nn.Upsample(scale_factor=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        fine, middle, coarse = self.darknet(x)
        of_coarse, mixed = self.coarse(coarse)
        of_middle, mixed = self.middle(torch.cat((self.doubled(self.to_middle(mixed)), middle), 1))
        of_fine, _ = self.fine(torch.cat((self.doubled(self.to_fine(mixed)), fine), 1))
        return (
            self.arrange_predictions(of_fine),
            self.arrange_predictions(of_middle),
            self.arrange_predictions(of_coarse),
        )

    def arrange_predictions(self, y: Tensor) -> Tensor:
        images, _, height, width = y.shape
        return y.permute(0, 2, 3, 1).reshape(images, height, width, self.kinds, self.outputs)


def detector(design: Design = YOLO_V3, *, seed: int = 1) -> Detector:
    """The network in inference, with the weights of `case_studies.detector.darknet.detector`."""
    net, random = Detector(design), np.random.default_rng(seed)
    with torch.no_grad():
        for name, one in net.named_parameters():
            values = initial(name.replace("norm.weight", "norm.gamma"), tuple(one.shape), random)
            if values is not None:
                one.copy_(torch.from_numpy(values))
    return net.eval()
