"""Folds batch normalisation with given statistics into the weights of a convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import broadcast_like, check_shape, sizes, widen
from custom_ops.core.weighted_cells import as_array
from custom_ops.operators.conv2d import Conv2d
from tbe_impl import dsl
from tbe_impl.errors import InputError


def _rows(weight: Any) -> Any:
    """Reshapes the weights to (output channels, other elements), in the accumulation dtype.

    Raises:
        InputError: the weight does not have four axes.
    """
    if len(weight.shape) != 4:
        raise InputError(
            "FoldBatchNorm: weight has a wrong number of axes",
            place="FoldBatchNorm",
            expected="4",
            got=str(sizes(weight)),
        )
    out, *rest = sizes(weight)
    return dsl.ext.reshape(widen(weight), [out, int(np.prod(rest, dtype=np.int64))])


def _columns(weight: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Reshapes per-channel vectors to columns (output channels, 1), in the accumulation dtype."""
    out = sizes(weight)[0]
    for name, one in named.items():
        check_shape(one, (out,), "FoldBatchNorm", name)
    return {name: dsl.ext.reshape(widen(one, weight), [out, 1]) for name, one in named.items()}


def _vector(column: Any, like: Any) -> Any:
    return dsl.cast_to(dsl.ext.reshape(column, sizes(like)), like.dtype)


def _fold(
    weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, variance: Any, eps: float
) -> tuple[Any, Any]:
    given = {"gamma": gamma, "beta": beta, "moving_mean": mean, "moving_variance": variance}
    rows = _rows(weight)
    of = _columns(weight, given if bias is None else {**given, "bias": bias})
    check_shape(beta, sizes(gamma), "FoldBatchNorm", "beta", gamma)
    factor = dsl.vmul(of["gamma"], dsl.vrsqrt(dsl.vadds(of["moving_variance"], eps)))
    folded = dsl.cast_to(
        dsl.ext.reshape(dsl.vmul(rows, broadcast_like(factor, rows)), sizes(weight)), weight.dtype
    )
    middle = of["moving_mean"]
    offset = (
        dsl.vmul(middle, factor) if bias is None else dsl.vmul(dsl.vsub(middle, of["bias"]), factor)
    )
    made = dsl.ext.reshape(dsl.vsub(of["beta"], offset), sizes(gamma))
    return folded, dsl.cast_to(made, weight.dtype)


def _fold_gradient(
    weight: Any,
    bias: Any,
    gamma: Any,
    mean: Any,
    variance: Any,
    grad: Any,
    grad_offset: Any,
    eps: float,
) -> tuple[Any, ...]:
    """Returns the gradients of weight, bias (if any), gamma and beta."""
    given = {"gamma": gamma, "moving_mean": mean, "moving_variance": variance, "grad": grad_offset}
    of = _columns(weight, given if bias is None else {**given, "bias": bias})
    rstd = dsl.vrsqrt(dsl.vadds(of["moving_variance"], eps))
    factor = dsl.vmul(of["gamma"], rstd)
    rows, slope = _rows(weight), _rows(grad)
    of_weight = dsl.cast_to(
        dsl.ext.reshape(dsl.vmul(slope, broadcast_like(factor, slope)), sizes(weight)), weight.dtype
    )
    middle = of["moving_mean"] if bias is None else dsl.vsub(of["moving_mean"], of["bias"])
    by_weight = dsl.reduce_sum(dsl.vmul(slope, rows), [1], keepdims=True)
    of_gamma = dsl.vmul(dsl.vsub(by_weight, dsl.vmul(middle, of["grad"])), rstd)
    of_bias = () if bias is None else (_vector(dsl.vmul(of["grad"], factor), bias),)
    return of_weight, *of_bias, _vector(of_gamma, gamma), _vector(of["grad"], gamma)


def _composite(
    weight: Any, gamma: Any, beta: Any, moving_mean: Any, moving_variance: Any, eps: Any
) -> Any:
    factor = ops.mul(gamma, ops.rsqrt(ops.add(moving_variance, eps)))
    folded = ops.mul(weight, ops.reshape(factor, (-1, 1, 1, 1)))
    return folded, ops.sub(beta, ops.mul(moving_mean, factor))


def _composite_with_bias(
    weight: Any, bias: Any, gamma: Any, beta: Any, moving_mean: Any, moving_variance: Any, eps: Any
) -> Any:
    return _composite(weight, gamma, beta, ops.sub(moving_mean, bias), moving_variance, eps)


def _formula(weight: Any, *more: Any, eps: float) -> Any:
    bias, (gamma, beta, mean, variance) = (more[0] if len(more) == 5 else 0), more[-4:]
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor.reshape(-1, 1, 1, 1), beta + (bias - mean) * factor


