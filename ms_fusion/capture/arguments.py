"""Checks arguments of `explain_target` before NumPy and MindSpore are imported."""

from __future__ import annotations

from collections.abc import Sequence

from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.preset_table import check_preset
from ms_fusion.target import parse_input, require_mindspore, split_target
from tbe_impl.errors import InputError


def check_arguments(
    target: str,
    input_specs: Sequence[str],
    *,
    preset: str = "auto",
    flags: str | None = None,
    only_flags: str | None = None,
) -> None:
    """Raises the errors of `explain_target` that depend only on the arguments.

    Raises:
        InputError: the file or the preset does not exist, or an input specification or a flag is
            malformed.
        MissingError: MindSpore is not installed.
    """
    split_target(target)
    for text in input_specs:
        parse_input(text)
    require_mindspore()
    check_preset(preset)
    check_flags(flags, only_flags)


def check_flags(flags: str | None, only_flags: str | None) -> None:
    """Raises `InputError` if a flag string is malformed, or if both flag strings are given."""
    if flags is not None and only_flags is not None:
        raise InputError(
            "flags and only_flags cannot be combined",
            place="only_flags",
            expected="flags or only_flags",
            got="both",
            remedy="Put all of them into only_flags.",
        )
    GraphKernelFlags.coerce(flags)
    GraphKernelFlags.coerce(only_flags)
