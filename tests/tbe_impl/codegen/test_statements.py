"""Classifies lines of generated C."""

from __future__ import annotations

from tbe_impl.codegen.passes.statements import CStatement, number_prefetches
from tests.cases import cases


@cases(
    "text, c, name, value",
    [
        ("const f32v v1 = f32_load(p0 + i0);", "f32v", "v1", "f32_load(p0 + i0)"),
        ("f64v a0 = {0};", "f64v", "a0", "{0}"),
        ("const f32v v2 = (v1 * v1); /* stage 3 */", "f32v", "v2", "(v1 * v1)"),
        ("a0 = a0 + v2;", "", "", ""),
        ("for (int at = 0; at < 8; at++) {", "", "", ""),
    ],
)
def test_a_definition_has_type_name_and_value(text: str, c: str, name: str, value: str) -> None:
    line = CStatement.parse(text)
    assert (line.c, line.name, line.value) == (c, name, value)
    assert line.is_load == ("_load" in text)
    assert line.assignment_text() == (text[text.index(name + " =") :] if name else text)


@cases(
    "text, kinds",
    [
        ("f32_store(p1 + i0, v2);", {"is_store", "is_call"}),
        ("if (stream) f16_stream(p1 + i0, v2); else f16_store(p1 + i0, v2);", {"is_store"}),
        ("f32_store_part(p1 + i0, v2, i0_rest);", {"is_store", "is_call"}),
        ("fetch(p0 + i0 + INT64_C(1024));", {"is_prefetch", "is_call"}),
        ("fetch_of(at, p0 + i0 + INT64_C(1024));", {"is_prefetch", "is_call"}),
        ("const f32v v3 = f32_load_part(p0 + i0, 3);", set()),
        ("memcpy(t, p, 3);", {"is_call"}),
    ],
)
def test_a_statement_has_its_kinds(text: str, kinds: set[str]) -> None:
    line = CStatement.parse(text)
    assert {
        kind for kind in ("is_load", "is_store", "is_prefetch", "is_call") if getattr(line, kind)
    } == kinds


def test_what_one_of_several_vectors_asks_memory_for() -> None:
    inside = ["fetch(p1);"]
    lines = ["fetch(p0 + i0);", "const f32v v1 = f32_load(p0 + i0);", inside]
    assert number_prefetches(lines, 3) == ["fetch_of(3, p0 + i0);", lines[1], inside]
    assert number_prefetches(number_prefetches(lines, 3), 1) == number_prefetches(lines, 3)
