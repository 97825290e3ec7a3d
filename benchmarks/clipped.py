"""A training step with clipped gradients, as MindSpore users write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mindspore import nn, ops

from benchmarks.nets import SquaredLoss, TransformerBlock, with_same_weights

LIMIT = 0.5


def _by_norm(gradient: Any) -> Any:
    return ops.clip_by_norm(gradient, LIMIT)


def _by_value(gradient: Any) -> Any:
    return ops.clip_by_value(gradient, -LIMIT, LIMIT)


def _each(clip: Callable[[Any], Any]) -> Callable[[Any], Any]:
    over = ops.HyperMap()

    def clip_gradients(gradients: Any) -> Any:
        return over(clip, gradients)

    return clip_gradients


def _by_global_norm(gradients: Any) -> Any:
    return ops.clip_by_global_norm(gradients, LIMIT)


CLIPS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "clip_by_norm": _each(_by_norm),
        "clip_by_global_norm": _by_global_norm,
        "clip_by_value": _each(_by_value),
    }
)


class ClippedStep(nn.TrainOneStepCell):
    """A training step that clips gradients before the optimizer."""

    def __init__(self, network: nn.Cell, optimizer: nn.Cell, clip: Callable[[Any], Any]):
        super().__init__(network, optimizer)
        self.clip = clip

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        gradients = self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss))
        return ops.depend(loss, self.optimizer(self.clip(gradients)))


def encoder_step(clip: str) -> nn.Cell:
    """The Adam training step of two transformer blocks with gradients clipped by one of `CLIPS`."""
    net = with_same_weights(nn.SequentialCell([TransformerBlock(), TransformerBlock()]))
    optimizer = nn.Adam(net.trainable_params(), 1e-4)
    return ClippedStep(SquaredLoss(net), optimizer, CLIPS[clip]).set_train()
