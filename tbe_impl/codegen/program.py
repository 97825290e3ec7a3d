"""A graph as one C function: stored tensors, loop nests in sequence, parallel where it pays.

One file of more than 500 lines: it is one writer, until lowering goes through a loop IR.
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

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.axis_merging import (
    Derived,
    derived_sizes,
    elements_of,
    index_poly,
    size_poly,
    strides_of,
)
from tbe_impl.codegen.half_accuracy import NARROW, short_calls
from tbe_impl.codegen.index_ranges import WIDE
from tbe_impl.codegen.loop_levels import Buffer, NeedsBuffer, TileMade, render
from tbe_impl.codegen.nest_function import Surroundings
from tbe_impl.codegen.nest_writer import NestWriter
from tbe_impl.codegen.options import DEFAULT, LoopChoice, Options
from tbe_impl.codegen.partition import (
    Nest,
    may_overwrite,
    nests_of,
    slow_stages,
    stored_inputs,
    totals_beside,
    worth_keeping,
)
from tbe_impl.codegen.polynomials import ONE, Poly
from tbe_impl.codegen.reduction_loops import SumLoops
from tbe_impl.codegen.row_maxima import maxima_of_numbers
from tbe_impl.codegen.scheduled_nest import ExactWriter
from tbe_impl.codegen.softmax_exponentials import (
    exponentials_of_deficits,
    quotients_of_exponentials,
)
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import COMPARISONS, Binary, IterVar, Var, reads, walk
from tbe_impl.dsl.tensor import Tensor, stages_of, variables_of
from tbe_impl.errors import CompileError
from tbe_impl.runtime.buffers import MAX_THREADS


@dataclass(frozen=True)
class Program:
    """C and how to call it; with 0 threads it uses one, whatever its options say.

    Attributes:
        text: gives the text; a program that was written by an earlier process writes it again when it is asked.
        symbol: ``int symbol(void **buffers, const int64_t *sizes, int64_t threads)``: 0, or 1 when memory ran out.
        inputs, outputs: what `buffers` holds, in this order.
        sizes, scalars: what `sizes` holds: whole numbers, then the bits of a float64 for each other one.
        result_shapes: shape and NumPy dtype of each output.
        overwritten: the input that the first output is written over, if any.
        mark: names the graph; a symbol of the library bears it. Empty for none.
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
        """The text; it includes the headers of this package."""
        return self.text()

    @property
    def symbols(self) -> tuple[str, ...]:
        """What its library holds: the function, and the mark of its graph."""
        return (self.symbol, f"graph_{self.mark}") if self.mark else (self.symbol,)


@dataclass(frozen=True)
class Layout:
    """What a program computes where.

    Attributes:
        nests: one after the other.
        kept: ``id`` of the stages of which a row is kept for the next loop over it.
        sums: ``id`` of the reductions whose loops somebody asked for → these, inside the loops of a nest.
        tiles: ``id`` of the stages of which tiles are computed in loops of others → what these are like.
    """

    nests: tuple[Nest, ...]
    kept: frozenset[int]
    sums: Mapping[int, SumLoops]
    tiles: Mapping[int, TileMade]

    @property
    def stored(self) -> dict[int, Nest]:
        """``id`` of each result that lies in memory → the nest that computes it."""
        return {id(root.tensor): nest for nest in self.nests for root in nest.roots}


def write_program(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT,
    mark: str = "",
) -> Program:
    """The C of a graph whose stages all have a body.

    Args:
        outputs: tensors to compute.
        inputs: tensors that the caller hands over: placeholders, and results of library stages.
        name: what people call it; it stands in the symbol, so that a crash names the operator.
        options: how.
        mark: names the graph.

    Raises:
        CompileError: there is no code for something in it.
    """
    return write_laid_out(outputs, inputs, name=name, options=options, mark=mark)[0]


