"""Command line output for an operator that was run."""

from __future__ import annotations

from tbe_impl.cli.arguments import ArrayDescription
from tbe_impl.cli.commands import Request, run
from tests.cases import cases

TOTAL = """
from tbe import dsl, tvm

def total(x, y, kernel_name="total"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    with tvm.target.cce():
        made = dsl.reduce_sum(data, axis=1, keepdims=True)
        schedule = dsl.auto_schedule(made)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [data, made]})
"""


@cases(
    "said, note",
    [
        (ArrayDescription((7, 7)), ("y is (4, 1) float32, and was described as (7, 7) float32",)),
        (
            ArrayDescription((4, 1), "float16"),
            ("y is (4, 1) float32, and was described as (4, 1) float16",),
        ),
        (ArrayDescription((4,)), ()),
        (ArrayDescription((-1, 1)), ()),
        (ArrayDescription((-2,)), ()),
    ],
)
def test_an_output_that_was_described_otherwise_is_named(tmp_path, said, note):
    file = tmp_path / "total.py"
    file.write_text(TOTAL)
    request = Request(str(file), (ArrayDescription((4, 4)),), (said,), backend="numpy")
    assert run(request).notes == note
