"""Prepares a graph for this processor: C programs, and library calls between them."""

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
from tbe_impl.codegen.axis_merging import Derived
from tbe_impl.codegen.options import DEFAULT, Options
from tbe_impl.codegen.partition import stored_inputs
from tbe_impl.codegen.program import Program, write_program
from tbe_impl.codegen.scans import write_running
from tbe_impl.codegen.scatter import write_numbered_rows
from tbe_impl.codegen.source_comments import mark_of
from tbe_impl.cpu.call import Loaded, load, new_results
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Var
from tbe_impl.dsl.graph_text import graph_text
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import CompileError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime import compiler
from tbe_impl.runtime.cache import KernelCache


@dataclass(frozen=True)
class Step:
    """One part: a program, or an operation that a library runs."""

    program: Loaded | None = None
    stage: Operation | None = None


@dataclass(frozen=True)
class CpuKernel:
    """A graph that can be run."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    steps: tuple[Step, ...]

    @property
    def source(self) -> str:
        """The C of all its programs; what a library computes between them is a comment."""
        return self._joined(lambda program: program.source)

    def written_anew(self, name: str, options: Options) -> str:
        """`source`, written once more under what is asked for now; `name` and `options` are those of `prepare`."""

        def written(program: Program) -> str:
            if any(tensor.op.kind == "library" for tensor in program.outputs):
                return program.source  # by hand: no nests
            return write_program(
                program.outputs, program.inputs, name=name, options=options, mark=program.mark
            ).source

        return self._joined(written)

    def _joined(self, text_of: Callable[[Program], str]) -> str:
        """The texts of all steps; functions of the same name are numbered."""
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
        """The outputs.

        Args:
            arrays: one for each input, of its dtype and shape.
            values: ``id`` of a size that is known at run time only → its value.
            threads: how many to use where it pays.
            results: arrays to write to, dense and of the right dtype; by default new ones.
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
            sizes = [_size(size, values) for size in program.sizes]
            made = [places[id(tensor)] for tensor in program.outputs if id(tensor) in places]
            if len(made) < len(program.outputs):
                serials = (size.serial for size in program.sizes)
                new = new_results(program, dict(zip(serials, sizes, strict=True)))
                made = [
                    places.get(id(t), item) for t, item in zip(program.outputs, new, strict=True)
                ]
            if program.overwritten is not None:
                made[0] = known[id(program.overwritten)]
            sizes += [_bits(item, values) for item in program.scalars]
            step.program([known[id(tensor)] for tensor in program.inputs], made, sizes, threads)
            known |= {id(t): array for t, array in zip(program.outputs, made, strict=True)}
        given = {id(tensor): array for tensor, array in zip(self.inputs, arrays, strict=True)}
        # an input that is an output too comes out as an array of its own
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
class Part:
    """One part of a graph before it is compiled; an operation that a library runs has no program.

    Attributes:
        write: writes its program; once.
        known: its program and library when an earlier process had both.
        plan: where its plan is kept, empty for nowhere.
        stage: what a library runs.
    """

    write: Callable[[], Program] | None = None
    known: tuple[Program, Path] | None = None
    plan: str = ""
    stage: Operation | None = None


