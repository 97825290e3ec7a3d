"""Prints loop IR as C: operators, memory accesses and statements."""

from __future__ import annotations

from collections.abc import Callable

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.emit_c import emit_function, emit_statements, text_of
from tbe_impl.codegen.passes.vector_loops import expand_vector_loop
from tbe_impl.codegen.vector_types import literal, select
from tests.cases import cases

AT, N, B = ir.Var("i"), ir.Var("n"), ir.Var("b", ir.FLAG)
V, W, M = ir.Var("v", "f32"), ir.Var("w", "f64"), ir.Var("m", ir.MASK)
P = ir.Pointer(ir.Var("p", "float *"), (AT,))
HALF = ir.Index((((), 1), (("i",), 2)))


@cases(
    "node, text",
    [
        (ir.op("sub", AT, ir.op("sub", N, ir.Int(1))), "i - (n - 1)"),
        (ir.op("sub", ir.op("sub", AT, N), ir.Int(1)), "i - n - 1"),
        (ir.op("sub", N, HALF), "n - (INT64_C(1) + INT64_C(2)*i)"),
        (ir.op("mul", HALF, ir.Int(4)), "(INT64_C(1) + INT64_C(2)*i)*4"),
        (ir.op("div", AT, ir.op("mul", N, ir.Int(4))), "i / (n*4)"),
        (ir.op("mod", ir.op("mul", AT, N), ir.Int(4)), "i*n % 4"),
        (ir.op("bitand", ir.op("add", AT, N), ir.op("bitnot", AT)), "(i + n) & ~i"),
        (ir.op("eq", ir.op("choose", B, AT, N), ir.Int(0), kind=ir.FLAG), "(b ? i : n) == 0"),
        (ir.op("not", ir.op("lt", AT, N, kind=ir.FLAG), kind=ir.FLAG), "!(i < n)"),
        (ir.Cast(ir.INT, ir.op("sub", N, AT)), "(int)(n - i)"),
        (ir.Cast("uintptr_t", P), "(uintptr_t)(p + i)"),
        (ir.Index(), "0"),
        (ir.Field(ir.Var("nest"), "b"), "nest->b"),
        (ir.Structure("struct s", ("a", "b"), (N, AT)), "&(struct s){.a = n, .b = i}"),
        (ir.Op("lt", (V, V), ir.MASK), "(v < v)"),
        (ir.Op("lt", (W, V), ir.MASK), "__builtin_convertvector((w < v), i32v)"),
        (ir.Op("lt", (M, ir.Var("k", ir.MASK)), ir.MASK), "(k < m)"),
        (select("f64", M, W, W), "f64_select(__builtin_convertvector(m, i64v), w, w)"),
        (literal(-0.0, "f32"), "SPLAT(f32v, -0x0.0p+0f)"),
        (literal(-(2**63), "i64"), "SPLAT(i64v, (-INT64_C(9223372036854775807)-1))"),
        (literal(-1, "u8"), "SPLAT(u8v, UINT64_C(255))"),
        (literal(float("nan"), "f64"), 'SPLAT(f64v, __builtin_nan(""))'),
        (ir.Load("f32", "f16", P), "f16_load(p + i)"),
        (ir.Load("f32", "f32", P, ir.ZERO), "f32_one(p + i)"),
        (ir.Load("f32", "f32", P, count=N), "f32_load_part(p + i, n)"),
        (ir.Load("f32", "f32", P, HALF), "f32_gather(p + i, INT64_C(1) + INT64_C(2)*i, LANES)"),
    ],
)
def test_an_expression_is_printed(node: ir.Expr, text: str) -> None:
    assert text_of(node) == text


def _store(**fields: object) -> ir.Store:
    return ir.Store("f32", P, V, **fields)  # type: ignore[arg-type]


