"""A step of an optimizer that is called by itself, past MindSpore's dispatch: the kernel runs at once, on the memory of the tensors.

A graph of MindSpore spends some 10 µs on each tensor that it is given: on 200 parameters with their states and gradients many
times what the step takes. What is done here is what `construct` does; inside of a graph, and wherever this cannot be done,
`construct` does it.
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
from custom_ops.core.kernel_interface import Described

_KIND, _BYTES = attrgetter("shape", "dtype"), attrgetter("nbytes")


class Alone:
    """How an optimizer is called by itself.

    Args:
        steps: its primitives, one for the parameters of each dtype.
        numbers: the Parameters that they read besides rates and decays.
        powers: which of those are multiplied at each step, and by what.
    """

    def __init__(self, steps: Sequence[Any], numbers: Sequence[str], powers: Mapping[str, float]):
        self.steps, self.numbers, self.powers = tuple(steps), tuple(numbers), dict(powers)
        self._known: tuple[Sequence[Any], Sequence[Any]] = (), ()

    def __call__(self, optimizer: Any, gradients: Any) -> Any:
        """A tuple that means nothing; None where MindSpore has to call, and nothing was done.

        Raises:
            InputError: gradients that do not fit.
        """
        if (
            not pynative_fast_path.IS_KNOWN
            or not pynative_fast_path.is_free()
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
        # of a Parameter whose first value was put off there is no memory yet
        has_memory = (
            0 not in addresses and pynative_fast_path.address_of(optimizer.global_step) != 0
        )
        if not has_memory or not all(map(pynative_fast_path.is_dense, every)):
            return None
        # the memory of parameters has the size that was seen, which is quicker to ask for than shapes and dtypes
        signature = [list(map(_KIND, numbers)), list(map(_KIND, gradients)), list(map(_BYTES, own))]
        known, calls = self._known
        if signature != known:
            if [one.dtype for one in gradients] != [one.dtype for one in optimizer.parameters]:
                return None
            calls = [_call(step, every) for step in self.steps]
            self._known = signature, calls
        self._go_on(optimizer)
        done = ctypes.c_float()
        for call in calls:
            call([*addresses, ctypes.addressof(done)])
        return tuple([_number(done.value) for _ in calls])

    def _go_on(self, optimizer: Any) -> None:
        """Counts the step."""
        ctypes.c_int32.from_address(optimizer.global_step.data_ptr()).value += 1
        for name, factor in self.powers.items():
            power = ctypes.c_float.from_address(getattr(optimizer, name).data_ptr())
            power.value = float(np.float32(power.value) * np.float32(factor))


def _is_plain(optimizer: Any) -> bool:
    """Whether calling it is its step and nothing else."""
    hooks = ("_forward_pre_hook", "_forward_hook", "_backward_pre_hook", "_backward_hook")
    return (
        type(optimizer).construct is optimizer.own_construct
        and not optimizer.is_centred
        and optimizer.global_step.dtype == mindspore.int32
        and not any(getattr(optimizer, name, None) for name in hooks)
        and mindspore.get_context("device_target") == "CPU"
    )


def _rates_and_decays(optimizer: Any) -> list[Any]:
    """Tensors of one number each; schedules are computed in a graph, as they are inside of one."""
    dynamic = optimizer.dynamic_lr or optimizer.dynamic_weight_decay
    rates, decays = (
        optimizer.varying() if dynamic else (optimizer.learning_rate, optimizer.weight_decay)
    )
    found = list(rates) if optimizer.is_group_lr else [rates]
    if optimizer.decays_here:
        found += decays if optimizer.is_group else [decays]
    return [one if isinstance(one, Tensor) else _number(one) for one in found]


@lru_cache(maxsize=1024)
def _number(value: float) -> Any:
    return Tensor(value, mindspore.float32)


def _call(step: Any, every: Sequence[Any]) -> Any:
    given = [Described(tuple(one.shape), str(one.dtype).lower()) for one in every]
    return dispatch.ready(step.computation, given).call
