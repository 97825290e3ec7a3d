"""The steps of the optimizers as functions of tensors or of arrays: everything in one launch, in place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, ms, ops
from custom_ops.operators.optimizer_steps import (
    ADAM,
    ADAM_WEIGHT_DECAY,
    MOMENTUM,
    adam_step,
    adam_weight_decay_step,
    check_numbers,
    momentum_step,
    optimizer_spec,
)

_TENSOR = ms.Tensor if HAS_MINDSPORE else ()


@lru_cache(maxsize=0)
def _steps(rule: int, dtypes: Sequence[Any], decays: int, **attributes: Any) -> Any:
    """The operators of one step, one for each dtype.

    MindSpore reads functions as source, but not those behind a cache, which it calls when it builds a graph.
    """
    check_numbers(rule, **{name: one for name, one in attributes.items() if name != "nesterov"})
    return _made(rule, tuple(str(one).lower() for one in dtypes), decays, **attributes)


@lru_cache(maxsize=0)
def _plain(rule: int, argument: str, value: Any) -> Any:
    """What a step is told that is no Tensor, and is known when MindSpore builds a graph."""
    check_numbers(rule, **{argument: value})
    return value


def _told(rule: int, argument: str, value: Any) -> Any:
    return value if isinstance(value, ms.Tensor) else _plain(rule, argument, value)


@cache
def _made(rule: int, dtypes: tuple[str, ...], decays: int, **attributes: Any) -> Any:
    from custom_ops.core.primitive import primitive  # which needs MindSpore

    spec = optimizer_spec(rule, len(dtypes), 1, decays)
    flags = (True,) * len(dtypes)
    return tuple(
        primitive(spec, {**attributes, "decayed": flags, "dtype": dtype})
        for dtype in sorted(set(dtypes))
    )


def _stepped(steps: Any, numbers: Any, *lists: Any) -> Any:
    """Runs them on numbers, gradients, parameters and states."""
    given: Any = ()
    for one in numbers:
        given = given + (_number(one),)  # noqa: RUF005
    for many in lists:
        given = given + tuple(many)
    done: Any = ()
    for step in steps:
        done = done + (step(*given),)  # noqa: RUF005
    return done


def _number(value: Any) -> Any:
    if isinstance(value, ms.Tensor):
        return ops.cast(value, ms.float32)
    return ms.Tensor(value, ms.float32)


def _dtypes(parameters: Any) -> Any:
    return [one.dtype for one in parameters]


def _decays(rule: int, weight_decay: Any) -> Any:
    """None where it is 0, which the operator need not read."""
    told = _told(rule, "weight_decay", weight_decay)
    return () if isinstance(told, (int, float)) and told == 0 else (told,)


def adam(
    gradients: Any,
    parameters: Any,
    moment1: Any,
    moment2: Any,
    *,
    count: Any,
    learning_rate: Any = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: Any = 0.0,
    use_nesterov: bool = False,
) -> Any:
    """One step of `custom_ops.Adam` over lists of tensors or of arrays, in place.

    Args:
        gradients, parameters, moment1, moment2: lists of the same length; all but the gradients are overwritten.
        count: of the step, 1 at the first; a number or a Tensor.
        learning_rate, weight_decay: numbers, or Tensors of one.
        beta1, beta2, eps, use_nesterov: as the optimizer takes them.

    Returns:
        For tensors what has to be used in a graph, so that the step is in it; it means nothing.

    Raises:
        InputError: shapes or dtypes that do not fit, or a number that is none or out of range.
    """
    if not isinstance(parameters[0], _TENSOR):
        return adam_step(
            gradients,
            parameters,
            moment1,
            moment2,
            count=count,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            weight_decay=weight_decay,
            use_nesterov=use_nesterov,
        )
    decays, dtypes = _decays(ADAM, weight_decay), _dtypes(parameters)
    steps = _steps(
        ADAM, dtypes, len(decays), nesterov=use_nesterov, beta1=beta1, beta2=beta2, eps=eps
    )
    rate, number = _told(ADAM, "learning_rate", learning_rate), _told(ADAM, "count", count)
    numbers = (rate, *decays, beta1**number, beta2**number)
    return _stepped(steps, numbers, gradients, parameters, moment1, moment2)


def adam_weight_decay(
    gradients: Any,
    parameters: Any,
    moments1: Any,
    moments2: Any,
    *,
    learning_rate: Any = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-6,
    weight_decay: Any = 0.0,
) -> Any:
    """One step of `custom_ops.AdamWeightDecay` over lists of tensors or of arrays, in place; arguments as for `adam`."""
    if not isinstance(parameters[0], _TENSOR):
        return adam_weight_decay_step(
            gradients,
            parameters,
            moments1,
            moments2,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            weight_decay=weight_decay,
        )
    decays, dtypes = _decays(ADAM_WEIGHT_DECAY, weight_decay), _dtypes(parameters)
    steps = _steps(ADAM_WEIGHT_DECAY, dtypes, len(decays), beta1=beta1, beta2=beta2, eps=eps)
    rate = _told(ADAM_WEIGHT_DECAY, "learning_rate", learning_rate)
    return _stepped(steps, (rate, *decays), gradients, parameters, moments1, moments2)


def momentum(
    gradients: Any,
    parameters: Any,
    moments: Any,
    *,
    learning_rate: Any,
    momentum: Any,
    weight_decay: Any = 0.0,
    use_nesterov: bool = False,
) -> Any:
    """One step of `custom_ops.Momentum` over lists of tensors or of arrays, in place; arguments as for `adam`."""
    if not isinstance(parameters[0], _TENSOR):
        return momentum_step(
            gradients,
            parameters,
            moments,
            learning_rate=learning_rate,
            momentum=momentum,
            weight_decay=weight_decay,
            use_nesterov=use_nesterov,
        )
    decays, dtypes = _decays(MOMENTUM, weight_decay), _dtypes(parameters)
    steps = _steps(MOMENTUM, dtypes, len(decays), nesterov=use_nesterov)
    numbers = (
        _told(MOMENTUM, "learning_rate", learning_rate),
        *decays,
        _told(MOMENTUM, "momentum", momentum),
    )
    return _stepped(steps, numbers, gradients, parameters, moments)
