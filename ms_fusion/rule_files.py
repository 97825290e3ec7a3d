"""Rules of one's own on the command line: a Python file that defines them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ms_fusion.rewrite import Rule
from ms_fusion.target import run_file
from tbe_impl.errors import InputError

ALL = ("RULES", "fusion_rules")
"""What a file may call the list of its rules."""


def rules_named(text: str) -> tuple[str | Rule | Mapping[str, Any], ...]:
    """Names with commas between as they are, and the rules of files.

    ``my_rules.py`` stands for its ``RULES`` (or ``fusion_rules``), ``my_rules.py:GATE`` for one: a
    `Rule` or a dict as `ms_fusion.rule_dicts` takes it. A file is run as Python, so it is as
    trusted as any program.

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
    file, _, wanted = (name, "", ALL[0]) if name.endswith(".py") else name.rpartition(":")
    if not file.endswith(".py"):
        return "", name
    if not Path(file).is_file():
        raise InputError(
            "no such file", place=file, remedy="Name a Python file that defines rules."
        )
    return file, wanted


def _named(name: str) -> tuple[str | Rule | Mapping[str, Any], ...]:
    file, wanted = _split(name)
    if not file:
        return (name,)
    module = run_file(Path(file))
    names = ALL if wanted == ALL[0] else (wanted,)
    found = next((vars(module)[one] for one in names if one in vars(module)), None)
    rules = tuple(found) if isinstance(found, list | tuple) else (found,)
    if not rules or not all(isinstance(one, Rule | Mapping) for one in rules):
        raise InputError(
            f"{wanted} is no rule",
            place=file,
            expected=f"a Rule or a dict, or {ALL[0]} = (…) with several",
            got=repr(found)[:80],
        )
    return rules
