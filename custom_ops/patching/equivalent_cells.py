"""Proposes fused replacements for normalisation Cells of other libraries, and tests them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import custom_ops
from custom_ops.core.framework import ms, nn
from custom_ops.core.weighted_cells import keep_names
from custom_ops.patching.rules import is_plain
from custom_ops.patching.verification import RecordedCall, disagreement

_GAMMAS, _BETAS = ("gamma", "weight"), ("beta", "bias")
_EPSILONS = ("eps", "epsilon", "variance_epsilon", "norm_eps")


def candidate(cell: Any) -> Any:
    """Returns a fused normalisation with the same Parameters, or None if the Cell is not suitable.

    The name of the Cell's class determines the kind of normalisation.
    """
    kind = type(cell)
    if kind.__module__.startswith(("custom_ops", "mindspore.nn")) or isinstance(cell, nn.LayerNorm):
        return None
    if not is_plain(cell) or cell._cells:
        return None
    epsilon = next((getattr(cell, name) for name in _EPSILONS if hasattr(cell, name)), None)
    if not isinstance(epsilon, float):
        return None
    name, weights = kind.__name__.lower(), cell._params
    gamma = next((weights[one] for one in _GAMMAS if weights.get(one) is not None), None)
    beta = next((weights[one] for one in _BETAS if weights.get(one) is not None), None)
    if gamma is None or len(gamma.shape) != 1:
        return None
    with keep_names(gamma, beta):
        if "rmsnorm" in name and len(weights) == 1:
            return custom_ops.RMSNorm(tuple(gamma.shape), epsilon, gamma)
        if "layernorm" in name and len(weights) == 2 and beta is not None:
            return custom_ops.LayerNorm(tuple(gamma.shape), -1, -1, gamma, beta, epsilon)
    return None


def why_not(before: Any, after: Any, seen: RecordedCall, tolerance: float | None) -> str:
    """Describes how a Cell and the replacement Cell differ; returns "" for equivalent Cells.

    The function compares the results of both Cells for random weights and inputs. Some of the
    inputs are so small that different values of epsilon would give different results.
    """
    if len(seen.inputs) != 1 or seen.keywords or not isinstance(seen.inputs[0], ms.Tensor):
        return "it is called with more than one input"
    given = seen.inputs[0]
    rng = np.random.default_rng(7)
    weights = list(before.get_parameters())
    known = [one.asnumpy().copy() for one in weights]
    try:
        for one in weights:
            one.set_data(ms.Tensor(rng.uniform(0.5, 2, one.shape).astype(np.float32), one.dtype))
        for scale in (1.0, 1e-3):
            x = ms.Tensor(
                (scale * rng.standard_normal(given.shape)).astype(np.float32), given.dtype
            )
            reason = disagreement(partial(after, x), before(x), tolerance)
            if reason:
                return reason
    finally:
        for one, values in zip(weights, known, strict=True):
            one.set_data(ms.Tensor(values, one.dtype))
    return ""
