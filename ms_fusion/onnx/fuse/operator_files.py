"""Writes custom operators into ``kernels/``: C code, and the library that ONNX Runtime loads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ms_fusion import __version__
from ms_fusion.onnx.fuse.shared_kernel_directory import kernel_names
from ms_fusion.onnx.ort_library.operator_library import LIBRARY, LibraryBuilder
from ms_fusion.onnx.ort_library.operator_text import OperatorText

_HEAD = "/* A custom operator of ONNX Runtime, written by ms_fusion {version}. */\n"


def write_operator_source(place: Path, operator: OperatorText) -> dict[str, Any]:
    """Writes the C of a custom operator. Returns the operator's manifest entry."""
    text = _HEAD.format(version=__version__) + operator.source
    (place / f"{operator.name}.c").write_text(text, "utf-8")
    return {"name": operator.name, "c": f"{operator.name}.c", "library": LIBRARY}


def write_library(place: Path, entries: Iterable[object]) -> None:
    """Builds the library of all custom operators in a directory, if there are any.

    Args:
        place: the directory with the C of the operators.
        entries: entries of the manifests of the models that share the directory.
    """
    wanted = [
        one.get("name")
        for one in entries
        if isinstance(one, dict) and one.get("library") == LIBRARY
    ]
    names = dict.fromkeys(name for name in kernel_names(wanted))
    operators = [
        OperatorText(name, (place / f"{name}.c").read_text("utf-8"))
        for name in names
        if (place / f"{name}.c").is_file()
    ]
    if operators:
        with tempfile.TemporaryDirectory(dir=place.parent) as directory:
            LibraryBuilder(Path(directory)).build(operators, place / LIBRARY)
