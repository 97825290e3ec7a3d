"""Several accumulators on hand-written loop IR: before → after as text."""

from __future__ import annotations

from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.ir_text import statement_lines
from tbe_impl.codegen.passes.accumulators import (
    LONG_STEP,
    add_accumulators,
    limit_accumulators,
)
from tests.cases import cases


def reduction(operator: str, total: ir.Expr, kind: str = "f32") -> tuple[ir.Stmt, ...]:
    place = ir.Pointer(ir.Var("p", "float *"), (ir.Index(((("i",), 1),)),))
    value = ir.Let("v", "f32", ir.Load("f32", "f32", place))
    step = ir.Reduce(ir.Var("a", kind), operator, ir.Var("v", "f32"))
    loop = ir.VectorLoop("i", ir.ZERO, ir.Var("n"), (value, step), unroll=2, accumulators=(("a",),))
    start = ir.Let("a", kind, ir.Zero(kind), is_mutable=True)
    return start, loop, ir.Let("t", total.kind, total)


F32 = ir.Var("a", "f32")


@cases(
    "body, total",
    [
        (reduction("sum", ir.Splat("f32", F32)), "let t: f32 = a + a_1"),
        (reduction("max", ir.Splat("f32", F32)), "let t: f32 = max_so_far(a, a_1)"),
        (
            reduction("sum", ir.call("sum", vectors.convert(F32, "f64"), kind="double")),
            "let t: double = sum(from_f32(a) + from_f32(a_1))",
        ),
        (
            reduction("sum", ir.call("wide_lanes", ir.Var("a", ir.WIDE), kind="f64"), ir.WIDE),
            "let t: f64 = wide_lanes(wide_both(a, a_1))",
        ),
    ],
    ids=["a sum", "a maximum", "a sum that is rounded once", "a float64 sum of float32"],
)
def test_each_vector_of_an_iteration_has_an_accumulator(
    body: tuple[ir.Stmt, ...], total: str
) -> None:
    one, other, loop, last = add_accumulators(body)
    assert isinstance(one, ir.Let) and isinstance(other, ir.Let) and isinstance(loop, ir.VectorLoop)
    assert (one.name, other.name, loop.accumulators) == ("a", "a_1", (("a", "a_1"),))
    assert list(statement_lines((last,))) == [total]
    copy = ir.Let("w", "f32", ir.Op("add", (ir.Var("v", "f32"),) * 2, "f32"))
    for steps, operations, unroll in ((64, LONG_STEP, 1), (64, LONG_STEP - 1, 2), (1 << 14, 99, 2)):
        body = (*loop.whole, *(copy,) * operations)
        (found,) = limit_accumulators((replace(loop, limit=ir.index_of(steps), whole=body),))
        assert isinstance(found, ir.VectorLoop) and found.unroll == unroll
    single = replace(loop, unroll=1, accumulators=(("a",),))
    assert add_accumulators((one, single, last)) == (one, single, last)
