"""Runs the examples of docstrings: ``tests/<package>/test_docstring_examples.py``."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

PROMPT = re.compile(rb"^\s*>>> ", re.M)
ROOT = Path(__file__).resolve().parent.parent


def modules_with_examples(package: str) -> list[str]:
    """The modules of a package whose text has a prompt, by dotted name.

    The operators in the layout of CANN are run from their files, never imported.
    """
    names = []
    for path in sorted((ROOT / package).rglob("*.py")):
        inside = path.relative_to(ROOT)
        if inside.parts[:2] != ("tbe_impl", "ops") and PROMPT.search(path.read_bytes()):
            names.append(".".join(inside.with_suffix("").parts).removesuffix(".__init__"))
    return names


def failures(name: str) -> str:
    """Runs all examples of a module; the report of those that fail, empty if none does."""
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False)
    report: list[str] = []
    tests = [test for test in doctest.DocTestFinder().find(module, name) if test.examples]
    assert tests, f"{name}: its prompts stand in no docstring"
    for test in tests:
        runner.run(test, out=report.append)
    return "".join(report)