def _spec(name: str, *, bias: bool) -> OpSpec:
    more = ("bias",) * bias
    inputs = ("weight", *more, "gamma", "beta", "moving_mean", "moving_variance")

    def forward(weight: Any, *given: Any, eps: float) -> Any:
        gamma, beta, mean, variance = given[-4:]
        return _fold(weight, given[0] if bias else None, gamma, beta, mean, variance, eps)

    def backward(weight: Any, *given: Any, eps: float) -> Any:
        gamma, mean, variance, grad, of_offset = given[-5:]
        own = given[0] if bias else None
        made = _fold_gradient(weight, own, gamma, mean, variance, grad, of_offset, eps)
        return (*made, None, None)

    return OpSpec(
        name=name,
        inputs=inputs,
        outputs=("folded", "offset"),
        forward=forward,
        backward=backward,
        saves=("weight", *more, "gamma", "moving_mean", "moving_variance"),
        undifferentiable=frozenset({"moving_mean", "moving_variance"}),
        attributes={"eps": 1e-5},
        composite=_composite_with_bias if bias else _composite,
        formula=_formula,
        samples=tuple(
            (shape, *((shape[0],),) * (4 + bias)) for shape in ((8, 6, 3, 3), (5, 1, 1, 1))
        ),
        ranges={"moving_variance": (0.5, 2.0)},
        nan="undefined",
        doc="folded = weight·gamma/√(variance + eps), "
        "offset = beta + (bias − mean)·gamma/√(variance + eps)",
    )


FOLD_BATCH_NORM = _spec("FoldBatchNorm", bias=False)
FOLD_BATCH_NORM_BIAS = _spec("FoldBatchNormBias", bias=True)


def fold_arrays(
    weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, variance: Any, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """Folds a batch normalisation into a convolution; returns the new weights and the new bias.

    Args:
        weight: weights of shape (output channels, input channels, height, width).
        bias: bias of the convolution, or None.
        gamma, beta, mean, variance: weights and statistics of the normalisation, each of shape
            (output channels).
        eps: added to the variance.

    Raises:
        InputError: a shape does not match.
    """
    spec = FOLD_BATCH_NORM if bias is None else FOLD_BATCH_NORM_BIAS
    given = [one for one in (weight, bias, gamma, beta, mean, variance) if one is not None]
    made = computation_of(spec, attribute_key(spec, {"eps": float(eps)}))(*given)
    return made[0], made[1]


def fold_batch_norm(conv: Any, bn: Any, eps: float = 1e-5) -> Any:
    """Folds a batch normalisation into a convolution, and returns the new convolution.

    The mean and variance are the moving statistics of the normalisation.

    Args:
        conv: an nn.Conv2d, a `Conv2d`, an array of weights, or the arrays (weights, bias).
        bn: an nn.BatchNorm2d, a `BatchNorm`, or the arrays (gamma, beta, mean, variance).
        eps: added to the variance if the arguments are arrays. For Cells, the epsilon of `bn` is
            used.

    Returns:
        For Cells, a `Conv2d` with new Parameters. For arrays, the tuple (weights, bias).

    Raises:
        InputError: a Cell is combined with arrays, or a shape does not match.

    >>> import numpy as np
    >>> one = np.float32([1])
    >>> weight = np.ones((1, 1, 1, 1), np.float32)
    >>> fold_batch_norm(weight, (4 * one, one, 2 * one, 4 * one), eps=0.0)
    (array([[[[2.]]]], dtype=float32), array([-3.], dtype=float32))
    """
    are_arrays = isinstance(conv, (np.ndarray, Sequence)), isinstance(bn, Sequence)
    if are_arrays[0] != are_arrays[1]:
        raise InputError(
            "fold_batch_norm: a Cell and arrays do not go together",
            place="fold_batch_norm",
            expected="two Cells, or arrays",
            got=f"{type(conv).__name__} and {type(bn).__name__}",
        )
    if are_arrays[0]:
        weight, bias = (conv, None) if isinstance(conv, np.ndarray) else conv
        gamma, beta, mean, variance = bn
        return fold_arrays(weight, bias, gamma, beta, mean, variance, eps)
    bias = as_array(conv.bias) if conv.has_bias else None
    gamma, beta = as_array(bn.gamma), as_array(bn.beta)
    mean, variance = as_array(bn.moving_mean), as_array(bn.moving_variance)
    weight, bias = fold_arrays(as_array(conv.weight), bias, gamma, beta, mean, variance, eps_of(bn))
    made = Conv2d(
        conv.in_channels,
        conv.out_channels,
        conv.kernel_size,
        conv.stride,
        conv.pad_mode,
        conv.padding,
        conv.dilation,
        conv.group,
        True,
        weight,
        bias,
        dtype=getattr(conv.weight, "dtype", None),
    )
    made.set_train(conv.training)
    return made


def eps_of(bn: Any) -> float:
    """Returns the epsilon of a BatchNorm Cell of MindSpore or of this package."""
    return float(bn.eps if hasattr(bn, "eps") else bn.attributes["eps"])
