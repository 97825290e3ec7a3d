"""Presets that take effect and prove it: the table, the scopes in which one is in force, and MindSpore's own switches.

Each name is fetched from its module when it is first used: the compile server, a process of its own, needs few of them.

In: a preset's name, flags. Out: MindSpore's state changed, a record of it, and the way back. Everything that touches MindSpore's
global state is in this room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.lazy_names import late_names

if TYPE_CHECKING:
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
    from ms_fusion.presets.preset_record import FusionWarning, InForce, fuses
    from ms_fusion.presets.scopes import (
        check,
        compile_anew,
        disable,
        enable,
        findings_of_call,
        findings_of_graph,
        flags_of,
        fusion,
        in_force,
        named_generator,
        patch,
        prepare,
        refuse,
        unpatch,
    )
    from ms_fusion.presets.table import resolve

_OF_HOME = {
    "mindspore_state": "compile_lock device_target environment_flags failed_graphs_in kernel_directory save_graphs set_mode version",
    "preset_record": "FusionWarning InForce fuses",
    "scopes": "check compile_anew disable enable findings_of_call findings_of_graph flags_of fusion in_force named_generator patch prepare refuse unpatch",
    "table": "resolve",
}
_HOMES = {name: home for home, names in _OF_HOME.items() for name in names.split()}

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
    "prepare",
    "refuse",
    "resolve",
    "save_graphs",
    "set_mode",
    "unpatch",
    "version",
]


__getattr__ = late_names(__name__, {name: f".{home}" for name, home in _HOMES.items()})
