"""The input shapes of the measured networks, for every framework."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

SHAPES: Mapping[str, tuple[int, ...]] = {
    "MLP": (1024, 512),
    "transformer": (8, 128, 512),
    "LSTM": (16, 20, 32),
    "GRU": (16, 20, 32),
    "small MLP": (1, 16),
    "ResNet": (8, 3, 32, 32),
    "U-Net": (2, 3, 64, 64),
    "ResNet-18": (2, 3, 224, 224),
    "YOLO-like": (2, 3, 160, 160),
}
"""Network → the shape of its input."""


def input_of(name: str, batch: int = 0) -> np.ndarray:
    """The input of a network, or one for another batch size."""
    shape = SHAPES[name]
    return (
        np.random.default_rng(2).standard_normal((batch or shape[0], *shape[1:])).astype(np.float32)
    )
