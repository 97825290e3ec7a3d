"""Sizes of the network and of a training step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Sizes of the network and of a step.

    Attributes:
        d_model: width of a character's representation between two layers.
        heads: attention heads; they share d_model.
        d_ff: inner width of the feed-forward network.
        layers: number of layers.
        context: characters of a passage.
        rows: passages in a batch.
        steps: training steps.
    """

    d_model: int
    heads: int
    d_ff: int
    layers: int
    context: int
    rows: int
    steps: int

    @property
    def tokens(self) -> int:
        """Characters of a step."""
        return self.rows * self.context


SIZES: Mapping[str, Size] = {
    "full": Size(d_model=128, heads=4, d_ff=512, layers=4, context=128, rows=16, steps=200),
    "quick": Size(d_model=64, heads=4, d_ff=256, layers=2, context=32, rows=8, steps=40),
    "layer": Size(d_model=512, heads=8, d_ff=2048, layers=1, context=128, rows=8, steps=0),
}
"""``layer`` is the size for the measurement of a single layer."""
