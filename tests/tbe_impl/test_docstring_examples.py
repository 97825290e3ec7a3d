"""The examples in docstrings of `tbe_impl` show what really comes out."""

from tests.cases import cases
from tests.docstring_examples import failures, modules_with_examples


@cases("name", modules_with_examples("tbe_impl"))
def test_examples_show_what_comes_out(name: str) -> None:
    report = failures(name)
    assert not report, report
