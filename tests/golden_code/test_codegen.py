"""The generated C of each table graph equals the golden text, for AVX-512 and AVX2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import cases
from tests.golden_code.comparing import Goldens, difference, without_comments
from tests.golden_code.graphs import GRAPHS
from tests.golden_code.headers import MACROS, resolved
from tests.golden_code.pinned import FEATURES, processor
from tests.golden_code.writing import source_of, written


@cases("name", list(GRAPHS), per_item=200)
def test_the_c_of_each_graph_equals_its_golden_text(
    name: str,
    goldens: Goldens,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Neither the instruction set nor earlier builds change the text.

    `make test` alternates between the sets.
    """
    texts, known = {}, list(FEATURES)
    every = request.config.getoption("--full") or request.config.getoption("--update-golden")
    for isa in known if every else [known[list(GRAPHS).index(name) % len(known)]]:
        with processor(isa, monkeypatch, tmp_path):
            texts[isa] = source_of(written(GRAPHS[name], monkeypatch, tmp_path))
    goldens.compare_each(f"codegen/{name}", ".c", texts)


def test_the_headers_of_each_instruction_set(goldens: Goldens) -> None:
    """All instruction sets share one C text; the headers handle the differences."""
    found = {isa: resolved(isa) for isa in MACROS}
    for name in found["avx2"]:
        goldens.compare_each(f"headers/{name}", ".txt", {isa: found[isa][name] for isa in found})


def test_texts_that_differ_have_a_file_each(tmp_path: Path) -> None:
    root = Goldens(tmp_path, "test_some.py", update=True)
    root.compare_each("some", ".c", {"one": "a\n", "two": "b\n"})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["some.one.c", "some.two.c"]
    root.compare_each("some", ".c", {"one": "a\n", "two": "a\n"})
    assert [file.name for file in tmp_path.iterdir()] == ["some.c"]
    with pytest.raises(pytest.fail.Exception, match="is another text"):
        Goldens(tmp_path, "test_some.py", update=False).compare("some.c", "b\n")


def test_each_golden_text_belongs_to_a_graph(goldens: Goldens) -> None:
    goldens.only("codegen", GRAPHS)


def test_comments_are_stripped() -> None:
    text = 'int a; /* one\n two */ int b; // three\n\nputs("/* no */"); // four\n'
    assert without_comments(text) == 'int a;   int b;\nputs("/* no */");\n'


def test_a_diff_is_short_and_names_the_golden() -> None:
    shown = difference("a\n" * 200, "b\n" * 200, "codegen/some.c", longest=10).splitlines()
    assert shown[0] == "--- golden codegen/some.c" and len(shown) == 11
    assert shown[-1] == "… 393 more lines"
