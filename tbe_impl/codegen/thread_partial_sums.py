"""Builds per-thread partial sums of reductions over outer loops, and merges them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.entry_function import BUFFERS, SIZES, THREADS, allocate, free
from tbe_impl.codegen.loop_levels import TensorBuffer
from tbe_impl.codegen.nest_function import NestFunction
from tbe_impl.codegen.planning.access_analysis import element_count, extent_of
from tbe_impl.codegen.planning.partition import Root
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.codegen.reductions import identity_of, is_wide_sum, reduce_of, row_prefix
from tbe_impl.codegen.thread_partition import OWN

ROWS, ROW_BYTES = ir.Var("rows", "char *"), ir.Var("row_bytes")
USED = ir.Var("used", ir.INT)
"""C variables: first thread's memory, bytes per thread, number of threads that use their memory."""

ROWS_PARAMETER = ir.Parameter(ROWS.name, ROWS.kind)


class ThreadRows:
    """Memory of one thread: the partial sums of some results, then further areas (`area`).

    Args:
        function: the emitter of the nest's function.
        roots: the results of reductions for which a thread has a row of partial sums.
        may_be_wide: whether a long float32 sum has float64 partial sums.
    """

    def __init__(self, function: NestFunction, roots: Sequence[Root], *, may_be_wide: bool = False):
        self.function, self.roots = function, roots
        self.buffers = {
            id(root.tensor): TensorBuffer(
                f"c{number}",
                function.buffer_of(root).strides,
                row_dtype(root) if may_be_wide else root.tensor.dtype,
            )
            for number, root in enumerate(roots)
        }

        self.areas: list[tuple[str, str, ir.Expr]] = []
        for root in roots:
            tag, name = self._tag(root), self.buffers[id(root.tensor)].name
            size = self._bytes(element_count(root.tensor), vectors.lane_bits(tag) // 8)
            self.areas.append((name, row_c_type(row_prefix(tag)), size))

    @property
    def is_empty(self) -> bool:
        """Returns whether a thread needs no memory."""
        return not self.areas

    def area(self, c: str, width: int, count: Poly) -> str:
        """Adds an area to the memory of each thread.

        Args:
            c: C type of an element.
            width: size of an element in bytes.
            count: number of elements.

        Returns:
            The C name of the area.
        """
        name = f"m{len(self.areas) - len(self.roots)}"
        self.areas.append((name, c, self._bytes(count, width)))
        return name

    def starts(self) -> list[ir.Stmt]:
        """Returns statements that define the areas of a thread and initialise its rows.

        Each row is filled with the identity of its reduction.
        """
        starts: list[ir.Stmt] = []
        place = ir.Pointer(ROWS)
        for (name, c, size), root in itertools.zip_longest(self.areas, self.roots):
            starts.append(ir.Let(name, f"{c} *", ir.Cast(f"{c} *", place), is_mutable=True))
            if root is not None:
                fill = ir.Assign(ir.Element(name, (ir.Var("i"),)), identity_element(root))
                count = self.function.size(element_count(root.tensor))
                starts.append(ir.For("i", ir.ZERO, count, (fill,)))
            place = ir.Pointer(ROWS, (*place.offsets, size))
        return starts

    def call(
        self,
        steps: ir.Expr,
        grain: int,
        arguments: Sequence[ir.Expr] = (),
        part_arguments: Sequence[ir.Expr] = (),
        fields: Mapping[str, ir.Expr] | None = None,
    ) -> tuple[tuple[ir.Function, ...], ir.Stmt]:
        """Returns the functions that run a part and merge the rows, and a call that runs all parts.

        The call allocates the memory of all threads, if they need any.

        Args:
            steps, grain: trip count and grain of the partition; see
                `partition_among_threads`.
            arguments, part_arguments: further arguments of the nest's function. They precede the
                pointer to the rows.
            fields: further fields of ``struct shared_nest``.
        """
        function = self.function
        if self.is_empty:
            return function.parallel_call(steps, grain, arguments, part_arguments, fields)
        part, shared = function.parallel_call(
            steps,
            grain,
            (*arguments, ROWS),
            (*part_arguments, OWN),
            {"own": ROWS, "own_bytes": ROW_BYTES, **(fields or {})},
            USED if self.roots else None,
        )
        row_bytes = ir.fold("add", (*(size for _, _, size in self.areas), ir.Int(64)))
        several = ir.op("gt", THREADS, ir.Int(1), kind=ir.FLAG)
        most = ir.Int(function.portions) if function.portions else THREADS
        byte_count = ir.op("mul", ir.op("choose", several, most, ir.Int(1)), ROW_BYTES)
        merge = (self._merge_function(),) if self.roots else ()
        used = ir.Let(USED.name, USED.kind, ir.Int(1), is_mutable=True)
        body = (
            ir.Let(ROW_BYTES.name, ROW_BYTES.kind, row_bytes),
            *allocate(ROWS, byte_count, *(used for _ in merge)),
            shared,
            *(
                ir.Evaluate(ir.call(one.name, BUFFERS, SIZES, ROWS, ROW_BYTES, USED))
                for one in merge
            ),
            free(ROWS),
        )
        return (*part, *merge), ir.Block(body)

    def _tag(self, root: Root) -> str:
        return vectors.tag_of(self.buffers[id(root.tensor)].dtype)

    def _bytes(self, count: Poly, width: int) -> ir.Expr:
        size = ir.op("mul", self.function.size(count), ir.Int(width))
        behind = ir.op("add", size, ir.Int(63))
        return ir.op("bitand", behind, ir.op("bitnot", ir.index_of(63)))

    def _merge_function(self) -> ir.Function:
        """Returns the function that merges the partial-sum rows of all threads.

        The last load of a row may read up to 64 bytes behind the row: the longest vector has 128
        bytes, rows start at multiples of 64 bytes, and 64 bytes follow the last area of a thread.
        """
        i, t = ir.Var("i"), ir.Var("t", ir.INT)
        left, lanes = ir.Var("left"), ir.Var("n", ir.INT)
        loops: list[ir.Stmt] = []
        offsets: tuple[ir.Expr, ...] = ()
        for root, (_, c, size) in zip(self.roots, self.areas, strict=False):
            tag, buffer = self._tag(root), self.function.buffer_of(root)
            kind, total = row_prefix(tag), ir.Var("v", tag)
            count = self.function.size(element_count(root.tensor))

            first, other = (
                ir.Load(tag, kind, ir.Pointer(ir.Cast(f"{c} *", ir.Pointer(ROWS, before)), (i,)))
                for before in (offsets, (ir.op("mul", t, ROW_BYTES), *offsets))
            )
            is_part = ir.op("lt", left, ir.LANES, kind=ir.FLAG)
            fewer = ir.op("choose", is_part, ir.Cast(ir.INT, left), ir.LANES)
            rounded = vectors.convert(total, vectors.tag_of(root.tensor.dtype))
            merge = ir.Reduce(total, reduce_of(root.tensor).op, other)
            steps = (
                ir.Let(left.name, ir.INDEX, ir.op("sub", count, i)),
                ir.Let(lanes.name, ir.INT, fewer),
                ir.Let(total.name, tag, first, is_mutable=True),
                ir.For(t.name, ir.Int(1), USED, (merge,), kind=ir.INT),
                ir.Store(
                    vectors.memory_prefix(buffer.dtype), buffer.pointer(i), rounded, count=lanes
                ),
            )
            loops.append(ir.For(i.name, ir.ZERO, count, steps, ir.LANES))
            offsets = (*offsets, size)
        parameters = (
            ROWS_PARAMETER,
            ir.Parameter(ROW_BYTES.name, "int64_t"),
            ir.Parameter(USED.name, "int"),
        )
        return self.function.build(parameters, (), loops, f"{self.function.name}_columns")


def row_dtype(root: Root) -> str:
    """Returns the dtype of a column reduction's accumulator row."""
    body = reduce_of(root.tensor)
    is_wide = is_wide_sum(body, [extent_of(axis) for axis in body.axes])
    return "float64" if is_wide else root.tensor.dtype


def identity_element(root: Root) -> ir.Expr:
    """Returns the identity element of a root's reduction."""
    return ir.Lane(
        vectors.literal(identity_of(reduce_of(root.tensor)), vectors.tag_of(root.tensor.dtype)), 0
    )


def row_c_type(kind: str) -> str:
    """Returns the C type of an element of a row; `kind` is from `row_prefix`."""
    if kind[0] == "f":
        return "float" if kind == "f32" else "double"
    return f"{'u' if kind[0] == 'u' else ''}int{kind[1:]}_t"
