"""Imports MindSpore if it is installed; the operators also work without MindSpore."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any

HAS_MINDSPORE = importlib.util.find_spec("mindspore") is not None

ms: Any = import_module("mindspore") if HAS_MINDSPORE else None
nn: Any = import_module("mindspore.nn") if HAS_MINDSPORE else None
ops: Any = import_module("mindspore.ops") if HAS_MINDSPORE else None
Cell: Any = nn.Cell if HAS_MINDSPORE else object


def device_target() -> str:
    """Returns MindSpore's device target, such as ``Ascend``, or ``CPU`` without MindSpore."""
    return str(ms.get_context("device_target")) if HAS_MINDSPORE else "CPU"
