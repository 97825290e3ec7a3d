"""Runs one step of Adam, AdamW or Momentum in place, with one kernel for a list of parameters."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.c_kernels import CKernel
from custom_ops.core.cell_call import check_real
from custom_ops.core.framework import HAS_MINDSPORE, ms
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.errors import InputError

ADAM, ADAM_WEIGHT_DECAY, MOMENTUM = range(3)
_NAMES = ("Adam", "AdamWeightDecay", "Momentum")
SCALARS = (("beta1_power", "beta2_power"), (), ("momentum",))
"""Names of the scalar inputs of each update rule, without learning rates and weight decays."""
_STATES = (("moment1", "moment2"), ("moments1", "moments2"), ("moments",))
_ELEMENTS = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3}
_RANGES = {
    "count": (1, math.inf, "1 or more"),
    "beta1": (0, 1, "0 <= beta1 < 1"),
    "beta2": (0, 1, "0 <= beta2 < 1"),
}
"""Dict from an argument's name to (inclusive lower bound, exclusive upper bound, description)."""
_ARRAYS = (np.ndarray, ms.Tensor) if HAS_MINDSPORE else (np.ndarray,)


def check_numbers(rule: int, **given: Any) -> None:
    """Raises `InputError` if an argument is not a number, an array or a Tensor.

    The function also raises `InputError` if a number is out of range. Elements of arrays and
    Tensors are not checked.
    """
    for argument, value in given.items():
        if isinstance(value, _ARRAYS):
            continue
        number = check_real(_NAMES[rule], argument, value)
        if argument not in _RANGES:
            continue
        least, bound, expected = _RANGES[argument]
        if not least <= number < bound:
            raise InputError(
                f"{_NAMES[rule]}: {argument} is out of range",
                place=_NAMES[rule],
                expected=expected,
                got=repr(value),
            )


@cache
def optimizer_spec(rule: int, count: int, rates: int, decays: int) -> OpSpec:
    """Builds the operator that runs one step of an update rule over `count` tensors.

    The inputs are, in this order: the learning rates, the weight decays, the scalars of the update
    rule, `count` gradients, `count` parameters, and `count` tensors for each optimizer state (such
    as a moment). The number of learning rates is `rates` (1 or `count`). The number of weight
    decays is `decays` (0, 1 or `count`). The step overwrites only the parameters whose dtype equals
    the attribute ``dtype``, and the states of these parameters. The output is a placeholder without
    meaning.
    """
    names = [f"rate{i}" for i in range(rates)] + [f"decay{i}" for i in range(decays)]
    names += SCALARS[rule]
    overwritten = [f"{kind}{i}" for kind in ("parameter", *_STATES[rule]) for i in range(count)]
    attributes = {
        "nesterov": False,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "scale": 1.0,
        "decayed": (True,) * count,
        "dtype": "float32",
    }

    def build_kernel(*given: ArraySpec, **values: Any) -> CKernel:
        return _build_kernel(rule, count, rates, decays, given, **values)

    return OpSpec(
        name=f"Fused{_NAMES[rule]}",
        inputs=(*names, *(f"gradient{i}" for i in range(count)), *overwritten),
        outputs=("done",),
        kernel_builder=build_kernel,
        attributes=attributes,
        undifferentiable=frozenset((*names, *(f"gradient{i}" for i in range(count)), *overwritten)),
        overwrites=frozenset(overwritten),
        doc=f"One step of {_NAMES[rule]} over a list of tensors, in place.",
    )


def _build_kernel(
    rule: int,
    count: int,
    rates: int,
    decays: int,
    given: Sequence[ArraySpec],
    *,
    nesterov: bool,
    beta1: float,
    beta2: float,
    eps: float,
    scale: float,
    decayed: tuple[bool, ...],
    dtype: str,
) -> CKernel:
    name = _NAMES[rule]
    if dtype not in _ELEMENTS:
        raise InputError(
            f"{name}: a parameter has a wrong dtype",
            place=name,
            expected=", ".join(_ELEMENTS),
            got=dtype,
        )
    start = rates + decays + len(SCALARS[rule])
    for one in given[:start]:
        if one.dtype != "float32" or np.prod(one.shape) != 1:
            raise InputError(
                f"{name}: a rate or decay is not a scalar",
                place=name,
                expected="one float32",
                got=str(one),
            )
    kinds = [given[start + i * count :][:count] for i in range(2 + len(_STATES[rule]))]
    bits = [
        struct.unpack("<q", struct.pack("<d", value))[0] for value in (beta1, beta2, eps, scale)
    ]
    numbers = [rule, count, rates, decays, int(nesterov), *bits]
    for i, (own, flag) in enumerate(zip(kinds[1], decayed, strict=True)):
        other = next((kind[i] for kind in kinds if kind[i] != own), None)
        if other is not None:
            raise InputError(
                f"{name}: tensor {i} does not match its parameter",
                place=name,
                expected=str(own),
                got=str(other),
            )
        size = int(np.prod(own.shape, dtype=np.int64)) if own.dtype == dtype else 0
        numbers += [size, int(flag)]
    options = (f"-DELEMENT={_ELEMENTS[dtype]}",)
    done = (ArraySpec((1,), "float32"),)
    return CKernel(
        name,
        "optimizers.c",
        "optimize",
        tuple(given),
        done,
        tuple(numbers),
        options,
        overwrites=True,
    )


