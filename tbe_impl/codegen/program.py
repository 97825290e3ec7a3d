"""Generates one C function for a graph: stored tensors, loop nests in sequence, parallel loops.

This module exceeds 500 lines because one class writes a whole program.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import emit_function
from tbe_impl.codegen.entry_function import (
    BUFFERS,
    MISSING,
    SIZES,
    THREADS,
    allocate,
    buffer_at,
    define_sizes,
    entry_function,
    free,
    limit_threads,
)
from tbe_impl.codegen.loop_levels import AttachedTile, MissingBuffer, TensorBuffer
from tbe_impl.codegen.nest_function import NestCode, ProgramContext
from tbe_impl.codegen.nest_writer import NestWriter
from tbe_impl.codegen.options import DEFAULT_OPTIONS, LoopChoice, Options
from tbe_impl.codegen.passes.half_accuracy import HALF_PRECISION_DTYPES, find_short_form_calls
from tbe_impl.codegen.passes.row_maxima import find_maxima_without_nan_checks
from tbe_impl.codegen.passes.softmax_exponentials import (
    find_softmax_exponentials,
    find_softmax_quotients,
)
from tbe_impl.codegen.pipeline import iterate_passes, run_passes
from tbe_impl.codegen.planning.access_analysis import (
    DerivedSize,
    collect_derived_sizes,
    element_count,
    index_poly,
    size_poly,
    strides_of,
)
from tbe_impl.codegen.planning.index_ranges import INDEX_DTYPES
from tbe_impl.codegen.planning.partition import (
    LoopNest,
    may_overwrite,
    nests_of,
    sibling_full_reductions,
    slow_stages,
    stages_worth_buffering,
    stored_inputs,
)
from tbe_impl.codegen.planning.polynomials import ONE, Poly
from tbe_impl.codegen.planning.reduction_loops import ReductionLoops
from tbe_impl.codegen.source_comments import are_stages_shown
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import COMPARISONS, Binary, IterVar, Var, reads, walk
from tbe_impl.dsl.tensor import Tensor, stages_of, variables_of
from tbe_impl.errors import CompileError


@dataclass(frozen=True)
class Program:
    """Generated C and its calling convention.

    Attributes:
        text: returns the C text. A program restored from the codegen cache generates the text on
            demand.
        symbol: name of ``int symbol(void **buffers, const int64_t *sizes, int64_t threads)``. The
            function returns 0, or 1 when out of memory. With 0 threads, the function runs on one
            thread.
        inputs, outputs: the tensors whose arrays the C function expects in ``buffers``, in this
            order.
        sizes, scalars: the values that the C function expects in ``sizes``: first the integer
            sizes, then the float64 bits of each scalar.
        result_shapes: shape and NumPy dtype of each output.
        overwritten: the input that the first output overwrites; None if there is none.
        mark: digest of the graph. The library exports a constant whose name contains this digest.
            If `mark` is empty, there is no such constant.
    """

    text: Callable[[], str]
    symbol: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    sizes: tuple[Var, ...]
    scalars: tuple[Var, ...]
    result_shapes: tuple[tuple[tuple[Poly, ...], np.dtype[Any]], ...] = ()
    overwritten: Tensor | None = None
    mark: str = ""

    @cached_property
    def source(self) -> str:
        """The C text, which includes the headers of this package."""
        return self.text()

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols that the library exports: the function, and a constant that names the graph."""
        return (self.symbol, f"graph_{self.mark}") if self.mark else (self.symbol,)


@dataclass(frozen=True)
class Layout:
    """The loop structure of a program.

    Attributes:
        nests: the loop nests, in execution order.
        sums: maps the ``id`` of a reduction with requested loops to the loops that it has inside a
            nest.
        tiles: maps the ``id`` of a stage to its tile, for the stages that are computed tile by tile
            in loops of another stage.
        codes: the code of each nest.
        entry: the function that runs all nests.
    """

    nests: tuple[LoopNest, ...]
    sums: Mapping[int, ReductionLoops]
    tiles: Mapping[int, AttachedTile]
    codes: tuple[NestCode, ...]
    entry: ir.Function

    @functools.cached_property
    def stages_with_row_buffers(self) -> frozenset[int]:
        """The ``id`` of the stages that have a row buffer."""
        found = set()
        for code in self.codes:
            for item, function in iterate_passes(code.functions[0], code.facts):
                if item.name == "row-buffers":
                    found |= {
                        code.facts.row_values[node.name]
                        for node in ir.walk(function.body)
                        if isinstance(node, ir.Let)
                        and node.name in code.facts.row_values
                        and isinstance(node.value, ir.Load)
                    }
        return frozenset(found)

    @property
    def nest_of_stored(self) -> dict[int, LoopNest]:
        """Maps the ``id`` of each stored result to the nest that computes it."""
        return {id(root.tensor): nest for nest in self.nests for root in nest.roots}


