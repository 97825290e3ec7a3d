"""MindSpore's optimizers as text, and the step of each in NumPy.

Steps that MindSpore computes wrongly on CPU are not among them; see
tests/ms_fusion/mindspore/test_known_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Kept = dict[str, Any]
"""Optimizer state of a parameter."""


@dataclass(frozen=True)
class Optimizer:
    """One optimizer.

    Attributes:
        text: expression that constructs it from ``parameters``.
        change: the subtracted update: (state, parameter, gradient, number of the step from 1).
    """

    text: str
    change: Callable[[Kept, Any, Any, int], Any]


def _momentum(kept: Kept, slope: Any, rate: float, factor: float) -> Any:
    kept["moment"] = kept.get("moment", 0.0) * factor + slope
    return rate * kept["moment"]


def _moments(kept: Kept, slope: Any) -> Any:
    kept["first"] = 0.9 * kept.get("first", 0.0) + 0.1 * slope
    kept["second"] = 0.999 * kept.get("second", 0.0) + 0.001 * slope**2
    return kept["first"] / (np.sqrt(kept["second"]) + 0.01)


def _adam(kept: Kept, slope: Any, rate: float, step: int) -> Any:
    return rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step) * _moments(kept, slope)


def _rmsprop(kept: Kept, slope: Any) -> Any:
    kept["square"] = 0.9 * kept.get("square", 1.0) + 0.1 * slope**2
    kept["moment"] = 0.5 * kept.get("moment", 0.0) + 0.05 * slope / np.sqrt(kept["square"] + 1e-8)
    return kept["moment"]


def _adagrad(kept: Kept, slope: Any) -> Any:
    kept["square"] = kept.get("square", 0.1) + slope**2
    return 0.05 * slope / np.sqrt(kept["square"])


RATES = (0.05, 0.02, 0.01)
STEPS = len(RATES)
OPTIMIZERS = (
    Optimizer(
        "nn.SGD(parameters, 0.05, momentum=0.9)",
        lambda kept, x, slope, step: _momentum(kept, slope, 0.05, 0.9),
    ),
    Optimizer(
        "nn.SGD(parameters, 0.05, weight_decay=0.125)",
        lambda kept, x, slope, step: 0.05 * (slope + 0.125 * x),
    ),
    Optimizer(
        f"nn.Momentum(parameters, {[*RATES]}, 0.5)",
        lambda kept, x, slope, step: _momentum(kept, slope, RATES[step - 1], 0.5),
    ),
    Optimizer(
        "nn.Momentum(parameters, 0.05, 0.9, weight_decay=0.125)",
        lambda kept, x, slope, step: _momentum(kept, slope + 0.125 * x, 0.05, 0.9),
    ),
    Optimizer(
        "nn.Adam(parameters, 0.05, eps=0.01)",
        lambda kept, x, slope, step: _adam(kept, slope, 0.05, step),
    ),
    Optimizer(
        f"nn.Adam(parameters, {[*RATES]}, eps=0.01, weight_decay=0.125)",
        lambda kept, x, slope, step: _adam(kept, slope + 0.125 * x, RATES[step - 1], step),
    ),
    Optimizer(
        "nn.AdamWeightDecay(parameters, 0.05, eps=0.01, weight_decay=0.125)",
        lambda kept, x, slope, step: 0.05 * (_moments(kept, slope) + 0.125 * x),
    ),
    Optimizer(
        "nn.RMSProp(parameters, 0.05, momentum=0.5, epsilon=1e-8)",
        lambda kept, x, slope, step: _rmsprop(kept, slope),
    ),
    Optimizer(
        "nn.Adagrad(parameters, accum=0.1, learning_rate=0.05)",
        lambda kept, x, slope, step: _adagrad(kept, slope),
    ),
)


def _by_norm(slopes: list[Any]) -> list[Any]:
    norm = np.sqrt(sum(np.sum(np.square(one)) for one in slopes))
    return [one / max(norm, 1.0) for one in slopes]


CLIPPINGS: Mapping[str, tuple[str, Callable[[list[Any]], list[Any]]]] = {
    "norm": ("ops.clip_by_global_norm({}, 1.0)", _by_norm),
    "value": (
        "ops.clip_by_value({}, -0.125, 0.125)",
        lambda slopes: [np.clip(one, -0.125, 0.125) for one in slopes],
    ),
}
"""Preprocessing of all gradients: as MindSpore text, and in NumPy."""