def layout_of(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], options: Options = DEFAULT
) -> Layout:
    """How the program of a graph is laid out; the arguments and errors of `write_program`."""
    return write_laid_out(outputs, inputs, options=options)[1]


def write_laid_out(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT,
    mark: str = "",
) -> tuple[Program, Layout]:
    """The program of a graph and how it is laid out, which take as long as one of them; as `write_program`."""
    program, writer = _written(outputs, inputs, name, options, mark)
    return program, Layout(
        tuple(writer.nests), frozenset(writer.reused), writer.summed, writer.tiles
    )


FRAMES, MOST_FRAMES = 20, 9000
"""Calls of Python's behind each other that a stage takes when the next asks for its value, and that a thread's stack holds."""


def _allow_depth_of(stages: int) -> None:
    """A chain of so many stages can be asked for its last value; the limit stays, since other threads may have come to need it."""
    wanted = min(FRAMES * stages, MOST_FRAMES)
    if wanted > sys.getrecursionlimit():
        sys.setrecursionlimit(wanted)


def _written(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], name: str, options: Options, mark: str
) -> tuple[Program, _Writer]:
    _allow_depth_of(len(stages_of(outputs)))
    asks = options.inlined or options.rows or options.orders or options.stored
    named = computed(outputs, inputs) if asks else ()
    lying = outputs if options.orders or options.inplace else lying_as(outputs, inputs)
    picked = _picked(options.stored, named)
    # outputs are stored anyway, and are complete before they are read only where that turns out to be needed
    extra = [item for item in picked if not any(item is output for output in lying)]
    while True:
        try:
            with derived_sizes() as derived:
                look_at_sizes(outputs)
                writer = _Writer(lying, inputs, extra, name, options, derived, mark, named)
                made = replace(
                    writer.program(), outputs=tuple(outputs), result_shapes=result_shapes(outputs)
                )
                return made, writer
        except NeedsBuffer as need:
            for tensor in need.tensors:
                if any(tensor is one for one in (*extra, *inputs)) or not tensor.op.body:
                    raise CompileError(
                        f"there is no loop nest for {tensor.name}", place=str(tensor.op.location)
                    ) from None
            extra += need.tensors


def includes(options: Options) -> str:
    """How every text begins: the headers, for vectors of the width that was asked for."""
    wanted = [f"#define LANES {options.vector_bits // 32}"] if options.vector_bits else []
    return "\n".join([*wanted, '#include "vector_math.h"', '#include "runtime.h"'])


def symbol_of(name: str) -> str:
    """The function of a kernel that people call `name`."""
    return f"k_{re.sub('[^A-Za-z0-9_]', '_', name)[:40]}"


