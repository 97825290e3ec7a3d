"""Cleans the user's kernel directory: removes the kernels that MindSpore must not reuse."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ms_fusion.kernel_server.build_records import file_name
from ms_fusion.kernel_server.publishing import OWN_SUFFIX
from tbe_impl.runtime import machine

BUILD_NOTE = "built_for"
"""File that records the machine and the version of ms_fusion for which the kernels were built."""


def remove_foreign_kernels(directory: Path) -> None:
    """Removes kernels that this ms_fusion version did not build for this machine.

    They are kernels for another machine, kernels of another ms_fusion version, and kernels that
    were built without ms_fusion. The last kind lacks our entry function.
    """
    note, here = directory.parent / BUILD_NOTE, json.dumps(machine.identity())
    is_known = note.is_file() and note.read_text("utf-8", errors="replace") == here
    for told in directory.glob("Fused_*.json"):
        ours = (directory / file_name(told.stem), told.with_suffix(OWN_SUFFIX))
        if not is_known or not any(file.exists() for file in ours):
            for file in (told, told.with_suffix(".so"), *ours):
                file.unlink(missing_ok=True)
    if not is_known:
        # The file is replaced atomically. Another rank that read a partial file would remove the
        # kernels of this process.
        draft = note.with_name(f"{BUILD_NOTE}.{os.getpid()}")
        draft.write_text(here, "utf-8")
        draft.replace(note)
