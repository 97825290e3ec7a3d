"""Type lines: text against tensors' dtypes and shapes."""

from __future__ import annotations

import pytest

from ms_fusion.readers.ir_terms import Cursor
from ms_fusion.readers.ir_types import Leaf, read_type, read_types
from tbe_impl.errors import ParseError
from tests.cases import cases

FLAGS = "elements_use_flags={[const vector]{1, 1}}"
TYPES = [
    ("<Tensor[Float32], (64, 128)>", Leaf("float32", (64, 128))),
    ("<Tensor[BFloat16], ()>", Leaf("bfloat16", ())),
    ("<Tensor[Float32], (), value=...>", Leaf("float32", ())),
    ("<Tensor[Float32], (-1, 128)>", Leaf("float32", (-1, 128))),
    ("<Tensor[Float32], (-2)>", Leaf("float32", (-2,))),
    ("<Ref[Tensor[Int32]], (1), ref_key=n, is_parameter, is_inplace>", Leaf("int32", (1,))),
    ("<Ref[Tensor[Int32]], (1), ref_key=a <b> [c], is_parameter>", Leaf("int32", (1,))),
    ("<Int64, NoShape>", Leaf("int64", ())),
    ("<UMonad, NoShape>", Leaf("monad", ())),
    ("<Func, NoShape>", Leaf("Func", ())),
    ("<null>", Leaf("unknown", ())),
    ("<Tuple[Tensor[Float32]], TupleShape((64, 128))>", (Leaf("float32", (64, 128)),)),
    (
        "<Tuple[Tensor[Float32]*2,Tensor[Bool]], TupleShape((8, 1), (2), ())>",
        (Leaf("float32", (8, 1)), Leaf("float32", (2,)), Leaf("bool", ())),
    ),
    (f"<Tuple[Int64*2], TupleShape(NoShape, NoShape), {FLAGS}>", (Leaf("int64"), Leaf("int64"))),
    ("<Tuple[], TupleShape()>", ()),
    (
        "<Tuple[Tensor[Float32],Tuple[Int64*2]], TupleShape((-1, 128), TupleShape(NoShape, "
        "NoShape))>",
        (Leaf("float32", (-1, 128)), (Leaf("int64"), Leaf("int64"))),
    ),
    ("<Tuple[Int64], DynamicSequenceShape>", Leaf("Tuple[int64]")),
    ("<Tuple[Int64*999999999], TupleShape((1))>", (Leaf("int64", (1,)),)),
    ("<Dictionary[[dtype,],[None]], NoShape>", Leaf("Dictionary[[dtype,],[None]], NoShape")),
]


@cases("text, expected", TYPES, ids=[text for text, _ in TYPES])
def test_a_type_line_is_read_as_dtype_and_shape(text, expected):
    cursor = Cursor(text, file="f", line=1)
    assert read_type(cursor) == expected
    assert cursor.is_at_end


def test_list_of_types():
    text = (
        "(<Tensor[Float32], (2)>, <Int64, NoShape>, <Tuple[Tensor[Int8]*2], TupleShape((1), (2))>)"
    )
    assert read_types(Cursor(text, file="f", line=1)) == (
        Leaf("float32", (2,)),
        Leaf("int64"),
        (Leaf("int8", (1,)), Leaf("int8", (2,))),
    )


@cases("text", ["<Tensor[Float32], (2)", "Tensor[Float32]", "", "(<a>;<b>)"])
def test_a_malformed_type_line_is_a_parse_error(text):
    with pytest.raises(ParseError):
        read_type(Cursor(text, file="f", line=1))


def test_nested_too_deeply():
    text = "<" + "Tuple[" * 100 + "Int8" + "]" * 100 + ", NoShape>"
    with pytest.raises(ParseError, match="nested too deeply"):
        read_type(Cursor(text, file="f", line=1))
