"""Loop coalescing on hand-written loop IR: before → after as text, and the same stores."""

from __future__ import annotations

import numpy as np

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import statement_lines
from tbe_impl.codegen.passes.loop_coalescing import coalesce_loops
from tests.cases import cases
from tests.tbe_impl.codegen.ir_checker import check
from tests.tbe_impl.codegen.ir_interpreter import Machine, Place

N = ir.Var("n")
OUT = ir.Var("out", "int64_t *")


def store(place: ir.Index, order: str) -> tuple[ir.Stmt, ...]:
    """Counts the iterations in `t`, and stores the number of this one."""
    count = ir.Assign(ir.Element("t", (ir.Int(0),)), ir.op("add", ir.Var(order), ir.Int(1)))
    now = ir.Let(order, ir.INDEX, ir.Element("t", (ir.Int(0),)))
    return (now, ir.Assign(ir.Element(OUT.name, (place,)), ir.Var(order)), count)


def nest(*, inner: int, is_shared: bool = False) -> ir.For:
    """Loops over i = 1, 2 and over blocks of 4 of n elements, with a loop over each block."""
    place = ir.Index(((("i",), 100), (("k",), 1)))
    end = ir.call("least", ir.op("add", ir.Var("j"), ir.Int(4)), N)
    block = ir.For("k", ir.Var("j"), ir.Var("j_end"), store(place, "now"))
    blocks = (ir.Let("j_end", ir.INDEX, end), block)
    loop = ir.For("j", ir.ZERO, N, blocks, ir.Int(4))
    return ir.For(
        "i", ir.ONE, ir.Int(3), (loop,), inner=inner, is_shared=is_shared, unroll=2 * inner
    )


def rows(begin: ir.Expr, end: ir.Expr) -> ir.For:
    """A loop over rows of 33 elements that are contiguous in memory."""
    row = ir.VectorLoop("k", ir.ZERO, ir.index_of(33), (ir.Continue(),), 33)
    return ir.For("i", begin, end, (row,), inner=1)


BODY = [
    "  let j_end: index = least(j + 4, n)",
    "  for k in j..j_end:",
    "    let now: index = t[0]",
    "    out[INT64_C(100)*i + k] = now",
    "    t[0] = now + 1",
]
INDICES = [
    "  let i: index = 1 + (i_j / ((n + 3) / 4))",
    "  let j: index = (i_j % ((n + 3) / 4)) * 4",
]


@cases(
    "before, title, after",
    [
        (
            nest(inner=1),
            "for i in 1..3 unroll 2 as one loop with 1 inside:",
            ["for i_j in 0..(3 - 1) * ((n + 3) / 4) unroll 2:", *INDICES, *BODY],
        ),
        (
            nest(inner=1, is_shared=True),
            "for i in 1..3 unroll 2 as one loop with 1 inside, shared among threads:",
            ["for i_j in begin..end unroll 2:", *INDICES, *BODY],
        ),
        (
            rows(ir.Var("begin"), N),
            "for i in begin..n as one loop with 1 inside:",
            [
                "if begin < n:",
                "  let i: index = begin",
                "  vector k in 0..(n - i) * 33:",
                "    continue",
            ],
        ),
        (
            rows(ir.Index(((("n",), 1),)), ir.Index(((("n",), 1), ((), 2)))),
            "for i in n..n + 2 as one loop with 1 inside:",
            ["if n < (n + 2):", "  let i: index = n", "  vector k in 0..66:", "    continue"],
        ),
        (ir.Continue(), "continue", ["continue"]),
    ],
    ids=["sequential", "parallel", "contiguous rows", "two contiguous rows", "no loop"],
)
def test_nested_loops_become_one(before: ir.Stmt, title: str, after: list[str]) -> None:
    assert next(statement_lines((before,))) == title
    assert list(statement_lines((coalesce_loops(before),))) == after


@cases("n", [1, 4, 9])
def test_the_iterations_keep_their_order(n: int) -> None:
    parameters = tuple(ir.Parameter(name, "int64_t *") for name in ("out", "t"))
    found = []
    for loop in (nest(inner=1), coalesce_loops(nest(inner=1))):
        function = ir.Function("f", (*parameters, ir.Parameter("n", "int64_t")), (), (loop,))
        check(function)
        out = np.full(300, -1)
        Machine(1).call(function, out=Place(out), t=[0], n=n)
        found.append(out)
    assert found[0].max() == 2 * n - 1
    np.testing.assert_array_equal(*found)