@cases(
    "node, text",
    [
        (ir.Let("i", ir.INDEX, ir.Int(3)), "const int64_t i = 3;"),
        (ir.Let("p", "float *", P), "float *const p = p + i;"),
        (ir.Let("a", "f32", ir.Zero("f32"), is_mutable=True), "f32v a = {0};"),
        (ir.Assign(AT, ir.op("add", AT, N)), "i += n;"),
        (ir.Assign(V, ir.Op("add", (V, V), "f32"), stage=2), "v = (v + v); /* stage 2 */"),
        (_store(), "f32_store(p + i, v);"),
        (_store(count=N), "f32_store_part(p + i, v, n);"),
        (_store(stride=ir.ZERO), "f32_store_part(p + i, v, 1);"),
        (_store(stride=HALF), "f32_scatter(p + i, INT64_C(1) + INT64_C(2)*i, v, LANES);"),
        (_store(stream=B), "if (b) f32_stream(p + i, v); else f32_store(p + i, v);"),
        (ir.Accumulate(P, V), "wide_add_at(p + i, v);"),
        (ir.Prefetch(P, ir.Int(2)), "fetch_of(2, p + i);"),
        (
            ir.If(B, (_store(),), (_store(count=N),), 1),
            "if (b) f32_store(p + i, v); else f32_store_part(p + i, v, n); /* stage 1 */",
        ),
        (
            ir.For("i", ir.ZERO, N, (_store(),), unroll=2),
            "#pragma GCC unroll 2\nfor (int64_t i = 0; i < n; i++) {\n  f32_store(p + i, v);\n}",
        ),
        (ir.For("i", None, N, (), ir.LANES, ir.LANES), "for (; i + LANES <= n; i += LANES) {\n}"),
        (ir.TargetIf("LOOP_FISSION", (ir.Continue(),)), "#if LOOP_FISSION\ncontinue;\n#endif"),
        (ir.Alloc("all", "void *", (ir.Int(3),)), "void *all[3];"),
        (
            ir.Attempt((ir.If(B, (ir.Leave(),)),), (ir.Return(N),)),
            "if (b) {\n  goto done;\n}\ngoto done;\ndone:\nreturn n;",
        ),
        (
            ir.If(B, (), (ir.If(B, (ir.Continue(),), (ir.Leave(), ir.Leave())),)),
            "if (b) {\n} else if (b) {\n  continue;\n} else {\n  goto done;\n  goto done;\n}",
        ),
    ],
)
def test_a_statement_is_printed(node: ir.Stmt, text: str) -> None:
    assert emit_statements((node,), are_staged=True, indent="") == text


def test_a_vector_loop_becomes_loops_over_vectors() -> None:
    loop = ir.VectorLoop(
        "i",
        ir.ZERO,
        N,
        (_store(),),
        rest=(_store(count=ir.Var("i_rest")),),
        copies=((_store(),),) * 2,
    )
    block = expand_vector_loop(loop)
    assert emit_statements((block,), indent="").splitlines() == [
        "{",
        "  int64_t i = 0;",
        "  for (; i + 2*LANES <= n; i += 2*LANES) {",
        *("    {", "      f32_store(p + i, v);", "    }") * 2,
        "  }",
        "  for (; i + LANES <= n; i += LANES) {",
        "    f32_store(p + i, v);",
        "  }",
        "  if (i < n) {",
        "    const int i_rest = (int)(n - i);",
        "    f32_store_part(p + i, v, i_rest);",
        "  }",
        "}",
    ]


def test_a_function_is_printed() -> None:
    parameters = (ir.Parameter("p", "float *"), ir.Parameter("n", "int64_t"))
    function = ir.Function("f", parameters, (ir.Unused(("n",)),), ())
    assert emit_function(function) == "static void f(float *p, int64_t n) {\n  (void)n;\n}"


@cases(
    "change, text",
    [
        (lambda node: ir.rename(node, {"i": "j", "v": "w"}), "f32_store(p + j, w);"),
        (lambda node: ir.rename(node, {"x": "y"}), "f32_store(p + i, v);"),
        (
            lambda node: ir.map_statements((node,), lambda one: (one, one))[1],
            "f32_store(p + i, v);",
        ),
    ],
)
def test_nodes_are_rebuilt(change: Callable[[ir.Stmt], ir.Stmt], text: str) -> None:
    assert emit_statements((change(_store()),), indent="") == text


def test_names_are_those_of_variables_and_arrays() -> None:
    body = (
        ir.Let("x", ir.INDEX, HALF),
        ir.Assign(ir.Element("t", (N,)), ir.Int(0)),
        ir.For("k", ir.ZERO, N, (_store(),)),
    )
    assert ir.names_in(body) == {"x", "i", "t", "n", "k", "p", "v"}
