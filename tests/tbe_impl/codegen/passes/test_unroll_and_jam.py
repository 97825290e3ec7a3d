"""Unroll and jam on hand-written loop IR: before → after as text."""

from __future__ import annotations

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import statement_lines
from tbe_impl.codegen.passes.unroll_and_jam import jam_rows
from tests.cases import cases

ROW = ir.Index(((("r",), 64), (("i",), 1)))
ALONG = ir.Index(((("i",), 1),))


def at(name: str, offset: ir.Index) -> ir.Pointer:
    return ir.Pointer(ir.Var(name, "float *"), (offset,))


def let(name: str, value: ir.Expr) -> ir.Let:
    return ir.Let(name, value.kind, value)


def load(name: str, offset: ir.Index = ROW, base: str = "p") -> ir.Let:
    return let(name, ir.Load("f32", "f32", at(base, offset)))


def both(one: str, other: str) -> ir.Op:
    return ir.Op("add", (ir.Var(one, "f32"), ir.Var(other, "f32")), "f32")


def store(value: ir.Expr, base: str = "q", offset: ir.Index = ROW) -> ir.Store:
    return ir.Store("f32", at(base, offset), value)


def vector(*body: ir.Stmt, unroll: int = 1, accumulator: str = "") -> ir.VectorLoop:
    groups = ((accumulator,),) if accumulator else ()
    return ir.VectorLoop(
        "i", ir.ZERO, ir.index_of(64), body, 64, unroll=unroll, accumulators=groups
    )


def rows(*body: ir.Stmt) -> ir.For:
    return ir.For("r", ir.ZERO, ir.Var("n"), body, jam=2)


def lines_inside(body: tuple[ir.Stmt, ...]) -> list[str]:
    """The lines of the jammed loop; a second loop computes the remaining rows."""
    *_, block = jam_rows(body)
    assert isinstance(block, ir.Block)
    start, jammed, rest = block.body
    assert list(statement_lines((start,))) == ["var r: index = 0"]
    assert isinstance(jammed, ir.For) and isinstance(rest, ir.For)
    assert next(statement_lines((jammed,))) == "for r in ..n step 2 while 2 are left:"
    assert next(statement_lines((rest,))) == "for r in ..n:"
    return list(statement_lines(jammed.body))


V, A = ir.Var("v", "f32"), ir.Var("a", "f32")
ZERO = ir.Let("a", "f32", ir.Zero("f32"), is_mutable=True)
TOTAL = let("t", ir.Splat("f32", ir.call("sum", A, kind="scalar", prefix="f32")))
ONE_ROW = ir.Index(((("r",), 1),))
COLUMN = ir.Op("add", (ir.Load("f32", "f32", at("c", ALONG)), V), "f32")
NEXT = ir.Index(((("r",), 64), (("i",), 1), ((), 64)))


