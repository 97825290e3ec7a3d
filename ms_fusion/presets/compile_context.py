"""The context of each compilation under our flags: a net's own flags, buildable kernels, messages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ms_fusion.flags import GraphKernelFlags
from ms_fusion.generator_limits import generator_of
from ms_fusion.presets import (
    compile_messages,
    compile_retry,
    dump_note,
    mindspore_state,
    net_choices,
)
from ms_fusion.presets.blocked_signals import signals_held_back
from ms_fusion.presets.mindspore_state import (
    FLAGS_VARIABLE,
    device_target,
    flags_are_fixed,
    flags_set,
    kernel_directory,
    kernels_in_place,
    variable,
)
from ms_fusion.presets.preset_record import fuses
from tbe_impl.environment import is_off

Result = TypeVar("Result")
_said: set[str] = set()
"""Why kernels could not be put where MindSpore looks for them."""


def compiled(
    compile: Callable[[], Result], net: Any, inputs: tuple[Any, ...], flags: str, preset: str = ""
) -> Result:
    """What `compile` returns, under the flags that hold; where MindSpore's fusion fails, once more without what stood in the way.

    Args:
        net: a Cell, a function, or the object whose method is compiled.
        inputs: what it is called with.
        flags: of ours, that hold for it; empty for none.
        preset: that they come from; empty where the user put others over them.
    """

    def once(attempt: compile_retry.Attempt) -> Result:
        with (
            kernels_in_place(),
            _as_set(net, inputs, attempt, flags, preset),
            signals_held_back(),
        ):
            return compile()

    return compile_retry.until_compiled(once, net)


@contextlib.contextmanager
def _as_set(
    net: Any, inputs: tuple[Any, ...], attempt: compile_retry.Attempt, flags: str, preset: str
) -> Iterator[None]:
    """Inside, the flags hold; what they did to a net is said afterwards.

    Args:
        attempt: what it goes without this time.
    """
    place = kernel_directory()
    if flags_are_fixed():
        fixed = variable(FLAGS_VARIABLE) or ""
        with (
            compile_retry.looked_over(attempt, fixed, place),
            flags_set(attempt.over(fixed)),
            _suited(fixed),
        ):
            yield
        return
    if is_off() or not flags:
        yield
        return
    method = getattr(net, "__parse_method__", "construct")
    user = net if method == "construct" else getattr(type(net), method)
    flags = net_choices.applied(flags, user, inputs)
    name = getattr(user, "__name__", type(user).__name__)
    if fuses(flags) and device_target() == "CPU":
        flags = _buildable(flags, name)
    with (
        compile_retry.looked_over(attempt, flags, place, name),
        flags_set(attempt.over(flags)),
        _suited(flags),
        compile_messages.told(user, name, inputs, place, own=generator_of(flags) == "mindspore")
        if fuses(flags) and device_target() == "CPU"
        else contextlib.nullcontext(),
    ):
        yield
        dump_note.leave(name, preset, attempt.over(flags))


def _buildable(flags: str, name: str) -> str:
    """The flags, when kernels can be built; else those of an unfused net, which is said once."""
    why = mindspore_state.why_no_kernels()
    if why:
        if why not in _said:
            compile_messages.say(
                f"{name} is compiled without fusion, and so is what follows: {why}."
            )
        _said.add(why)
        return GraphKernelFlags(opt_level=0).render()
    return flags


@contextlib.contextmanager
def _suited(flags: str) -> Iterator[None]:
    """Where our generator builds the kernels: layers in the operators, and with the gradients, that suit it."""
    if not fuses(flags) or device_target() != "CPU" or generator_of(flags) == "mindspore":
        yield
        return
    from ms_fusion.presets import batch_norm, leaky_relu, padding

    with (
        batch_norm.spelling_out(),
        leaky_relu.differentiated_by_result(),
        padding.with_right_gradient(),
    ):
        yield
