"""Parses the syntax trees of many source files for tests of layout and documents."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")


def read_tree(path: Path, reader: Callable[[ast.Module], Found]) -> Found:
    """The result of `reader` for the syntax tree of a file.

    The garbage collector is off meanwhile: it would take two thirds of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        return reader(ast.parse(path.read_text("utf-8"), str(path)))
    finally:
        if was_on:
            gc.enable()
