"""Flags that the user set: in the environment variable, a JitConfig or the context."""

from __future__ import annotations

from typing import Any

from ms_fusion.presets.mindspore_state import context
from ms_fusion.presets.preset_record import O1_ON_CPU


def wrong_in(text: str, device: str, source: str = "") -> list[str]:
    """The errors in a flag string, each behind the call that set it."""
    if not text:
        return []
    from ms_fusion.flag_lint import lint  # where there is nothing to lint, it is not loaded

    before = f"{source}: " if source else ""
    found = lint(text, device=device)
    return [f"{before}{item}" for item in found if item.severity == "error"]


def wrong_in_context(device: str) -> list[str]:
    """The errors in ``set_context(graph_kernel_flags=…)``."""
    text = str(context("graph_kernel_flags") or "")
    return wrong_in(text, device, "set_context(graph_kernel_flags=…)")


def without_variable(net: Any, device: str) -> tuple[str, str, str, list[str]]:
    """(flags, scope, route, remarks) when the variable is not set: the Cell's JitConfig, then the context."""
    config = getattr(net, "_jit_config_dict", None) or {}
    text = str(config.get("graph_kernel_flags") or "")
    if text:
        return text, "user", "JitConfig", wrong_in(text, device, "JitConfig")
    levels = [
        config.get("jit_level"),
        context("jit_level"),
        (context("jit_config") or {}).get("jit_level"),
    ]
    remarks = [O1_ON_CPU] if device == "CPU" and "O1" in levels else []
    remarks += wrong_in_context(device)
    if bool(context("enable_graph_kernel")):
        text = str(context("graph_kernel_flags") or "")
        # switched on in the context, level 2 is MindSpore's own default
        return (
            text if "--opt_level" in text else f"--opt_level=2 {text}".strip(),
            "user",
            "context",
            remarks,
        )
    if device != "CPU" and "O1" in levels:
        return "--opt_level=2", "user", "context", remarks
    return "", "none", "none", remarks
