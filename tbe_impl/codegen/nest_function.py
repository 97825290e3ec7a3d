"""Builds the function of a loop nest and the statements that run it in parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.entry_function import BUFFERS, POINTERS_AND_SIZES
from tbe_impl.codegen.loop_levels import TensorBuffer
from tbe_impl.codegen.options import LoopChoice, Options
from tbe_impl.codegen.passes.half_precision_tables import HalfLookupTable
from tbe_impl.codegen.pipeline import NestFacts
from tbe_impl.codegen.planning.access_analysis import element_count
from tbe_impl.codegen.planning.partition import LoopNest, Root
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.codegen.thread_partition import BEGIN_AND_END, partition_among_threads
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.records import Record
from tbe_impl.runtime.buffers import MAX_THREADS


class ProgramContext(Record):
    """The properties of a program that its loop nests use.

    Attributes:
        symbol: C name of the program's function.
        tensors: all tensors in memory, in the order of the pointers ``b``.
        dtypes: the dtype in memory of each of `tensors`.
        buffers: maps the ``id`` of each of `tensors` to its buffer.
        names: maps the serial number (`Var.serial`) of each size to its C name, in the order of the
            sizes ``s``.
        kept, slow, sums, short: see `Lowering`.
        exact: maps the ``id`` of a tensor to the loops that its schedule fixes; see
            `tbe_impl.codegen.planning.scheduled_loops`.
        named: the tensors that options identify by number.
        options: code generation options.
    """

    symbol: str
    tensors: Sequence[Tensor]
    dtypes: Sequence[str]
    buffers: Mapping[int, TensorBuffer]
    names: Mapping[int, str]
    kept: frozenset[int]
    slow: frozenset[int]
    sums: Mapping[int, Sequence[LoopChoice]]
    short: Mapping[int, str]
    exact: Mapping[int, Sequence[LoopChoice]]
    named: Sequence[Tensor]
    options: Options


class NestCode(Record):
    """The code of a nest.

    Attributes:
        functions: the nest's function before all passes. A function that runs a part of the nest on
            a thread may follow, and a function that merges partial results.
        facts: what the passes know about the nest.
        calls: statements that run the nest.
        stored: the numbers of the tensors that the nest computes.
    """

    functions: tuple[ir.Function, ...]
    facts: NestFacts
    calls: tuple[ir.Stmt, ...]
    stored: frozenset[int]

    def tensors(self) -> frozenset[int]:
        """Returns the numbers of the tensors that the nest accesses."""
        declared = ir.walk([item for function in self.functions for item in function.declarations])
        return self.stored | {
            node.indices[0].value
            for node in declared
            if isinstance(node, ir.Element)
            and node.array == BUFFERS.name
            and isinstance(node.indices[0], ir.Int)
        }


class NestFunction:
    """Emits the C function around the loops of one loop nest.

    Args:
        number: number of the nest; part of C names.
        nest: the nest.
        around: properties of the program that contains the nest.
    """

    def __init__(self, number: int, nest: LoopNest, around: ProgramContext):
        self.nest, self.around, self.options = nest, around, around.options
        # a backtrace on any thread shows this name
        self.name = f"{around.symbol}_nest{number}"

    def build(
        self,
        parameters: Sequence[ir.Parameter],
        starts: Sequence[ir.Stmt],
        body: Sequence[ir.Stmt],
        name: str = "",
    ) -> ir.Function:
        """Returns the function, before all passes.

        Args:
            parameters: parameters after the pointers ``b`` and the sizes ``s``.
            starts: statements before the loops.
            body: statements of the loops.
            name: name of the function; by default the name of the nest.
        """
        unused = ("b", "s", *("begin", "end") * (BEGIN_AND_END[0] in parameters))
        return ir.Function(
            name or self.name,
            (*POINTERS_AND_SIZES, *parameters),
            (*self._declarations((*starts, *body)), *starts, ir.Unused(unused)),
            tuple(body),
        )

    def _declarations(self, body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
        """Declares the pointers and sizes that `body` uses."""
        found: list[ir.Stmt] = []
        used = ir.names_in(body)
        for index, dtype in enumerate(self.around.dtypes):
            if f"p{index}" in used:
                kind = f"{dtype_of(dtype).c} *"
                pointer = ir.Cast(kind, ir.Element("b", (ir.Int(index),)))
                found.append(ir.Let(f"p{index}", kind, pointer, is_mutable=True))
        for index, name in enumerate(self.around.names.values()):
            if name in used:
                found.append(ir.Let(name, ir.INDEX, ir.Element("s", (ir.Int(index),))))
        return found

    def size(self, size: Poly) -> ir.Index:
        """Returns a size as an expression."""
        return size.expr(self.around.names)

    def buffer_of(self, root: Root) -> TensorBuffer:
        """Returns the buffer of a result."""
        return self.around.buffers[id(root.tensor)]

    def accessed_element_count(self) -> ir.Expr:
        """Returns the number of elements that the nest reads and writes.

        The number decides whether the nest runs on several threads. A nest without reductions reads
        at most one element of an input for each element that it writes. So the count of each input
        is limited to the number of written elements. For example, a lookup in a large table reads
        only some rows of the table.
        """
        own = [root.tensor for root in self.nest.roots]
        met, waiting, sums = {id(tensor) for tensor in own}, [tensor.op for tensor in own], False
        while waiting:
            op = waiting.pop()
            sums = sums or not op.body or any(isinstance(body, Reduce) for body in op.body)
            for item in op.input_tensors:
                if id(item) not in met:
                    met.add(id(item))
                    if id(item) not in self.around.buffers:
                        waiting.append(item.op)
        written = sum((element_count(tensor) for tensor in own), Poly())
        sizes = [element_count(tensor) for tensor in self.around.tensors if id(tensor) in met]
        counts = [self._cap_size(size, None if sums else written) for size in sizes]
        return ir.fold("add", counts) if counts else ir.Int(1)

    def _cap_size(self, size: Poly, bound: Poly | None) -> ir.Expr:
        if bound is None or size == bound:
            return self.size(size)
        if size.constant is not None and bound.constant is not None:
            return self.size(size if size.constant < bound.constant else bound)
        return ir.call("least", self.size(size), self.size(bound))

    def code(
        self,
        functions: Sequence[ir.Function],
        *calls: ir.Stmt,
        cells: HalfLookupTable | None = None,
        row_values: Mapping[str, int],
    ) -> NestCode:
        """Returns the code of the nest; `cells` and `row_values` are those of `NestFacts`."""
        stored = frozenset(self.buffer_of(root).number for root in self.nest.roots)
        facts = NestFacts(self.options, cells, self.nest.exact is not None, row_values)
        return NestCode(tuple(functions), facts, calls, stored)

    @property
    def portions(self) -> int:
        """Number of dynamically scheduled parts of the parallel loop; 0 for one part per thread."""
        return min(self.options.portions, MAX_THREADS)

    def parallel_call(
        self,
        extent: ir.Expr,
        grain: int,
        arguments: Sequence[ir.Expr] = (),
        part_arguments: Sequence[ir.Expr] = (),
        fields: Mapping[str, ir.Expr] | None = None,
        part_count: ir.Var | None = None,
    ) -> tuple[tuple[ir.Function, ...], ir.Stmt]:
        """Returns the function that runs one part, and the statement that runs all parts.

        The statement runs the nest on one thread if the nest accesses too few elements for several
        threads. The arguments are those of `partition_among_threads`.
        """
        bound: ir.Expr = ir.Int(self.options.parallel_elements)
        # merged partial sums differ from a sequential sum in the last bits, so their threshold is
        # constant
        if part_count is None:
            bound = ir.call("shared_from", bound)
        return partition_among_threads(
            self.name,
            extent,
            grain,
            ir.op("ge", self.accessed_element_count(), bound, kind=ir.FLAG),
            arguments,
            part_arguments,
            fields,
            portions=self.portions,
            part_count=part_count,
        )
