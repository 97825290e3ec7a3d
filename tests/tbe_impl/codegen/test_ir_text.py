"""Prints loop IR for people."""

from __future__ import annotations

import tbe_impl.dsl as dsl
from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import show_change, show_program, statement_lines, text_of
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import write_program_and_layout
from tbe_impl.codegen.vector_types import literal
from tbe_impl.dsl.tensor import placeholder
from tests.cases import cases

AT, N, B = ir.Var("i"), ir.Var("n"), ir.Var("b", ir.FLAG)
V = ir.Var("v", "f32")
P = ir.Pointer(ir.Var("p", "float *"), (ir.Index((((), 1), (("i",), 2))),))


@cases(
    "node, text",
    [
        (literal(0.5, "f32"), "0.5"),
        (ir.Splat("i64", ir.Index((((), 1), (("i",), 2)))), "1 + i * 2"),
        (ir.op("sub", AT, ir.op("sub", N, ir.Int(1))), "i - (n - 1)"),
        (ir.op("choose", B, AT, N), "i if b else n"),
        (ir.op("bitnot", AT), "bitnot i"),
        (ir.Call("maximum", (V, V), "f32", "f32"), "maximum(v, v)"),
        (ir.Load("f32", "f16", P), "load f16 p[1 + i * 2]"),
        (ir.Load("f32", "f16", P, ir.ZERO), "load f16 p[1 + i * 2] one"),
        (ir.Load("f32", "f16", P, ir.index_of(3), N), "load f16 p[1 + i * 2] by 3 lanes n"),
        (ir.Gather("f32", "f32", ir.Pointer(ir.Var("p", "float *")), V), "gather f32 p[v]"),
        (ir.Cast(ir.INT, N), "int(n)"),
        (ir.Element("t", (AT,)), "t[i]"),
    ],
)
def test_an_expression_is_shown(node: ir.Expr, text: str) -> None:
    assert text_of(node) == text


@cases(
    "node, lines",
    [
        (ir.Let("v", "f32", ir.Zero("f32"), is_mutable=True), ["var v: f32 = {0}"]),
        (ir.Let("v", "f32", V, stage=3), ["let v: f32 = v  # stage 3"]),
        (ir.Store("f32", P, V, count=N), ["store f32 p[1 + i * 2] lanes n = v"]),
        (
            ir.Store("f32", P, V, stream=B),
            ["store f32 p[1 + i * 2] = v, non-temporal if b"],
        ),
        (ir.Reduce(V, "max", V, "above"), ["v = max by above of it and v"]),
        (
            ir.For("i", None, N, (ir.Continue(),), ir.Int(2), ir.Int(2), 4),
            ["for i in ..n step 2 while 2 are left unroll 4:", "  continue"],
        ),
        (
            ir.If(B, (ir.Leave(),), (ir.Prefetch(P),)),
            ["if b:", "  leave", "else:", "  prefetch p[1 + i * 2]"],
        ),
        (ir.TargetIf("LOOP_FISSION", ()), ["if LOOP_FISSION:"]),
        (
            ir.Attempt((ir.Leave(),), (ir.Return(N),)),
            ["attempt:", "  leave", "finally:", "  return n"],
        ),
        (
            ir.VectorLoop("i", ir.ZERO, N, (), None, N, 2, copies=((), ())),
            [
                "vector i in 0..n after n peeled unroll 2:",
                "unrolled vector 0:",
                "unrolled vector 1:",
            ],
        ),
    ],
)
def test_a_statement_is_shown(node: ir.Stmt, lines: list[str]) -> None:
    assert list(statement_lines((node,))) == lines


def test_a_pass_is_shown_with_what_it_changes() -> None:
    x = placeholder((1000,), "float32", "x")
    _, layout = write_program_and_layout(
        [dsl.vexp(x)], [x], options=Options(software_pipelining=False)
    )
    assert "-- vector-tails" not in show_program(layout.codes, layout.entry)
    text = show_program(layout.codes, layout.entry, passes=True)
    assert "\n-- vector-tails --\n@@" in text and "-- software-pipelining" not in text
    assert "\n-- loop-fission where LOOP_FISSION is 1 --\nchanges nothing\n" in text
    (code,) = layout.codes
    assert show_change(*code.functions[:1] * 2) == ""
