"""Initial weights of every training, identical in every framework and process."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

SPREAD = 0.02
"""Standard deviation of matrix weights."""


def weights(shapes: Mapping[str, tuple[int, ...]], *, seed: int = 0) -> dict[str, np.ndarray]:
    """Float32 values of Parameters; seed, names and shapes determine them.

    Matrices are normal, gamma is 1, all others are 0.

    >>> weights({"norm.gamma": (2,), "norm.beta": (2,)})["norm.gamma"]
    array([1., 1.], dtype=float32)
    """
    random, made = np.random.default_rng(seed), {}
    for name, shape in sorted(shapes.items()):
        if len(shape) > 1:
            made[name] = (random.standard_normal(shape) * SPREAD).astype(np.float32)
        else:
            made[name] = np.full(shape, float(name.endswith("gamma")), np.float32)
    return made