def step(
    rule: int,
    scalars: Sequence[float],
    gradients: Sequence[np.ndarray],
    parameters: Sequence[np.ndarray],
    *states: Sequence[np.ndarray],
    rates: Sequence[float],
    decays: Sequence[float] = (),
    **attributes: Any,
) -> None:
    """Runs one step of an update rule on NumPy arrays; overwrites the parameters and states.

    Raises:
        InputError: shapes or dtypes do not match, or an array is not contiguous.
    """
    spec = optimizer_spec(rule, len(parameters), len(rates), len(decays))
    attributes = {"decayed": (True,) * len(parameters), **attributes}
    numbers = [np.asarray(one, np.float32) for one in (*rates, *decays, *scalars)]
    arrays = [*gradients, *parameters, *(one for state in states for one in state)]
    overwritten: list[Any] = arrays[len(gradients) :]
    for one in overwritten:
        if not isinstance(one, np.ndarray):
            name = _NAMES[rule]
            raise InputError(
                f"{name}: {one} is not an array",
                place=name,
                expected="arrays, which are overwritten",
                got=type(one).__name__,
            )
    for dtype in sorted({str(one.dtype) for one in parameters}):
        every = attribute_key(spec, {**attributes, "dtype": dtype})
        computation_of(spec, every)(*numbers, *arrays)


def adam_step(
    gradients: Sequence[np.ndarray],
    parameters: Sequence[np.ndarray],
    moment1: Sequence[np.ndarray],
    moment2: Sequence[np.ndarray],
    *,
    count: int,
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    use_nesterov: bool = False,
) -> None:
    """Runs one step of Adam on NumPy arrays, in place; the step number `count` starts with 1."""
    check_numbers(
        ADAM,
        count=count,
        learning_rate=learning_rate,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        weight_decay=weight_decay,
    )
    powers = [float(np.float32(beta)) ** count for beta in (beta1, beta2)]
    decays = (weight_decay,) if weight_decay else ()
    step(
        ADAM,
        powers,
        gradients,
        parameters,
        moment1,
        moment2,
        rates=(learning_rate,),
        decays=decays,
        nesterov=use_nesterov,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
    )


def adam_weight_decay_step(
    gradients: Sequence[np.ndarray],
    parameters: Sequence[np.ndarray],
    moments1: Sequence[np.ndarray],
    moments2: Sequence[np.ndarray],
    *,
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-6,
    weight_decay: float = 0.0,
) -> None:
    """Runs one step of Adam with decoupled weight decay on NumPy arrays, in place."""
    check_numbers(
        ADAM_WEIGHT_DECAY,
        learning_rate=learning_rate,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        weight_decay=weight_decay,
    )
    decays = (weight_decay,) if weight_decay else ()
    step(
        ADAM_WEIGHT_DECAY,
        (),
        gradients,
        parameters,
        moments1,
        moments2,
        rates=(learning_rate,),
        decays=decays,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
    )


def momentum_step(
    gradients: Sequence[np.ndarray],
    parameters: Sequence[np.ndarray],
    moments: Sequence[np.ndarray],
    *,
    learning_rate: float,
    momentum: float,
    weight_decay: float = 0.0,
    use_nesterov: bool = False,
) -> None:
    """Runs one step of gradient descent with momentum on NumPy arrays, in place."""
    check_numbers(
        MOMENTUM, learning_rate=learning_rate, momentum=momentum, weight_decay=weight_decay
    )
    decays = (weight_decay,) if weight_decay else ()
    step(
        MOMENTUM,
        (momentum,),
        gradients,
        parameters,
        moments,
        rates=(learning_rate,),
        decays=decays,
        nesterov=use_nesterov,
    )
