"""The passes on loop IR: names, switches, results without each, and before → after as text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl import environment
from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.codegen_cache import plan_key
from tbe_impl.codegen.emit_c import emit_statements
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.passes.streaming_store_edges import join_row_edges
from tbe_impl.codegen.passes.vector_loops import expand_vector_loop
from tbe_impl.codegen.passes.vector_tails import add_ends, mask_lanes
from tbe_impl.codegen.pipeline import PASSES, disabled_passes
from tbe_impl.dsl import ext
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import InputError
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import prepare

OPTIONAL = [item for item in PASSES if item.is_asked is not None]
P, STREAM = ir.Var("p", "float *"), ir.Var("stream", ir.FLAG)


@cases(
    "value, names",
    [
        ("", ()),
        ("loop-fission", ("loop-fission",)),
        (" table-loops, loop-fission", ("loop-fission", "table-loops")),
    ],
)
def test_passes_are_switched_off_by_name(
    value: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = plan_key("mark", "name", Options())
    monkeypatch.setenv(environment.DISABLE_PASS.name, value)
    assert disabled_passes() == frozenset(names)
    assert (plan_key("mark", "name", Options()) != before) == bool(names)


NEEDED = ["loop-restriction", "loop-coalescing", "vector-tails", "vector-loops"]


@cases("value", [*NEEDED, "loop-fission,fission"])
def test_a_pass_that_is_needed_or_unknown_is_an_error(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.DISABLE_PASS.name, value)
    with pytest.raises(InputError, match="loop-fission, table-loops, software-pipelining"):
        disabled_passes()
    assert len({item.name for item in PASSES}) == len(PASSES) == len(OPTIONAL) + len(NEEDED)


def softmax(x: Tensor) -> list[Tensor]:
    largest = dsl.broadcast(dsl.reduce_max(x, -1, True), x.shape)
    powers = dsl.vexp(dsl.vsub(x, largest))
    return [dsl.vdiv(powers, dsl.broadcast(dsl.reduce_sum(powers, -1, True), x.shape))]


def centred(x: Tensor) -> list[Tensor]:
    """The negated row maximum is used in two loops."""
    least = dsl.vmuls(dsl.reduce_max(x, -1, True), -1.0)
    powers = dsl.vexp(dsl.vadd(x, dsl.broadcast(least, x.shape)))
    total = dsl.broadcast(dsl.reduce_max(powers, -1, True), x.shape)
    return [dsl.vadd(dsl.vmul(powers, total), dsl.broadcast(least, x.shape))]


def silu(x: Tensor) -> list[Tensor]:
    return [dsl.vmul(x, ext.sigmoid(x))]


def transposed(x: Tensor) -> list[Tensor]:
    return [dsl.transpose(dsl.vadds(x, 1.0), (1, 0))]


def long_maximum(x: Tensor) -> list[Tensor]:
    """A step of two slow functions."""
    return [dsl.reduce_max(ext.sigmoid(dsl.vexp(x)), -1, True)]


def silu_of_maximum(x: Tensor) -> list[Tensor]:
    """Maxima stay bitwise equal with any number of accumulators."""
    return [dsl.vmul(x, dsl.broadcast(dsl.reduce_max(ext.sigmoid(x), -1, True), x.shape))]


def maxima_beside_rows(x: Tensor) -> list[Tensor]:
    """Column maxima beside the difference of each row from its maximum."""
    away = dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, -1, True), x.shape))
    return [away, dsl.reduce_max(away, 0, False)]


@cases(
    "name, build, dtype, shape",
    [
        ("loop-invariant-code-motion", softmax, "float32", (9, 1000)),
        ("common-subexpressions", centred, "float32", (9, 1000)),
        ("row-buffers", softmax, "float32", (9, 900)),
        ("accumulator-count", long_maximum, "float32", (9, 1000)),
        ("tile-packing", transposed, "float32", (40, 33)),
        ("loop-interchange", maxima_beside_rows, "float32", (67, 200)),
        ("unroll-and-jam", silu_of_maximum, "float32", (9, 16)),
        ("prefetching", silu_of_maximum, "float32", (9, 320)),
        ("streaming-store-edges", softmax, "float32", (9, 1008)),
        ("accumulators", silu_of_maximum, "float32", (9, 1000)),
        ("loop-fission", silu, "float32", (9, 1000)),
        ("table-loops", silu, "float16", (9, 1000)),
        ("software-pipelining", softmax, "float32", (9, 1024)),
    ],
)
def test_results_without_a_pass_are_bitwise_equal(
    name: str,
    build: Callable[[Tensor], list[Tensor]],
    dtype: str,
    shape: tuple[int, int],
    cache: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {item.name for item in OPTIONAL} >= {name}
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    monkeypatch.setenv(environment.DISABLE_PASS.name, "")
    stream_bytes = 1 << 24 if name == "loop-interchange" else 1
    kernel, *_ = prepare(build, x, cache=cache, stream_bytes=stream_bytes)
    monkeypatch.setenv(environment.DISABLE_PASS.name, name)
    plain, *_ = prepare(build, x, cache=cache, stream_bytes=stream_bytes)
    assert kernel.source != plain.source
    for found, wanted in zip(kernel.run([x], {}, 2), plain.run([x], {}, 1), strict=True):
        if name == "table-loops":
            np.testing.assert_allclose(
                found.astype(float), wanted.astype(float), rtol=2e-3, atol=1e-6
            )
        else:
            np.testing.assert_array_equal(found, wanted)


def place(*terms: tuple[tuple[str, ...], int]) -> ir.Pointer:
    return ir.Pointer(P, (ir.Index(terms),))


LOAD = ir.Let("v", "f32", ir.Load("f32", "f32", place((("i",), 1))))
SUM = ir.Reduce(ir.Var("a", "f32"), "sum", ir.Var("v", "f32"))
ROW_STORE = ir.Store("f32", place((("r",), 10), (("i",), 1)), ir.Var("v", "f32"), stream=STREAM)


@cases(
    "body, text",
    [
        ((LOAD,), "const f32v v = f32_load_part(p + i, n);"),
        ((ir.Prefetch(place((("i",), 1))),), ""),
        ((SUM,), "a = (a + f32_select(lanes_below(n), v, SPLAT(f32v, 0x0.0p+0f)));"),
        ((ir.Let("a", "f32", ir.Zero("f32"), is_mutable=True), SUM), "f32v a = {0};\na = (a + v);"),
        ((ir.Accumulate(P, ir.Var("v", "f32")),), "wide_add_part(p, v, n);"),
        (
            (ir.For("k", ir.ZERO, ir.Int(3), (LOAD,)),),
            "for (int64_t k = 0; k < 3; k++) {\n  const f32v v = f32_load_part(p + i, n);\n}",
        ),
    ],
)
def test_lanes_are_masked(body: tuple[ir.Stmt, ...], text: str) -> None:
    assert emit_statements(mask_lanes(body, ir.Var("n", ir.INT)), indent="") == text


@cases(
    "steps, head, unroll, parts",
    [
        (None, None, 1, (0, 0, 2, 2)),
        (64, None, 1, (0, 0, 2, 0)),
        (64, ir.Int(1), 1, (2, 0, 2, 2)),
        (3, None, 1, (0, 0, 0, 2)),
        (130, None, 2, (0, 2, 2, 2)),
    ],
)
def test_ends_of_a_vector_loop(
    steps: int | None, head: ir.Expr | None, unroll: int, parts: tuple[int, ...]
) -> None:
    limit = ir.Var("n")
    loop = ir.VectorLoop(
        "i", ir.ZERO, limit, (LOAD, SUM), steps, head, unroll, (("a", "b")[:unroll],)
    )
    made = add_ends(loop)
    assert tuple(map(len, (made.first, made.copies, made.whole, made.rest))) == parts
    if unroll > 1:
        text = emit_statements((expand_vector_loop(made),))
        assert "const int64_t i_1 = i + 1*LANES;" in text
        assert "v = f32_load(p + i_1);" in text and "b = (b + v);" in text


def test_the_edges_of_contiguous_rows_are_joined() -> None:
    loop = add_ends(ir.VectorLoop("i", ir.ZERO, ir.index_of(10), (ROW_STORE,), 10, ir.Int(1)))
    rows = ir.For("r", ir.Var("begin"), ir.Var("end"), (loop,))
    edge, joined = join_row_edges((rows,))
    assert emit_statements((edge,), indent="") == "f32v p_edge = {0};"
    assert isinstance(joined, ir.For)
    (ends,) = joined.body
    assert isinstance(ends, ir.VectorLoop)
    assert emit_statements((*ends.first, *ends.rest), indent="").splitlines() == [
        "if (stream && 10 % LANES == 0 && r > begin) "
        "f32_stream(p + INT64_C(10)*r + i + i_head - LANES, f32_joined(p_edge, v, i_head)); "
        "else f32_store_part(p + INT64_C(10)*r + i, v, i_head);",
        "if (stream && 10 % LANES == 0 && r + 1 < end) p_edge = v; "
        "else f32_store_part(p + INT64_C(10)*r + i, v, i_rest);",
    ]


@cases(
    "row, count",
    [
        (place((("r",), 12), (("i",), 1)), 1),
        (place((("r",), 10), (("i",), 1)), 2),
        (place((("r",), 10), (("i", "r"), 1)), 1),
    ],
    ids=["gaps between rows", "a split loop over rows", "a stride that changes"],
)
def test_other_rows_keep_their_edges(row: ir.Pointer, count: int) -> None:
    store = ir.Store("f32", row, ir.Var("v", "f32"), stream=STREAM)
    loop = add_ends(ir.VectorLoop("i", ir.ZERO, ir.index_of(10), (store,), 10, ir.Int(1)))
    body = (ir.For("r", ir.Var("begin"), ir.Var("end"), (loop,)),) * count
    assert join_row_edges(body) == body
