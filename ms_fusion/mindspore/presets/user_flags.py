"""Reads and checks the user's flags in the environment variable, a JitConfig or the context."""

from __future__ import annotations

from typing import Any

from ms_fusion.mindspore.state.mindspore_state import context
from ms_fusion.mindspore.state.preset_record import O1_ON_CPU


def find_flag_errors(text: str, device: str, source: str = "") -> list[str]:
    """Returns messages about the errors in the flag string `text`.

    `source` describes the place where the user set the flags. If `source` is not empty, each
    message begins with `source`.
    """
    if not text:
        return []
    # Lazy import, since it is needed only if there are flags.
    from ms_fusion.mindspore.flags.lint import lint

    before = f"{source}: " if source else ""
    found = lint(text, device=device)
    return [f"{before}{item}" for item in found if item.severity == "error"]


def find_context_errors(device: str) -> list[str]:
    """Returns messages about the errors in the flags of ``set_context(graph_kernel_flags=…)``."""
    text = str(context("graph_kernel_flags") or "")
    return find_flag_errors(text, device, "set_context(graph_kernel_flags=…)")


def read_without_variable(net: Any, device: str) -> tuple[str, str, str, list[str]]:
    """Returns (flags, scope, route, remarks) of a net's next compilation without our flags.

    The function ignores MindSpore's environment variable for flags. So the flags of the JitConfig
    of `net` apply, or else the flags of MindSpore's context. The first three items are fields of
    `InForce`. The remarks are messages for the user.
    """
    config = getattr(net, "_jit_config_dict", None) or {}
    text = str(config.get("graph_kernel_flags") or "")
    if text:
        return text, "user", "JitConfig", find_flag_errors(text, device, "JitConfig")
    levels = [
        config.get("jit_level"),
        context("jit_level"),
        (context("jit_config") or {}).get("jit_level"),
    ]
    remarks = [O1_ON_CPU] if device == "CPU" and "O1" in levels else []
    remarks += find_context_errors(device)
    if bool(context("enable_graph_kernel")):
        text = str(context("graph_kernel_flags") or "")
        # If the context enables graph kernels, MindSpore's default is `--opt_level=2`.
        return (
            text if "--opt_level" in text else f"--opt_level=2 {text}".strip(),
            "user",
            "context",
            remarks,
        )
    if device != "CPU" and "O1" in levels:
        return "--opt_level=2", "user", "context", remarks
    return "", "none", "none", remarks
