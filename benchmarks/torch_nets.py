"""The networks of `benchmarks.nets` in torch, same weights; imports no MindSpore."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

EPSILON = 1e-7
"""Epsilon of MindSpore's LayerNorm."""


class Recurrent(nn.Module):
    """A recurrent layer over 20 steps of 32 features; its last state predicts four classes."""

    def __init__(self, kind: type[nn.RNNBase]):
        super().__init__()
        self.layer, self.last = kind(32, 64, batch_first=True), nn.Linear(64, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layer(x)[0][:, -1])


def small_perceptron() -> nn.Module:
    """Three layers, small as those of a controller."""
    return nn.Sequential(
        nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
    )


class TransformerBlock(nn.Module):
    """A transformer block: attention and a two-layer network, each after a LayerNorm."""

    def __init__(self, size: int = 512, heads: int = 8):
        super().__init__()
        self.heads, self.size = heads, size
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))
        self.first_norm, self.second_norm = nn.LayerNorm(size, EPSILON), nn.LayerNorm(size, EPSILON)
        self.wide, self.narrow, self.gelu = (
            nn.Linear(size, 4 * size),
            nn.Linear(4 * size, size),
            nn.GELU("tanh"),
        )

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.heads, self.size // self.heads).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first_norm(x)
        parts = self.split(self.query(y)), self.split(self.key(y)), self.split(self.value(y))
        mixed = nn.functional.scaled_dot_product_attention(*parts)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(self.gelu(self.wide(self.second_norm(x))))


class ResidualBlock(nn.Module):
    """Two convolutions with batch norms and a residual connection."""

    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.first_norm, self.second_norm = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.short: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            self.short = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.short(x))


class ResNet(nn.Module):
    """Residual blocks between a first convolution and a mean over each channel.

    Args:
        first: layers before the blocks.
        sizes: per block the input channels, output channels and stride.
        classes: number of outputs.
    """

    def __init__(self, first: nn.Module, sizes: tuple[tuple[int, int, int], ...], classes: int):
        super().__init__()
        self.first = first
        self.blocks = nn.Sequential(*(ResidualBlock(*size) for size in sizes))
        self.last = nn.Linear(sizes[-1][1], classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.blocks(self.first(x)).mean((2, 3)))


def perceptron(size: int = 512) -> nn.Module:
    """Linear, LayerNorm, GELU, three times."""
    return nn.Sequential(
        *(
            layer
            for _ in range(3)
            for layer in (nn.Linear(size, size), nn.LayerNorm(size, EPSILON), nn.GELU())
        )
    )


def small_resnet() -> nn.Module:
    """Like ResNet-18, for images of 32×32."""
    first = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
    return ResNet(first, ((32, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 2)), 10)


def resnet18() -> nn.Module:
    """ResNet-18, for images of 224×224."""
    first = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, ceil_mode=True),
    )
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
    return ResNet(first, sizes, 1000)


def conv_norm_leaky(before: int, after: int, size: int, stride: int = 1) -> nn.Module:
    """The basic block of YOLO-like networks."""
    conv = nn.Conv2d(before, after, size, stride, size // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(after), nn.LeakyReLU(0.1))


class Darknet(nn.Module):
    """Like YOLO: a backbone of 1×1 and 3×3 residual blocks, and a box head at its last scale."""

    def __init__(self, size: int = 16):
        super().__init__()
        self.first = conv_norm_leaky(3, size, 3)
        sizes = [size * 2**number for number in range(1, 5)]
        self.downs = nn.ModuleList(conv_norm_leaky(one // 2, one, 3, 2) for one in sizes)
        self.blocks = nn.ModuleList(
            nn.Sequential(conv_norm_leaky(one, one // 2, 1), conv_norm_leaky(one // 2, one, 3))
            for one in sizes
        )
        self.head = nn.Conv2d(sizes[-1], 3 * 85, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for down, block in zip(self.downs, self.blocks, strict=True):
            x = down(x)
            x = x + block(x)
        return self.head(x)


class UNet(nn.Module):
    """A U-Net: two strided levels down, two repeated levels up, with skip connections."""

    def __init__(self, size: int = 16):
        super().__init__()

        def both(before: int, after: int, stride: int = 1) -> nn.Module:
            return nn.Sequential(
                nn.Conv2d(before, after, 3, stride, 1),
                nn.ReLU(),
                nn.Conv2d(after, after, 3, 1, 1),
                nn.ReLU(),
            )

        self.first, self.second, self.third = (
            both(3, size),
            both(size, 2 * size, 2),
            both(2 * size, 4 * size, 2),
        )
        self.fourth, self.fifth = both(6 * size, 2 * size), both(3 * size, size)
        self.last = nn.Conv2d(size, 1, 1, bias=False)
        self.doubled = nn.Upsample(scale_factor=2)

    def forward(self, x: Tensor) -> Tensor:
        one = self.first(x)
        two = self.second(one)
        back = self.fourth(torch.cat((self.doubled(self.third(two)), two), 1))
        return self.last(self.fifth(torch.cat((self.doubled(back), one), 1)))


NETWORKS: Mapping[str, Callable[[], nn.Module]] = {
    "MLP": perceptron,
    "small MLP": small_perceptron,
    "LSTM": lambda: Recurrent(nn.LSTM),
    "GRU": lambda: Recurrent(nn.GRU),
    "transformer": TransformerBlock,
    "ResNet": small_resnet,
    "U-Net": UNet,
    "ResNet-18": resnet18,
    "YOLO-like": Darknet,
}


def with_same_weights(net: nn.Module) -> nn.Module:
    """The net, with the weights of `benchmarks.nets`."""
    random = np.random.default_rng(1)
    with torch.no_grad():
        for at, one in net.named_parameters():
            if one.ndim > 1:
                spread = (2.0 / np.prod(one.shape[1:])) ** 0.5
                one.copy_(
                    torch.from_numpy(
                        (random.standard_normal(one.shape) * spread).astype(np.float32)
                    )
                )
            elif "bias" in at:
                one.zero_()
    return net


def set_memory_format(
    net: nn.Module, x: np.ndarray, memory_format: str
) -> tuple[nn.Module, Tensor]:
    """A network and its images in one of torch's memory formats."""
    order, given = getattr(torch, memory_format), torch.from_numpy(x)
    return net.to(memory_format=order), given.contiguous(
        memory_format=order
    ) if x.ndim == 4 else given


def make_call(
    name: str,
    x: np.ndarray,
    *,
    train: bool,
    whole: bool = False,
    memory_format: str = "contiguous_format",
) -> Callable[[], np.ndarray]:
    """A call of a network, or of its training step, on x; the weights are those of
    `benchmarks.nets`.

    Args:
        whole: compile the net with its loss.
        memory_format: torch's memory format of images and weights.
    """
    net, given = set_memory_format(with_same_weights(NETWORKS[name]()), x, memory_format)

    def compile_function(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return torch.compile(function, dynamic=False, fullgraph=True) if whole else function

    if not train:
        forward = compile_function(net.eval())

        def infer() -> np.ndarray:
            with torch.inference_mode():
                return forward(given).numpy()

        return infer
    optimizer, loss_of = (
        torch.optim.Adam(net.parameters(), 1e-4, fused=not whole),
        compile_function(lambda x: net(x).square().mean()),
    )
    if whole:
        optimizer.step = torch.compile(optimizer.step)  # type: ignore[method-assign]

    def step() -> np.ndarray:
        optimizer.zero_grad()
        loss = loss_of(given)
        loss.backward()
        optimizer.step()
        return loss.detach().numpy()

    return step
