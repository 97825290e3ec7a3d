"""Software prefetching on hand-written loop IR: before → after as text."""

from __future__ import annotations

import itertools

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import statement_lines
from tbe_impl.codegen.passes.prefetching import prefetch_rows
from tests.cases import cases

ROW = ir.Index(((("r",), 64), (("i",), 1)))
VALUE = ir.Var("v", "f32")


def load(offset: ir.Index = ROW, stride: ir.Index = ir.ONE) -> ir.Let:
    place = ir.Pointer(ir.Var("p", "float *"), (offset,))
    return ir.Let("v", "f32", ir.Load("f32", "f32", place, stride))


def store(name: str, offset: ir.Index = ROW, stream: ir.Expr | None = None) -> ir.Store:
    return ir.Store("f32", ir.Pointer(ir.Var(name, "float *"), (offset,)), VALUE, stream=stream)


def vector(*body: ir.Stmt, steps: int | None = 64) -> ir.VectorLoop:
    return ir.VectorLoop("i", ir.ZERO, ir.index_of(64), body, steps)


def rows(*body: ir.Stmt, name: str = "r", step: int = 1) -> ir.For:
    return ir.For(name, ir.ZERO, ir.Var("n"), body, ir.Int(step))


def jammed(*body: ir.Stmt) -> ir.For:
    return ir.For("r", None, ir.Var("n"), body, ir.Int(64), ir.Int(64))


def in_strips(*body: ir.Stmt) -> ir.If:
    """Rows in strips of 64, as loop interchange leaves them."""
    row = ir.Let("r", ir.INDEX, ir.op("add", ir.Var("s"), ir.Var("at")))
    inner = ir.For("at", ir.ZERO, ir.Var("n"), (row, *body), strip=64)
    loop = vector(inner, ir.Accumulate(ir.Pointer(ir.Var("c", "double *"), (ir.Var("i"),)), VALUE))
    return ir.If(STREAM, (loop,))


def fetched(body: tuple[ir.Stmt, ...]) -> list[str]:
    lines = map(str.strip, statement_lines(prefetch_rows(body)))
    return [line for line in lines if line.startswith("prefetch")]


BUFFER = ir.Alloc("row", "float", (ir.Int(64),), 64)
KEPT = store("row", ir.Index(((("i",), 1),)))
SUM = ir.Reduce(ir.Var("a", "f32"), "sum", VALUE)
AHEAD = ["prefetch p[r * 64 + i + 1024]"]
COLUMNS = ir.Accumulate(ir.Pointer(ir.Var("c", "double *"), (ir.Var("i"),)), VALUE)
BOTH = ir.Index(((("s",), 640), (("r",), 64), (("i",), 1)))
STREAM = ir.Var("stream", ir.FLAG)
ALONG = ir.Index(((("i",), 1),))


@cases(
    "body, prefetches",
    [
        ((rows(vector(load(), store("q"))),), AHEAD),
        ((rows(vector(load(), COLUMNS)),), AHEAD),
        ((jammed(vector(load(), store("q"))),), ["prefetch p[r * 64 + i + 4096]"]),
        ((rows(in_strips(load(), store("q")), name="s"),), ["prefetch p[r * 64 + i + 4096]"]),
        ((rows(vector(load(), SUM)),), []),
        ((BUFFER, rows(vector(load(), KEPT, SUM))), AHEAD),
        ((BUFFER, rows(rows(vector(load(BOTH), KEPT, SUM)), name="s")), []),
        ((rows(vector(load(ALONG), store("q"))),), []),
        ((rows(vector(load(stride=ir.index_of(2)), store("q"))),), []),
        ((rows(vector(load(), store("q"), steps=10000)),), []),
        ((rows(vector(load(), store("q")), step=16),), []),
        ((rows(ir.If(STREAM, (vector(load(), store("q")),))),), []),
        ((vector(load(ALONG), store("q", ALONG, STREAM)),), ["prefetch p[i + 1024]"]),
        ((vector(load(ALONG), store("q", ALONG)),), []),
    ],
    ids=[
        "a loop that stores results",
        "column sums",
        "jammed rows",
        "rows in strips",
        "a reduction, whose row a later loop reads",
        "a reduction that fills a row buffer",
        "a row buffer inside two loops",
        "a row that all iterations share",
        "strided rows",
        "long rows",
        "blocks of rows",
        "a condition around the loop",
        "one loop with non-temporal stores",
        "one loop with ordinary stores",
    ],
)
def test_the_last_reader_of_a_row_prefetches(
    body: tuple[ir.Stmt, ...], prefetches: list[str]
) -> None:
    assert fetched(body) == prefetches
    lines = [line.strip() for line in statement_lines(prefetch_rows(body))]
    for line, following in itertools.pairwise(lines):
        if line.startswith("prefetch"):
            assert following.startswith("let") and "load f32 p[" in following
