"""The language model of the case study in torch, same weights; imports no MindSpore."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.torch_nets import EPSILON
from case_studies.language_model.sizes import Size
from case_studies.language_model.stages import LAYER, LEARNING_RATE, arrays
from case_studies.language_model.tokens import characters
from case_studies.language_model.weights import weights


class TransformerLayer(nn.Module):
    """A causal attention and a SiLU feed-forward network, each pre-norm with a residual."""

    def __init__(self, size: Size):
        super().__init__()
        self.heads, d_model = size.heads, size.d_model
        self.attention_norm, self.feed_forward_norm = (
            nn.LayerNorm(d_model, EPSILON),
            nn.LayerNorm(d_model, EPSILON),
        )
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model) for _ in range(4))
        self.wide, self.narrow = nn.Linear(d_model, size.d_ff), nn.Linear(size.d_ff, d_model)

    def in_heads(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.attention_norm(x)
        parts = (
            self.in_heads(self.query(y)),
            self.in_heads(self.key(y)),
            self.in_heads(self.value(y)),
        )
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(nn.functional.silu(self.wide(self.feed_forward_norm(x))))


class LanguageModel(nn.Module):
    """Computes the next-character loss."""

    def __init__(self, size: Size):
        super().__init__()
        self.tokens = nn.Embedding(len(characters()), size.d_model)
        self.places = nn.Parameter(torch.zeros(size.context, size.d_model))
        self.layers = nn.Sequential(*(TransformerLayer(size) for _ in range(size.layers)))
        self.norm = nn.LayerNorm(size.d_model, EPSILON)
        self.head = nn.Linear(size.d_model, len(characters()), bias=False)

    def forward(self, ids: Tensor, wanted: Tensor) -> Tensor:
        logits = self.head(self.norm(self.layers(self.tokens(ids) + self.places)))
        return nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten().long())


class MeanSquare(nn.Module):
    """The mean of a layer's squared results."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).square().mean()


def _name(name: str) -> str:
    """MindSpore's name of that parameter."""
    if "norm" in name:
        return name.replace("weight", "gamma").replace("bias", "beta")
    return name.replace("tokens.weight", "tokens.embedding_table")


def training_step(what: str, size: Size, *, whole: bool = False) -> Callable[[int], np.ndarray]:
    """A training step of a layer or the model that returns the loss; the argument is the step
    number.

    Args:
        what, size: as in `case_studies.language_model.stages.arrays`.
        whole: compile the net with its loss.
    """
    net = TransformerLayer(size) if what == LAYER else LanguageModel(size)
    own = {_name(name): one for name, one in net.named_parameters()}
    with torch.no_grad():
        for name, value in weights({name: tuple(one.shape) for name, one in own.items()}).items():
            own[name].copy_(torch.from_numpy(value))
    loss_of = MeanSquare(net) if what == LAYER else net
    optimizer = torch.optim.Adam(net.parameters(), LEARNING_RATE, fused=not whole)
    forward: Callable[..., Tensor] = loss_of
    if whole:
        forward = torch.compile(loss_of, dynamic=False, fullgraph=True)
        optimizer.step = torch.compile(optimizer.step)  # type: ignore[method-assign]

    def step(number: int) -> np.ndarray:
        optimizer.zero_grad()
        loss = forward(*map(torch.from_numpy, arrays(what, size, step=number)))
        loss.backward()
        optimizer.step()
        return loss.detach().numpy()

    return step
