"""What a detector's weights begin with, the same in every process and framework; imports none."""

from __future__ import annotations

import numpy as np

from case_studies.detector.design import ANCHORS

RARE = -4.0
"""What the heads begin with for objectness: few boxes hold something."""
CALM = 0.1
"""Predictions begin near 0, everything before them with the spread that it reads."""
SHORT_CUT = 0.25
"""23 short cuts in a row: each adds little, so that numbers stay as large as they are."""


def initial(name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray | None:
    """Of one parameter, by the name that MindSpore gives it; None where a layer's own beginning stays.

    Args:
        name: such as ``darknet.first.conv.weight``.
        shape: its own.
        random: the same for all parameters, which are asked for in the order of the layers.
    """
    if len(shape) > 1:
        spread = (CALM if name.endswith("last.weight") else 1.0) * (2.0 / np.prod(shape[1:])) ** 0.5
        return random.standard_normal(shape, np.float32) * np.float32(spread)
    if name.startswith("darknet") and name.endswith("wide.norm.gamma"):
        return np.full(shape, SHORT_CUT, np.float32)
    if name.endswith("last.bias"):
        values = np.zeros((len(ANCHORS[0]), shape[0] // len(ANCHORS[0])), np.float32)
        values[:, 4] = RARE
        return values.reshape(-1)
    return None
