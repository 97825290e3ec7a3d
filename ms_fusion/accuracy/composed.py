"""Operators of several steps that MindSpore hands over whole: gradients of functions, products with sums, losses.

Each is a function of a `formulas.Call`; on arrays and on traced tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

Array = np.ndarray
Of = Callable[[Any], Any]


def of_all(function: Callable[..., Any]) -> Of:
    """A function of all inputs."""
    return lambda call: function(*call.inputs)


def _log_softmax_gradient(call: Any) -> Any:
    """(y, gradient of y): dy − e^y · Σ dy."""
    y, dy = call.inputs[:2]
    axis = (call.integers("axis", 2) or (-1,))[0]
    return dy - np.exp(y) * np.sum(dy, axis=axis, keepdims=True)


def _dropout_gradient(call: Any) -> Any:
    """(gradient of y, mask)."""
    dy, mask = call.inputs[:2]
    return dy * mask / call.number("keep_prob", 2)


def _xlogy(x: Array, y: Array) -> Any:
    return np.where(x == 0, 0 * x, x * np.log(y))


def _xdivy(x: Array, y: Array) -> Any:
    return np.where(x == 0, 0 * x, x / y)


def _as(x: Array, factor: Any) -> Any:
    """A factor as MindSpore takes it: cut to a whole number where `x` has whole numbers."""
    return factor.astype(x.dtype) if x.dtype.kind in "iub" else factor


def _less(x: Array, y: Array, factor: Any) -> Any:
    """x − factor · y; of truth values, whether that is not 0."""
    away = _as(x, factor) * y
    return x != away if x.dtype == bool else x - away


def _larger(x: Array, y: Array) -> Any:
    """The one that is a number, where the other is not."""
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.maximum(x, y)))


def _smaller(x: Array, y: Array) -> Any:
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.minimum(x, y)))


def _hypotenuse(x: Array, y: Array) -> Any:
    """√(x² + y²) where squares would overflow, too."""
    large, small = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    share = small / np.where(large == 0, 1 + 0 * large, large)
    return np.where(np.isinf(large), large, large * np.sqrt(1 + share * share))


def _divergence(call: Any) -> Any:
    """(x, wanted): wanted · (ln wanted − x), and 0 where nothing is wanted."""
    x, wanted = call.inputs[:2]
    none = wanted <= 0
    each = np.where(none, 0 * wanted, wanted * (np.log(np.where(none, 1 + 0 * wanted, wanted)) - x))
    how = _reduction(call)
    return each if how == "none" else np.sum(each) / _share(how, x)


def _divergence_gradient(call: Any) -> Any:
    """(gradient of the loss, x, wanted)."""
    dy, x, wanted = call.inputs[:3]
    return -wanted * dy / _share(_reduction(call), x)


def _reduction(call: Any) -> str:
    return str(call.node.attr("reduction", "mean"))


def _share(how: str, x: Array) -> float:
    """What the sum is divided by."""
    return float({"mean": x.size, "batchmean": x.shape[0] if x.ndim else 1}.get(how, 1))


COMPOSED: Mapping[str, Of] = MappingProxyType(
    {
        # gradients: of (y, dy), of (x, dy) for inverse functions of angles
        "LogSoftmaxGrad": _log_softmax_gradient,
        "SqrtGrad": of_all(lambda y, dy: dy / (y + y)),
        "RsqrtGrad": of_all(lambda y, dy: dy * -0.5 * (y * y * y)),
        "AcoshGrad": of_all(lambda y, dy: dy / np.sinh(y)),
        "AsinhGrad": of_all(lambda y, dy: dy / np.cosh(y)),
        "ACosGrad": of_all(lambda x, dy: -dy / np.sqrt((1 - x) * (1 + x))),
        "AsinGrad": of_all(lambda x, dy: dy / np.sqrt((1 - x) * (1 + x))),
        "AtanGrad": of_all(lambda x, dy: dy / (1 + x * x)),
        "DropoutGrad": _dropout_gradient,
        # two and three tensors
        "Addcmul": of_all(lambda x, y, z, factor: x + _as(x, factor) * y * z),
        "Addcdiv": of_all(lambda x, y, z, factor: x + _as(x, factor) * y / z),
        "AddExt": of_all(lambda x, y, factor: x + _as(x, factor) * y),
        "SubExt": of_all(_less),
        "Lerp": of_all(lambda x, y, weight: x + weight * (y - x)),
        "MaskedFill": of_all(lambda x, mask, value: np.where(mask, value, x)),
        "LogicalXor": of_all(lambda x, y: (x != 0) != (y != 0)),
        "Xlogy": of_all(_xlogy),
        "Xdivy": of_all(_xdivy),
        "Fmax": of_all(_larger),
        "Fmin": of_all(_smaller),
        "Hypot": of_all(_hypotenuse),
        # losses
        "L2Loss": of_all(lambda x: np.sum(x * x) / 2),
        "KLDivLoss": _divergence,
        "KLDivLossGrad": _divergence_gradient,
    }
)
"""Operator type → its formula."""
