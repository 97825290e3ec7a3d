"""JSON: round trip, errors for damaged input, and the published schema equals the code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Accuracy, Ledger
from ms_fusion.report.document import schema_text, to_json
from tbe_impl.errors import InputError, ParseError
from tests.cases import cases
from tests.ms_fusion.report.ledgers import minimal_ledger, split_ledger, transformer_ledger


def without_nan(ledger: Ledger) -> Ledger:
    """NaN equals nothing, so it is compared separately."""
    return replace(
        ledger,
        kernels=tuple(replace(kernel, accuracy=kernel.accuracy[:2]) for kernel in ledger.kernels),
        single_operator_kernels=(),
    )


@cases(
    "ledger",
    [
        without_nan(transformer_ledger(60)),
        transformer_ledger(60, full=False),
        minimal_ledger(),
        without_nan(split_ledger()),
    ],
    ids=["full", "bare", "minimal", "split"],
)
def test_round_trip(ledger: Ledger) -> None:
    again = Ledger.from_json(ledger.to_json())
    assert again == ledger
    assert repr(again) == repr(ledger)
    assert again.to_json() == ledger.to_json()


def test_special_numbers_survive() -> None:
    ledger = transformer_ledger(30)
    entry = Accuracy("edges", float("inf"), float("nan"), float("-inf"), 0.0)
    ledger = replace(ledger, kernels=(replace(ledger.kernels[0], accuracy=(entry,)),))
    text = ledger.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert repr(Ledger.from_json(text).kernels[0].accuracy[0]) == repr(entry)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
            | st.sampled_from(["$float", "$", "$$x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(anything, st.text(st.characters(exclude_categories=("Cs",))))
def test_values_of_any_type_survive(value: object, name: str) -> None:
    graph = Graph(
        name,
        (Node(name, name, (), (name,), ((name, value),)),),
        {name: Value(name, ("n", -1, 3), "float32", "constant", value)},
        (),
        (name,),
    )
    ledger = minimal_ledger()
    ledger = replace(ledger, before=replace(ledger.before, graph=graph), environment={"a": value})
    assert Ledger.from_json(ledger.to_json()) == ledger


def test_lists_and_foreign_objects_become_what_json_has() -> None:
    ledger = replace(
        minimal_ledger(),
        environment=MappingProxyType(
            {"list": [1, [2]], "path": Path("a/b"), "set": frozenset({1})}
        ),
    )
    assert ledger.environment["list"] == (1, (2,))
    found = Ledger.from_json(ledger.to_json()).environment
    assert found == {"list": (1, (2,)), "path": "a/b", "set": "frozenset({1})"}


def test_a_lone_surrogate_does_not_stop_it() -> None:
    assert (
        Ledger.from_json(replace(minimal_ledger(), title="a\ud800").to_json()).title == "a\\ud800"
    )


GOOD = transformer_ledger(30).to_json()


@cases(
    "text, says, line, column",
    [
        ("", "truncated", 1, 1),
        (GOOD[:-20], "truncated", 1, None),
        ("[]", "Expected `object`, got `array`", 1, 1),
        ("{}", "missing required field `schema_version`", 1, 1),
        ('{"schema_version": 2, "ledger": {}}', "Invalid enum value 2", 1, 20),
        (
            '{\n  "schema_version": 1,\n  "ledger": {"title": 3}\n}',
            "Expected `str`, got `int` at $.ledger.title",
            3,
            23,
        ),
        (
            GOOD.replace('"operators"', '"operatorz"', 1),
            "unknown field `operatorz` at $.ledger.kernels[0]",
            1,
            None,
        ),
        (
            GOOD.replace('"launches":12', '"launches":"12"', 1),
            "Expected `int | null`, got `str`",
            1,
            None,
        ),
        (GOOD.replace('"fused_max_ulp":"inf"', '"fused_max_ulp":"many"', 1), "many", 1, None),
        ('{"schema_version": 1,\n "ledger": nonsense}', "malformed", 2, 12),
        ("[" * 200_000, "", 1, 1),
        ('{"schema_version":1,"ledger":{"environment":{"a":' + "[" * 200_000, "", 1, None),
        ("\x00", "malformed", 1, 1),
    ],
)
def test_damage_is_named(text: str, says: str, line: int, column: int | None) -> None:
    with pytest.raises(ParseError) as caught:
        Ledger.from_json(text, file="a.json")
    assert says in str(caught.value)
    assert caught.value.file == "a.json"
    assert caught.value.line == line
    assert column is None or caught.value.column == column
    assert len(str(caught.value)) < 500


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(ParseError, match=r"(?i)damaged.*utf-8"):
        Ledger.from_json(b'{"schema_version":1,"ledger":{"title":"\xff"}}')


@given(st.integers(0, len(GOOD) - 1), st.characters(max_codepoint=127))
def test_one_wrong_character_never_ends_in_a_traceback(place: int, character: str) -> None:
    text = GOOD[:place] + character + GOOD[place + 1 :]
    try:
        ledger = Ledger.from_json(text)
    except ParseError:
        return
    to_json(ledger)


def test_the_published_schema_is_up_to_date(repository: Path) -> None:
    published = (repository / "docs" / "ledger.schema.json").read_text("utf-8")
    assert published == schema_text(), (
        "write it again: python -m ms_fusion.report.document > docs/ledger.schema.json"
    )


def test_the_schema_names_every_field_that_is_written() -> None:
    schema = json.loads(schema_text())
    document = json.loads(GOOD)
    definitions = schema["$defs"]

    def check(value: object, name: str) -> None:
        if isinstance(value, dict) and name in definitions:
            properties = definitions[name]["properties"]
            assert value.keys() <= properties.keys()
            assert set(definitions[name].get("required", ())) <= value.keys()

    check(document, "LedgerDocument")
    check(document["ledger"], "Ledger")
    for kernel in document["ledger"]["kernels"]:
        check(kernel, "FusedKernel")
    assert definitions["LedgerDocument"]["properties"]["schema_version"] == {"enum": [1]}


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "ledger.json"
    text = minimal_ledger().to_json(target)
    assert target.read_text("utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]
    with pytest.raises(InputError, match="does not exist"):
        minimal_ledger().to_json(tmp_path / "nowhere" / "ledger.json")
    with pytest.raises(InputError, match="needs a file name"):
        minimal_ledger().to_json(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        minimal_ledger().to_json(tmp_path / ("x" * 300))
    with pytest.raises(InputError, match="cannot be written"):
        minimal_ledger().to_html(tmp_path / "a\0b")
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]
