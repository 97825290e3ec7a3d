"""Prepares a graph for this processor as a sequence of C programs and library calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from tbe_impl.codegen import codegen_cache
from tbe_impl.codegen.options import DEFAULT_OPTIONS, Options
from tbe_impl.codegen.planning.graph_division import split_at_library_stages
from tbe_impl.codegen.program import Program, write_program
from tbe_impl.codegen.scans import write_scan
from tbe_impl.codegen.scatter import write_scatter
from tbe_impl.codegen.source_comments import stage_comment
from tbe_impl.compiled import CodeUse
from tbe_impl.cpu.loaded_program import LoadedProgram, load_program, run_program
from tbe_impl.dsl.graph_text import graph_text
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text
from tbe_impl.errors import CompileError
from tbe_impl.interpreter import evaluate
from tbe_impl.records import Record
from tbe_impl.runtime import compiler
from tbe_impl.runtime.sequence import KernelSequence, Step
from tbe_impl.runtime.store import Store, text_digest, user_store


class CpuKernel(Record):
    """A graph that is compiled, loaded and ready to run.

    Attributes:
        inputs, outputs: the tensors of the graph.
        sequence: the loaded programs and, between the programs, the operations that a library
            computes.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    sequence: KernelSequence[LoadedProgram | Operation]

    @property
    def programs(self) -> tuple[LoadedProgram, ...]:
        """The loaded programs in execution order."""
        kernels = (step.kernel for step in self.sequence.steps)
        return tuple(one for one in kernels if isinstance(one, LoadedProgram))

    @property
    def only_program(self) -> LoadedProgram | None:
        """The program that computes the whole graph, or None if the sequence has several steps."""
        return self.programs[0] if self.programs and len(self.sequence.steps) == 1 else None

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

    def report(self) -> CodeUse:
        """Returns the C functions, the libraries, and the operations that a library computes."""
        operations = (step.kernel for step in self.sequence.steps)
        return CodeUse(
            tuple(one.program.symbol for one in self.programs),
            tuple(str(one.file) for one in self.programs),
            tuple(
                one.dsl_call.name
                for one in operations
                if isinstance(one, Operation) and one.dsl_call is not None
            ),
        )

    def _join_texts(self, text_of: Callable[[Program], str]) -> str:
        """Returns one text of code that contains the code of every kernel of the sequence.

        `text_of` returns the code of one program. If several kernels define a function of the same
        name, the name gets a numeric suffix. A library call appears as a comment.
        """
        texts = []
        symbols: list[str] = []
        for step in self.sequence.steps:
            if isinstance(step.kernel, Operation):
                texts.append(_call_text(step.kernel))
                continue
            symbol, text = step.kernel.program.symbol, text_of(step.kernel.program)
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
            results: dense arrays that receive the outputs. They have the dtypes of the outputs. By
                default, new arrays are allocated.
        """
        names = self.sequence.names
        inputs, outputs = names[: len(self.inputs)], names[len(self.inputs) :]
        given = dict(zip(inputs, arrays, strict=True))
        known = {name: np.ascontiguousarray(array) for name, array in given.items()}
        places = {} if results is None else dict(zip(outputs, results, strict=True))
        for step in self.sequence.steps:
            read = [known[name] for name in step.reads]
            if isinstance(step.kernel, Operation):
                made = [*evaluate.run_stage(step.kernel, read, values)]
            else:
                into = [places.get(name) for name in step.writes]
                made = run_program(step.kernel, read, into, values, threads)
            known |= zip(step.writes, made, strict=True)
        # copies an input that is also an output
        found = tuple(
            np.array(given[name], order="C") if name in given else known[name] for name in outputs
        )
        if results is None:
            return found
        for place, array in zip(results, found, strict=True):
            if place is not array:
                place[...] = array
        return tuple(results)


class PlannedProgram(Record):
    """A C program before compilation.

    Attributes:
        write: function that returns the program. The first call generates the program.
        compiled_program: the cached program with its cached library. None if the cache lacks one of
            both.
        plan: cache key under which the plan for code generation is stored. Empty if the plan is not
            stored.
    """

    write: Callable[[], Program]
    compiled_program: tuple[Program, Path] | None = None
    plan: str = ""


class PlannedKernel(Record):
    """A graph divided into parts that are not loaded yet.

    Attributes:
        inputs, outputs: the tensors of the graph.
        sequence: the programs and, between the programs, the operations that a library computes.
        options: code generation options.
        store: cache of compiled libraries.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    sequence: KernelSequence[PlannedProgram | Operation]
    options: Options
    store: Store

    def uncompiled_programs(self) -> list[Program]:
        """Generates the programs, and returns those whose library is not in the cache.

        Raises:
            CompileError: the graph contains an operation that cannot be lowered.
        """
        planned = (step.kernel for step in self.sequence.steps)
        written = [
            one.write()
            for one in planned
            if isinstance(one, PlannedProgram) and not one.compiled_program
        ]
        return [one for one in written if compiler.find(self._key(one), self.store) is None]

    def compile(self) -> CpuKernel:
        """Compiles and loads every program; raises the same errors as `prepare`."""
        return CpuKernel(self.inputs, self.outputs, self.sequence.convert(self._load))

    def _load(self, step: Step[PlannedProgram | Operation]) -> LoadedProgram | Operation:
        planned = step.kernel
        if isinstance(planned, Operation):
            return planned
        if planned.compiled_program is not None:
            with suppress(CompileError):
                return load_program(*planned.compiled_program)
        program = planned.write()
        told = self.options.compiler_options()
        library = compiler.build(
            program.source, options=told, symbols=program.symbols, cache=self.store
        )
        loaded = load_program(program, library)
        if planned.plan:
            codegen_cache.write_plan(self.store, planned.plan, program)
        return loaded

    def _key(self, program: Program) -> str:
        digest = text_digest(program.source)
        return compiler.recipe(digest, options=self.options.compiler_options()).key


