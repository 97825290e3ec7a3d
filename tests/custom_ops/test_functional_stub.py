"""The stub of the generated functions is current, and equals what `inspect` reads."""

from __future__ import annotations

import ast
import inspect

from custom_ops import functional
from custom_ops.functional_stub import STUB, stub_text


def test_the_stub_is_current():
    written = STUB.read_text(encoding="utf-8")
    assert written == stub_text(), "write it with: python -m custom_ops.functional_stub"


def test_the_stub_declares_the_signatures_and_docstrings():
    declared = {
        node.name: node
        for node in ast.parse(STUB.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    generated = {*functional.__all__} - {"adam", "adam_weight_decay", "momentum"}
    assert set(declared) == generated
    for name, node in declared.items():
        function = getattr(functional, name)
        assert inspect.getdoc(function) == ast.get_docstring(node)
        own = ast.parse(inspect.getsource(function)).body[0]
        assert ast.dump(own.args) == ast.dump(node.args)


def test_every_function_says_in_one_sentence_what_it_computes():
    for name in functional.__all__:
        first, *rest = inspect.getdoc(getattr(functional, name)).splitlines()
        assert first.endswith(".") and len(first) <= 96, first
        assert not rest or not rest[0], name
