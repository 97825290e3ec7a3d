"""Runs an optimizer step without MindSpore's dispatch (fast path).

A call of a MindSpore graph costs some 10 µs per tensor argument. With many parameters, these costs
exceed the time of the optimizer step. The fast path computes the same update as the optimizer's
`construct`. Inside a graph, or if the fast path does not apply, MindSpore still runs `construct`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor

from custom_ops.core import dispatch, pynative_fast_path
from custom_ops.core.kernel_interface import ArraySpec

_KIND, _BYTES = attrgetter("shape", "dtype"), attrgetter("nbytes")


class FastOptimizerStep:
    """Calls an optimizer's step on the fast path.

    Args:
        steps: the primitives that compute the step, one for each dtype of the parameters.
        numbers: names of the scalar Parameters that `steps` read, except the learning rates and
            weight decays.
        powers: dict from the name of a Parameter to the factor by which each step multiplies this
            Parameter.
    """

    def __init__(self, steps: Sequence[Any], numbers: Sequence[str], powers: Mapping[str, float]):
        self.steps, self.numbers, self.powers = tuple(steps), tuple(numbers), dict(powers)
        self._known: tuple[Sequence[Any], Sequence[Any]] = (), ()

    def __call__(self, optimizer: Any, gradients: Any) -> Any:
        """Runs the step, or returns None without effect if the fast path does not apply.

        After a step, the method returns one tensor per primitive. The values of these tensors have
        no meaning.

        Raises:
            InputError: a gradient has the wrong shape or dtype.
        """
        if (
            not pynative_fast_path.IS_KNOWN
            or not pynative_fast_path.can_bypass_dispatch()
            or pynative_fast_path.is_recording()
        ):
            return None
        if not _is_plain(optimizer) or not isinstance(gradients, tuple):
            return None
        if not all(isinstance(one, Tensor) for one in gradients):
            return None
        numbers = [getattr(optimizer, name) for name in self.numbers]
        numbers = [*_rates_and_decays(optimizer), *numbers]
        own = [*optimizer.parameters, *optimizer.states]
        pynative_fast_path.wait()
        every = [*numbers, *gradients, *own]
        addresses = list(map(pynative_fast_path.address_of, every))
        # a Parameter with delayed initialization has no memory yet
        has_memory = (
            0 not in addresses and pynative_fast_path.address_of(optimizer.global_step) != 0
        )
        if not has_memory or not all(map(pynative_fast_path.is_dense, every)):
            return None
        # for parameters nbytes are compared, because they are faster to query than shapes and
        # dtypes
        signature = [list(map(_KIND, numbers)), list(map(_KIND, gradients)), list(map(_BYTES, own))]
        known, calls = self._known
        if signature != known:
            if [one.dtype for one in gradients] != [one.dtype for one in optimizer.parameters]:
                return None
            calls = [_prepare_step_call(step, every) for step in self.steps]
            self._known = signature, calls
        self._advance_counters(optimizer)
        done = ctypes.c_float()
        for call in calls:
            call([*addresses, ctypes.addressof(done)])
        return tuple([_to_scalar_tensor(done.value) for _ in calls])

    def _advance_counters(self, optimizer: Any) -> None:
        """Increments the step count, and multiplies each Parameter in `powers` by its factor."""
        ctypes.c_int32.from_address(optimizer.global_step.data_ptr()).value += 1
        for name, factor in self.powers.items():
            power = ctypes.c_float.from_address(getattr(optimizer, name).data_ptr())
            power.value = float(np.float32(power.value) * np.float32(factor))


def _is_plain(optimizer: Any) -> bool:
    """Whether the optimizer runs on CPU, without hooks and without an overridden `construct`."""
    hooks = ("_forward_pre_hook", "_forward_hook", "_backward_pre_hook", "_backward_hook")
    return (
        type(optimizer).construct is optimizer.own_construct
        and not optimizer.is_centred
        and optimizer.global_step.dtype == mindspore.int32
        and not any(getattr(optimizer, name, None) for name in hooks)
        and mindspore.get_context("device_target") == "CPU"
    )


def _rates_and_decays(optimizer: Any) -> list[Any]:
    """Returns the current learning rates and weight decays as one-element tensors.

    If a learning rate or weight decay follows a schedule, a MindSpore graph computes all values.
    """
    dynamic = optimizer.dynamic_lr or optimizer.dynamic_weight_decay
    rates, decays = (
        optimizer.rates_and_decays()
        if dynamic
        else (optimizer.learning_rate, optimizer.weight_decay)
    )
    found = list(rates) if optimizer.is_group_lr else [rates]
    if optimizer.decays_here:
        found += decays if optimizer.is_group else [decays]
    return [one if isinstance(one, Tensor) else _to_scalar_tensor(one) for one in found]


@lru_cache(maxsize=1024)
def _to_scalar_tensor(value: float) -> Any:
    return Tensor(value, mindspore.float32)


def _prepare_step_call(step: Any, every: Sequence[Any]) -> Any:
    given = [ArraySpec(tuple(one.shape), str(one.dtype).lower()) for one in every]
    return dispatch.prepare_call(step.computation, given).call
