"""Prepares a graph for this processor as a sequence of C programs and library calls."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tbe_impl.codegen import codegen_cache
from tbe_impl.codegen.options import DEFAULT_OPTIONS, Options
from tbe_impl.codegen.planning.access_analysis import DerivedSize
from tbe_impl.codegen.planning.partition import stored_inputs
from tbe_impl.codegen.program import Program, write_program
from tbe_impl.codegen.scans import write_scan
from tbe_impl.codegen.scatter import write_scatter
from tbe_impl.codegen.source_comments import stage_comment
from tbe_impl.cpu.loaded_program import LoadedProgram, allocate_results, load_program
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Var
from tbe_impl.dsl.graph_text import graph_text
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import CompileError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime import compiler
from tbe_impl.runtime.cache import KernelCache, text_digest


@dataclass(frozen=True)
class KernelStep:
    """One step of a kernel: either `program`, or `stage`, an operation that a library computes."""

    program: LoadedProgram | None = None
    stage: Operation | None = None


@dataclass(frozen=True)
class CpuKernel:
    """A graph that is compiled, loaded and ready to run."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    steps: tuple[KernelStep, ...]

    @property
    def source(self) -> str:
        """Returns the C source of all programs, with a comment for each library call."""
        return self._join_texts(lambda program: program.source)

    def regenerate_source(self, name: str, options: Options) -> str:
        """Generates `source` again with the current settings, such as stage comments.

        Args:
            name: the name passed to `prepare`.
            options: the code generation options passed to `prepare`.
        """

        def regenerate(program: Program) -> str:
            if any(tensor.op.kind == "library" for tensor in program.outputs):
                return program.source  # a hand-written program has no loop nests to generate
            return write_program(
                program.outputs, program.inputs, name=name, options=options, mark=program.mark
            ).source

        return self._join_texts(regenerate)

    def _join_texts(self, text_of: Callable[[Program], str]) -> str:
        """Joins the text of every step; a repeated function name gets a numeric suffix."""
        texts = []
        symbols: list[str] = []
        for step in self.steps:
            if step.program is None:
                texts.append(_call_text(step.stage))
                continue
            symbol, text = step.program.program.symbol, text_of(step.program.program)
            symbols.append(symbol)
            number = symbols.count(symbol)
            texts.append(text.replace(symbol, f"{symbol}_{number}") if number > 1 else text)
        return "\n".join(texts)

    def run(
        self,
        arrays: Sequence[np.ndarray],
        values: Mapping[int, int | float],
        threads: int,
        results: Sequence[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Runs the kernel and returns its outputs.

        Args:
            arrays: one array for each input, with the dtype and shape of that input.
            values: maps the ``id`` of each size or scalar known only at run time to its value.
            threads: maximum number of threads; a loop uses several threads if this is profitable.
            results: dense arrays for the outputs, of the right dtypes; by default new arrays.
        """
        known = {
            id(tensor): np.ascontiguousarray(array)
            for tensor, array in zip(self.inputs, arrays, strict=True)
        }
        places: dict[int, np.ndarray] = {}
        if results is not None:
            places = {id(t): array for t, array in zip(self.outputs, results, strict=True)}
        for step in self.steps:
            if step.stage is not None:
                known |= _run_library(step.stage, known, values)
                continue
            assert step.program is not None
            program = step.program.program
            sizes = [_size_value(size, values) for size in program.sizes]
            made = [places[id(tensor)] for tensor in program.outputs if id(tensor) in places]
            if len(made) < len(program.outputs):
                serials = (size.serial for size in program.sizes)
                new = allocate_results(program, dict(zip(serials, sizes, strict=True)))
                made = [
                    places.get(id(t), item) for t, item in zip(program.outputs, new, strict=True)
                ]
            if program.overwritten is not None:
                made[0] = known[id(program.overwritten)]
            sizes += [_float64_bits(item, values) for item in program.scalars]
            step.program([known[id(tensor)] for tensor in program.inputs], made, sizes, threads)
            known |= {id(t): array for t, array in zip(program.outputs, made, strict=True)}
        given = {id(tensor): array for tensor, array in zip(self.inputs, arrays, strict=True)}
        # copies an input that is also an output
        found = tuple(
            np.array(given[id(t)], order="C") if id(t) in given else known[id(t)]
            for t in self.outputs
        )
        if results is None:
            return found
        for place, array in zip(results, found, strict=True):
            if place is not array:
                place[...] = array
        return tuple(results)


@dataclass(frozen=True)
class KernelPart:
    """One part of a graph before compilation.

    Attributes:
        write: function that returns the part's program, which it generates in its first call; None
            for a library operation.
        compiled_program: the program and its library; None unless both come from the cache.
        plan: cache key under which the code generation plan is stored; empty if it is not stored.
        stage: the library operation; None for a part with a program.
    """

    write: Callable[[], Program] | None = None
    compiled_program: tuple[Program, Path] | None = None
    plan: str = ""
    stage: Operation | None = None


@dataclass(frozen=True)
class PlannedKernel:
    """A graph divided into parts that are not loaded yet.

    Attributes:
        inputs, outputs: the tensors of the graph.
        parts: the parts in execution order.
        options: code generation options.
        store: cache of compiled libraries.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parts: tuple[KernelPart, ...]
    options: Options
    store: KernelCache

    def uncompiled_programs(self) -> list[Program]:
        """Generates the programs of the parts; returns those that have no library in the cache.

        Raises:
            CompileError: the graph contains an operation that cannot be lowered.
        """
        written = [part.write() for part in self.parts if part.write and not part.compiled_program]
        return [one for one in written if compiler.find(self._key(one), self.store) is None]

    def compile_and_load(self) -> CpuKernel:
        """Compiles and loads every part; raises the same errors as `prepare`."""
        return CpuKernel(self.inputs, self.outputs, tuple(map(self._step, self.parts)))

    def _step(self, part: KernelPart) -> KernelStep:
        if part.write is None:
            return KernelStep(stage=part.stage)
        if part.compiled_program is not None:
            with suppress(CompileError):
                return KernelStep(load_program(*part.compiled_program))
        program = part.write()
        told = self.options.compiler_options()
        library = compiler.build(
            program.source, options=told, symbols=program.symbols, cache=self.store
        )
        loaded = load_program(program, library)
        if part.plan:
            codegen_cache.write_plan(self.store, part.plan, program)
        return KernelStep(loaded)

    def _key(self, program: Program) -> str:
        digest = text_digest(program.source)
        return compiler.recipe(digest, options=self.options.compiler_options()).key


def prepare(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT_OPTIONS,
    cache: KernelCache | None = None,
    graph: Callable[[], str] | None = None,
) -> CpuKernel:
    """Compiles and loads a graph.

    Args:
        outputs, inputs: the tensors of the graph.
        name: readable name for the generated code.
        options: code generation options.
        cache: cache of compiled libraries; by default the user's.
        graph: function that returns the result of `graph_text` for the graph; by default,
            `graph_text` is called.

    Raises:
        MissingError: no C compiler was found.
        CompileError: compilation failed, or the graph contains an operation that cannot be lowered.
    """
    return plan(
        outputs, inputs, name=name, options=options, cache=cache, graph=graph
    ).compile_and_load()


def plan(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT_OPTIONS,
    cache: KernelCache | None = None,
    graph: Callable[[], str] | None = None,
) -> PlannedKernel:
    """Divides a graph into parts at library stages and looks up each part in the cache.

    Takes the same arguments as `prepare` and raises the same errors.
    """
    store = cache or compiler.user_cache()
    found: list[KernelPart] = []
    known = {id(tensor): tensor for tensor in inputs}

    def compile_for(wanted: Sequence[Tensor]) -> None:
        missing = [tensor for tensor in _drop_duplicates(wanted) if id(tensor) not in known]
        if missing:
            read = set[int]().union(*(stored_inputs(tensor, known) for tensor in missing))
            used = [tensor for key, tensor in known.items() if key in read]
            whole = len(used) == len(inputs) and all(map(operator.is_, missing, outputs))
            told = graph if whole and len(missing) == len(outputs) else None
            text = told or functools.partial(graph_text, missing, used)
            found.append(_plan_part(missing, used, name, options, store, text))
            known.update({id(tensor): tensor for tensor in missing})

    for op in stages_of(outputs):
        if op.kind == "library":
            compile_for(op.input_tensors)
            written = write_scatter(op, name=name, options=options) or write_scan(
                op, name=name, options=options
            )
            found.append(
                KernelPart(functools.partial(_identity, written))
                if written
                else KernelPart(stage=op)
            )
            known.update({id(tensor): tensor for tensor in op.outputs})
    compile_for(outputs)
    return PlannedKernel(tuple(inputs), tuple(outputs), tuple(found), options, store)


def build_together(kernels: Sequence[PlannedKernel]) -> None:
    """Compiles the uncached programs of several kernels with few calls of the compiler.

    `PlannedKernel.compile_and_load` later compiles the programs that cannot be compiled together.

    Args:
        kernels: kernels with equal options and the same store.
    """
    told = kernels[0].options.compiler_options() if kernels else []
    for texts in _group_by_disjoint_symbols(
        [program for one in kernels for program in one.uncompiled_programs()]
    ):
        if len(texts) > 1 and compiler.can_be_together(texts):
            with suppress(CompileError):
                compiler.build_together(texts, options=told, cache=kernels[0].store)


def _group_by_disjoint_symbols(
    programs: Sequence[Program],
) -> list[list[tuple[str, tuple[str, ...]]]]:
    """Groups distinct program texts so that no two texts of a group define the same symbol.

    The parts of one kernel define the same symbol and are therefore in different groups.
    """
    found: list[dict[tuple[str, tuple[str, ...]], None]] = []
    for program in programs:
        text = (program.source, program.symbols)
        if any(text in one for one in found):
            continue
        taken = ({symbol for _, own in one for symbol in own} for one in found)
        free = (one for one, held in zip(found, taken, strict=True) if held.isdisjoint(text[1]))
        place = next(free, None)
        if place is None:
            found.append(place := {})
        place[text] = None
    return [list(one) for one in found]


def _identity(program: Program) -> Program:
    return program


def _plan_part(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    name: str,
    options: Options,
    store: KernelCache,
    graph: Callable[[], str],
) -> KernelPart:
    """Looks up one part in the cache; its code is generated later, and only if necessary."""
    mark = codegen_cache.graph_mark(graph, options)
    write = functools.cache(
        functools.partial(write_program, outputs, inputs, name=name, options=options, mark=mark)
    )
    key = codegen_cache.plan_key(store, mark, name, options) if mark else ""
    noted = codegen_cache.read_plan(store, key) if key else None
    if noted is None:
        return KernelPart(write, plan=key)
    program = noted.restore_program(outputs, inputs, mark, lambda: write().source)
    library = compiler.find(
        compiler.recipe(noted.text, options=options.compiler_options()).key, store
    )
    return KernelPart(write, (program, library) if program and library else None, key)


def _call_text(stage: Operation | None) -> str:
    """Returns a C comment that describes a library call, for which no loop is generated."""
    assert stage is not None and stage.dsl_call is not None
    given, made = (
        ", ".join(f"{shape_text(one.shape)} {one.dtype}" for one in tensors)
        for tensors in (stage.dsl_call.inputs, stage.outputs)
    )
    return (
        f"/* a library computes {stage.dsl_call.name} of {given}: {made} */{stage_comment(stage)}\n"
    )


def _size_value(size: Var, values: Mapping[int, int | float]) -> int:
    wanted = size.expression if isinstance(size, DerivedSize) else size
    return int(evaluate.evaluate_scalar(wanted, values))


def _float64_bits(item: Var, values: Mapping[int, int | float]) -> int:
    """Returns the bits of a float64 value as an int64."""
    return int(np.float64(evaluate.evaluate_scalar(item, values)).view(np.int64))


def _drop_duplicates(tensors: Sequence[Tensor]) -> list[Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


_UNREAD_ARRAY = np.zeros(())


def _run_library(
    op: Operation, known: Mapping[int, np.ndarray], values: Mapping[int, Any]
) -> dict[int, np.ndarray]:
    """Computes a library stage with its NumPy formula.

    Returns a dict from the ``id`` of each output to its array.
    """
    assert op.dsl_call is not None
    # `evaluate.run` needs an array for every output of a stage, but an unused output was never
    # computed: an array that is never read takes its place
    beside = {id(t): _UNREAD_ARRAY for item in op.input_tensors for t in item.op.outputs}
    given = beside | {id(t): known[id(t)] for t in op.input_tensors}
    found = evaluate.run(op.outputs, given, values)
    return {
        id(tensor): np.ascontiguousarray(array, dtype_of(tensor.dtype).numpy)
        for tensor, array in zip(op.outputs, found, strict=True)
    }
