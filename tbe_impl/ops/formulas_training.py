"""Defines NumPy formulas of losses and optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tbe_impl.ops.formula import Formula
from tbe_impl.ops.formulas_arrays import softmax


def _reduced(each: Any, reduction: str) -> Any:
    return each if reduction == "none" else each.mean() if reduction == "mean" else each.sum()


def _kl_div(x: Any, target: Any, *, reduction: str = "batchmean") -> Any:
    each = np.where(target > 0, target * (np.log(np.where(target > 0, target, 1)) - x), 0)
    return each.sum() / (x.shape[0] if reduction == "batchmean" else 1)


def _binary_cross_entropy(x: Any, y: Any, weight: Any = 1, *, reduction: str = "mean") -> Any:
    smallest = 1e-12
    each = y * np.log(np.maximum(x, smallest)) + (1 - y) * np.log(np.maximum(1 - x, smallest))
    return _reduced(-each * weight, reduction)


def _softmax_cross_entropy(features: Any, labels: Any) -> tuple[Any, Any]:
    shifted = features - features.max(-1, keepdims=True)
    logarithm = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    loss = -(labels * logarithm).sum(-1)
    return loss, softmax(features) * labels.sum(-1, keepdims=True) - labels


def _sgd(
    var: Any,
    accum: Any,
    grad: Any,
    lr: Any,
    momentum: Any,
    *,
    weight_decay: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
) -> tuple[Any, Any]:
    grad = grad + weight_decay * var
    accum = momentum * accum + (1 - dampening) * grad
    return var - lr * (grad + momentum * accum if nesterov else accum), accum


def _momentum(
    var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, *, use_nesterov: bool = False
) -> tuple[Any, Any]:
    accum = momentum * accum + grad
    return var - lr * (grad + momentum * accum if use_nesterov else accum), accum


def _adam(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
) -> tuple[Any, Any, Any]:
    m = m + (1 - beta1) * (grad - m)
    v = v + (1 - beta2) * (grad * grad - v)
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    return var - rate * m / (np.sqrt(v) + epsilon), m, v


def _adam_weight_decay(
    var: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, decay: Any, grad: Any
) -> tuple[Any, Any, Any]:
    m = m + (1 - beta1) * (grad - m)
    v = v + (1 - beta2) * (grad * grad - v)
    return var - lr * (m / (np.sqrt(v) + epsilon) + decay * var), m, v


def _adagrad(var: Any, accum: Any, lr: Any, grad: Any) -> tuple[Any, Any]:
    accum = accum + grad * grad
    return var - lr * grad / np.sqrt(accum), accum


def _rms_prop(
    var: Any, ms: Any, mom: Any, lr: Any, grad: Any, *, rho: float, momentum: float, epsilon: float
) -> tuple[Any, Any, Any]:
    ms = rho * ms + (1 - rho) * grad * grad
    mom = momentum * mom + lr * grad / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


def _lamb(
    var: Any,
    m: Any,
    v: Any,
    grad: Any,
    *,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    weight_decay: float = 0.01,
) -> tuple[Any, Any, Any]:
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad * grad
    direction = m / (np.sqrt(v) + epsilon) + weight_decay * var
    trust = np.sqrt((var * var).sum()) / np.sqrt((direction * direction).sum())
    return var - lr * trust * direction, m, v


TRAINING: Mapping[str, Formula] = MappingProxyType(
    {
        "mse_loss": Formula(
            lambda predict, label, *, reduction="mean": _reduced((predict - label) ** 2, reduction)
        ),
        "kl_div": Formula(_kl_div),
        "binary_cross_entropy": Formula(_binary_cross_entropy),
        "softmax_cross_entropy_with_logits": Formula(_softmax_cross_entropy),
        "apply_sgd": Formula(_sgd),
        "apply_momentum": Formula(_momentum),
        "apply_adam": Formula(_adam),
        "apply_adam_weight_decay": Formula(_adam_weight_decay),
        "apply_adagrad": Formula(_adagrad),
        "apply_rms_prop": Formula(_rms_prop),
        "lamb_update": Formula(_lamb),
    }
)
"""Maps the name of an operator to its formula."""
