"""Loads the user-defined rules in the Python files that command-line options name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ms_fusion.rewrite import Rule
from ms_fusion.target import run_file
from tbe_impl.errors import InputError

RULE_LIST_NAMES = ("RULES", "fusion_rules")
"""Accepted names of the variable with the list of rules in a file."""


def load_rules(text: str) -> tuple[str | Rule | Mapping[str, Any], ...]:
    """Loads comma-separated rules: names of known rules, or Python files that define rules.

    The name of a known rule is returned unchanged. The text ``my_rules.py`` denotes all rules in
    the list ``RULES`` (or ``fusion_rules``) of the file ``my_rules.py``. The text
    ``my_rules.py:GATE`` denotes the object ``GATE`` of the file. A rule in a file is a `Rule`, or a
    dict as for `ms_fusion.onnx.fuse.rule_dicts`. The file is executed as Python code. So the user
    must trust the file like any program.

    Raises:
        InputError: a file does not exist or fails, or the named object is not a rule.

    >>> load_rules("SwiGLU, Cluster")
    ('SwiGLU', 'Cluster')
    """
    return tuple(one for name in text.split(",") for one in _load_named_rules(name.strip()))


def plain_rule_names(text: str) -> tuple[str, ...]:
    """Returns the names of known rules in a comma-separated list; skips the Python files.

    The Python files are not executed.

    Raises:
        InputError: one of the files does not exist.

    >>> plain_rule_names("SwiGLU, Cluster")
    ('SwiGLU', 'Cluster')
    """
    names = [name.strip() for name in text.split(",")]
    return tuple(name for name in names if not _split(name)[0])


def _split(name: str) -> tuple[str, str]:
    """Splits a text such as ``my_rules.py:GATE`` into a file and the name of an object in the file.

    If `name` names no Python file, the returned file is "" and the name is unchanged. Raises
    `InputError` if the file does not exist.
    """
    file, _, wanted = (
        (name, "", RULE_LIST_NAMES[0]) if name.endswith(".py") else name.rpartition(":")
    )
    if not file.endswith(".py"):
        return "", name
    if not Path(file).is_file():
        raise InputError(
            "no such file", place=file, remedy="Name a Python file that defines rules."
        )
    return file, wanted


def _load_named_rules(name: str) -> tuple[str | Rule | Mapping[str, Any], ...]:
    file, wanted = _split(name)
    if not file:
        return (name,)
    module = run_file(Path(file))
    names = RULE_LIST_NAMES if wanted == RULE_LIST_NAMES[0] else (wanted,)
    found = next((vars(module)[one] for one in names if one in vars(module)), None)
    rules = tuple(found) if isinstance(found, list | tuple) else (found,)
    if not rules or not all(isinstance(one, Rule | Mapping) for one in rules):
        raise InputError(
            f"{wanted} is not a rule",
            place=file,
            expected=f"a Rule or a dict, or {RULE_LIST_NAMES[0]} = (…) with several",
            got=repr(found)[:80],
        )
    return rules
