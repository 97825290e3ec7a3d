"""Initial weights of a detector, identical in every process and framework; imports none."""

from __future__ import annotations

import numpy as np

from case_studies.detector.design import ANCHORS

RARE = -4.0
"""Initial objectness bias of the heads: few boxes hold an object."""
CALM = 0.1
"""Scale of the heads' initial weights: predictions start near 0; all other layers keep their
input's spread.
"""
SHORT_CUT = 0.25
"""Scale of the residual branches: 23 residual blocks must keep the magnitude of the activations."""


def initial(name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray | None:
    """Initial value of one parameter by its MindSpore name; None keeps the layer's default.

    Args:
        name: such as ``darknet.first.conv.weight``.
        shape: shape of the parameter.
        random: one generator for all parameters, used in the order of the layers.
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
