"""Wraps each compilation under our flags: a net's own flags, buildable kernels, messages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.patches.blocked_signals import block_signals
from ms_fusion.mindspore.presets import compile_messages, compile_retry, net_choices
from ms_fusion.mindspore.state import dump_note, mindspore_state
from ms_fusion.mindspore.state.mindspore_state import (
    FLAGS_VARIABLE,
    device_target,
    has_fixed_flags,
    kernel_directory,
    override_flags,
    pin_kernel_directory,
    variable,
)
from ms_fusion.mindspore.state.preset_record import has_fusion
from tbe_impl.environment import is_off

Result = TypeVar("Result")
_reported_reasons: set[str] = set()
"""Reported reasons why kernels cannot be written to MindSpore's kernel directory."""


def compile_under_flags(
    compile: Callable[[], Result], net: Any, inputs: tuple[Any, ...], flags: str, preset: str = ""
) -> Result:
    """Runs `compile` under the flags in force; retries it if MindSpore's fusion fails.

    Args:
        net: a Cell, a function, or the object whose method is compiled.
        inputs: arguments of the call.
        flags: our flags for the net; empty for none.
        preset: source of the flags; empty if the user overrides them.
    """

    def compile_once(attempt: compile_retry.Attempt) -> Result:
        with (
            pin_kernel_directory(),
            _apply_flags(net, inputs, attempt, flags, preset),
            block_signals(),
        ):
            return compile()

    return compile_retry.retry_until_compiled(compile_once, net)


@contextlib.contextmanager
def _apply_flags(
    net: Any, inputs: tuple[Any, ...], attempt: compile_retry.Attempt, flags: str, preset: str
) -> Iterator[None]:
    """Sets the flags in the block and reports their effect on the net afterwards.

    Args:
        attempt: the exclusions of this attempt.
    """
    place = kernel_directory()
    if has_fixed_flags():
        fixed = variable(FLAGS_VARIABLE) or ""
        with (
            compile_retry.supervise_attempt(attempt, fixed, place),
            override_flags(attempt.apply_to(fixed)),
            _apply_patches(fixed),
        ):
            yield
        return
    if is_off() or not flags:
        yield
        return
    method = getattr(net, "__parse_method__", "construct")
    user = net if method == "construct" else getattr(type(net), method)
    flags = net_choices.apply_choice(flags, user, inputs)
    name = getattr(user, "__name__", type(user).__name__)
    if has_fusion(flags) and device_target() == "CPU":
        flags = _buildable_flags(flags, name)
    with (
        compile_retry.supervise_attempt(attempt, flags, place, name),
        override_flags(attempt.apply_to(flags)),
        _apply_patches(flags),
        compile_messages.report_refusals(
            user, name, inputs, place, own=generator_of(flags) == "mindspore"
        )
        if has_fusion(flags) and device_target() == "CPU"
        else contextlib.nullcontext(),
    ):
        yield
        dump_note.write_note(name, preset, attempt.apply_to(flags))


def _buildable_flags(flags: str, name: str) -> str:
    """The flags if kernels can be built; else those of an unfused net, with one message
    per reason.
    """
    why = mindspore_state.why_no_kernels()
    if why:
        if why not in _reported_reasons:
            compile_messages.say(
                f"{name} is compiled without fusion, and so is what follows: {why}."
            )
        _reported_reasons.add(why)
        return GraphKernelFlags(opt_level=0).render()
    return flags


@contextlib.contextmanager
def _apply_patches(flags: str) -> Iterator[None]:
    """Applies the patches for our generator: layers and gradients in operators that it supports."""
    if not has_fusion(flags) or device_target() != "CPU" or generator_of(flags) == "mindspore":
        yield
        return
    from ms_fusion.mindspore.patches import batch_norm, leaky_relu, padding

    with (
        batch_norm.expand_batch_norm(),
        leaky_relu.differentiate_by_result(),
        padding.replace_pad(),
    ):
        yield
