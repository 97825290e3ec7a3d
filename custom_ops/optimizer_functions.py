"""Exposes the optimizer steps as functions that update tensors or arrays in place."""

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
    """Returns the primitives of one optimizer step: one primitive for each dtype of the parameters.

    At compile time, MindSpore calls an ``lru_cache`` wrapper, but parses the source of a plain
    function. `_steps` is therefore an ``lru_cache`` wrapper, although the wrapper caches nothing.
    """
    check_numbers(rule, **{name: one for name, one in attributes.items() if name != "nesterov"})
    return _build_step_primitives(
        rule, tuple(str(one).lower() for one in dtypes), decays, **attributes
    )


@lru_cache(maxsize=0)
def _check_constant(rule: int, argument: str, value: Any) -> Any:
    """Checks an argument that is not a Tensor, and returns the argument; runs at compile time."""
    check_numbers(rule, **{argument: value})
    return value


def _check_argument(rule: int, argument: str, value: Any) -> Any:
    return value if isinstance(value, ms.Tensor) else _check_constant(rule, argument, value)


@cache
def _build_step_primitives(
    rule: int, dtypes: tuple[str, ...], decays: int, **attributes: Any
) -> Any:
    from custom_ops.core.primitive import primitive  # needs MindSpore

    spec = optimizer_spec(rule, len(dtypes), 1, decays)
    flags = (True,) * len(dtypes)
    return tuple(
        primitive(spec, {**attributes, "decayed": flags, "dtype": dtype})
        for dtype in sorted(set(dtypes))
    )


def _run_steps(steps: Any, numbers: Any, *lists: Any) -> Any:
    """Calls each of `steps` with the scalars `numbers`, the gradients, parameters and states."""
    given: Any = ()
    for one in numbers:
        given = given + (_to_scalar_tensor(one),)  # noqa: RUF005
    for many in lists:
        given = given + tuple(many)
    done: Any = ()
    for step in steps:
        done = done + (step(*given),)  # noqa: RUF005
    return done


def _to_scalar_tensor(value: Any) -> Any:
    if isinstance(value, ms.Tensor):
        return ops.cast(value, ms.float32)
    return ms.Tensor(value, ms.float32)


def _dtypes(parameters: Any) -> Any:
    return [one.dtype for one in parameters]


def _decays(rule: int, weight_decay: Any) -> Any:
    """Returns the weight decay as a 1-tuple, or an empty tuple for the number 0.

    With an empty tuple, the operator computes no decay.
    """
    told = _check_argument(rule, "weight_decay", weight_decay)
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
    """Runs one step of `custom_ops.Adam` in place, on lists of tensors or of arrays.

    Args:
        gradients, parameters, moment1, moment2: lists of the same length. The step overwrites the
            parameters and moments.
        count: number of the step, starting with 1, as a number or a Tensor.
        learning_rate, weight_decay: numbers, or one-element Tensors.
        beta1, beta2, eps, use_nesterov: as in `custom_ops.Adam`.

    Returns:
        For arrays None; for tensors a value that has no meaning. A graph has to use this value,
        because otherwise MindSpore removes the step.

    Raises:
        InputError: shapes or dtypes do not match, or an argument is not a number or is out of
            range.
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
    rate, number = (
        _check_argument(ADAM, "learning_rate", learning_rate),
        _check_argument(ADAM, "count", count),
    )
    numbers = (rate, *decays, beta1**number, beta2**number)
    return _run_steps(steps, numbers, gradients, parameters, moment1, moment2)


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
    """Runs one step of `custom_ops.AdamWeightDecay` in place, on lists of tensors or of arrays.

    The arguments are those of `adam`.
    """
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
    rate = _check_argument(ADAM_WEIGHT_DECAY, "learning_rate", learning_rate)
    return _run_steps(steps, (rate, *decays), gradients, parameters, moments1, moments2)


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
    """Runs one step of `custom_ops.Momentum` in place, on lists of tensors or of arrays.

    The step overwrites the velocities `moments`. `momentum` is the factor of the velocities. The
    remaining arguments are those of `adam`.
    """
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
        _check_argument(MOMENTUM, "learning_rate", learning_rate),
        *decays,
        _check_argument(MOMENTUM, "momentum", momentum),
    )
    return _run_steps(steps, numbers, gradients, parameters, moments)