def write_program(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT_OPTIONS,
    mark: str = "",
) -> Program:
    """Generates C for a graph whose stages all have expressions, so that no stage needs a library.

    Args:
        outputs: tensors to compute.
        inputs: tensors that the caller passes. They are placeholders or results of earlier library
            stages.
        name: readable name. The symbol contains this name, so that the report of a crash shows the
            operator.
        options: code generation options.
        mark: digest of the graph, from `tbe_impl.codegen.codegen_cache.graph_mark`; empty for none.

    Raises:
        CompileError: the graph contains an expression that cannot be lowered.
    """
    return write_program_and_layout(outputs, inputs, name=name, options=options, mark=mark)[0]


def layout_of(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], options: Options = DEFAULT_OPTIONS
) -> Layout:
    """Returns the loop structure of a graph's program.

    The arguments and the errors are those of `write_program`.
    """
    return write_program_and_layout(outputs, inputs, options=options)[1]


def write_program_and_layout(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT_OPTIONS,
    mark: str = "",
) -> tuple[Program, Layout]:
    """Generates the program of a graph; returns the program and its loop structure.

    The arguments and the errors are those of `write_program`.
    """
    program, writer = _write_to_fixed_point(outputs, inputs, name, options, mark)
    return program, Layout(
        writer.nests,
        writer.summed,
        writer.tiles,
        writer.codes,
        writer.entry,
    )


FRAMES_PER_STAGE, MAX_FRAMES = 20, 9000
"""Number of Python stack frames for each stage in a chain of stages, and the maximum in total."""


def _raise_recursion_limit(stages: int) -> None:
    """Raises Python's recursion limit, so that a chain of `stages` stages can be visited.

    The limit is never lowered again, because other threads may need it.
    """
    wanted = min(FRAMES_PER_STAGE * stages, MAX_FRAMES)
    if wanted > sys.getrecursionlimit():
        sys.setrecursionlimit(wanted)


def _write_to_fixed_point(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], name: str, options: Options, mark: str
) -> tuple[Program, _ProgramWriter]:
    _raise_recursion_limit(len(stages_of(outputs)))
    asks = options.inlined or options.rows or options.orders or options.stored
    named = numbered_results(outputs, inputs) if asks else ()
    lying = outputs if options.orders or options.inplace else strip_output_reshapes(outputs, inputs)
    picked = _select_numbered(options.stored, named)
    # an output is stored anyway; it is in `extra` only if it must be complete before its readers
    extra = [item for item in picked if not any(item is output for output in lying)]
    while True:
        try:
            with collect_derived_sizes() as derived:
                collect_sizes(outputs)
                writer = _ProgramWriter(lying, inputs, extra, name, options, derived, mark, named)
                made = replace(
                    writer.program(), outputs=tuple(outputs), result_shapes=result_shapes(outputs)
                )
                return made, writer
        except MissingBuffer as need:
            for tensor in need.tensors:
                if any(tensor is one for one in (*extra, *inputs)) or not tensor.op.body:
                    raise CompileError(
                        f"there is no loop nest for {tensor.name}", place=str(tensor.op.location)
                    ) from None
            extra += need.tensors


def include_directives(options: Options) -> str:
    """Returns the first lines of every C text.

    These lines include the headers, and define the vector width if the options request one.
    """
    wanted = [f"#define LANES {options.vector_bits // 32}"] if options.vector_bits else []
    return "\n".join([*wanted, '#include "vector_math.h"', '#include "runtime.h"'])


def symbol_of(name: str) -> str:
    """Returns the C function name of the kernel `name`."""
    return f"k_{re.sub('[^A-Za-z0-9_]', '_', name)[:40]}"


