"""Records the preset in force, and defines its messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class FusionWarning(UserWarning):
    """A preset has no effect, or not the documented one, in the current state."""


@dataclass(frozen=True)
class InForce:
    """The settings in force, read back.

    Attributes:
        preset: name of the preset, empty for flags of the user's own.
        flags: the flag string of the next compilation in this process, as MindSpore will read it.
        scope: ``process``, ``block``, ``Cell``, ``user`` (the user's own setting) or ``none``.
        route: ``environment``, ``JitConfig``, ``context`` or ``none``: MindSpore's source of the
            flags.
        device, version: of MindSpore.
        mode: ``graph`` or ``pynative``.
        generator: generator of the kernels on CPU, ``ms_fusion`` or ``mindspore``; empty elsewhere
            and without fusion.
        fused: whether MindSpore's next compilation is fused; for a net, whether the net is.
            Operators of PyNative mode never are.
        warnings: unexpected effects.
        remedy: the next step if `fused` is False or nothing is compiled yet, else empty.
        kernel_directory: MindSpore's directory for built kernels.
        step: the wrapped step function, or the original if no wrapper is needed.
    """

    preset: str
    flags: str
    scope: str
    route: str
    device: str
    version: str
    mode: str
    fused: bool
    warnings: tuple[str, ...] = ()
    remedy: str = ""
    generator: str = ""
    kernel_directory: str = ""
    step: Callable[..., Any] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        # lazy: `enable` alone does not need it
        from ms_fusion.mindspore.flags.preset_table import shown_flags

        in_part = self.fused and self.remedy
        state = "fusion on" if self.fused else "fusion off"
        state += " for what is compiled" if in_part else ""
        name = f"preset {self.preset}" if self.preset else "no preset"
        lines = [
            f"{state}: {name}, {self.device}, MindSpore {self.version}, {self.mode} mode, scope "
            f"{self.scope}, by {self.route}",
        ]
        if self.generator:
            lines.append(f"kernels built by {self.generator}")
        lines += [f"warning: {text}" for text in self.warnings]
        if self.remedy and not any(self.remedy in text for text in self.warnings):
            lines.append(f"{'in PyNative mode' if in_part else 'to do'}: {self.remedy}")
        flags = shown_flags(self.flags, self.preset, device=self.device, version=self.version)
        lines.append(f"flags: {flags or '(none)'}")
        return "\n".join(lines)


def has_fusion(flags: str) -> bool:
    """Whether MindSpore fuses anything under this flag string from the environment.

    Without a level it does not; a level out of range counts as 3.

    >>> has_fusion("--opt_level=2"), has_fusion("--opt_level=0")
    (True, False)
    >>> has_fusion("--enable_cluster_ops=Div"), has_fusion("")
    (False, False)
    """
    levels = [word.partition("=")[2] for word in flags.split() if word.startswith("--opt_level=")]
    return levels[0] != "0" if levels else "--path=" in flags


PYNATIVE_REMEDY = (
    "Write `@ms.jit` on the step function, or `step = mf.enable(step=step).step`, "
    "or `ms.set_context(mode=ms.GRAPH_MODE)` at the start."
)
PYNATIVE_MESSAGE = f"PyNative mode fuses nothing. {PYNATIVE_REMEDY}"
"""Message for uncompiled nets in MindSpore's default mode."""

O1_ON_CPU = (
    'jit_level="O1" switches no fusion on on CPU, and MindSpore does not say so. '
    "Call `ms_fusion.enable()`."
)
"""Message if the setting that MindSpore recommends is the only one."""

NO_LEVEL = "The flags hold no `--opt_level`, so MindSpore fuses nothing."
NO_LEVEL_REMEDY = "Add `--opt_level=2`."