def prepare(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT_OPTIONS,
    cache: Store | None = None,
    graph: Callable[[], str] | None = None,
) -> CpuKernel:
    """Compiles and loads a graph.

    Args:
        outputs, inputs: the tensors of the graph.
        name: readable name for the generated code.
        options: code generation options.
        cache: cache of compiled libraries; by default the user's store.
        graph: function that returns the result of `graph_text` for the graph; by default,
            `graph_text` is called.

    Raises:
        MissingError: no C compiler was found.
        CompileError: compilation failed, or the graph contains an operation that cannot be lowered.
    """
    return plan(outputs, inputs, name=name, options=options, cache=cache, graph=graph).compile()


def plan(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT_OPTIONS,
    cache: Store | None = None,
    graph: Callable[[], str] | None = None,
) -> PlannedKernel:
    """Divides a graph at the stages that a library computes.

    The result contains the programs that are in the cache.

    The function takes the same arguments as `prepare` and raises the same errors.
    """
    store = cache or user_store()

    def plan_stages(missing: Sequence[Tensor], used: Sequence[Tensor]) -> PlannedProgram:
        whole = len(used) == len(inputs) and list(map(id, missing)) == list(map(id, outputs))
        text = graph if graph and whole else functools.partial(graph_text, missing, used)
        return _plan_program(missing, used, name, options, store, text)

    def plan_library_stage(op: Operation) -> tuple[PlannedProgram, Sequence[Tensor]] | None:
        written = write_scatter(op, name=name, options=options) or write_scan(
            op, name=name, options=options
        )
        return (PlannedProgram(lambda: written), written.inputs) if written else None

    sequence = split_at_library_stages(outputs, inputs, plan_stages, plan_library_stage)
    return PlannedKernel(tuple(inputs), tuple(outputs), sequence, options, store)


def build_together(kernels: Sequence[PlannedKernel]) -> None:
    """Compiles the uncached programs of several kernels with few calls of the compiler.

    Programs that cannot share a compiler call are left out. `PlannedKernel.compile` compiles them
    later.

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


def _plan_program(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    name: str,
    options: Options,
    store: Store,
    graph: Callable[[], str],
) -> PlannedProgram:
    """Looks up one program in the cache.

    The code of the program is generated later, and only if it is needed.
    """
    mark = codegen_cache.graph_mark(graph, options)
    write = functools.cache(
        functools.partial(write_program, outputs, inputs, name=name, options=options, mark=mark)
    )
    key = codegen_cache.plan_key(mark, name, options) if mark else ""
    noted = codegen_cache.read_plan(store, key) if key else None
    if noted is None:
        return PlannedProgram(write, plan=key)
    program = noted.restore_program(outputs, inputs, mark, lambda: write().source)
    library = compiler.find(
        compiler.recipe(noted.text, options=options.compiler_options()).key, store
    )
    return PlannedProgram(write, (program, library) if program and library else None, key)


def _call_text(stage: Operation) -> str:
    """Returns a C comment that describes a library call, for which no loop is generated."""
    assert stage.dsl_call is not None
    given, made = (
        ", ".join(f"{shape_text(one.shape)} {one.dtype}" for one in tensors)
        for tensors in (stage.dsl_call.inputs, stage.outputs)
    )
    return (
        f"/* a library computes {stage.dsl_call.name} of {given}: {made} */{stage_comment(stage)}\n"
    )
