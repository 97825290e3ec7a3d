"""Compiles an operator for a chip with the CANN toolkit, if the toolkit is installed.

This module is untested, because neither a toolkit nor a device was available.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from tbe_impl.errors import CompileError, MissingError

OUTPUT_DIRECTORIES = ("kernel_meta",)
"""Directories below the working directory into which the toolkit writes."""


def is_installed() -> bool:
    """Whether an installed toolkit can be imported."""
    places = None  # The search path of the package; an import could find our own modules.
    for name in ("tbe", "tbe.dsl", "tbe.dsl.api"):
        spec = PathFinder.find_spec(name, places)
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True


def build(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    *,
    soc: str,
    directory: Path,
) -> tuple[Path, ...]:
    """Runs an operator function with the toolkit's modules; returns the files that were written.

    Args:
        function: the operator function, imported while the toolkit's modules were importable.
        arguments, keywords: positional and keyword arguments of the operator function.
        soc: the target chip.
        directory: an existing directory into which the toolkit writes.

    Raises:
        MissingError: no toolkit is installed.
        CompileError: the toolkit rejects the operator, or writes nothing. If it rejects the
            operator, the error contains the toolkit's message.
    """
    if not is_installed():
        raise MissingError(
            "there is no CANN toolkit here",
            remedy="Run it on a machine with the toolkit; "
            "here the back ends `cpu` and `numpy` run the operator",
        )
    platform = importlib.import_module("tbe.common.platform")
    with _change_directory(directory):
        platform.set_current_compile_soc_info(soc)
        try:
            function(*arguments, **keywords)
        except Exception as error:
            raise CompileError(f"the toolkit refuses the operator: {error}", place=soc) from error
    found = tuple(
        sorted(path for name in OUTPUT_DIRECTORIES for path in (directory / name).glob("*"))
    )
    if not found:
        raise CompileError("the toolkit wrote nothing", place=str(directory))
    return found


@contextlib.contextmanager
def _change_directory(directory: Path) -> Iterator[None]:
    """Like `contextlib.chdir` of Python 3.11: changes the working directory in a ``with`` body."""
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)
