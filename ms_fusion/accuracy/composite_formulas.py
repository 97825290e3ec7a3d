"""Defines formulas of MindSpore's compound operators: gradients, multiply-add operators, losses.

A formula is a function of a `formulas.Call`. It applies to NumPy arrays and to traced tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

Array = np.ndarray
CallFormula = Callable[[Any], Any]


def nary_formula(function: Callable[..., Any]) -> CallFormula:
    """Returns a formula that applies `function` to the inputs of the call."""
    return lambda call: function(*call.inputs)


def _log_softmax_gradient(call: Any) -> Any:
    """Computes dy − e^y · Σ dy for the inputs (y, gradient dy of y)."""
    y, dy = call.inputs[:2]
    axis = (call.integers("axis", 2) or (-1,))[0]
    return dy - np.exp(y) * np.sum(dy, axis=axis, keepdims=True)


def _dropout_gradient(call: Any) -> Any:
    """Computes dy · mask / keep_prob for the inputs (gradient dy of y, mask)."""
    dy, mask = call.inputs[:2]
    return dy * mask / call.number("keep_prob", 2)


def _xlogy(x: Array, y: Array) -> Any:
    return np.where(x == 0, 0 * x, x * np.log(y))


def _xdivy(x: Array, y: Array) -> Any:
    return np.where(x == 0, 0 * x, x / y)


def _cast_factor(x: Array, factor: Any) -> Any:
    """Returns `factor`, cast to the dtype of `x` if `x` is integer or bool, as MindSpore does."""
    return factor.astype(x.dtype) if x.dtype.kind in "iub" else factor


def _subtract_scaled(x: Array, y: Array, factor: Any) -> Any:
    """Computes x − factor · y; for bool `x`, whether the difference is not 0."""
    away = _cast_factor(x, factor) * y
    return x != away if x.dtype == bool else x - away


def _fmax(x: Array, y: Array) -> Any:
    """Computes the maximum; if one operand is NaN, the result is the other operand."""
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.maximum(x, y)))


def _fmin(x: Array, y: Array) -> Any:
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.minimum(x, y)))


def _hypotenuse(x: Array, y: Array) -> Any:
    """Computes √(x² + y²) without overflow of the squares."""
    large, small = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    share = small / np.where(large == 0, 1 + 0 * large, large)
    return np.where(np.isinf(large), large, large * np.sqrt(1 + share * share))


def _kl_divergence(call: Any) -> Any:
    """Computes target · (ln target − x) for the inputs (x, target), reduced by the mode.

    The term of an element is 0 if its target is not positive.
    """
    x, wanted = call.inputs[:2]
    none = wanted <= 0
    each = np.where(none, 0 * wanted, wanted * (np.log(np.where(none, 1 + 0 * wanted, wanted)) - x))
    how = _reduction_mode(call)
    return each if how == "none" else np.sum(each) / _reduction_divisor(how, x)


def _kl_divergence_gradient(call: Any) -> Any:
    """Computes −target · dy / divisor for the inputs (gradient dy of the loss, x, target)."""
    dy, x, wanted = call.inputs[:3]
    return -wanted * dy / _reduction_divisor(_reduction_mode(call), x)


def _reduction_mode(call: Any) -> str:
    return str(call.node.attr("reduction", "mean"))


def _reduction_divisor(how: str, x: Array) -> float:
    """Returns the divisor of the sum for the reduction mode `how`."""
    return float({"mean": x.size, "batchmean": x.shape[0] if x.ndim else 1}.get(how, 1))


COMPOSITE_FORMULAS: Mapping[str, CallFormula] = MappingProxyType(
    {
        # Gradients. Their inputs are (y, dy), for inverse trigonometric functions (x, dy).
        "LogSoftmaxGrad": _log_softmax_gradient,
        "SqrtGrad": nary_formula(lambda y, dy: dy / (y + y)),
        "RsqrtGrad": nary_formula(lambda y, dy: dy * -0.5 * (y * y * y)),
        "AcoshGrad": nary_formula(lambda y, dy: dy / np.sinh(y)),
        "AsinhGrad": nary_formula(lambda y, dy: dy / np.cosh(y)),
        "ACosGrad": nary_formula(lambda x, dy: -dy / np.sqrt((1 - x) * (1 + x))),
        "AsinGrad": nary_formula(lambda x, dy: dy / np.sqrt((1 - x) * (1 + x))),
        "AtanGrad": nary_formula(lambda x, dy: dy / (1 + x * x)),
        "DropoutGrad": _dropout_gradient,
        # Operators of two or three tensors.
        "Addcmul": nary_formula(lambda x, y, z, factor: x + _cast_factor(x, factor) * y * z),
        "Addcdiv": nary_formula(lambda x, y, z, factor: x + _cast_factor(x, factor) * y / z),
        "AddExt": nary_formula(lambda x, y, factor: x + _cast_factor(x, factor) * y),
        "SubExt": nary_formula(_subtract_scaled),
        "Lerp": nary_formula(lambda x, y, weight: x + weight * (y - x)),
        "MaskedFill": nary_formula(lambda x, mask, value: np.where(mask, value, x)),
        "LogicalXor": nary_formula(lambda x, y: (x != 0) != (y != 0)),
        "Xlogy": nary_formula(_xlogy),
        "Xdivy": nary_formula(_xdivy),
        "Fmax": nary_formula(_fmax),
        "Fmin": nary_formula(_fmin),
        "Hypot": nary_formula(_hypotenuse),
        # Losses.
        "L2Loss": nary_formula(lambda x: np.sum(x * x) / 2),
        "KLDivLoss": _kl_divergence,
        "KLDivLossGrad": _kl_divergence_gradient,
    }
)
"""Operator type → formula."""
