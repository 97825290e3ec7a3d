"""Defines `InForce`, the record of the fusion settings in force, and messages about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ms_fusion.mindspore.flags.graph_kernel_flags import effective_flags


class FusionWarning(UserWarning):
    """Warns that a preset has no effect, or another than the documented effect, in this process."""


@dataclass(frozen=True)
class InForce:
    """The fusion settings that MindSpore will use for the next compilation.

    Attributes:
        preset: name of the preset; empty if the user set the flags.
        flags: the graph kernel flags, as the string that MindSpore reads.
        scope: the origin of the flags: ``process``, ``block``, ``Cell``, ``user`` (the user's own
            setting) or ``none``.
        route: the place of the flags that MindSpore reads: ``environment``, ``JitConfig``,
            ``context`` or ``none``.
        device: MindSpore's device target.
        version: MindSpore's version.
        mode: ``graph`` or ``pynative``.
        fused: whether MindSpore fuses operators in its next compilation. In the record of a certain
            net, `fused` states whether MindSpore fuses operators of this net. MindSpore never fuses
            operators that PyNative mode runs uncompiled.
        warnings: sentences about unexpected effects of the settings.
        remedy: advice to the user if nets are not fused; empty if there is no advice.
        generator: generator of the kernels on CPU, ``ms_fusion`` or ``mindspore``; empty on other
            devices and without fusion.
        kernel_directory: MindSpore's directory for built kernels.
        step: the compiled training step. None if `enable` was called without a step. If
            ``MS_FUSION=off`` is set, `step` is the original, uncompiled step.
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
        # Lazy import, since `enable` does not need it.
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

    __repr__ = __str__  # what a notebook shows; the fields hold a thousand characters of flags


def has_fusion(flags: str) -> bool:
    """Returns whether MindSpore fuses operators if its fusion flags are `flags`.

    `flags` is the content of ``MS_DEV_GRAPH_KERNEL_FLAGS``. If `flags` contains ``--opt_level``,
    MindSpore fuses at every level except 0. A level out of range has the same effect as level 3.
    Without ``--opt_level``, MindSpore fuses nothing. If `flags` contains ``--path``, the flags in
    this file count.

    >>> has_fusion("--opt_level=2"), has_fusion("--opt_level=0")
    (True, False)
    >>> has_fusion("--enable_cluster_ops=Div"), has_fusion("")
    (False, False)
    """
    return (effective_flags(flags).get("opt_level") or "0") != "0"


PYNATIVE_REMEDY = (
    "Write `@ms.jit` on the step function, or `step = mf.enable(step=step).step`, "
    "or `ms.set_context(mode=ms.GRAPH_MODE)` at the start."
)
PYNATIVE_MESSAGE = f"PyNative mode fuses nothing. {PYNATIVE_REMEDY}"
"""Message about nets that run uncompiled in PyNative mode, MindSpore's default."""

O1_ON_CPU = (
    'jit_level="O1" enables no fusion on CPU, and MindSpore does not say so. '
    "Call `ms_fusion.enable()`."
)
"""Message for users on CPU whose only setting is ``jit_level="O1"``, which MindSpore recommends."""

NO_LEVEL = "The flags hold no `--opt_level`, so MindSpore fuses nothing."
NO_LEVEL_REMEDY = "Add `--opt_level=2`."
