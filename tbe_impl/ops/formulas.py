"""Collects the formulas of all operators in one table.

>>> import numpy as np
>>> FORMULAS["swish"](np.array([0.0]), beta=2.0)
array([0.])
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tbe_impl.ops.formula import Formula
from tbe_impl.ops.formulas_arrays import ARRAYS
from tbe_impl.ops.formulas_elementwise import ELEMENTWISE
from tbe_impl.ops.formulas_training import TRAINING

SAME: Mapping[str, str] = MappingProxyType(
    {
        "softmax_v2": "softmax",
        "log_softmax_v2": "log_softmax",
        "softsign_v2": "softsign",
        "softplus_v2": "softplus_beta",
        "real_div": "div",
        "sgd": "apply_sgd",
        "fast_gelu": "fast_gelu",
        "silu": "swish",
        "hswish": "hard_swish",
        "clip": "clip_by_value",
        "where": "select",
        "inv": "reciprocal",
        "rint": "round",
        "huber": "huber_loss",
        "softmax_cross_entropy": "softmax_cross_entropy_with_logits",
        "rms_prop": "apply_rms_prop",
        "adam": "apply_adam",
        "momentum": "apply_momentum",
        "adagrad": "apply_adagrad",
        "subtract": "sub",
        "multiply": "mul",
        "divide": "div",
    }
)
"""Maps an alias of an operator to the name of its formula."""

_OWN = {**ELEMENTWISE, **ARRAYS, **TRAINING}
FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {**{name: _OWN[own] for name, own in SAME.items() if own in _OWN}, **_OWN}
)
"""Maps the name of an operator to its formula."""
