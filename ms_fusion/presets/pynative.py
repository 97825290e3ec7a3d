"""PyNative mode: compiles steps, Cells and their gradients, since nothing else is fused there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ms_fusion.generator_limits import generator_of
from ms_fusion.presets.mindspore_state import (
    FLAGS_VARIABLE,
    compile_lock,
    flags_set,
    is_graph_mode,
    kernels_in_place,
    mindspore_module,
    pynative_executor,
    variable,
)
from ms_fusion.presets.preset_record import PYNATIVE, fuses
from tbe_impl.errors import InputError

_is_watching = False
"""Whether `name_uncompiled` waits for a call."""


def compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` as MindSpore compiles it; a function that is compiled already stays as it is."""
    mindspore = mindspore_module()
    if isinstance(step, mindspore.nn.Cell):
        # what was compiled before, by us or the user, is an attribute of the Cell, and stays
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
        and "staging_specialize" in getattr(step, "__code__", compiled.__code__).co_name
    ):
        return step
    return mindspore.jit(step)


def is_jitted(net: Any) -> bool:
    """Whether MindSpore compiles this in PyNative mode too: it is under ``@ms.jit``, or patched."""
    return hasattr(getattr(net, "construct", net), "__wrapped__")


def name_uncompiled(fuses_now: Callable[[], bool]) -> None:
    """The next Cell that is called is named in a warning if it is not compiled.

    Before that nobody can tell whether anything runs uncompiled in PyNative mode.

    Args:
        fuses_now: whether what is compiled would be fused.
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
                from ms_fusion.presets.compile_messages import say

                say(f"{type(self).__name__}: {PYNATIVE}")
        return original(self, *args, **kwargs)

    nn.Cell.__call__ = call


def gradients_under(flags: Callable[[], str]) -> None:
    """From now on MindSpore compiles gradients that are taken in PyNative mode under these flags, where they are not empty.

    It compiles the gradient of a compiled function when it is taken, and calls no ``compile`` in Python for it. It runs each
    compiled function with the method ``grad_jit``, which compiles only while a gradient is recorded.
    """
    owner = pynative_executor()
    if owner is None or hasattr(owner.grad, "_ms_fusion_original"):
        return
    owner.grad = _under(owner.grad, flags, lambda executor: True)
    owner.grad_jit = _under(owner.grad_jit, flags, owner.grad_flag)


def _under(
    original: Callable[..., Any], flags: Callable[[], str], compiles: Callable[[Any], bool]
) -> Callable[..., Any]:
    """`original`, which compiles under what `flags` says, or what is in force, where it `compiles`."""

    @functools.wraps(original)
    def compiling(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not compiles(self):
            return original(self, *args, **kwargs)
        text = flags() or variable(FLAGS_VARIABLE) or ""
        # MindSpore forgets what it was about when this fails, so that it cannot be tried again
        if (
            fuses(text)
            and generator_of(text) == "ms_fusion"
            and any(str(getattr(one, "dtype", "")) == "BFloat16" for one in args)
        ):
            from ms_fusion.presets import compile_retry

            text = compile_retry.WITHOUT_BFLOAT16.over(text)
        if not text:
            return original(self, *args, **kwargs)
        with compile_lock, kernels_in_place(), flags_set(text):
            return original(self, *args, **kwargs)

    compiling._ms_fusion_original = original  # type: ignore[attr-defined]
    return compiling
