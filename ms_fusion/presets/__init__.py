"""Presets that take effect and prove it: the table, the scopes in which one is in force, and MindSpore's own switches."""

from ms_fusion.presets.in_force import FusionWarning, InForce
from ms_fusion.presets.scopes import (
    check,
    compile_lock,
    device_target,
    disable,
    enable,
    environment_flags,
    fusion,
    in_force,
    kernel_directory,
    patch,
    refuse,
    resolve,
    save_graphs,
    set_mode,
    unpatch,
    version,
)

__all__ = [
    "FusionWarning",
    "InForce",
    "check",
    "compile_lock",
    "device_target",
    "disable",
    "enable",
    "environment_flags",
    "fusion",
    "in_force",
    "kernel_directory",
    "patch",
    "refuse",
    "resolve",
    "save_graphs",
    "set_mode",
    "unpatch",
    "version",
]
