"""Code motion and common subexpressions on hand-written loop IR: before → after as text."""

from __future__ import annotations

from collections.abc import Callable

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import statement_lines
from tbe_impl.codegen.passes.common_subexpressions import merge_equal_values
from tbe_impl.codegen.passes.loop_invariant_code_motion import hoist_invariants
from tests.cases import cases

P, Q = ir.Var("p", "float *"), ir.Var("q", "float *")
F32 = "f32"


def at(pointer: ir.Var, *names: str) -> ir.Pointer:
    return ir.Pointer(pointer, (ir.Index(tuple(((name,), 1) for name in names)),))


def load(name: str, pointer: ir.Var, *names: str) -> ir.Let:
    return ir.Let(name, F32, ir.Load(F32, F32, at(pointer, *names)))


def add(name: str, *operands: str) -> ir.Let:
    return ir.Let(name, F32, ir.Op("add", tuple(ir.Var(one, F32) for one in operands), F32))


def store(name: str, *names: str) -> ir.Store:
    return ir.Store(F32, at(Q, *names), ir.Var(name, F32))


def rows(*body: ir.Stmt) -> ir.For:
    return ir.For("r", ir.ZERO, ir.Var("m"), body)


def row(*body: ir.Stmt) -> ir.VectorLoop:
    return ir.VectorLoop("i", ir.ZERO, ir.Var("n"), body)


HEADS = ["for r in 0..m:", "  vector i in 0..n:"]
SUM = ir.Reduce(ir.Var("a", F32), "sum", ir.Var("y", F32))


@cases(
    "change, body, lines",
    [
        (
            hoist_invariants,
            (rows(row(load("c", P), load("x", P, "r"), add("y", "x", "c"), load("z", P, "i"))),),
            [
                "let c: f32 = load f32 p[0]",
                "for r in 0..m:",
                "  let x: f32 = load f32 p[r]",
                "  let y: f32 = x + c",
                "  vector i in 0..n:",
                "    let z: f32 = load f32 p[i]",
            ],
        ),
        (
            hoist_invariants,
            (rows(row(load("x", Q), add("y", "x", "x"), store("y", "i"))),),
            [*HEADS, "    let x: f32 = load f32 q[0]", "    let y: f32 = x + x"],
        ),
        (
            hoist_invariants,
            (rows(ir.Let("a", F32, ir.Zero(F32), is_mutable=True), row(add("y", "a", "a"), SUM)),),
            [
                "for r in 0..m:",
                "  var a: f32 = {0}",
                "  vector i in 0..n:",
                "    let y: f32 = a + a",
            ],
        ),
        (
            hoist_invariants,
            (ir.For("b", ir.ZERO, ir.Var("n"), (load("x", P, "b_end"),), ir.Int(8), over="i"),),
            ["for b in 0..n step 8, blocks of i:", "  let x: f32 = load f32 p[b_end]"],
        ),
        (
            hoist_invariants,
            (ir.Restrict("r", ir.Int(2), ir.Int(3), ir.Var("m"), (rows(load("x", P)),)),),
            ["restrict r to 2..3:", "  let x: f32 = load f32 p[0]", "  for r in 0..m:"],
        ),
        (
            merge_equal_values,
            (load("x", P), row(load("y", P), add("z", "y", "x"), store("z", "i"))),
            ["let x: f32 = load f32 p[0]", "vector i in 0..n:", "  let z: f32 = x + x"],
        ),
        (
            merge_equal_values,
            (row(load("x", P, "i")), row(load("y", P, "i"))),
            [
                "vector i in 0..n:",
                "  let x: f32 = load f32 p[i]",
                "vector i in 0..n:",
                "  let y: f32 = load f32 p[i]",
            ],
        ),
        (
            merge_equal_values,
            (load("x", Q), store("x", "r"), load("y", Q)),
            ["let x: f32 = load f32 q[0]", "let y: f32 = load f32 q[0]"],
        ),
    ],
    ids=[
        "levels",
        "a stored array",
        "an accumulator",
        "the end of a block",
        "a restriction",
        "equal values in a scope inside",
        "equal values in scopes beside each other",
        "equal loads of a stored array",
    ],
)
def test_values_move_and_merge(
    change: Callable[[tuple[ir.Stmt, ...]], tuple[ir.Stmt, ...]],
    body: tuple[ir.Stmt, ...],
    lines: list[str],
) -> None:
    """Stores and reductions are left out of the text."""
    text = statement_lines(change(body))
    assert [line for line in text if "store" not in line and " of it and " not in line] == lines
