"""Tile packing on hand-written loop IR: before → after as text."""

from __future__ import annotations

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.ir_text import show_change
from tbe_impl.codegen.passes.tile_packing import pack_tiles
from tests.cases import cases
from tests.tbe_impl.codegen.ir_checker import check

N, ROW = ir.Index(((("n",), 1),)), ir.Index(((("n",), 1),))
X, Y = ir.Var("p0", "float *"), ir.Var("p1", "float *")
COLUMN = ir.Pointer(X, (ir.Index(((("n", "j"), 1), (("i",), 1))),))
PLACE = ir.Pointer(Y, (ir.Index(((("i",), 33), (("j",), 1))),))


def function(load: ir.Load, begin: ir.Index = ir.ZERO, over: str = "i") -> ir.Function:
    """Stores the transpose of an array; the loop over a tile begins with `begin`."""
    body = (ir.Let("v", "f32", load), ir.Store("f32", PLACE, ir.Var("v", "f32")))
    rows = ir.VectorLoop("j", ir.ZERO, ir.Int(33), (ir.For("i", begin, N, body),))
    tiles = ir.For("i_tile", ir.ZERO, N, (rows,), ir.Int(16), over=over)
    pointers = tuple(
        ir.Let(one.name, one.kind, ir.Cast(one.kind, ir.Element("b", (ir.Int(number),))))
        for number, one in enumerate((X, Y))
    )
    parameters = (ir.Parameter("b", "void **"), ir.Parameter("n", "int64_t"))
    return ir.Function("f", parameters, pointers, (tiles,))


@cases(
    "before, change",
    [
        (
            function(ir.Load("f32", "f32", COLUMN, ROW)),
            [
                "+    let i_steps: index = i_tile_end - i_tile",
                "+      pack t0: LANES rows of i_steps from p0[n * j + i_tile] by n",
                "-        let v: f32 = load f32 p0[n * j + i] by n",
                "+        let v: f32 = load f32 &t0[0][i - i_tile] by 16",
            ],
        ),
        (function(ir.Load("f32", "f32", COLUMN)), []),
        (function(ir.Load("f32", "f32", COLUMN, ROW), ir.ONE), []),
        (function(ir.Load("f32", "f32", COLUMN, ROW), over=""), []),
        (function(ir.Load("f32", "f32", PLACE, ROW)), []),
    ],
    ids=["a column", "a contiguous row", "a piece", "no tiles", "strided along the tile"],
)
def test_tiles_are_packed(before: ir.Function, change: list[str]) -> None:
    after = pack_tiles(before)
    check(after)
    lines = show_change(before, after).splitlines()
    assert [line for line in lines if line[0] in "+-"] == change
