"""Supports PyNative mode, in which MindSpore fuses only compiled functions.

This module compiles training steps, and sets the fusion flags under which MindSpore compiles
gradients.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.state.mindspore_state import (
    FLAGS_VARIABLE,
    compile_lock,
    is_graph_mode,
    is_jitted,
    mindspore_module,
    override_flags,
    pin_kernel_directory,
    pynative_executor,
    variable,
)
from ms_fusion.mindspore.state.preset_record import PYNATIVE_MESSAGE, has_fusion
from tbe_impl.errors import InputError

_is_watching = False
"""Whether `warn_of_uncompiled` waits for the next call of a Cell."""


def compile_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the training step `step`, compiled by ``ms.jit`` if it is not compiled yet.

    If `step` is a Cell, the function returns the same Cell. In PyNative mode, the function first
    replaces the method `construct` of this Cell by the compiled method.
    """
    mindspore = mindspore_module()
    if isinstance(step, mindspore.nn.Cell):
        # If the Cell itself has an attribute `construct`, we or the user compiled it earlier.
        if mindspore.get_context("mode") == mindspore.PYNATIVE_MODE and "construct" not in vars(
            step
        ):
            step.construct = mindspore.jit(step.construct)
        return step
    if not callable(step):
        raise InputError(
            "a step is a function or a Cell", expected="something callable", got=type(step).__name__
        )
    if (
        hasattr(step, "__wrapped__")
        and "staging_specialize" in getattr(step, "__code__", compile_step.__code__).co_name
    ):
        return step
    return mindspore.jit(step)


def warn_of_uncompiled(fuses_now: Callable[[], bool]) -> None:
    """Makes the next call of a Cell warn if the Cell runs uncompiled in PyNative mode.

    Args:
        fuses_now: function that returns whether a compilation would be fused now.
    """
    global _is_watching
    from mindspore import nn

    original = nn.Cell.__call__
    if _is_watching:
        return
    _is_watching = True
    is_first = True

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal is_first
        global _is_watching
        if is_first:
            is_first = _is_watching = False
            if nn.Cell.__call__ is call:
                nn.Cell.__call__ = original
            if not is_graph_mode() and fuses_now() and not is_jitted(self):
                from ms_fusion.mindspore.presets.compile_messages import say

                say(f"{type(self).__name__}: {PYNATIVE_MESSAGE}")
        return original(self, *args, **kwargs)

    nn.Cell.__call__ = call


def compile_gradients_under(flags: Callable[[], str]) -> None:
    """Makes MindSpore compile gradients in PyNative mode under the flags that `flags` returns.

    If `flags` returns an empty string, MindSpore uses the flags in ``MS_DEV_GRAPH_KERNEL_FLAGS``.
    MindSpore compiles the gradient of a function when a program asks for the gradient, and not
    together with the function. To compile a gradient, MindSpore does not call the Python method
    ``compile``, but the methods ``grad`` and ``grad_jit`` of its PyNative executor. So this
    function wraps these two methods. MindSpore calls ``grad_jit`` for each compiled function, but
    ``grad_jit`` compiles only while MindSpore records a gradient.
    """
    owner = pynative_executor()
    if owner is None or hasattr(owner.grad, "_ms_fusion_original"):
        return
    owner.grad = _wrap_gradient(owner.grad, flags, lambda executor: True)
    owner.grad_jit = _wrap_gradient(owner.grad_jit, flags, owner.grad_flag)


def end_failed_recordings() -> None:
    """Makes MindSpore end the recording of a gradient whose forward function raises an error.

    Without this function, MindSpore 2.10 continues to record after such an error. It then records
    all PyNative operations, and differentiates the next ``@ms.jit`` function once more than
    necessary. If an operator of the ``@ms.jit`` function has no such higher derivative, the
    compilation of the function fails.
    """
    owner: Any = importlib.import_module("mindspore.ops.composite.base")
    original = getattr(owner, "_pynative_func_grad_forward", None)
    if original is None or hasattr(original, "_ms_fusion_original"):
        return

    @functools.wraps(original)
    def run_forward(function: Any, *args: Any, **kwargs: Any) -> Any:
        executor = owner._pynative_executor
        recorded = executor.grad_flag()  # True inside an outer gradient
        try:
            return original(function, *args, **kwargs)
        except BaseException:
            if not recorded:
                executor.clear_res()
            raise

    run_forward._ms_fusion_original = original  # type: ignore[attr-defined]
    owner._pynative_func_grad_forward = run_forward


def _wrap_gradient(
    original: Callable[..., Any], flags: Callable[[], str], compiles: Callable[[Any], bool]
) -> Callable[..., Any]:
    """Wraps `original`; the wrapper sets the fusion flags while `original` runs.

    Args:
        original: a method of MindSpore's PyNative executor.
        flags: function that returns the flags. If the result is empty, the wrapper takes the flags
            from the user's environment variable.
        compiles: function that returns whether a call of `original` may compile. The wrapper sets
            flags only for calls that may compile.
    """

    @functools.wraps(original)
    def compiling(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not compiles(self):
            return original(self, *args, **kwargs)
        text = flags() or variable(FLAGS_VARIABLE) or ""
        # After a failure MindSpore's state is lost and a retry is impossible, so bfloat16 is
        # handled in advance.
        if (
            has_fusion(text)
            and generator_of(text) == "ms_fusion"
            and any(str(getattr(one, "dtype", "")) == "BFloat16" for one in args)
        ):
            from ms_fusion.mindspore.presets import compile_retry

            text = compile_retry.UNFUSED_FOR_BFLOAT16.apply_to(text)
        if not text:
            return original(self, *args, **kwargs)
        with compile_lock, pin_kernel_directory(), override_flags(text):
            return original(self, *args, **kwargs)

    compiling._ms_fusion_original = original  # type: ignore[attr-defined]
    return compiling
