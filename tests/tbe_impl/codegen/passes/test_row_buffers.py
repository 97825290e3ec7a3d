"""Row buffers on hand-written loop IR: before → after as text."""

from __future__ import annotations

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import statement_lines
from tbe_impl.codegen.passes.row_buffers import buffer_rows
from tests.cases import cases

P, F32, N = ir.Var("p", "float *"), "f32", 64


def values(index: str, *names: str, row: str = "r") -> tuple[ir.Let, ...]:
    """An element of a row, and its root."""
    place = ir.Pointer(P, (ir.Index((((index,), 1), ((row,), N))),))
    x, y = names
    root = ir.Call("sqrt", (ir.Var(x, F32),), F32, F32)
    return ir.Let(x, F32, ir.Load(F32, F32, place)), ir.Let(y, F32, root)


def reduction(index: str, *names: str, steps: int = N, row: str = "r") -> ir.VectorLoop:
    body = (
        *values(index, *names, row=row),
        ir.Reduce(ir.Var("a", F32), "sum", ir.Var(names[-1], F32)),
    )
    limit = ir.index_of(steps)
    return ir.VectorLoop(index, ir.ZERO, limit, body, accumulators=(("a",),), unroll=4)


def use(index: str, *names: str, begin: int = 0, end: int = N) -> ir.VectorLoop:
    place = ir.Pointer(ir.Var("q", "float *"), (ir.Index((((index,), 1), (("r",), N))),))
    store = ir.Store(F32, place, ir.Var(names[-1], F32))
    body = (*values(index, *names), store)
    return ir.VectorLoop(index, ir.index_of(begin), ir.index_of(end), body)


def rows(*body: ir.Stmt, name: str = "r") -> ir.For:
    return ir.For(name, ir.ZERO, ir.Var("m"), body)


LOAD, STORE = "load f32 row0[j]", "store f32 row0[i] = y"
FILL = reduction("i", "x", "y")


@cases(
    "body, lines",
    [
        ((rows(FILL, use("j", "u", "v")),), [STORE, LOAD]),
        ((rows(FILL, use("j", "u", "v", begin=4, end=9)),), [STORE, LOAD]),
        ((rows(FILL, reduction("k", "s", "t"), use("j", "u", "v")),), [STORE, "row0[k]", LOAD]),
        ((rows(ir.Restrict("i", ir.ONE, ir.ONE, ir.ONE, (FILL,)), use("j", "u", "v")),), []),
        (
            (rows(ir.For("b", ir.ZERO, ir.Int(N), (FILL,), over="i"), use("j", "u", "v")),),
            [STORE, LOAD],
        ),
        ((rows(reduction("i", "x", "y", steps=32), use("j", "u", "v")),), []),
        ((rows(FILL), rows(use("j", "u", "v"))), []),
        ((rows(reduction("i", "x", "y", row="s"), use("j", "u", "v")),), []),
        ((rows(use("i", "x", "y"), use("j", "u", "v")),), []),
        ((rows(reduction("i", "x", "y", steps=1 << 14), use("j", "u", "v")),), []),
        ((rows(FILL, use("j", "u", "cheap")),), []),
        ((rows(rows(FILL, name="s"), use("j", "u", "v")),), []),
    ],
    ids=[
        "a row",
        "a piece of a row",
        "three loops",
        "a part of a row",
        "blocks of a row",
        "a shorter row",
        "another loop over rows",
        "another row",
        "no reduction fills it",
        "a row that is too long",
        "a value that is not worth it",
        "a loop that may have no iteration",
    ],
)
def test_the_first_loop_over_a_row_stores_it(body: tuple[ir.Stmt, ...], lines: list[str]) -> None:
    found = buffer_rows(body, {"y", "t", "v"}, 0)
    text = [line for line in statement_lines(found) if "row0" in line]
    if not lines:
        assert found is body
        return
    assert text[0] == "alloc row0: float[64]" and len(text) == 1 + len(lines)
    assert all(line in one for line, one in zip(lines, text[1:], strict=True))
    assert sum("load f32 p" in line for line in statement_lines(found)) == 1
    assert [*statement_lines(buffer_rows(body, {"y", "t", "v"}, 16))][:2] == [
        "alloc row0_lines: float[68]",
        "let row0: float * = row0_lines[4]",
    ]
