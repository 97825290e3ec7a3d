"""Applies presets: sets their flags, checks nets, wraps compilations, retries failed compilations.

A preset is a named set of MindSpore's fusion flags. In: the name of a preset, flags. Out: changed
state of MindSpore, a record of the settings in force, and functions that restore the state. This
package must not decide what is fused.

The package imports its names lazily: the compile server is a separate process and needs few of
these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.lazy_attributes import lazy_attributes

if TYPE_CHECKING:
    from ms_fusion.mindspore.flags.preset_table import resolve
    from ms_fusion.mindspore.presets.scopes import (
        check,
        compile_anew,
        disable,
        enable,
        findings_of_call,
        findings_of_graph,
        flags_of,
        fusion,
        in_force,
        patch,
        prepare,
        refuse,
        unpatch,
        user_generator,
    )
    from ms_fusion.mindspore.state.mindspore_state import (
        compile_lock,
        device_target,
        environment_flags,
        kernel_directory,
        redirect_failed_graphs,
        save_graphs,
        set_mode,
        version,
    )
    from ms_fusion.mindspore.state.preset_record import FusionWarning, InForce, has_fusion

_NAMES_BY_MODULE = {
    "flags.preset_table": "resolve",
    "presets.scopes": "check compile_anew disable enable findings_of_call findings_of_graph "
    "flags_of fusion in_force user_generator patch prepare refuse unpatch",
    "state.mindspore_state": "compile_lock device_target environment_flags "
    "redirect_failed_graphs kernel_directory save_graphs set_mode version",
    "state.preset_record": "FusionWarning InForce has_fusion",
}
_HOMES = {name: home for home, names in _NAMES_BY_MODULE.items() for name in names.split()}

__all__ = [
    "FusionWarning",
    "InForce",
    "check",
    "compile_anew",
    "compile_lock",
    "device_target",
    "disable",
    "enable",
    "environment_flags",
    "redirect_failed_graphs",
    "findings_of_call",
    "findings_of_graph",
    "flags_of",
    "has_fusion",
    "fusion",
    "in_force",
    "kernel_directory",
    "user_generator",
    "patch",
    "prepare",
    "refuse",
    "resolve",
    "save_graphs",
    "set_mode",
    "unpatch",
    "version",
]


__getattr__ = lazy_attributes(
    __name__, {name: f"ms_fusion.mindspore.{home}" for name, home in _HOMES.items()}
)
