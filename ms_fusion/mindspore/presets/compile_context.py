"""Wraps each compilation: sets the flags of the net, applies patches, reports refused kernels.

The module blocks signals that have Python handlers during the compilation.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
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
"""Reasons from `mindspore_state.why_no_kernels` that were already reported to the user."""


def compile_under_flags(
    compile: Callable[[], Result], net: Any, inputs: tuple[Any, ...], flags: str, preset: str = ""
) -> Result:
    """Calls `compile` under the flags in force and returns its result.

    If MindSpore's fusion fails, `compile` is called again with other flags (`compile_retry`).

    Args:
        compile: function that compiles `net` for `inputs`.
        net: a Cell, a function, or the object whose method is compiled.
        inputs: arguments of the call.
        flags: the flags that apply to the net; empty if no preset is in force.
        preset: name of the preset that set the flags, or an empty string if the user has overridden
            the flags of the preset.
    """

    def compile_once(attempt: compile_retry.Attempt) -> Result:
        with (
            pin_kernel_directory(),
            _apply_flags(net, inputs, attempt, flags, preset),
            _block_signals(),
        ):
            return compile()

    return compile_retry.retry_until_compiled(compile_once, net)


@contextlib.contextmanager
def _block_signals() -> Iterator[None]:
    """Returns a context manager that blocks the signals that have Python handlers, in this thread.

    Otherwise such a signal could interrupt MindSpore while MindSpore reads the answer of its kernel
    generator. The read would then fail with EINTR. SIGINT and signals without a Python handler are
    not blocked.
    """
    waited_for = {
        one for one in signal.valid_signals() - {signal.SIGINT} if callable(signal.getsignal(one))
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _apply_flags(
    net: Any, inputs: tuple[Any, ...], attempt: compile_retry.Attempt, flags: str, preset: str
) -> Iterator[None]:
    """Returns a context manager that sets the flags for `net`, and reports refused kernels.

    Args:
        attempt: record of the operators that are excluded from clustering in this compilation.
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
            user, name, inputs, place, by_mindspore=generator_of(flags) == "mindspore"
        )
        if has_fusion(flags) and device_target() == "CPU"
        else contextlib.nullcontext(),
    ):
        yield
        dump_note.write_note(name, preset, attempt.apply_to(flags))


def _buildable_flags(flags: str, name: str) -> str:
    """Returns `flags`, or ``--opt_level=0`` if no kernel can be written to the kernel directory.

    In the second case, the function also warns the user, once for each reason.
    """
    why = mindspore_state.why_no_kernels()
    if why:
        if why not in _reported_reasons:
            compile_messages.say(
                f"{name} is compiled without fusion, like each later net while the cause persists: "
                f"{why}."
            )
        _reported_reasons.add(why)
        return GraphKernelFlags(opt_level=0).render()
    return flags


@contextlib.contextmanager
def _apply_patches(flags: str) -> Iterator[None]:
    """Returns a context manager that replaces functions of MindSpore if our generator is used.

    The replacements express layers and gradients by operators that our generator supports.
    """
    if not has_fusion(flags) or device_target() != "CPU" or generator_of(flags) == "mindspore":
        yield
        return
    from ms_fusion.mindspore.patches import batch_norm, leaky_relu, padding, source_expansions

    with (
        batch_norm.expand_batch_norm(),
        leaky_relu.differentiate_by_result(),
        padding.replace_pad(),
        source_expansions.expand_by_source(),
    ):
        yield
