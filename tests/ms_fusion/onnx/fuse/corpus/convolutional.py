"""Convolutional nets: ResNet, MobileNet, YOLO-like, U-Net."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.ms_fusion.onnx.fuse.models import Builder


@dataclass(frozen=True)
class Sizes:
    """Parameters of a convolutional net.

    Attributes:
        channels: channels of its first stage.
        blocks: blocks of each stage.
        side: side of the image.
        batch: a number, or the name of a symbolic size.
        normed: whether batch norms follow the convolutions; else convolutions have biases.
        activation: ``Relu``, ``LeakyRelu``, ``Clip``, ``HardSwish`` or ``Silu``.
    """

    channels: int = 8
    blocks: int = 1
    side: int = 16
    batch: int | str = "n"
    normed: bool = True
    activation: str = "Relu"


class Net(Builder):
    """The parts of convolutional nets."""

    def __init__(self, sizes: Sizes):
        super().__init__({"x": (sizes.batch, 3, sizes.side, sizes.side)})
        self.sizes = sizes

    def act(self, x: str) -> str:
        if self.sizes.activation == "Silu":
            return self.add("Mul", x, self.add("Sigmoid", x))
        if self.sizes.activation == "Clip":
            return self.add("Clip", x, self.constant(0.0, "float32"), self.constant(6.0, "float32"))
        return self.add(self.sizes.activation, x)

    def conv(
        self,
        x: str,
        c: int,
        k: int,
        span: int = 3,
        *,
        stride: int = 1,
        group: int = 1,
        act: bool = True,
    ) -> str:
        bias = [] if self.sizes.normed else [self.weight(k)]
        x = self.add(
            "Conv",
            x,
            self.weight(k, c // group, span, span),
            *bias,
            pads=[span // 2] * 4,
            strides=[stride] * 2,
            group=group,
        )
        if self.sizes.normed:
            variance = self.constant(self.random.uniform(0.5, 1.5, k).astype(np.float32))
            x = self.add(
                "BatchNormalization", x, self.weight(k), self.weight(k), self.weight(k), variance
            )
        return self.act(x) if act else x

    def head(self, x: str, c: int) -> str:
        x = self.add("Flatten", self.add("GlobalAveragePool", x))
        return self.add("Gemm", x, self.weight(10, c), self.weight(10), transB=1)


def resnet(path: Path, sizes: Sizes) -> Path:
    """Two stages of residual blocks, the second at half the side and with a shortcut."""
    n, c = Net(sizes), sizes.channels
    x = n.add("MaxPool", n.conv("x", 3, c), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage in range(2):
        for block in range(sizes.blocks):
            before, stride = (c, 2) if stage and not block else (c << stage, 1)
            y = n.conv(
                n.conv(x, before, c << stage, stride=stride), c << stage, c << stage, act=False
            )
            short = x if stride == 1 else n.conv(x, before, c << stage, 1, stride=2, act=False)
            x = n.act(n.add("Add", y, short))
    return n.save(path, n.head(x, 2 * c))


def mobilenet(path: Path, sizes: Sizes) -> Path:
    """Inverted residuals: expansion, depthwise, squeeze and excitation, projection."""
    n, c = Net(sizes), sizes.channels
    x = n.conv("x", 3, c, stride=2)
    for _ in range(sizes.blocks + 1):
        wide = n.conv(n.conv(x, c, 3 * c, 1), 3 * c, 3 * c, group=3 * c)
        gate = n.add(
            "Conv", n.add("GlobalAveragePool", wide), n.weight(c, 3 * c, 1, 1), n.weight(c)
        )
        gate = n.add("Conv", n.add("Relu", gate), n.weight(3 * c, c, 1, 1), n.weight(3 * c))
        wide = n.add("Mul", wide, n.add("HardSigmoid", gate))
        x = n.add("Add", x, n.conv(wide, 3 * c, c, 1, act=False))
    return n.save(path, n.head(x, c))


def yolo(path: Path, sizes: Sizes) -> Path:
    """YOLO-like: split and joined stages, pyramid pooling, upsampled joins, two heads with one
    decoded.
    """
    n, c = Net(sizes), sizes.channels
    large = n.conv(n.conv("x", 3, c, stride=2), c, 2 * c)
    for _ in range(sizes.blocks):
        one, two = n.add("Split", large, outputs=2, axis=1, num_outputs=2)
        two = n.add("Add", two, n.conv(n.conv(two, c, c), c, c))
        large = n.conv(n.add("Concat", one, two, axis=1), 2 * c, 2 * c, 1)
    small = n.conv(large, 2 * c, 2 * c, stride=2)
    pooled = [small]
    for _ in range(3):
        pooled.append(n.add("MaxPool", pooled[-1], kernel_shape=[3, 3], pads=[1] * 4))
    small = n.conv(n.add("Concat", *pooled, axis=1), 8 * c, 2 * c, 1)
    scales = n.constant([1.0, 1.0, 2.0, 2.0], "float32")
    wide = n.add(
        "Resize",
        small,
        "",
        scales,
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    joined = n.conv(n.add("Concat", wide, large, axis=1), 4 * c, c, 1)
    heads = [
        n.add(
            "Reshape",
            n.add("Conv", x, n.weight(6, k, 1, 1), n.weight(6)),
            n.constant([0, 6, -1], "int64"),
        )
        for x, k in ((joined, c), (small, 2 * c))
    ]
    boxes, scores = n.add(
        "Split", n.add("Concat", *heads, axis=2), n.constant([4, 2], "int64"), outputs=2, axis=1
    )
    middle, size = n.add("Split", boxes, outputs=2, axis=1, num_outputs=2)
    half = n.add("Mul", n.add("Exp", size), n.constant(0.5, "float32"))
    corners = n.add("Concat", n.add("Sub", middle, half), n.add("Add", middle, half), axis=1)
    return n.save(path, corners, n.add("Sigmoid", scores))


def unet(path: Path, sizes: Sizes) -> Path:
    """U-Net: down and up again with skip connections."""
    n, c = Net(sizes), sizes.channels
    kept, x, k = [], "x", 3
    for level in range(2):
        x = n.conv(n.conv(x, k, c << level), c << level, c << level)
        kept, k = [*kept, x], c << level
        x = n.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for _ in range(sizes.blocks):
        x = n.conv(x, k, k)
    for level in (1, 0):
        x = n.add(
            "ConvTranspose", x, n.weight(k, c << level, 2, 2), n.weight(c << level), strides=[2, 2]
        )
        k = c << level
        x = n.conv(n.add("Concat", x, kept[level], axis=1), 2 * k, k)
    return n.save(path, n.add("Sigmoid", n.add("Conv", x, n.weight(1, k, 1, 1), n.weight(1))))


FAMILIES: Mapping[str, Callable[[Path, Sizes], Path]] = {
    "resnet": resnet,
    "mobilenet": mobilenet,
    "yolo": yolo,
    "unet": unet,
}
VARIANTS: Mapping[str, Sizes] = {
    "small": Sizes(),
    "known": Sizes(batch=2),
    "deep": Sizes(blocks=2, batch=1),
    "leaky": Sizes(activation="LeakyRelu", batch=1),
    "silu": Sizes(activation="Silu"),
    "clip": Sizes(activation="Clip", side=24),
    "hard": Sizes(activation="HardSwish", batch=1),
    "biased": Sizes(normed=False),
}
MODELS: Mapping[str, Callable[[Path], Path]] = {
    f"{family}_{name}": functools.partial(write, sizes=sizes)
    for family, write in FAMILIES.items()
    for name, sizes in VARIANTS.items()
}
