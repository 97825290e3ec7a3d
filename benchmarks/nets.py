"""The networks of `make bench`, written as MindSpore users write them, and their losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops

from benchmarks.network_inputs import input_of
from case_studies.detector.darknet import ConvNormLeaky


class Perceptron(nn.Cell):
    """Dense, LayerNorm, GELU, three times."""

    def __init__(self, size: int = 512):
        super().__init__()
        layers = [
            layer
            for _ in range(3)
            for layer in (nn.Dense(size, size), nn.LayerNorm((size,)), nn.GELU(False))
        ]
        self.layers = nn.SequentialCell(layers)

    def construct(self, x: Any) -> Any:
        return self.layers(x)


class Recurrent(nn.Cell):
    """A recurrent layer over 20 steps of 32 features; its last state predicts four classes."""

    def __init__(self, kind: type[nn.Cell]):
        super().__init__()
        self.layer, self.last = kind(32, 64, batch_first=True), nn.Dense(64, 4)

    def construct(self, x: Any) -> Any:
        return self.last(self.layer(x)[0][:, -1])


class SmallPerceptron(nn.Cell):
    """Three layers, small as those of a controller."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Dense(16, 32), nn.Dense(32, 32), nn.Dense(32, 1)

    def construct(self, x: Any) -> Any:
        return self.third(ops.tanh(self.second(ops.relu(self.first(x)))))


