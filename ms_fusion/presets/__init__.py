"""Presets that take effect and prove it: the table, the scopes in which one is in force, and MindSpore's own switches."""

from ms_fusion.presets.in_force import FusionWarning, InForce, fuses
from ms_fusion.presets.mindspore_state import (
    compile_lock,
    device_target,
    environment_flags,
    failed_graphs_in,
    kernel_directory,
    save_graphs,
    set_mode,
    version,
)
from ms_fusion.presets.scopes import (
    check,
    disable,
    enable,
    findings_of_call,
    findings_of_graph,
    flags_of,
    fusion,
    in_force,
    named_generator,
    patch,
    refuse,
    unpatch,
)
from ms_fusion.presets.table import resolve

__all__ = [
    "FusionWarning",
    "InForce",
    "check",
    "compile_lock",
    "device_target",
    "disable",
    "enable",
    "environment_flags",
    "failed_graphs_in",
    "findings_of_call",
    "findings_of_graph",
    "flags_of",
    "fuses",
    "fusion",
    "in_force",
    "kernel_directory",
    "named_generator",
    "patch",
    "refuse",
    "resolve",
    "save_graphs",
    "set_mode",
    "unpatch",
    "version",
]
