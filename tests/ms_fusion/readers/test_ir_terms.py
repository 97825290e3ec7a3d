"""Arguments and attribute blocks: text against the Python value."""

from __future__ import annotations

import math

import pytest

from ms_fusion.readers.ir_terms import (
    Cursor,
    Group,
    Literal,
    Reference,
    dtype_name,
    read_attributes,
    read_term,
)
from tbe_impl.errors import ParseError
from tests.cases import cases

TERMS = [
    ("I64(-1)", Literal(-1, "int64")),
    ("F32(1e-07)", Literal(1e-07, "float32")),
    ("F32(inf)", Literal(math.inf, "float32")),
    ("BF16(2)", Literal(2.0, "bfloat16")),
    ("U8(255)", Literal(255, "uint8")),
    ("Bool(0)", Literal(False, "bool")),
    ("Bool(1)", Literal(True, "bool")),
    ("true", Literal(True, "bool")),
    ("None", Literal(None, "None")),
    ("null", Literal(None, "None")),
    ('"NCHW"', Literal("NCHW", "string")),
    ('"a, b (c"', Literal("a, b (c", "string")),
    ("F16", Literal("float16", "dtype")),
    ("(I64(0), I64(2))", Literal((0, 2), "int64", (2,))),
    ("()", Literal((), "int64", (0,))),
    ("[x, y]", Literal(("x", "y"), "text", (2,))),
    ('(I64(1), "a", None)', Literal((1, "a", None), "tuple")),
    ("((I64(1), I64(2)), (I64(3), I64(4)))", Literal(((1, 2), (3, 4)), "tuple")),
    ("Tensor(shape=[], dtype=Float32, value=2)", Literal(2.0, "float32")),
    ("Tensor(shape=[], dtype=Float32, value=nan)", Literal(math.nan, "float32")),
    ("Tensor(shape=[2], dtype=Int64, value=[-1 64])", Literal((-1, 64), "int64", (2,))),
    ("Tensor(shape=[3], dtype=Int64, value=[  8 128  64])", Literal((8, 128, 64), "int64", (3,))),
    ("Tensor(shape=[1], dtype=Bool, value=[ True])", Literal((True,), "bool", (1,))),
    (
        "Tensor(shape=[2, 2], dtype=Int32, value=[[1 2]\n [3 4]])",
        Literal(((1, 2), (3, 4)), "int32", (2, 2)),
    ),
    ("Tensor(shape=[4, 8], dtype=Float32, value=[...])", Literal(None, "float32", (4, 8))),
    ("Tensor(shape=[9], dtype=Int32, value=[1 2 ... 9])", Literal(None, "int32", (9,))),
    (
        f"Tensor(shape=[{', '.join('1' * 17)}], dtype=Int8, value=[1])",
        Literal(None, "int8", (1,) * 17),
    ),
    ("Tensor(shape=[], dtype=Complex64, value=(1+2j))", Literal(1 + 2j, "complex64")),
    ("%12", Reference("local", "12")),
    ("%para3_ln1.gamma", Reference("parameter", "3")),
    ("@32_6_✓nets_Control_construct_124", Reference("graph", "32_6_✓nets_Control_construct_124")),
    ("$(@g:%para1_x)", Reference("free", "$(@g:%para1_x)")),
    ("UMonad[U]", Literal(None, "monad")),
    ("@FuncUnion(@a, @b)", Literal("@FuncUnion(@a, @b)", "text")),
    ("NameSpace[Entry: 'nets.f']", Literal("NameSpace[Entry: 'nets.f']", "text")),
    ("(%1, I64(0))", Group((Reference("local", "1"), Literal(0, "int64")))),
]


@cases("text, expected", TERMS, ids=[text for text, _ in TERMS])
def test_a_term_is_read_as_its_python_value(text, expected):
    cursor = Cursor(text, file="f", line=1)
    found = read_term(cursor, {})
    assert cursor.is_at_end
    if isinstance(expected, Literal) and expected.data != expected.data:
        assert math.isnan(found.data)
    else:
        assert found == expected
        assert type(getattr(found, "data", None)) is type(getattr(expected, "data", None))


def test_parameter_with_an_unusual_name_is_read_whole():
    cursor = Cursor('%para1_a (b), <c> [d] "e", %2', file="f", line=1)
    assert read_term(cursor, {"1": 'a (b), <c> [d] "e"'}) == Reference("parameter", "1")
    assert cursor.text[cursor.position :] == ", %2"


ATTRIBUTES = [
    ("{}", {}),
    ("{keep_dims: Bool(1), axis: (I64(0), I64(1))}", {"keep_dims": True, "axis": (0, 1)}),
    ("{a: -1, b: 1e-05, c: (-1), d: x}", {"a": -1, "b": 1e-05, "c": (-1,), "d": "x"}),
    (
        '{expand_from: "Adam", is_dynamic_len: Bool(0)}',
        {"expand_from": "Adam", "is_dynamic_len": False},
    ),
    (
        "{output_names: null, input_names: [x, y]}",
        {"output_names": None, "input_names": ("x", "y")},
    ),
    (
        "{IsFeatureMapInputList: (), dst_type: F32}",
        {"IsFeatureMapInputList": (), "dst_type": "float32"},
    ),
    ('{imply_path: "", n: 2}', {"imply_path": "", "n": 2}),
    (
        '{reg_info: "{"op": "x", "inputs": [{"i": 0, "n": "a"}]}", n: 2}',
        {"reg_info": '{"op": "x", "inputs": [{"i": 0, "n": "a"}]}', "n": 2},
    ),
    (
        '{source: "def f(a):\n    return {a: "b"}", n: 2}',
        {"source": 'def f(a):\n    return {a: "b"}', "n": 2},
    ),
]


@cases("text, expected", ATTRIBUTES, ids=[text for text, _ in ATTRIBUTES])
def test_attribute_blocks_are_read_as_python_values(text, expected):
    cursor = Cursor(text, file="f", line=1)
    assert read_attributes(cursor, {}) == expected
    assert cursor.is_at_end


def test_dtype_names():
    names = ["Float32", "BFloat16", "Bool", "Int64", "UInt8", "F16", "BF16", "U32", "I8", "Func"]
    assert [dtype_name(name) for name in names] == [
        *("float32", "bfloat16", "bool", "int64", "uint8", "float16", "bfloat16", "uint32", "int8"),
        "Func",
    ]


FAILURES = [
    ("", "ends in the middle", 1, 1),
    ("(I64(0), ", "ends in the middle", 1, 10),
    ("(%a)", "not the name of a value", 1, 2),
    ('"abc', "a string does not end", 1, 1),
    ("I64(x)", "not a number of type I64", 1, 5),
    ("f(a]", "brackets do not pair", 1, 4),
    ("(a,\n b, [", "ends in the middle", 2, 6),
    ("(" * 100, "nested too deeply", 1, 66),
    ("Tensor(shape=[2], dtype=Int32, value=[1 2]", "'.' is missing", 1, 43),
]


@cases("text, what, line, column", FAILURES, ids=[text[:20] for text, *_ in FAILURES])
def test_failure_names_the_place(text, what, line, column):
    with pytest.raises(ParseError, match=what) as caught:
        read_term(Cursor(text, file="dump.ir", line=1), {})
    assert (caught.value.file, caught.value.line, caught.value.column) == ("dump.ir", line, column)
