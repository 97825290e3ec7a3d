"""Exports `layer.onnx` from PyTorch 2.13 with onnxscript: ``python export_layer.py``.

Pre-norm attention and a feed-forward part with SiLU, with symbolic batch and sequence sizes.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn


class Layer(nn.Module):
    """x + O(attention(QKV(norm(x)))), then x + W2(silu(W1(norm(x))))."""

    def __init__(self, size: int = 16, heads: int = 2, inner: int = 32):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, inner), nn.Linear(inner, size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, sequence, size) → the same."""
        batch, time, size = x.shape
        each = size // self.heads
        q, k, v = (
            one.reshape(batch, time, self.heads, each).transpose(1, 2)
            for one in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        weights = (q @ k.transpose(-1, -2) / each**0.5).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, time, size))
        return x + self.down(nn.functional.silu(self.up(self.norm2(x))))


if __name__ == "__main__":
    torch.manual_seed(0)
    sizes = ({0: torch.export.Dim("n"), 1: torch.export.Dim("t")},)
    target = Path(__file__).with_name("layer.onnx")
    torch.onnx.export(
        Layer().eval(),
        (torch.randn(2, 8, 16),),
        target,
        dynamo=True,
        dynamic_shapes=sizes,
        opset_version=18,
        external_data=False,
    )