def computed(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results that `Options` names by number: those that could be stored, then the outputs."""
    given = {id(tensor) for tensor in inputs}
    last = {id(tensor): tensor for tensor in outputs if id(tensor) not in given}
    return (*storable(outputs, inputs), *last.values())


def _picked(numbers: Sequence[int], tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Those of the numbers that there are: a choice may have been made for another graph."""
    return (tensors[number] for number in numbers if number < len(tensors))


def by_serial(choices: Sequence[LoopChoice], axes: Sequence[IterVar]) -> tuple[LoopChoice, ...]:
    """Loops in terms of serial numbers instead of places; none where there are no such places."""
    if any(place >= len(axes) for choice in choices for place, _ in choice.parts):
        return ()
    return tuple(
        replace(choice, parts=tuple((axes[place].serial, step) for place, step in choice.parts))
        for choice in choices
    )


def _over(axes: Sequence[IterVar], choice: LoopChoice) -> LoopChoice:
    """A loop as far as it moves some axes."""
    own = {axis.serial for axis in axes}
    return replace(choice, parts=tuple(part for part in choice.parts if part[0] in own))


def _is_long(axis: IterVar) -> bool:
    return size_poly(axis.extent) != ONE


def storable(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of stages that could be stored without being asked for, in the order in which they are computed."""
    given = {id(tensor) for tensor in inputs}
    taken = given | {id(tensor) for tensor in outputs}
    ops = stages_of(outputs, given)
    return tuple(item for op in ops if op.body for item in op.outputs if id(item) not in taken)


def lying_as(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs, in the place of each that is only another shape of a result that nobody stores that result.

    Its elements lie in the same order, so that the loops that compute it write the output.
    """
    given = {id(tensor) for tensor in inputs}
    taken = given | {id(tensor) for tensor in outputs}
    read = {id(tensor) for op in stages_of(outputs) for tensor in op.input_tensors}
    made: list[Tensor] = []
    for tensor in outputs:
        source = _source_of(tensor, given)
        if source is not None and id(tensor) not in read and id(source) not in taken:
            taken.add(id(source))
            made.append(source)
        else:
            made.append(tensor)
    # what is called with sizes counts those of the outputs
    known = [[item.serial for item in variables_of(group)] for group in (made, outputs)]
    return tuple(made if known[0] == known[1] else outputs)


def _source_of(tensor: Tensor, given: Container[int]) -> Tensor | None:
    """What a tensor is another shape of, where a loop computes that; a shape of a shape is one of the first.

    What is `given` is there already, whatever it was made of.
    """
    word = tensor.op.word
    if word is None or word.name != "reshape" or id(tensor) in given:
        return None
    (source,) = word.inputs
    return _source_of(source, given) or (source if source.op.body else None)


class _Writer:
    def __init__(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        extra: Sequence[Tensor],
        name: str,
        options: Options,
        derived: Mapping[str, Derived],
        mark: str,
        named: tuple[Tensor, ...],
    ):
        self.inputs, self.outputs, self.options = tuple(inputs), tuple(outputs), options
        self.mark = mark
        self.overwritten: Tensor | None = None
        self.nests: tuple[Nest, ...] = ()
        self.reused: set[int] = set()
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
        self.kept = worth_keeping(outputs, in_memory) if options.keep_rows else frozenset()
        self.named = named
        self.kept |= {id(item) for item in _picked(options.rows, named)} - in_memory
        self.kept -= {id(item) for item in _picked(options.inlined, named)}
        asked = [
            (item, order)
            for order in options.orders
            for one in _picked([order.stage], named)
            for item in one.op.outputs
        ]
        ours = [] if options.inplace else asked
        self.orders = {id(item): order.loops for item, order in ours if order.loops}
        self.sums = {
            id(item): by_serial(order.sums, item.op.reduce_axis)
            for item, order in asked
            if order.sums
        }
        self.exact: dict[int, tuple[LoopChoice, ...]] = {}
        for item, order in ours:
            loops = by_serial(order.exact, (*item.op.axis, *item.op.reduce_axis))
            if any(_is_long(axis) for axis in item.op.axis):
                self.exact |= {id(item): loops} if loops else {}
            elif loops:
                self.sums[id(item)] = tuple(
                    map(functools.partial(_over, item.op.reduce_axis), loops)
                )
        self.summed: dict[int, SumLoops] = {}
        self.tiles: dict[int, TileMade] = {}
        self.slow = slow_stages(outputs, in_memory)
        self.short = dict.fromkeys(exponentials_of_deficits(outputs), "exp_of_deficit")
        self.short |= dict.fromkeys(maxima_of_numbers(outputs), "above")
        # the device rounds every stage, so that each has to be right by itself
        if options.rounding != "device":
            self.short |= dict.fromkeys(quotients_of_exponentials(outputs), "nearly_over")
            self.short |= short_calls(outputs)
        self.symbol = symbol_of(name)

    def program(self) -> Program:
        """The whole text."""
        nests = self.nests = nests_of(
            self.stored, self.inputs, self.apart, self.orders, self.sums, self.exact
        )
        if self.options.inplace:
            self._overwrite(nests)
        rounded_last = self._rounded_last(nests)
        self.temporary += rounded_last
        self.all += rounded_last
        dtypes = [self._dtype(number) for number in range(len(self.all))]
        around = Surroundings(
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
        functions, calls = self._nests(nests, around)
        start = (
            [f"if (threads) threads = {min(self.options.threads, MAX_THREADS)};"]
            if self.options.threads
            else []
        )
        if self.overwritten is not None:
            below = next(
                index for index, item in enumerate(self.inputs) if item is self.overwritten
            )
            start += [f"b[{len(self.inputs)}] = b[{below}]; /* in place */"]
        body = [*start]
        body += [
            f"const int64_t {name} = s[{number}];"
            for number, name in enumerate(self.names.values())
        ]
        body += [f"(void){name};" for name in self.names.values()]
        first = len(self.inputs) + len(self.outputs)
        if self.temporary:
            body += [
                f"void *all[{len(self.all)}];",
                f"memcpy(all, b, {first}*sizeof(void *));",
                "b = all;",
            ]
            body.append(f"memset(all + {first}, 0, sizeof all - {first}*sizeof(void *));")
        body += self._in_turn(functions, calls, dtypes)
        body += map(self._round, rounded_last)
        entry = [
            f"int {self.symbol}(void **b, const int64_t *s, int64_t threads) {{",
            render(
                [
                    "int missing = 0;",
                    *body,
                    "goto done;",
                    "done:",
                    *(f"free(all[{number}]);" for number in range(first, len(self.all))),
                    "(void)s; (void)threads;",
                    "return missing;",
                ]
            ),
            "}",
        ]
        source = "\n\n".join([includes(self.options), *functions, "\n".join(entry)]) + "\n"
        if self.mark:
            source += f"\nconst char graph_{self.mark} = 1;\n"
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

    def _nests(self, nests: Sequence[Nest], around: Surroundings) -> tuple[list[str], list[str]]:
        """The functions and their calls.

        Raises:
            NeedsBuffer: for all nests that have nothing to do with each other at once, since everything is planned anew then.
        """
        functions, calls = [], []
        readable = {id(tensor) for tensor in self.inputs}
        needed: dict[int, Tensor] = {}
        for number, nest in enumerate(nests):
            if not needed or needed.keys().isdisjoint(nest.computed(readable)):
                kind = NestWriter if nest.exact is None else ExactWriter
                try:
                    writer = kind(number, nest, around, readable)
                    function, call = writer.write()
                except NeedsBuffer as need:
                    for tensor in need.tensors:
                        beside = totals_beside(tensor, nest, readable | self.apart)
                        needed |= {id(item): item for item in (tensor, *beside)}
                else:
                    self.reused |= writer.inside.reused
                    self.summed |= writer.inside.summed
                    self.tiles |= writer.inside.tiles
                    functions.append(function)
                    calls.append(call)
            readable |= {id(root.tensor) for root in nest.roots}
            if nest.sums is not None:
                self.summed |= {id(root.tensor): nest.sums for root in nest.roots if root.columns}
        if needed:
            raise NeedsBuffer(*needed.values())
        return functions, calls

    def _in_turn(
        self, functions: Sequence[str], calls: Sequence[str], dtypes: Sequence[str]
    ) -> list[str]:
        """The calls. What lies between nests has memory from the first that names it to the last, and hands it on."""
        outputs = {id(tensor) for tensor in self.outputs}
        texts = [function + call for function, call in zip(functions, calls, strict=True)]
        lives, sizes = {}, {}
        for number in range(len(self.inputs) + len(self.outputs), len(self.all)):
            tensor = self.all[number]
            uses = [place for place, text in enumerate(texts) if f"b[{number}]" in text]
            lives[number] = (uses[0], len(calls) if id(tensor) in outputs else uses[-1])
            sizes[number] = (
                f"({elements_of(tensor).text(self.names)})*{dtype_of(dtypes[number]).bytes}"
            )
        made: list[str] = []
        spare: list[int] = []
        for place, call in enumerate(calls):
            for number in (one for one, (begin, _) in lives.items() if begin == place):
                other = next((one for one in spare if sizes[one] == sizes[number]), None)
                if other is None:
                    made.append(
                        f"all[{number}] = aligned_alloc(64, ({sizes[number]} + 127) & ~INT64_C(63));"
                    )
                    made.append(f"if (!all[{number}]) {{ missing = 1; goto done; }}")
                else:
                    made.append(f"all[{number}] = all[{other}]; all[{other}] = 0;")
                    spare.remove(other)
            made.append(call)
            for number in (one for one, (_, end) in lives.items() if end == place):
                if any(
                    begin > place and sizes[one] == sizes[number]
                    for one, (begin, _) in lives.items()
                ):
                    spare.append(number)
                else:
                    made.append(f"free(all[{number}]); all[{number}] = 0;")
        return made

    def _overwrite(self, nests: Sequence[Nest]) -> None:
        """Lets the first output lie where an input lies."""
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
            expected="an input of its shape and dtype, each element of which is read before it is written",
            remedy="Build it without `inplace`",
        )

    def _rounded_last(self, nests: Sequence[Nest]) -> list[Tensor]:
        """Outputs of narrow floats that other nests read: those want them before they are rounded."""
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
            if tensor.dtype in NARROW and id(tensor) in read and id(tensor) in stored
        ]

    def _dtype(self, number: int) -> str:
        """How a tensor lies in memory; what only this program reads is not rounded."""
        dtype, own = self.all[number].dtype, number >= len(self.inputs) + len(self.outputs)
        return "float32" if own and dtype in NARROW and self.options.rounding != "device" else dtype

    def _round(self, tensor: Tensor) -> str:
        """Statements that write an output of narrow floats from where it was computed."""
        number = len(self.inputs) + next(i for i, item in enumerate(self.outputs) if item is tensor)
        count, prefix = elements_of(tensor).text(self.names), vectors.memory_of(tensor.dtype)
        c, there = dtype_of(tensor.dtype).c, self._buffer(tensor).name[1:]
        return (
            f"for (int64_t i = 0; i < {count}; i += LANES) {{ "
            f"const int n = {count} - i < LANES ? (int)({count} - i) : LANES; "
            f"{prefix}_store_part(({c} *)b[{number}] + i, f32_load_part((float *)b[{there}] + i, n), n); }}"
        )

    def _buffer(self, tensor: Tensor) -> Buffer:
        number = max(index for index, item in enumerate(self.all) if item is tensor)
        strides = strides_of(tensor)
        if strides is None:
            raise CompileError(f"a size of {tensor.name} is no sum or product of sizes")
        return Buffer(f"p{number}", strides, self._dtype(number))


def sizes_and_scalars(outputs: Sequence[Tensor]) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
    """The whole numbers that are known at run time only, and the other ones."""
    known = tuple(variables_of(outputs))
    scalars = tuple(item for item in known if is_float(item.dtype))
    return tuple(item for item in known if not is_float(item.dtype)), scalars


def look_at_sizes(outputs: Sequence[Tensor]) -> None:
    """Inside `derived_sizes`: collects what its program takes for sizes, in an order that the graph alone decides."""
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
                if isinstance(node, Binary) and node.op in COMPARISONS and node.a.dtype in WIDE:
                    for side in node.children:
                        index_poly(side, {})


def result_shapes(
    outputs: Sequence[Tensor],
) -> tuple[tuple[tuple[Poly, ...], np.dtype[Any]], ...]:
    """Shape and NumPy dtype of each output."""
    return tuple((_shape(item), dtype_of(item.dtype).numpy) for item in outputs)


def _shape(tensor: Tensor) -> tuple[Poly, ...]:
    found = tuple(extent for size in tensor.shape if (extent := size_poly(size)) is not None)
    assert len(found) == len(tensor.shape)
    return found
