"""Chooses the kernel generator: ours where it is proved on this machine, else MindSpore's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ms_fusion.generator_limits import GENERATOR
from ms_fusion.presets import generator_proof, mindspore_state
from ms_fusion.presets.table import is_served
from tbe_impl.errors import InputError

if TYPE_CHECKING:
    from ms_fusion.flag_lint import Finding

OURS, MINDSPORE = "ms_fusion", "mindspore"
GENERATORS = (MINDSPORE, OURS)
NOT_PRECISE = (
    "MindSpore's own generator builds what is compiled under precise: ours rounds float16 and bfloat16 once for a whole kernel, "
    "where unfused operators round one by one, and a kernel of the same operators is shared by all presets."
)


def choose(
    preset: str, device: str, *, wanted: str | None = None, flags: str = ""
) -> tuple[str, tuple[Finding, ...]]:
    """Who builds the kernels of a preset on this device, and what is to be said of it.

    The first call on a machine that asks for ours takes some seconds (`handshake`).

    Args:
        preset: a name in `ms_fusion.presets.table.PRESETS`.
        device: MindSpore's.
        wanted: a name in `GENERATORS`; by default ours wherever it builds this preset.
        flags: explicit flags; a ``--kernel_generator`` among them decides.

    Raises:
        InputError: there is no such generator.
    """
    if wanted is not None and wanted not in GENERATORS:
        raise InputError(
            "there is no such generator", expected=" or ".join(GENERATORS), got=repr(wanted)
        )
    named = [
        word.partition("=")[2] for word in flags.split() if word.startswith("--kernel_generator=")
    ]
    if named and named[0] == GENERATOR:
        wanted = wanted or OURS
    if device != "CPU" or wanted == MINDSPORE or (named and named[0] != GENERATOR):
        return MINDSPORE, ()
    if not is_served(preset):
        return MINDSPORE, (
            (_found("warning", "generator", NOT_PRECISE),) if wanted and preset == "precise" else ()
        )
    if mindspore_state.had_kernels():
        return MINDSPORE, (
            _instead(mindspore_state.EARLIER, "Enable ours before anything is compiled."),
        )
    reason = generator_proof.why_not(mindspore_state.version())
    if reason:
        return MINDSPORE, (_instead(reason, "Run `ms-fusion doctor`."),)
    mindspore_state.host_kernels()
    library = generator_proof.without_library(mindspore_state.version())
    return OURS, (
        (
            _found(
                "note", "library", f"Matrix products and convolutions stay MindSpore's: {library}"
            ),
        )
        if library
        else ()
    )


def _instead(reason: str, remedy: str) -> Finding:
    """What is said where MindSpore's own generator takes the place of ours."""
    return _found(
        "warning",
        "generator",
        f"MindSpore's own generator builds the kernels, since ours cannot be used: {reason}.",
        remedy=remedy,
    )


def _found(severity: str, code: str, message: str, *, remedy: str = "") -> Finding:
    from ms_fusion.flag_lint import Finding  # where nothing is to be said, it is not loaded

    return Finding(severity, code, message, remedy=remedy)
