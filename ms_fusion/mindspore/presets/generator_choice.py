"""Chooses our kernel generator if its self-test succeeds here, and MindSpore's otherwise.

The module `generator_proof` contains the self-test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ms_fusion.mindspore.flags.generator_limits import GENERATOR
from ms_fusion.mindspore.flags.graph_kernel_flags import effective_flags
from ms_fusion.mindspore.flags.preset_table import is_built_by_own_generator
from ms_fusion.mindspore.presets import generator_proof
from ms_fusion.mindspore.state import mindspore_state
from tbe_impl.errors import InputError

if TYPE_CHECKING:
    from ms_fusion.mindspore.flags.lint import Finding

MS_FUSION, MINDSPORE = "ms_fusion", "mindspore"
GENERATORS = (MINDSPORE, MS_FUSION)
PRECISE_NOTE = (
    "MindSpore's own generator builds what is compiled under precise: ours rounds float16 and "
    "bfloat16 once for a whole kernel, "
    "where unfused operators round one by one, and a kernel of the same operators is shared by "
    "all presets."
)


def choose(
    preset: str, device: str, *, wanted: str | None = None, flags: str = ""
) -> tuple[str, tuple[Finding, ...]]:
    """Returns (name of the kernel generator for a preset, findings for the user).

    If our generator is a candidate, its self-test (`generator_proof`) must have succeeded on this
    machine. The first call on a machine runs the self-test, which takes some seconds.

    Args:
        preset: a name in `ms_fusion.mindspore.flags.preset_table.PRESETS`.
        device: MindSpore's device target.
        wanted: the generator that the user selected, a name in `GENERATORS`. None selects our
            generator if it can build the kernels of this preset.
        flags: the user's explicit flags. If these flags have a ``--kernel_generator`` other than
            our generator, the result is ``mindspore``.

    Raises:
        InputError: the generator `wanted` does not exist.
    """
    if wanted is not None and wanted not in GENERATORS:
        raise InputError(
            "there is no such generator", expected=" or ".join(GENERATORS), got=repr(wanted)
        )
    named = effective_flags(flags).get("kernel_generator")
    if named == GENERATOR:
        wanted = wanted or MS_FUSION
    if device != "CPU" or wanted == MINDSPORE or (named and named != GENERATOR):
        return MINDSPORE, ()
    if not is_built_by_own_generator(preset):
        return MINDSPORE, (
            (_make_finding("warning", "generator", PRECISE_NOTE),)
            if wanted and preset == "precise"
            else ()
        )
    if mindspore_state.has_earlier_kernels():
        return MINDSPORE, (
            _fallback_finding(
                mindspore_state.EARLIER_KERNELS, "Enable ours before anything is compiled."
            ),
        )
    reason = generator_proof.why_unusable(mindspore_state.version())
    if reason:
        return MINDSPORE, (_fallback_finding(reason, "Run `ms-fusion doctor`."),)
    mindspore_state.host_kernels()
    library = generator_proof.why_no_library(mindspore_state.version())
    return MS_FUSION, (
        (
            _make_finding(
                "note", "library", f"Matrix products and convolutions stay MindSpore's: {library}"
            ),
        )
        if library
        else ()
    )


def _fallback_finding(reason: str, remedy: str) -> Finding:
    """Returns a warning that MindSpore's generator is used because ours cannot be used.

    Args:
        reason: the reason why our generator cannot be used.
        remedy: advice to the user.
    """
    return _make_finding(
        "warning",
        "generator",
        f"MindSpore's own generator builds the kernels, since ours cannot be used: {reason}.",
        remedy=remedy,
    )


def _make_finding(severity: str, code: str, message: str, *, remedy: str = "") -> Finding:
    # Lazy import, since it is needed only for a finding.
    from ms_fusion.mindspore.flags.lint import Finding

    return Finding(severity, code, message, remedy=remedy)
