"""Models of `benchmarks.onnx_kernels`, exported by torch: six nets with random weights.

The sizes were fixed before the first measurement.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.data.onnx.export_layer import Layer

if TYPE_CHECKING:
    from torch import Tensor

import torch
from torch import nn

Inputs = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class KernelModel:
    """A measured model.

    Attributes:
        describe: sizes of the model and of its inputs, for the table.
        write: writes the ONNX file and returns the inputs.
    """

    describe: str
    write: Callable[[Path], Inputs]


class Attention(nn.Module):
    """Multi-head self-attention with one product for queries, keys and values."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = (
            one.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
            for one in self.qkv(x).split(width, dim=2)
        )
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        if mask is not None:
            scores = scores + mask
        mixed = torch.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    """A transformer block: pre-norm (GPT-2, vision) or post-norm (BERT)."""

    def __init__(self, width: int, heads: int, *, is_post_norm: bool, approximate: str):
        super().__init__()
        self.is_post_norm = is_post_norm
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act = nn.GELU(approximate=approximate)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        if self.is_post_norm:
            x = self.first(x + self.attention(x, mask))
            return self.second(x + self.down(self.act(self.up(x))))
        x = x + self.attention(self.first(x), mask)
        return x + self.down(self.act(self.up(self.second(x))))


class Gpt(nn.Module):
    """A causal language model like GPT-2."""

    def __init__(self, width: int, heads: int, layers: int, tokens: int, words: int):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(
            Block(width, heads, is_post_norm=False, approximate="tanh") for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        causal = torch.full((tokens, tokens), float("-inf")).triu(1)
        self.register_buffer("causal", causal[None, None])

    def forward(self, words: Tensor) -> Tensor:
        tokens = words.shape[1]
        x = self.words(words) + self.places(torch.arange(tokens))
        for block in self.blocks:
            x = block(x, self.causal[:, :, :tokens, :tokens])
        return self.head(self.norm(x))


class Bert(nn.Module):
    """An encoder like BERT, with a mask of the tokens that count."""

    def __init__(self, width: int, heads: int, layers: int, tokens: int, words: int):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(tokens, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(
            Block(width, heads, is_post_norm=True, approximate="none") for _ in range(layers)
        )

    def forward(self, words: Tensor, kept: Tensor) -> Tensor:
        x = self.norm(self.words(words) + self.places(torch.arange(words.shape[1])))
        mask = (1.0 - kept.to(x.dtype))[:, None, None, :] * -1e9
        for block in self.blocks:
            x = block(x, mask)
        return x


class Vision(nn.Module):
    """A vision transformer."""

    def __init__(self, width: int, heads: int, layers: int, side: int, patch: int):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.1)
        self.blocks = nn.ModuleList(
            Block(width, heads, is_post_norm=False, approximate="none") for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), dim=1) + self.places
        for block in self.blocks:
            x = block(x, None)
        return self.head(self.norm(x)[:, 0])


class ConvNextBlock(nn.Module):
    """A block of ConvNeXt: depthwise convolution, norm, two products, scale, residual sum."""

    def __init__(self, width: int):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(nn.functional.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class ChannelNorm(nn.Module):
    """A layer norm over the channels of an image."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def _convnext(widths: tuple[int, ...], depths: tuple[int, ...]) -> nn.Module:
    """Returns a net like ConvNeXt."""
    parts: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, stride=4), ChannelNorm(widths[0])]
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        if stage:
            before = widths[stage - 1]
            parts += [ChannelNorm(before), nn.Conv2d(before, width, 2, stride=2)]
        parts += [ConvNextBlock(width) for _ in range(depth)]
    last = widths[-1]
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.LayerNorm(last), nn.Linear(last, 1000)]
    return nn.Sequential(*parts)


class Tagger(nn.Module):
    """A bidirectional LSTM over embedded words, with a distribution over tags per word."""

    def __init__(self, width: int, hidden: int, words: int, tags: int):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * hidden, tags)

    def forward(self, words: Tensor) -> Tensor:
        return torch.log_softmax(self.tags(self.lstm(self.words(words))[0]), dim=-1)


def _export(
    path: Path, make: Callable[[], nn.Module], make_inputs: Callable[[], tuple[Any, ...]]
) -> Inputs:
    torch.manual_seed(0)
    net, inputs = make().eval(), make_inputs()
    names = [f"x{number}" for number in range(len(inputs))]
    torch.onnx.export(
        net,
        inputs,
        path,
        dynamo=True,
        input_names=names,
        opset_version=18,
        external_data=False,
        verbose=False,
    )
    return {name: one.numpy() for name, one in zip(names, inputs, strict=True)}


def _words(tokens: int, words: int = 1000) -> Tensor:
    return torch.randint(0, words, (1, tokens))


_image = functools.partial(torch.randn, 1, 3, 224, 224)
MODELS: Mapping[str, KernelModel] = {
    "transformer layer": KernelModel(
        "d 512, 8 heads, inner 2048, 1 × 2048 tokens",
        functools.partial(
            _export,
            make=lambda: Layer(512, 8, 2048),
            make_inputs=lambda: (torch.randn(1, 2048, 512),),
        ),
    ),
    "GPT-2-like": KernelModel(
        "4 layers, d 256, 4 heads, 1 × 256 tokens",
        functools.partial(
            _export, make=lambda: Gpt(256, 4, 4, 256, 1000), make_inputs=lambda: (_words(256),)
        ),
    ),
    "BERT-like": KernelModel(
        "4 layers, d 256, 4 heads, 1 × 128 tokens",
        functools.partial(
            _export,
            make=lambda: Bert(256, 4, 4, 128, 1000),
            make_inputs=lambda: (_words(128), torch.ones(1, 128, dtype=torch.int64)),
        ),
    ),
    "vision transformer": KernelModel(
        "6 layers, d 192, 3 heads, image 224², patches 16²",
        functools.partial(
            _export, make=lambda: Vision(192, 3, 6, 224, 16), make_inputs=lambda: (_image(),)
        ),
    ),
    "ConvNeXt-like": KernelModel(
        "widths 40 to 320, depths 2, 2, 6, 2, image 224²",
        functools.partial(
            _export,
            make=lambda: _convnext((40, 80, 160, 320), (2, 2, 6, 2)),
            make_inputs=lambda: (_image(),),
        ),
    ),
    "LSTM tagger": KernelModel(
        "embedding 64, hidden 2 × 64, 20 tags, 1 × 32 tokens",
        functools.partial(
            _export, make=lambda: Tagger(64, 64, 1000, 20), make_inputs=lambda: (_words(32),)
        ),
    ),
}