def numbered_results(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Returns the results that `Options` identifies by number.

    Storable results come first, then outputs.
    """
    given = {id(tensor) for tensor in inputs}
    last = {id(tensor): tensor for tensor in outputs if id(tensor) not in given}
    return (*storable_results(outputs, inputs), *last.values())


def _select_numbered(numbers: Sequence[int], tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yields the tensors that have the given numbers.

    A number that is out of range belongs to another graph and is ignored.
    """
    return (tensors[number] for number in numbers if number < len(tensors))


def translate_to_serials(
    choices: Sequence[LoopChoice], axes: Sequence[IterVar]
) -> tuple[LoopChoice, ...]:
    """Translates axis positions of loops to serial numbers of axes.

    Returns no loops when a position is out of range.
    """
    if any(place >= len(axes) for choice in choices for place, _ in choice.parts):
        return ()
    return tuple(
        replace(choice, parts=tuple((axes[place].serial, step) for place, step in choice.parts))
        for choice in choices
    )


def _restrict_choice(axes: Sequence[IterVar], choice: LoopChoice) -> LoopChoice:
    """Returns a copy of a requested loop, restricted to the indices of `axes`."""
    own = {axis.serial for axis in axes}
    return replace(choice, parts=tuple(part for part in choice.parts if part[0] in own))


def _is_long(axis: IterVar) -> bool:
    return size_poly(axis.extent) != ONE


def storable_results(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Returns stage results that are neither inputs nor outputs, in the order of computation."""
    given = {id(tensor) for tensor in inputs}
    taken = given | {id(tensor) for tensor in outputs}
    ops = stages_of(outputs, given)
    return tuple(item for op in ops if op.body for item in op.outputs if id(item) not in taken)


def strip_output_reshapes(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Replaces each output that only reshapes an unstored result by that result.

    The elements have the same order, so the loops of the result can write the output.
    """
    given = {id(tensor) for tensor in inputs}
    taken = given | {id(tensor) for tensor in outputs}
    read = {id(tensor) for op in stages_of(outputs) for tensor in op.input_tensors}
    made: list[Tensor] = []
    for tensor in outputs:
        source = _reshape_source(tensor, given)
        if source is not None and id(tensor) not in read and id(source) not in taken:
            taken.add(id(source))
            made.append(source)
        else:
            made.append(tensor)
    # the sizes passed to a call are those of the original outputs
    known = [[item.serial for item in variables_of(group)] for group in (made, outputs)]
    return tuple(made if known[0] == known[1] else outputs)


def _reshape_source(tensor: Tensor, given: Container[int]) -> Tensor | None:
    """Returns the source of a reshape or a chain of reshapes, if a loop nest computes the source.

    Returns None if `tensor` is no reshape, or if the caller passes it (its ``id`` is in `given`).
    """
    word = tensor.op.dsl_call
    if word is None or word.name != "reshape" or id(tensor) in given:
        return None
    (source,) = word.inputs
    return _reshape_source(source, given) or (source if source.op.body else None)


ALL = ir.Var("all", "void **")
"""Pointers to inputs, outputs and temporaries."""

NO_POINTER = ir.Int(0, "void *")


def _round_to_lines(byte_count: ir.Expr) -> ir.Expr:
    """Returns a size rounded up to whole cache lines, plus one more cache line."""
    behind = ir.op("add", byte_count, ir.Int(127))
    return ir.op("bitand", behind, ir.op("bitnot", ir.index_of(63)))


class _ProgramWriter:
    def __init__(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        extra: Sequence[Tensor],
        name: str,
        options: Options,
        derived: Mapping[str, DerivedSize],
        mark: str,
        named: tuple[Tensor, ...],
    ):
        self.inputs, self.outputs, self.options = tuple(inputs), tuple(outputs), options
        self.mark = mark
        self.overwritten: Tensor | None = None
        self.nests: tuple[LoopNest, ...] = ()
        self.codes: tuple[NestCode, ...] = ()
        self.apart = {id(tensor) for tensor in extra}
        wanted = {id(tensor) for tensor in (*outputs, *extra)} - {id(tensor) for tensor in inputs}
        self.stored = [
            tensor for op in stages_of(outputs) for tensor in op.outputs if id(tensor) in wanted
        ]
        self.temporary = [
            tensor for tensor in self.stored if not any(tensor is item for item in outputs)
        ]
        self.all = [*self.inputs, *self.outputs, *self.temporary]
        whole, self.scalars = sizes_and_scalars(outputs)
        self.sizes = (*whole, *derived.values())
        self.names = {
            item.serial: f"n{number}" for number, item in enumerate((*self.sizes, *self.scalars))
        }
        in_memory = {id(tensor) for tensor in self.all}
        self.kept = stages_worth_buffering(outputs, in_memory) if options.keep_rows else frozenset()
        self.named = named
        self.kept |= {id(item) for item in _select_numbered(options.rows, named)} - in_memory
        self.kept -= {id(item) for item in _select_numbered(options.inlined, named)}
        asked = [
            (item, order)
            for order in options.orders
            for one in _select_numbered([order.stage], named)
            for item in one.op.outputs
        ]
        ours = [] if options.inplace else asked
        self.orders = {id(item): order.loops for item, order in ours if order.loops}
        self.sums = {
            id(item): translate_to_serials(order.sums, item.op.reduce_axis)
            for item, order in asked
            if order.sums
        }
        self.exact: dict[int, tuple[LoopChoice, ...]] = {}
        for item, order in ours:
            loops = translate_to_serials(order.exact, (*item.op.axis, *item.op.reduce_axis))
            if any(_is_long(axis) for axis in item.op.axis):
                self.exact |= {id(item): loops} if loops else {}
            elif loops:
                self.sums[id(item)] = tuple(
                    map(functools.partial(_restrict_choice, item.op.reduce_axis), loops)
                )
        self.summed: dict[int, ReductionLoops] = {}
        self.tiles: dict[int, AttachedTile] = {}
        self.slow = slow_stages(outputs, in_memory)
        self.short = dict.fromkeys(find_softmax_exponentials(outputs), "exp_of_deficit")
        self.short |= dict.fromkeys(find_maxima_without_nan_checks(outputs), "above")
        # with device rounding every stage is rounded, so each stage has to be exact
        if options.rounding != "device":
            self.short |= dict.fromkeys(find_softmax_quotients(outputs), "nearly_over")
            self.short |= find_short_form_calls(outputs)
        self.symbol = symbol_of(name)

    def program(self) -> Program:
        """Generates the program."""
        nests = self.nests = nests_of(
            self.stored, self.inputs, self.apart, self.orders, self.sums, self.exact
        )
        if self.options.inplace:
            self._overwrite(nests)
        rounded_last = self._deferred_rounding_outputs(nests)
        self.temporary += rounded_last
        self.all += rounded_last
        dtypes = [self._dtype(number) for number in range(len(self.all))]
        around = ProgramContext(
            self.symbol,
            self.all,
            dtypes,
            {id(item): self._buffer(item) for item in self.all},
            self.names,
            self.kept,
            self.slow,
            self.sums,
            self.short,
            self.exact,
            self.named,
            self.options,
        )
        written = self.codes = self._write_nests(nests, around)
        self.entry = self._entry_function(written, dtypes, rounded_last)
        source = self._source(written)
        return Program(
            lambda: source,
            self.symbol,
            self.inputs,
            self.outputs,
            self.sizes,
            self.scalars,
            result_shapes(self.outputs),
            self.overwritten,
            self.mark,
        )

    def _source(self, written: Sequence[NestCode]) -> str:
        """Returns the C text of all functions."""
        functions = [
            run_passes(function, code.facts) for code in written for function in code.functions
        ]
        emit = functools.partial(emit_function, are_staged=are_stages_shown())
        texts = [include_directives(self.options), *map(emit, (*functions, self.entry))]
        mark = f"\nconst char graph_{self.mark} = 1;\n" if self.mark else ""
        return "\n\n".join(texts) + "\n" + mark

    def _entry_function(
        self, written: Sequence[NestCode], dtypes: Sequence[str], rounded_last: Sequence[Tensor]
    ) -> ir.Function:
        """Returns the function that runs all nests."""
        body = limit_threads(self.options)
        if self.overwritten is not None:
            below = next(i for i, item in enumerate(self.inputs) if item is self.overwritten)
            body.append(ir.Assign(buffer_at(len(self.inputs)), buffer_at(below)))
        body += [*define_sizes(self.names.values()), ir.Unused(tuple(self.names.values()))]
        first = len(self.inputs) + len(self.outputs)
        if self.temporary:
            given = ir.op("mul", ir.Int(first), ir.call("sizeof", ir.Var("void *", "type")))
            left = ir.op("sub", ir.call("sizeof", ALL), given)
            body += [
                ir.Alloc(ALL.name, "void *", (ir.Int(len(self.all)),)),
                ir.Evaluate(ir.call("memcpy", ALL, BUFFERS, given)),
                ir.Assign(BUFFERS, ALL),
                ir.Evaluate(ir.call("memset", ir.Pointer(ALL, (ir.Int(first),)), ir.Int(0), left)),
            ]
        body += self._emit_calls(written, dtypes)
        body += map(self._emit_rounding, rounded_last)
        final = [free(buffer_at(number, ALL)) for number in range(first, len(self.all))]
        final.append(ir.Unused((SIZES.name, THREADS.name)))
        start = ir.Let(MISSING.name, MISSING.kind, ir.Int(0), is_mutable=True)
        attempt = ir.Attempt(tuple(body), tuple(final))
        return entry_function(self.symbol, (start, attempt, ir.Return(MISSING)))

    def _write_nests(
        self, nests: Sequence[LoopNest], around: ProgramContext
    ) -> tuple[NestCode, ...]:
        """Generates the code of the nests.

        Raises:
            MissingBuffer: a nest needs tensors that are not stored. The error names the missing
                tensors of all independent nests. One error for all is cheaper, because the whole
                program is generated again after each error.
        """
        written: list[NestCode] = []
        readable = {id(tensor) for tensor in self.inputs}
        needed: dict[int, Tensor] = {}
        for number, nest in enumerate(nests):
            if not needed or needed.keys().isdisjoint(nest.unstored_tensors(readable)):
                try:
                    writer = NestWriter(number, nest, around, readable)
                    code = writer.write()
                except MissingBuffer as need:
                    for tensor in need.tensors:
                        beside = sibling_full_reductions(tensor, nest, readable | self.apart)
                        needed |= {id(item): item for item in (tensor, *beside)}
                else:
                    self.summed |= writer.inside.summed
                    self.tiles |= writer.inside.tiles
                    written.append(code)
            readable |= {id(root.tensor) for root in nest.roots}
            if nest.sums is not None:
                self.summed |= {id(root.tensor): nest.sums for root in nest.roots if root.columns}
        if needed:
            raise MissingBuffer(*needed.values())
        return tuple(written)

    def _emit_calls(self, written: Sequence[NestCode], dtypes: Sequence[str]) -> list[ir.Stmt]:
        """Returns the calls of the nests, and the allocation and release of temporaries.

        A temporary is allocated before its first use and released after its last use.
        """
        outputs = {id(tensor) for tensor in self.outputs}
        accessed = [code.tensors() for code in written]
        lives, sizes = {}, {}
        for number in range(len(self.inputs) + len(self.outputs), len(self.all)):
            tensor = self.all[number]
            uses = [place for place, numbers in enumerate(accessed) if number in numbers]
            lives[number] = (uses[0], len(written) if id(tensor) in outputs else uses[-1])
            count, width = element_count(tensor).expr(self.names), dtype_of(dtypes[number]).bytes
            sizes[number] = ir.op("mul", count, ir.Int(width))
        made: list[ir.Stmt] = []
        spare: list[int] = []
        for place, code in enumerate(written):
            for number in (one for one, (begin, _) in lives.items() if begin == place):
                other = next((one for one in spare if sizes[one] == sizes[number]), None)
                if other is None:
                    made += allocate(buffer_at(number, ALL), _round_to_lines(sizes[number]))
                else:
                    made += [
                        ir.Assign(buffer_at(number, ALL), buffer_at(other, ALL)),
                        ir.Assign(buffer_at(other, ALL), NO_POINTER),
                    ]
                    spare.remove(other)
            made += code.calls
            for number in (one for one, (_, end) in lives.items() if end == place):
                if any(
                    begin > place and sizes[one] == sizes[number]
                    for one, (begin, _) in lives.items()
                ):
                    spare.append(number)
                else:
                    made += [
                        free(buffer_at(number, ALL)),
                        ir.Assign(buffer_at(number, ALL), NO_POINTER),
                    ]
        return made

    def _overwrite(self, nests: Sequence[LoopNest]) -> None:
        """Lets the first output overwrite the first input of the same shape and dtype.

        Raises:
            CompileError: there is no such input, or the output would overwrite the input before its
                last read.
        """
        target = self.outputs[0]
        for source in self.inputs:
            if source.dtype == target.dtype and _shape(source) == _shape(target):
                if may_overwrite(source, target, nests, {id(item) for item in self.inputs}):
                    self.overwritten = source
                    return
                break
        raise CompileError(
            f"{target.name} cannot be written over an input",
            place=str(target.op.location),
            expected="an input of its shape and dtype, "
            "each element of which is read before it is written",
            remedy="Build it without `inplace`",
        )

    def _deferred_rounding_outputs(self, nests: Sequence[LoopNest]) -> list[Tensor]:
        """Returns the half-precision outputs that other nests read.

        These nests read the unrounded values from a float32 temporary.
        """
        if self.options.rounding == "device":
            return []
        stored, read = {id(tensor) for tensor in self.stored}, set[int]()
        for nest in nests:
            roots = {id(root.tensor) for root in nest.roots}
            for root in nest.roots:
                read |= stored_inputs(root.tensor, stored) - roots
        return [
            tensor
            for tensor in self.outputs
            if tensor.dtype in HALF_PRECISION_DTYPES and id(tensor) in read and id(tensor) in stored
        ]

    def _dtype(self, number: int) -> str:
        """Returns the dtype of a tensor in memory; half-precision temporaries are float32."""
        dtype, own = self.all[number].dtype, number >= len(self.inputs) + len(self.outputs)
        return self.options.temporary_dtype(dtype) if own else dtype

    def _emit_rounding(self, tensor: Tensor) -> ir.Stmt:
        """Returns the loop that rounds a half-precision output from its float32 temporary."""
        number = len(self.inputs) + next(i for i, item in enumerate(self.outputs) if item is tensor)
        count, i, n = element_count(tensor).expr(self.names), ir.Var("i"), ir.Var("n", ir.INT)

        def place(number: int, c: str) -> ir.Expr:
            return ir.Pointer(ir.Cast(f"{c} *", buffer_at(number)), (i,))

        left = ir.op("sub", count, i)
        is_part = ir.op("lt", left, ir.LANES, kind=ir.FLAG)
        lanes = ir.op("choose", is_part, ir.Cast(ir.INT, left), ir.LANES)
        wide = ir.Load("f32", "f32", place(self._buffer(tensor).number, "float"), count=n)
        prefix, narrow = vectors.memory_prefix(tensor.dtype), dtype_of(tensor.dtype).c
        round_part = ir.Store(prefix, place(number, narrow), wide, count=n)
        return ir.For(i.name, ir.ZERO, count, (ir.Let(n.name, n.kind, lanes), round_part), ir.LANES)

    def _buffer(self, tensor: Tensor) -> TensorBuffer:
        number = max(index for index, item in enumerate(self.all) if item is tensor)
        strides = strides_of(tensor)
        if strides is None:
            raise CompileError(f"a size of {tensor.name} is not a sum or product of sizes")
        return TensorBuffer(f"p{number}", strides, self._dtype(number), number=number)


def sizes_and_scalars(outputs: Sequence[Tensor]) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
    """Returns the integer sizes that are known only at run time, and the float scalars."""
    known = tuple(variables_of(outputs))
    scalars = tuple(item for item in known if is_float(item.dtype))
    return tuple(item for item in known if not is_float(item.dtype)), scalars


def collect_sizes(outputs: Sequence[Tensor]) -> None:
    """Registers the derived sizes of a graph, in an order that depends only on the graph.

    The caller must call this function in a ``with collect_derived_sizes()`` statement.
    """
    for op in stages_of(outputs):
        for axis in (*op.axis, *op.reduce_axis):
            size_poly(axis.extent)
        for tensor in op.outputs:
            for size in tensor.shape:
                size_poly(size)
        for body in op.body:
            for read in reads(body):
                for index in read.indices:
                    index_poly(index, {})
            for node in walk(body):
                if (
                    isinstance(node, Binary)
                    and node.op in COMPARISONS
                    and node.a.dtype in INDEX_DTYPES
                ):
                    for side in node.children:
                        index_poly(side, {})


def result_shapes(
    outputs: Sequence[Tensor],
) -> tuple[tuple[tuple[Poly, ...], np.dtype[Any]], ...]:
    """Returns shape and NumPy dtype of each output."""
    return tuple((_shape(item), dtype_of(item.dtype).numpy) for item in outputs)


def _shape(tensor: Tensor) -> tuple[Poly, ...]:
    found = tuple(extent for size in tensor.shape if (extent := size_poly(size)) is not None)
    assert len(found) == len(tensor.shape)
    return found
