"""Parses ``FILE.py:operator`` and checks that the file exists, without loading the file."""

from __future__ import annotations

from pathlib import Path

from tbe_impl.errors import InputError


def split_target(text: str) -> tuple[Path, str | None]:
    """Splits ``FILE.py:operator`` or ``FILE.py`` into file and function name.

    >>> split_target("impl/exp.py:exp"), split_target("exp.py")
    ((PosixPath('impl/exp.py'), 'exp'), (PosixPath('exp.py'), None))
    """
    file, colon, name = text.rpartition(":")
    if colon and file and name.isidentifier() and not Path(text).is_file():
        return Path(file), name
    return Path(text), None


def check_operator_file(file: Path) -> None:
    """Raises `InputError` if the file does not exist."""
    if file.is_dir():
        raise InputError("this is a directory", place=str(file), expected="FILE.py:operator")
    if not file.is_file():
        raise InputError("there is no such operator file", place=str(file))
