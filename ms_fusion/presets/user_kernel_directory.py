"""Kernels that earlier processes left in the user's kernel directory, which MindSpore would reuse."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ms_fusion.kernel_server.publishing import OWN
from ms_fusion.kernel_server.records import file_name
from tbe_impl.runtime import machine

BUILT_FOR = "built_for"
"""The file beside their directory that says for which machine, and by which version of ours."""


def remove_strange(directory: Path) -> None:
    """Removes kernels that are for another machine or version, or of a process without ms_fusion, which cannot be called as ours."""
    note, here = directory.parent / BUILT_FOR, json.dumps(machine.identity())
    is_known = note.is_file() and note.read_text("utf-8", errors="replace") == here
    for told in directory.glob("Fused_*.json"):
        ours = (directory / file_name(told.stem), told.with_suffix(OWN))
        if not is_known or not any(file.exists() for file in ours):
            for file in (told, told.with_suffix(".so"), *ours):
                file.unlink(missing_ok=True)
    if not is_known:
        # in one step: a rank that read half of it would remove what this one builds
        draft = note.with_name(f"{BUILT_FOR}.{os.getpid()}")
        draft.write_text(here, "utf-8")
        draft.replace(note)
