"""Loop interchange in strips of rows on hand-written loop IR: before → after as text."""

from __future__ import annotations

from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import statement_lines
from tbe_impl.codegen.passes.loop_interchange import interchange_rows
from tests.cases import cases
from tests.tbe_impl.codegen.passes.test_unroll_and_jam import (
    ALONG,
    ROW,
    TOTAL,
    ZERO,
    A,
    V,
    at,
    load,
    store,
    vector,
)

MEAN = ir.Var("t", "f32")
COLUMN = ir.Op("add", (ir.Load("f32", "f32", at("c", ALONG)), V), "f32")
REDUCE = (ZERO, vector(load("v"), ir.Reduce(A, "sum", V)), TOTAL)
BUFFER = ir.Alloc("row", "float", (ir.Int(64),), 64)
LINES = ir.Alloc("row_lines", "float", (ir.Int(68),), 64)
BEHIND = ir.Let("row", "float *", ir.Pointer(ir.Var("row_lines", "pointer"), (ir.Int(4),)))
FILL = vector(load("v"), store(V, "row", ALONG))
USE = vector(load("v", ALONG, "row"), ir.Accumulate(at("c", ALONG), V))
N = ir.Var("n")


def rows(*body: ir.Stmt) -> ir.For:
    return ir.For("r", ir.ZERO, N, body, strip=4)


LAST = [
    "  if (r_row == 3) or ((r + 1) == n):",
    "    let r_rows: index = r_row + 1",
    "    vector i in 0..64:",
    "      var r_sum0: f32 = {0}",
    "      for r_at in 0..r_rows strip 4:",
    "        let r_done: index = (r - r_row) + r_at",
]
HEAD = ["for r in 0..n:", "  let r_row: index = (r - 0) & 3"]


SUM = vector(load("v"), ir.Accumulate(at("c", ALONG), V))
TRIANGULAR = ir.VectorLoop("i", ir.ZERO, ir.Var("r"), SUM.whole)


@cases(
    "loop, lines",
    [
        (
            rows(vector(load("v"), load("b", ALONG, "bias"), store(COLUMN, "c", ALONG), store(V))),
            [
                "for r in 0..n step 4:",
                "  let r_rows: index = least(4, n - r)",
                "  vector i in 0..64:",
                "    let b: f32 = load f32 bias[i]",
                "    var r_sum0: f32 = load f32 c[i]",
                "    for r_at in 0..r_rows unroll 1 strip 4:",
                "      let r_done: index = r + r_at",
                "      let v: f32 = load f32 p[r_done * 64 + i]",
                "      r_sum0 = r_sum0 + v",
                "      store f32 q[r_done * 64 + i] = v",
                "    store f32 c[i] = r_sum0",
            ],
        ),
        (
            rows(
                *REDUCE,
                vector(
                    ir.Let(
                        "v", "f32", ir.Op("mul", (MEAN, ir.Load("f32", "f32", at("p", ROW))), "f32")
                    ),
                    ir.Accumulate(at("c", ALONG), V),
                ),
            ),
            [
                "alloc t_strip: f32[4]",
                *HEAD,
                "  var a: f32 = {0}",
                "  vector i in 0..64:",
                "    let v: f32 = load f32 p[r * 64 + i]",
                "    a = sum of it and v",
                "  let t: f32 = sum(a)",
                "  t_strip[r_row] = t",
                *LAST,
                "        let t: f32 = t_strip[r_at]",
                "        let v: f32 = t * (load f32 p[r_done * 64 + i])",
                "        r_sum0 = r_sum0 + v",
                "      accumulate c[i] + r_sum0",
            ],
        ),
        (ir.For("r", ir.ZERO, N, (SUM,)), []),
        (rows(vector(load("v"), store(V))), []),
        (rows(SUM, ir.Evaluate(ir.call("f"))), []),
        (rows(*REDUCE, replace(SUM, steps=1024)), []),
        (rows(TRIANGULAR), []),
        (rows(vector(*SUM.whole, load("w", ALONG, "c"), store(ir.Var("w", "f32")))), []),
        (rows(vector(load("v"), store(V, "c", ALONG)), SUM), []),
        (
            rows(vector(load("v", base="q"), ir.Reduce(A, "sum", V)), vector(*SUM.whole, store(V))),
            [],
        ),
    ],
    ids=[
        "beside a result",
        "behind a reduction",
        "a loop that does not ask for it",
        "no sum of columns",
        "a statement behind the sums",
        "rows of whole pages behind a reduction",
        "a triangular loop",
        "a sum that the loop reads",
        "an earlier loop writes the sums",
        "an earlier loop reads what the last loop writes",
    ],
)
def test_column_sums_stay_in_registers(loop: ir.For, lines: list[str]) -> None:
    """Loops without `lines` stay as they are."""
    found = interchange_rows((loop,))
    assert list(statement_lines(found)) == lines if lines else found == (loop,)


@cases(
    "memory, size",
    [((BUFFER,), "alloc row: float[304]"), ((LINES, BEHIND), "alloc row_lines: float[308]")],
    ids=["a row buffer", "a row buffer at an offset"],
)
def test_each_row_of_a_strip_has_a_row_buffer(memory: tuple[ir.Stmt, ...], size: str) -> None:
    lines = list(statement_lines(interchange_rows((*memory, rows(FILL, USE)))))
    assert lines[0] == size
    assert (
        lines[-14:]
        == [
            *HEAD,
            "  let row_strip: float * = row[r_row * 80]",
            "  vector i in 0..64:",
            "    let v: f32 = load f32 p[r * 64 + i]",
            "    store f32 row_strip[i] = v",
            *LAST,
            "        let row_strip: float * = row[r_at * 80]",
            "        let v: f32 = load f32 row_strip[i]",
            "        r_sum0 = r_sum0 + v",
            "      accumulate c[i] + r_sum0",
        ][-14:]
    )