@dataclass(frozen=True)
class Planned:
    """A graph whose parts are known and not loaded yet.

    Attributes:
        inputs, outputs: its tensors.
        parts: one after the other.
        options: how code is made.
        store: where libraries are kept.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parts: tuple[Part, ...]
    options: Options
    store: KernelCache

    def lacking(self) -> list[Program]:
        """The programs that no earlier process has compiled.

        Raises:
            CompileError: there is no code for something in the graph.
        """
        written = [part.write() for part in self.parts if part.write and not part.known]
        return [one for one in written if compiler.find(self._key(one), self.store) is None]

    def compiled(self) -> CpuKernel:
        """It compiled and loaded; the errors of `prepare`."""
        return CpuKernel(self.inputs, self.outputs, tuple(map(self._step, self.parts)))

    def _step(self, part: Part) -> Step:
        if part.write is None:
            return Step(stage=part.stage)
        if part.known is not None:
            with suppress(CompileError):
                return Step(load(*part.known))
        program = part.write()
        told = self.options.compiler_options()
        library = compiler.build(
            program.source, options=told, symbols=program.symbols, cache=self.store
        )
        loaded = load(program, library)
        if part.plan:
            codegen_cache.remember(self.store, part.plan, program)
        return Step(loaded)

    def _key(self, program: Program) -> str:
        digest = codegen_cache.text_digest(program.source)
        return compiler.recipe(digest, options=self.options.compiler_options()).key


def prepare(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT,
    cache: KernelCache | None = None,
    graph: Callable[[], str] | None = None,
) -> CpuKernel:
    """Compiles a graph.

    Args:
        outputs, inputs: its tensors.
        name: for people.
        options: how code is made.
        cache: where libraries are kept; by default the user's.
        graph: its `graph_text`, for whom has it already.

    Raises:
        MissingError: there is no C compiler.
        CompileError: it failed, or there is no code for something in the graph.
    """
    return plan(outputs, inputs, name=name, options=options, cache=cache, graph=graph).compiled()


def plan(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT,
    cache: KernelCache | None = None,
    graph: Callable[[], str] | None = None,
) -> Planned:
    """What `prepare` compiles, and what of it is there; the same arguments and errors."""
    store = cache or compiler.user_cache()
    found: list[Part] = []
    known = {id(tensor): tensor for tensor in inputs}

    def compile_for(wanted: Sequence[Tensor]) -> None:
        missing = [tensor for tensor in _distinct(wanted) if id(tensor) not in known]
        if missing:
            read = set[int]().union(*(stored_inputs(tensor, known) for tensor in missing))
            used = [tensor for key, tensor in known.items() if key in read]
            whole = len(used) == len(inputs) and all(map(operator.is_, missing, outputs))
            told = graph if whole and len(missing) == len(outputs) else None
            text = told or functools.partial(graph_text, missing, used)
            found.append(_part(missing, used, name, options, store, text))
            known.update({id(tensor): tensor for tensor in missing})

    for op in stages_of(outputs):
        if op.kind == "library":
            compile_for(op.input_tensors)
            written = write_numbered_rows(op, name=name, options=options) or write_running(
                op, name=name, options=options
            )
            found.append(Part(functools.partial(_itself, written)) if written else Part(stage=op))
            known.update({id(tensor): tensor for tensor in op.outputs})
    compile_for(outputs)
    return Planned(tuple(inputs), tuple(outputs), tuple(found), options, store)


def build_together(kernels: Sequence[Planned]) -> None:
    """Compiles what they lack by few calls of the compiler, where that can be; whatever it cannot is left to `compiled`.

    Args:
        kernels: with the same options and store.
    """
    told = kernels[0].options.compiler_options() if kernels else []
    for texts in _apart([program for one in kernels for program in one.lacking()]):
        if len(texts) > 1 and compiler.can_be_together(texts):
            with suppress(CompileError):
                compiler.build_together(texts, options=told, cache=kernels[0].store)


def _apart(programs: Sequence[Program]) -> list[list[tuple[str, tuple[str, ...]]]]:
    """Their texts, each once; those with a symbol in common, as the parts of one kernel, are not in one list."""
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


def _itself(program: Program) -> Program:
    return program


def _part(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    name: str,
    options: Options,
    store: KernelCache,
    graph: Callable[[], str],
) -> Part:
    """The program of a part; when it was written and compiled before, it is found without being written."""
    mark = codegen_cache.mark_of(graph, options)
    write = functools.cache(
        functools.partial(write_program, outputs, inputs, name=name, options=options, mark=mark)
    )
    key = codegen_cache.key_of(store, mark, name, options) if mark else ""
    noted = codegen_cache.recall(store, key) if key else None
    if noted is None:
        return Part(write, plan=key)
    program = noted.program(outputs, inputs, mark, lambda: write().source)
    library = compiler.find(
        compiler.recipe(noted.text, options=options.compiler_options()).key, store
    )
    return Part(write, (program, library) if program and library else None, key)


def _call_text(stage: Operation | None) -> str:
    """What a library computes as a whole, as a comment of C: no loop of ours."""
    assert stage is not None and stage.word is not None
    given, made = (
        ", ".join(f"{shape_text(one.shape)} {one.dtype}" for one in tensors)
        for tensors in (stage.word.inputs, stage.outputs)
    )
    return f"/* a library computes {stage.word.name} of {given}: {made} */{mark_of(stage)}\n"


def _size(size: Var, values: Mapping[int, int | float]) -> int:
    wanted = size.expression if isinstance(size, Derived) else size
    return int(evaluate.scalar(wanted, values))


def _bits(item: Var, values: Mapping[int, int | float]) -> int:
    """A number of float64 as the whole number with the same bits."""
    return int(np.float64(evaluate.scalar(item, values)).view(np.int64))


def _distinct(tensors: Sequence[Tensor]) -> list[Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


_NOTHING = np.zeros(())


def _run_library(
    op: Operation, known: Mapping[int, np.ndarray], values: Mapping[int, Any]
) -> dict[int, np.ndarray]:
    """A stage that a library computes, by its formula in NumPy."""
    assert op.word is not None
    # of a stage with several outputs those that nobody asked for are not there, nor are they read
    beside = {id(t): _NOTHING for item in op.input_tensors for t in item.op.outputs}
    given = beside | {id(t): known[id(t)] for t in op.input_tensors}
    found = evaluate.run(op.outputs, given, values)
    return {
        id(tensor): np.ascontiguousarray(array, dtype_of(tensor.dtype).numpy)
        for tensor, array in zip(op.outputs, found, strict=True)
    }
