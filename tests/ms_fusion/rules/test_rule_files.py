"""User-defined rules from a Python file, as on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ms_fusion.cli.rule_files import load_rules
from ms_fusion.rewrite import Op, Rule
from tbe_impl.errors import InputError
from tests.cases import cases

TEXT = """
from ms_fusion.rewrite import Op, Rule

ONE = Rule("One", "intra-operator", Op("Exp", Op("Neg", "x")))
TWO = Rule("Two", "cross-operator", Op("Add", "x", Op("Exp", "y")))
RULES = [ONE, TWO]
NUMBER = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some_rules.py"
    path.write_text(TEXT, "utf-8")
    return path


def test_a_file_stands_for_its_rules_and_a_name_for_one(file: Path) -> None:
    one = Rule("One", "intra-operator", Op("Exp", Op("Neg", "x")))
    first, second = load_rules(f"{file}")
    assert first == one and second.name == "Two"  # type: ignore[union-attr]
    assert load_rules(f"SwiGLU,{file}:ONE, all") == ("SwiGLU", one, "all")


@cases(
    "named, said",
    [
        (
            "some_rules.py:NUMBER",
            "NUMBER is not a rule; expected a Rule or a dict, or RULES = (…) with several, got 3",
        ),
        (
            "some_rules.py:THREE",
            "THREE is not a rule; expected a Rule or a dict, or RULES = (…) with several, got None",
        ),
        ("other.py", "no such file. Name a Python file that defines rules"),
        ("broken.py:ONE", "the file fails when it is loaded: ZeroDivisionError"),
    ],
)
def test_what_is_no_rule_is_said(
    file: Path, named: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.with_name("broken.py").write_text("1 / 0\n", "utf-8")
    monkeypatch.chdir(file.parent)
    with pytest.raises(InputError) as raised:
        load_rules(named)
    assert said in str(raised.value)
