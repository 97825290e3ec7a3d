"""Descriptions and operators for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tbe_impl

PROGRAMS = Path(__file__).parent.parent / "programs" / "trials"


def described(
    shape: tuple[int, ...], dtype: str = "float16", layout: str = "ND", **more: Any
) -> dict[str, Any]:
    """A tensor description as operators get it; -1 for an unknown size."""
    return {
        "shape": shape,
        "dtype": dtype,
        "format": layout,
        "ori_shape": shape,
        "ori_format": layout,
        "range": [(1, None) if size < 0 else (size, size) for size in shape],
        **more,
    }


def operator(file: str, function: str | None = None) -> tbe_impl.Operator:
    """The operator of a program."""
    return tbe_impl.load_operator(PROGRAMS / f"{file}.py", function)
