"""Rules of one's own on the command line: a Python file that defines them."""

from __future__ import annotations

from pathlib import Path

from ms_fusion.rewrite import Rule
from ms_fusion.target import run_file
from tbe_impl.errors import InputError

ALL = "RULES"
"""What a file calls the tuple of its rules."""


def rules_named(text: str) -> tuple[str | Rule, ...]:
    """Names with commas between as they are, and the rules of files: ``my_rules.py`` for its ``RULES``, ``my_rules.py:GATE`` for one.

    A file is run as Python, so it is as trusted as any program.

    Raises:
        InputError: there is no such file, it fails, or what is named is no rule.

    >>> rules_named("SwiGLU, Cluster")
    ('SwiGLU', 'Cluster')
    """
    return tuple(one for name in text.split(",") for one in _named(name.strip()))


def names_in(text: str) -> tuple[str, ...]:
    """The plain names among them; no file is run.

    Raises:
        InputError: one of the files is not there.

    >>> names_in("SwiGLU, Cluster")
    ('SwiGLU', 'Cluster')
    """
    names = [name.strip() for name in text.split(",")]
    return tuple(name for name in names if not _split(name)[0])


def _split(name: str) -> tuple[str, str]:
    """The existing file that a name stands for, empty for a plain name, and what of it is meant."""
    file, _, wanted = (name, "", ALL) if name.endswith(".py") else name.rpartition(":")
    if not file.endswith(".py"):
        return "", name
    if not Path(file).is_file():
        raise InputError(
            "no such file", place=file, remedy="Name a Python file that defines rules."
        )
    return file, wanted


def _named(name: str) -> tuple[str | Rule, ...]:
    file, wanted = _split(name)
    if not file:
        return (name,)
    found = getattr(run_file(Path(file)), wanted, None)
    rules = tuple(found) if isinstance(found, list | tuple) else (found,)
    if not rules or not all(isinstance(one, Rule) for one in rules):
        raise InputError(
            f"{wanted} is no rule", place=file, expected=f"a Rule, or {ALL} = (…) with several", got=repr(found)[:80]
        )  # fmt: skip
    return rules
