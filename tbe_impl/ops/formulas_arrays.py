"""Defines NumPy formulas of operators along axes: reductions, normalisations, data movement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tbe_impl.ops.formula import Formula

_AXES = MappingProxyType({"axis": "axes", "keepdims": "keep_dims"})
_AXIS = MappingProxyType({"axes": "axis", "dim": "axis"})


def _listed(axes: Any, rank: int) -> tuple[int, ...]:
    found = (axes,) if isinstance(axes, int) else tuple(axes or ())
    return tuple(axis % rank for axis in found) or tuple(range(rank))


def _reduction(reduce: Callable[..., Any]) -> Formula:
    def compute(x: Any, *, axes: Any = (), keep_dims: bool = False) -> Any:
        return reduce(x, axis=_listed(axes, np.ndim(x)), keepdims=keep_dims)

    return Formula(compute, _AXES)


def softmax(x: Any, *, axis: Any = -1) -> Any:
    """Returns e^(x − max x) / Σ e^(x − max x); max and Σ are taken over `axis`."""
    axes = _listed(axis, x.ndim)
    power = np.exp(x - x.max(axis=axes, keepdims=True))
    return power / power.sum(axis=axes, keepdims=True)


def _logsumexp(x: Any, *, axis: Any = -1) -> Any:
    axes = _listed(axis, x.ndim)
    largest = x.max(axis=axes, keepdims=True)
    return largest + np.log(np.exp(x - largest).sum(axis=axes, keepdims=True))


def _softmax_grad(softmax: Any, grad_softmax: Any, *, axis: Any = -1) -> Any:
    total = (softmax * grad_softmax).sum(axis=_listed(axis, softmax.ndim), keepdims=True)
    return softmax * (grad_softmax - total)


def _l2_normalize(x: Any, *, axis: Any = -1, eps: float = 1e-4) -> Any:
    total = (x * x).sum(axis=_listed(axis, x.ndim), keepdims=True)
    return x / np.sqrt(np.maximum(total, eps))


def _layer_norm(
    x: Any, gamma: Any, beta: Any, *, begin_norm_axis: int = -1, epsilon: float = 1e-12
) -> Any:
    axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * gamma + beta, mean, variance


def _layer_norm_grad(
    dy: Any, x: Any, variance: Any, mean: Any, gamma: Any, *, epsilon: float = 1e-12
) -> Any:
    root = 1 / np.sqrt(variance + epsilon)
    normal, scaled = (x - mean) * root, dy * gamma
    rest = (
        scaled - scaled.mean(-1, keepdims=True) - normal * (scaled * normal).mean(-1, keepdims=True)
    )
    before = tuple(range(x.ndim - 1))
    return rest * root, (dy * normal).sum(before), dy.sum(before)


def _channel(x: Any, values: Any) -> Any:
    return np.reshape(values, (1, -1, *[1] * (x.ndim - 2)))


def _batch_norm_infer(
    x: Any, scale: Any, offset: Any, mean: Any, variance: Any, *, epsilon: float = 1e-5
) -> Any:
    normal = (x - _channel(x, mean)) / np.sqrt(_channel(x, variance) + epsilon)
    return normal * _channel(x, scale) + _channel(x, offset)


def _instance_norm(x: Any, gamma: Any, beta: Any, *, epsilon: float = 1e-6) -> Any:
    axes = tuple(range(2, x.ndim))
    distance = x - x.mean(axis=axes, keepdims=True)
    normal = distance / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)
    return normal * _channel(x, gamma) + _channel(x, beta)


def _split(x: Any, *, split_dim: int, num_split: int) -> tuple[Any, ...]:
    return tuple(np.split(x, num_split, axis=split_dim))


def _segment_sum(x: Any, segment_ids: Any, *, num_segments: int) -> Any:
    found = np.zeros((num_segments, *x.shape[1:]), x.dtype)
    np.add.at(found, segment_ids, x)
    return found


def _one_hot(x: Any, on_value: Any, off_value: Any, *, depth: int) -> Any:
    return np.where(np.asarray(x)[..., None] == np.arange(depth), on_value, off_value)


def _tile(x: Any, *, multiples: Sequence[int]) -> Any:
    return np.tile(x, tuple(multiples))


ARRAYS: Mapping[str, Formula] = MappingProxyType(
    {
        "reduce_sum": _reduction(np.sum),
        "reduce_mean": _reduction(np.mean),
        "reduce_max": _reduction(np.max),
        "reduce_min": _reduction(np.min),
        "reduce_prod": _reduction(np.prod),
        "reduce_all": _reduction(lambda x, **how: np.all(x != 0, **how).astype(np.int8)),
        "reduce_any": _reduction(lambda x, **how: np.any(x != 0, **how).astype(np.int8)),
        "softmax": Formula(softmax, _AXIS),
        "log_softmax": Formula(lambda x, *, axis=-1: x - _logsumexp(x, axis=axis), _AXIS),
        "logsumexp": Formula(_logsumexp, _AXIS),
        "softmax_grad": Formula(_softmax_grad, _AXIS),
        "l2_normalize": Formula(_l2_normalize, _AXIS),
        "layer_norm": Formula(_layer_norm),
        "layer_norm_grad": Formula(_layer_norm_grad),
        "batch_norm_infer": Formula(_batch_norm_infer),
        "instance_norm": Formula(_instance_norm),
        "l2_loss": Formula(lambda x: (x * x).sum() / 2),
        "tile": Formula(_tile),
        "concat": Formula(lambda *xs, concat_dim: np.concatenate(xs, axis=concat_dim)),
        "split": Formula(_split),
        "transpose": Formula(lambda x, *, perm: np.transpose(x, perm)),
        "gather": Formula(lambda x, indices: np.take(x, indices, axis=0)),
        "unsorted_segment_sum": Formula(_segment_sum),
        "one_hot": Formula(_one_hot),
    }
)
"""Maps the name of an operator to its formula."""