@cases(
    "body, lines",
    [
        (
            (vector(load("v"), load("b", ALONG, "bias"), store(both("v", "b"))),),
            [
                "vector i in 0..64:",
                "  let v: f32 = load f32 p[r * 64 + i]",
                "  let b: f32 = load f32 bias[i]",
                "  store f32 q[r * 64 + i] = v + b",
                "  let v_r1: f32 = load f32 p[r * 64 + i + 64]",
                "  store f32 q[r * 64 + i + 64] = v_r1 + b",
            ],
        ),
        (
            (
                ZERO,
                vector(load("v"), ir.Reduce(A, "sum", V), unroll=4, accumulator="a"),
                TOTAL,
                store(ir.Var("t", "f32"), offset=ONE_ROW),
            ),
            [
                "var a: f32 = {0}",
                "var a_r1: f32 = {0}",
                "vector i in 0..64 unroll 2:",
                "  let v: f32 = load f32 p[r * 64 + i]",
                "  a = sum of it and v",
                "  let v_r1: f32 = load f32 p[r * 64 + i + 64]",
                "  a_r1 = sum of it and v_r1",
                "let t: f32 = sum(a)",
                "let t_r1: f32 = sum(a_r1)",
                "store f32 q[r] = t",
                "store f32 q[r + 1] = t_r1",
            ],
        ),
        (
            (vector(load("v"), store(COLUMN, "c", ALONG)),),
            [
                "vector i in 0..64:",
                "  let v: f32 = load f32 p[r * 64 + i]",
                "  let v_r1: f32 = load f32 p[r * 64 + i + 64]",
                "  store f32 c[i] = (load f32 c[i] + v) + v_r1",
            ],
        ),
        (
            (vector(load("v"), ir.Accumulate(at("c", ALONG), V)),),
            [
                "vector i in 0..64:",
                "  let v: f32 = load f32 p[r * 64 + i]",
                "  let v_r1: f32 = load f32 p[r * 64 + i + 64]",
                "  accumulate c[i] + v + v_r1",
            ],
        ),
        (
            (vector(load("v"), load("w", NEXT), store(both("v", "w"))),),
            [
                "vector i in 0..64:",
                "  let v: f32 = load f32 p[r * 64 + i]",
                "  let w: f32 = load f32 p[r * 64 + i + 64]",
                "  store f32 q[r * 64 + i] = v + w",
                "  let w_r1: f32 = load f32 p[r * 64 + i + 128]",
                "  store f32 q[r * 64 + i + 64] = w + w_r1",
            ],
        ),
    ],
    ids=[
        "a load that rows share",
        "an accumulator for each row",
        "column sums",
        "column sums in float64",
        "a load of the next row",
    ],
)
def test_rows_are_jammed(body: tuple[ir.Stmt, ...], lines: list[str]) -> None:
    assert lines_inside((rows(*body),)) == lines


def test_each_row_has_row_buffers_of_its_own() -> None:
    buffer = ir.Alloc("row", "float", (ir.Int(64),), 64)
    fill = vector(load("v"), store(V, "row", ALONG))
    use = vector(load("w", ALONG, "row"), store(ir.Var("w", "f32")))
    body = (buffer, rows(fill, use))
    assert list(statement_lines(jam_rows(body)[:2])) == [
        "alloc row_r1: float[64]",
        "alloc row: float[64]",
    ]
    assert lines_inside(body) == [
        "vector i in 0..64:",
        "  let v: f32 = load f32 p[r * 64 + i]",
        "  store f32 row[i] = v",
        "  let v_r1: f32 = load f32 p[r * 64 + i + 64]",
        "  store f32 row_r1[i] = v_r1",
        "vector i in 0..64:",
        "  let w: f32 = load f32 row[i]",
        "  store f32 q[r * 64 + i] = w",
        "  let w_r1: f32 = load f32 row_r1[i]",
        "  store f32 q[r * 64 + i + 64] = w_r1",
    ]
    lines = ir.Alloc("row_lines", "float", (ir.Int(68),), 64)
    start = ir.Pointer(ir.Var("row_lines", "pointer"), (ir.Int(4),))
    fill = vector(load("v"), store(V, "row", ALONG))
    body = (lines, ir.Let("row", "float *", start), rows(fill))
    assert list(statement_lines(jam_rows(body)[:2])) == [
        "alloc row_lines_r1: float[68]",
        "let row_r1: float * = row_lines_r1[4]",
    ]


@cases(
    "loop",
    [
        ir.For("r", ir.ZERO, ir.Var("n"), (vector(load("v"), store(V)),)),
        rows(ir.For("k", ir.ZERO, ONE_ROW, (ir.Evaluate(ir.call("f")),))),
        rows(ir.If(ir.op("lt", ir.Var("r"), ir.Int(3), kind=ir.FLAG), ())),
    ],
    ids=["a loop that does not ask for it", "a triangular loop", "a condition"],
)
def test_other_loops_stay_as_they_are(loop: ir.For) -> None:
    assert jam_rows((loop,)) == (loop,)
