"""Preserves files in ``kernels/``: kernels of other models, and files of the user."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ms_fusion.onnx.fuse.kernel_files import header_files
from ms_fusion.onnx.ort_library.operator_library import LIBRARY

MANIFEST, REPRODUCERS, INCLUDE = "manifest.json", "reproducers", "include"
WRITTEN = frozenset({MANIFEST, REPRODUCERS, INCLUDE, LIBRARY})
"""Names in ``kernels/`` that ms_fusion writes, besides those of the kernels."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}_[0-9a-f]{12}")
"""Pattern of valid kernel names.

Names in a manifest on disk are checked by the pattern, because the manifest is not trusted.
"""


def keep_others(old: Path, staged: Path, model: str) -> list[dict[str, Any]]:
    """Copies the kernels of other models from ``kernels/`` into the new ``kernels/``.

    Args:
        old: path of the current ``kernels/``, which may be absent.
        staged: path of the new directory, which contains the files of this model.
        model: file name of this model, whose earlier kernels are not copied.

    Returns:
        The manifests of the other models. If a kernel belongs to this model and to another model,
        the file of this model is kept.
    """
    kept = [
        one
        for one in _manifests(old)
        if one["model"] != model and (old.parent / one["model"]).is_file()
    ]
    for one in kept:
        for name in kernel_names(
            entry.get("name") for entry in one["kernels"] if isinstance(entry, dict)
        ):
            for file in old.glob(f"{name}.*"):
                if file.is_file() and not file.is_symlink() and not (staged / file.name).exists():
                    shutil.copy2(file, staged)
        for name in kernel_names(one.get("reproducers")):
            place = old / REPRODUCERS / name
            if (
                place.is_dir()
                and not place.is_symlink()
                and not (staged / REPRODUCERS / name).exists()
            ):
                shutil.copytree(place, staged / REPRODUCERS / name, symlinks=True)
    return kept


def keep_user_files(old: Path, staged: Path) -> None:
    """Copies all files that ms_fusion did not write from ``kernels/`` into the new ``kernels/``.

    The manifests name the kernels and the reproducers (files that show the error of a wrong fusion)
    that ms_fusion wrote.

    Args:
        old: path of the current ``kernels/``, which may be absent.
        staged: path of the new directory, which contains all files of ms_fusion.
    """
    manifests = list(_manifests(old))
    named = {
        name
        for one in manifests
        for name in kernel_names(
            entry.get("name") for entry in one["kernels"] if isinstance(entry, dict)
        )
    }
    broken = {name for one in manifests for name in kernel_names(one.get("reproducers"))}
    headers = {header.stem for header in header_files()}
    for place, own in ((old, named), (old / REPRODUCERS, broken), (old / INCLUDE, headers)):
        for file in place.iterdir() if place.is_dir() and not place.is_symlink() else ():
            target = staged / file.relative_to(old)
            is_own = file.name in WRITTEN or file.name.partition(".")[0] in own
            if is_own or target.exists():
                continue
            target.parent.mkdir(exist_ok=True)
            if file.is_dir() and not file.is_symlink():
                shutil.copytree(file, target, symlinks=True)
            else:
                shutil.copy2(file, target, follow_symlinks=False)


def _manifests(place: Path) -> Iterator[dict[str, Any]]:
    """Yields the manifest of each model in the directory, without malformed entries."""
    try:
        told = json.loads((place / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    others = told.pop("others", ()) if isinstance(told, dict) else ()
    for one in (told, *(others if isinstance(others, list) else ())):
        if not isinstance(one, dict) or not isinstance(one.get("kernels"), list):
            continue
        name = one.get("model")
        if isinstance(name, str) and name and "\0" not in name and Path(name).name == name:
            yield one


def kernel_names(found: object) -> Iterator[str]:
    """Yields the valid kernel names in a list that was read from a manifest."""
    for one in found if isinstance(found, Iterable) else ():
        if isinstance(one, str) and _NAME.fullmatch(one):
            yield one