class TransformerBlock(nn.Cell):
    """A transformer block: attention and a two-layer network, each after a LayerNorm."""

    def __init__(self, size: int = 512, heads: int = 8):
        super().__init__()
        self.heads, self.size = heads, size
        self.query, self.key, self.value, self.out = (nn.Dense(size, size) for _ in range(4))
        self.first_norm, self.second_norm = nn.LayerNorm((size,)), nn.LayerNorm((size,))
        self.wide, self.narrow, self.gelu = (
            nn.Dense(size, 4 * size),
            nn.Dense(4 * size, size),
            nn.GELU(),
        )

    def split(self, x: Any) -> Any:
        parted = ops.reshape(x, (x.shape[0], x.shape[1], self.heads, self.size // self.heads))
        return ops.transpose(parted, (0, 2, 1, 3))

    def construct(self, x: Any) -> Any:
        y = self.first_norm(x)
        query, key, value = (
            self.split(self.query(y)),
            self.split(self.key(y)),
            self.split(self.value(y)),
        )
        scores = (
            ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / (self.size // self.heads) ** 0.5
        )
        mixed = ops.transpose(ops.matmul(ops.softmax(scores, -1), value), (0, 2, 1, 3))
        x = x + self.out(ops.reshape(mixed, x.shape))
        return x + self.narrow(self.gelu(self.wide(self.second_norm(x))))


class ResidualBlock(nn.Cell):
    """Two convolutions with batch norms and a residual connection."""

    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, pad_mode="pad", padding=1)
        self.second = nn.Conv2d(after, after, 3, 1, pad_mode="pad", padding=1)
        self.first_norm, self.second_norm = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.short = None
        if stride > 1 or before != after:
            self.short = nn.SequentialCell(
                [nn.Conv2d(before, after, 1, stride), nn.BatchNorm2d(after)]
            )

    def construct(self, x: Any) -> Any:
        y = ops.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return ops.relu(y + (x if self.short is None else self.short(x)))


class ResNet(nn.Cell):
    """Like ResNet-18, for images of 32×32."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((32, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 2))
        self.first, self.norm = nn.Conv2d(3, 32, 3, 1, pad_mode="same"), nn.BatchNorm2d(32)
        self.blocks = nn.SequentialCell([ResidualBlock(*size) for size in sizes])
        self.last = nn.Dense(256, 10)

    def construct(self, x: Any) -> Any:
        x = self.blocks(ops.relu(self.norm(self.first(x))))
        return self.last(ops.mean(x, (2, 3)))


class ResNet18(nn.Cell):
    """ResNet-18, for images of 224×224."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (
            (64, 64, 1),
            (64, 64, 1),
            (64, 128, 2),
            (128, 128, 1),
            (128, 256, 2),
            (256, 256, 1),
            (256, 512, 2),
            (512, 512, 1),
        )
        self.first, self.norm = (
            nn.Conv2d(3, 64, 7, 2, pad_mode="pad", padding=3),
            nn.BatchNorm2d(64),
        )
        self.pool = nn.MaxPool2d(3, 2, pad_mode="same")
        self.blocks = nn.SequentialCell([ResidualBlock(*size) for size in sizes])
        self.last = nn.Dense(512, 1000)

    def construct(self, x: Any) -> Any:
        x = self.blocks(self.pool(ops.relu(self.norm(self.first(x)))))
        return self.last(ops.mean(x, (2, 3)))


class Darknet(nn.Cell):
    """Like YOLO: a backbone of 1×1 and 3×3 residual blocks, and a box head at its last scale."""

    def __init__(self, size: int = 16):
        super().__init__()
        self.first, downs, blocks = ConvNormLeaky(3, size, 3), [], []
        for _ in range(4):
            downs.append(ConvNormLeaky(size, 2 * size, 3, 2))
            size *= 2
            blocks.append(
                nn.SequentialCell(
                    [ConvNormLeaky(size, size // 2, 1), ConvNormLeaky(size // 2, size, 3)]
                )
            )
        self.downs, self.blocks = nn.CellList(downs), nn.CellList(blocks)
        self.head = nn.Conv2d(size, 3 * 85, 1, has_bias=True)

    def construct(self, x: Any) -> Any:
        x = self.first(x)
        for down, block in zip(self.downs, self.blocks):  # noqa: B905 - MindSpore lacks strict
            x = down(x)
            x = x + block(x)
        return self.head(x)


class UNet(nn.Cell):
    """A U-Net: two strided levels down, two repeated levels up, with skip connections."""

    def __init__(self, size: int = 16):
        super().__init__()

        def both(before: int, after: int, stride: int = 1) -> nn.Cell:
            return nn.SequentialCell(
                [
                    nn.Conv2d(before, after, 3, stride, pad_mode="pad", padding=1, has_bias=True),
                    nn.ReLU(),
                    nn.Conv2d(after, after, 3, 1, pad_mode="pad", padding=1, has_bias=True),
                    nn.ReLU(),
                ]
            )

        self.first, self.second, self.third = (
            both(3, size),
            both(size, 2 * size, 2),
            both(2 * size, 4 * size, 2),
        )
        self.fourth, self.fifth = both(6 * size, 2 * size), both(3 * size, size)
        self.last = nn.Conv2d(size, 1, 1)

    def construct(self, x: Any) -> Any:
        one = self.first(x)
        two = self.second(one)
        three = self.third(two)
        back = self.fourth(ops.concat((_upsample(three), two), 1))
        return self.last(self.fifth(ops.concat((_upsample(back), one), 1)))


def _upsample(x: Any) -> Any:
    """Nearest-neighbour upsampling by 2."""
    batch, channels, height, width = x.shape
    wide = ops.broadcast_to(
        ops.reshape(x, (batch, channels, height, 1, width, 1)),
        (batch, channels, height, 2, width, 2),
    )
    return ops.reshape(wide, (batch, channels, 2 * height, 2 * width))


class SquaredLoss(nn.Cell):
    """The mean of the squared results."""

    def __init__(self, net: nn.Cell):
        super().__init__()
        self.net = net

    def construct(self, x: Any) -> Any:
        y = self.net(x)
        return ops.mean(y * y)


def with_same_weights(net: nn.Cell) -> nn.Cell:
    """The net with weights that are identical in every process."""
    random = np.random.default_rng(1)
    for one in net.get_parameters():
        if one.ndim == 1 and "bias" in one.name:
            one.set_data(Tensor(np.zeros(one.shape, np.float32)))
        if one.ndim > 1:
            spread = (2.0 / np.prod(one.shape[1:])) ** 0.5
            one.set_data(Tensor((random.standard_normal(one.shape) * spread).astype(np.float32)))
    return net


@dataclass(frozen=True)
class Network:
    """A network and its inputs.

    Attributes:
        name: name in `network_inputs`.
        made: builds the net.
    """

    name: str
    made: Callable[[], nn.Cell]

    def net(self, *, train: bool) -> nn.Cell:
        """The net or its training step, with deterministic weights."""
        net = with_same_weights(self.made())
        if not train:
            return net.set_train(False)
        optimizer = nn.Adam(net.trainable_params(), 1e-4)
        return nn.TrainOneStepCell(SquaredLoss(net), optimizer).set_train()

    def input(self, batch: int = 0) -> Any:
        """Input tensors."""
        return Tensor(input_of(self.name, batch))


NETWORKS: Mapping[str, Network] = {
    name: Network(name, made)
    for name, made in {
        "MLP": Perceptron,
        "small MLP": SmallPerceptron,
        "LSTM": lambda: Recurrent(nn.LSTM),
        "GRU": lambda: Recurrent(nn.GRU),
        "transformer": TransformerBlock,
        "ResNet": ResNet,
        "U-Net": UNet,
        "ResNet-18": ResNet18,
        "YOLO-like": Darknet,
    }.items()
}
