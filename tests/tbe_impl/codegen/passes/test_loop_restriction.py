"""Loop restriction on hand-written loop IR: before → after as text, and the same stores."""

from __future__ import annotations

import numpy as np

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import show_function, statement_lines
from tbe_impl.codegen.passes.loop_restriction import restrict_function, restrict_loops
from tests.cases import cases
from tests.tbe_impl.codegen.ir_checker import check
from tests.tbe_impl.codegen.ir_interpreter import Machine, Place

N, AT = ir.Index(((("n",), 1),)), ir.Var("i")
INSIDE, BORDER = ir.index_of(4), ir.Index(((("n",), 1), ((), -4)))
BODY = (ir.Assign(ir.Element("out", (AT,)), ir.op("add", ir.Element("out", (AT,)), ir.Int(1))),)


def loops() -> tuple[ir.Stmt, ...]:
    """The loop over all i, split into three: before 4, up to n − 4, behind it."""
    return (
        ir.For("i", ir.ZERO, ir.call("least", N, INSIDE), BODY),
        ir.For("i", INSIDE, BORDER, BODY),
        ir.For("i", ir.call("most", ir.ZERO, BORDER), N, BODY),
    )


def blocks(step: int, body: tuple[ir.Stmt, ...]) -> tuple[ir.For]:
    return (ir.For(f"b{step}", ir.ZERO, N, body, ir.Int(step), over="i"),)


def of_thread(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    return (ir.Restrict("i", ir.Var("begin"), ir.Var("end"), N, body),)


VECTOR = ir.VectorLoop("i", ir.ZERO, N, BODY, 100)
IN_A_TILE = ir.Restrict("i", ir.Var("first"), ir.call("least", ir.Var("behind"), N), N, (VECTOR,))


@cases(
    "body, lines",
    [
        (
            of_thread(loops()),
            [
                "for i in begin..least(end, 4):",
                "for i in most(begin, 4)..least(end, n + -4):",
                "for i in most(begin, n + -4)..end:",
            ],
        ),
        (
            of_thread(blocks(32, blocks(8, loops()[:1]))),
            [
                "for b32 in begin..end step 32:",
                "  let b32_end: index = least(b32 + 32, end)",
                "  for b8 in b32..b32_end step 8:",
                "    let b8_end: index = least(b8 + 8, b32_end)",
                "    for i in b8..least(b8_end, 4):",
            ],
        ),
        ((IN_A_TILE,), ["vector i in first..least(behind, n):"]),
        (
            of_thread((ir.For("j", ir.ZERO, N, (ir.If(ir.Var("c", ir.FLAG), (VECTOR,)),)),)),
            ["for j in 0..n:", "  if c:", "    vector i in begin..end:"],
        ),
    ],
    ids=["pieces of a thread", "blocks of blocks", "a tile", "another loop"],
)
def test_loops_are_restricted(body: tuple[ir.Stmt, ...], lines: list[str]) -> None:
    found = restrict_loops(body)
    assert [line for line in statement_lines(found) if "out" not in line] == lines
    assert all(one.steps is None for one in ir.walk(found) if isinstance(one, ir.VectorLoop))


@cases("n, begin, end", [(50, 0, 50), (50, 7, 41), (9, 3, 9), (5, 5, 5)])
def test_each_iteration_of_a_thread_runs_once(n: int, begin: int, end: int) -> None:
    names = ("out", "b", "begin", "end")
    parameters = tuple(ir.Parameter(name, "int64_t") for name in names)
    size = ir.Let("n", ir.INDEX, ir.Int(n))
    function = ir.Function("f", parameters, (size,), of_thread(blocks(32, blocks(8, loops()[1:]))))
    restricted = restrict_function(function)
    for one in (function, restricted):
        check(one)
        out = np.zeros(n, int)
        Machine(1).call(one, out=Place(out), begin=begin, end=end)
        first = max(begin, min(4, n - 4))
        wanted = [max(4, n - 4) > at >= 4 or at >= n - 4 for at in range(n)]
        np.testing.assert_array_equal(out, [first <= at < end and wanted[at] for at in range(n)])
    whole = restrict_function(ir.Function("f", (), (size,), of_thread((VECTOR,))))
    assert "let n" not in show_function(whole) and "n + -4" in show_function(restricted)
