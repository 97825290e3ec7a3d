"""Emits per-thread partial sums of reductions over outer loops, and merges them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import text_of
from tbe_impl.codegen.loop_levels import TensorBuffer
from tbe_impl.codegen.nest_function import NestFunction
from tbe_impl.codegen.planning.access_analysis import element_count, extent_of
from tbe_impl.codegen.planning.partition import Root
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.codegen.reductions import identity_of, is_wide_sum, row_prefix
from tbe_impl.dsl.expr import Reduce


class ThreadRows:
    """Memory of one thread: the partial-sum rows of some results, then other areas.

    Args:
        function: function of the nest.
        roots: the results with partial-sum rows.
        may_be_wide: whether long float32 sums use float64 rows.
    """

    def __init__(self, function: NestFunction, roots: Sequence[Root], *, may_be_wide: bool = False):
        self.function, self.roots = function, roots
        self.areas: list[tuple[str, str, ir.Expr]] = []
        self.buffers = {
            id(root.tensor): TensorBuffer(
                f"c{number}",
                function.buffer_of(root).strides,
                row_dtype(root) if may_be_wide else root.tensor.dtype,
            )
            for number, root in enumerate(roots)
        }

    @property
    def is_empty(self) -> bool:
        """Returns whether a thread needs no memory."""
        return not self.roots and not self.areas

    def area(self, c: str, width: int, count: Poly) -> str:
        """Adds an area to the memory of each thread.

        Args:
            c: C type of an element.
            width: size of an element in bytes.
            count: number of elements.

        Returns:
            The C name of the area.
        """
        name = f"m{len(self.areas)}"
        self.areas.append((name, c, self._bytes(count, width)))
        return name

    def starts(self) -> list[ir.Stmt]:
        """Returns statements that define the areas of a thread and initialise its rows.

        Each row is filled with the identity of its reduction.
        """
        starts: list[ir.Stmt] = []
        place = ir.Pointer(ir.Var("rows", "char *"))
        for root in self.roots:
            kind = row_prefix(self._tag(root))
            name, c = self.buffers[id(root.tensor)].name, row_c_type(kind)
            starts.append(ir.Let(name, f"{c} *", ir.Cast(f"{c} *", place), is_mutable=True))
            count = self.function.size(element_count(root.tensor))
            fill = ir.Assign(ir.Element(name, (ir.Var("i"),)), identity_element(root))
            starts.append(ir.For("i", ir.ZERO, count, (fill,)))
            place = ir.Pointer(place.base, (*place.offsets, self._bytes_of(root)))
        for name, c, size in self.areas:
            starts.append(ir.Let(name, f"{c} *", ir.Cast(f"{c} *", place), is_mutable=True))
            place = ir.Pointer(place.base, (*place.offsets, size))
        return starts

    def call(
        self,
        steps: ir.Expr,
        grain: int,
        before: str = "",
        before_own: str = "",
        extra_fields: str = "",
        *,
        together: bool = True,
    ) -> tuple[str, str]:
        """Emits the function that runs one part of the nest, and statements that run all parts.

        Args:
            steps, grain: trip count and grain of the partition; see
                `NestFunction.emit_parallel_call`.
            before, before_own: a further C argument of the nest's function, which precedes the
                pointer to the rows: `before` in the sequential call, `before_own` in the parallel
                calls. Empty if there is none.
            extra_fields: further fields of ``struct shared_nest``.
            together: whether the emitted statements also merge the rows of all threads.
        """
        function = self.function
        sequential_call = (
            f"{function.name}(b, s, INT64_C(0), {text_of(steps)}, {before}{before and ', '}rows);"
        )
        fields = f".own = rows, .own_bytes = row_bytes{extra_fields and ', '}{extra_fields}"
        part, shared = function.emit_parallel_call(
            steps,
            grain,
            sequential_call,
            arguments=f"{before_own}{before_own and ', '}own",
            extra_fields=fields,
            part_count_variable="used" if together else "",
        )
        count = f"(threads > 1 ? {function.portions or 'threads'} : 1)*"
        calls = [
            "{",
            f"  const int64_t row_bytes = {self._row_bytes()};",
            f"  char *rows = aligned_alloc(64, {count}row_bytes);",
            *(["  int used = 1;"] if together else []),
            "  if (!rows) { missing = 1; goto done; }",
            f"  {shared}",
            *([f"  {function.name}_columns(b, s, rows, row_bytes, used);"] if together else []),
            "  free(rows);",
            "}",
        ]
        return part, "\n  ".join(calls)

    def _bytes_of(self, root: Root) -> ir.Expr:
        """Returns the size of one thread's row in bytes, a multiple of a cache line."""
        return self._bytes(element_count(root.tensor), vectors.lane_bits(self._tag(root)) // 8)

    def _tag(self, root: Root) -> str:
        return vectors.tag_of(self.buffers[id(root.tensor)].dtype)

    def _bytes(self, count: Poly, width: int) -> ir.Expr:
        size = ir.op("mul", self.function.size(count), ir.Int(width))
        behind = ir.op("add", size, ir.Int(63))
        return ir.op("bitand", behind, ir.op("bitnot", ir.index_of(63)))

    def _row_bytes(self) -> str:
        first, *others = (*map(self._bytes_of, self.roots), *(size for _, _, size in self.areas))
        return text_of(
            functools.reduce(
                lambda one, other: ir.op("add", one, other), (*others, ir.Int(64)), first
            )
        )

    def merge_function(self) -> ir.Function:
        """Returns the function that merges the rows of all threads."""
        i, t, rows = ir.Var("i"), ir.Var("t", ir.INT), ir.Var("rows", "char *")
        left, lanes = ir.Var("left"), ir.Var("n", ir.INT)
        loops: list[ir.Stmt] = []
        offsets: tuple[ir.Expr, ...] = ()
        for root in self.roots:
            body = root.tensor.op.body[root.tensor.value_index]
            assert isinstance(body, Reduce)
            tag, buffer = self._tag(root), self.function.buffer_of(root)
            kind, total = row_prefix(tag), ir.Var("v", tag)
            count = self.function.size(element_count(root.tensor))

            def load(*before: ir.Expr, tag: str = tag, kind: str = kind) -> ir.Load:
                pointer = ir.Cast(f"{row_c_type(kind)} *", ir.Pointer(rows, before))
                return ir.Load(tag, kind, ir.Pointer(pointer, (i,)), count=lanes)

            other = load(ir.op("mul", t, ir.Var("row_bytes")), *offsets)
            is_part = ir.op("lt", left, ir.LANES, kind=ir.FLAG)
            fewer = ir.op("choose", is_part, ir.Cast(ir.INT, left), ir.LANES)
            rounded = vectors.convert(total, vectors.tag_of(root.tensor.dtype))
            merge = ir.Reduce(total, body.op, other)
            steps = (
                ir.Let(left.name, ir.INDEX, ir.op("sub", count, i)),
                ir.Let(lanes.name, ir.INT, fewer),
                ir.Let(total.name, tag, load(*offsets), is_mutable=True),
                ir.For(t.name, ir.Int(1), ir.Var("used", ir.INT), (merge,), kind=ir.INT),
                ir.Store(
                    vectors.memory_prefix(buffer.dtype), buffer.pointer(i), rounded, count=lanes
                ),
            )
            loops.append(ir.For(i.name, ir.ZERO, count, steps, ir.LANES))
            offsets = (*offsets, self._bytes_of(root))
        parameters = (
            ir.Parameter("rows", "char *"),
            ir.Parameter("row_bytes", "int64_t"),
            ir.Parameter("used", "int"),
        )
        return self.function.build(parameters, (), loops, f"{self.function.name}_columns")


def row_dtype(root: Root) -> str:
    """Returns the dtype of a column reduction's accumulator row."""
    body = root.tensor.op.body[root.tensor.value_index]
    assert isinstance(body, Reduce)
    is_wide = is_wide_sum(body, [extent_of(axis) for axis in body.axes])
    return "float64" if is_wide else root.tensor.dtype


def identity_element(root: Root) -> ir.Expr:
    """Returns the identity element of a root's reduction."""
    body = root.tensor.op.body[root.tensor.value_index]
    assert isinstance(body, Reduce)
    return ir.Lane(vectors.literal(identity_of(body), vectors.tag_of(root.tensor.dtype)), 0)


def row_c_type(kind: str) -> str:
    """Returns the C type of an element of a row; `kind` is from `row_prefix`."""
    if kind[0] == "f":
        return "float" if kind == "f32" else "double"
    return f"{'u' if kind[0] == 'u' else ''}int{kind[1:]}_t"
