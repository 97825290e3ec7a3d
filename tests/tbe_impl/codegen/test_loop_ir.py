"""Loop IR of whole programs: checked and run after every pass, against the DSL's definition.

``TBE_FUZZ=2000`` sets the number of random graphs.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.nest_function import NestCode
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.pipeline import PASSES, iterate_passes
from tbe_impl.codegen.program import write_program_and_layout
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import stages_of
from tbe_impl.interpreter import evaluate
from tests.cases import cases
from tests.tbe_impl.codegen.ir_checker import WrongIR, check
from tests.tbe_impl.codegen.ir_interpreter import MEMORY, Machine, Place, WrongAddress, run_nests
from tests.tbe_impl.codegen.random_graphs import RandomGraph, make
from tests.tbe_impl.codegen.test_random_graphs import assert_alike

GRAPHS = int(os.environ.get("TBE_FUZZ", "0")) or 2000
MACROS = frozenset({"STRIPS", "STAGGERS"})
Functions = list[tuple[ir.Function, ...]]


def options_of(graph: RandomGraph, seed: int) -> Options:
    """Options that reach every pass."""
    chance = random.Random(seed)
    return Options(
        rounding="device" if seed % 5 == 4 else "accurate",
        unroll=chance.choice((1, 1, 2)),
        accumulators=chance.choice((4, 1)),
        together=chance.choice((0, 1, 2)),
        keep_rows=chance.random() < 0.8,
        offset=chance.choice((0, 16)),
        stream_bytes=chance.choice((1, 1 << 24)),
    )


def versions(codes: Sequence[NestCode]) -> Iterator[tuple[str, Functions]]:
    """The functions of all nests: before the passes, and after each pass."""
    now: Functions = [code.functions for code in codes]
    yield "lowering", now
    steps = [
        [{item.name: f for item, f in iterate_passes(one, code.facts)} for one in code.functions]
        for code in codes
    ]
    for item in PASSES:
        now = [
            tuple(step.get(item.name, before) for step, before in zip(own, functions, strict=True))
            for own, functions in zip(steps, now, strict=True)
        ]
        yield item.name, now


def run(
    graph: RandomGraph,
    codes: Sequence[NestCode],
    functions: Functions,
    sizes: list[int],
    machine: Machine,
    shapes: Sequence[tuple[int, ...]],
) -> list[np.ndarray]:
    """The outputs of a program that the interpreter of loop IR runs."""
    inputs = [np.ascontiguousarray(array).reshape(-1) for _, array in graph.inputs]
    outputs = [
        np.zeros(int(np.prod(shape)), dtype_of(node.tensor.dtype).numpy)
        for shape, node in zip(shapes, graph.outputs, strict=True)
    ]
    buffers = [*inputs, *outputs]
    stored = set().union(*(code.stored for code in codes))
    longest = max([4096, *(array.size for array in buffers)]) * 8
    for number in range(len(buffers), max(stored, default=0) + 1):
        buffers.append(np.zeros(longest, MEMORY[memory_of(codes, number)]))
    run_nests(codes, functions, buffers, sizes, machine)
    late = [at for at in range(len(outputs)) if at + len(inputs) not in stored]
    for at, wide in zip(reversed(late), reversed(buffers), strict=False):
        outputs[at][:] = wide[: outputs[at].size].astype(outputs[at].dtype)
    return [array.reshape(shape) for array, shape in zip(outputs, shapes, strict=True)]


def _other_order(codes: Sequence[NestCode], chance: random.Random) -> Functions:
    """The functions of all nests after some of the passes, in another legal order."""
    first, *optional, last = PASSES
    chosen = chance.sample(optional, chance.randrange(1, len(optional) + 1))
    made: Functions = []
    for code in codes:
        ends = [
            list(iterate_passes(one, code.facts, (first, *chosen, last)))[-1]
            for one in code.functions
        ]
        made.append(tuple(function for _, function in ends))
    return made


def memory_of(codes: Sequence[NestCode], number: int) -> str:
    """The dtype in memory of a tensor, as the prefix of its loads and stores."""
    for code in codes:
        for function in code.functions:
            for node in ir.walk(function.body):
                place = node.place if isinstance(node, (ir.Load, ir.Store)) else None
                place = node.base if isinstance(node, ir.Gather) else place
                if place is not None and f"p{number}" in ir.names_in(place):
                    return node.memory
    return "f32"


def check_graph(seed: int) -> None:
    """Checks the loop IR of one graph after every pass; raises where a result is wrong."""
    graph = make(seed)
    tensors = [node.tensor for node in graph.outputs]
    if any(op.kind == "library" for op in stages_of(tensors)) or len(
        {id(tensor) for tensor, _ in graph.inputs} | {id(tensor) for tensor in tensors}
    ) < len(graph.inputs) + len(tensors):
        return
    options = options_of(graph, seed)
    program, layout = write_program_and_layout(
        tensors, [t for t, _ in graph.inputs], options=options
    )
    given = {id(tensor): array for tensor, array in graph.inputs}
    wanted = evaluate.run(tensors, given, graph.values, rounding=options.rounding)
    reference = evaluate.run(tensors, given, graph.values, rounding="float64")
    sizes = [
        int(evaluate.evaluate_scalar(getattr(size, "expression", size), graph.values))
        for size in program.sizes
    ]
    sizes += [
        int(np.array([graph.values[id(item)]], np.float64).view(np.int64)[0])
        for item in program.scalars
    ]
    all_versions = list(versions(layout.codes))
    for _, functions in all_versions:
        for function in (one for group in functions for one in group):
            check(function)
    reordered = _other_order(layout.codes, random.Random(seed))
    for function in (one for group in reordered for one in group):
        check(function)
    machines = [
        (all_versions[0][1], Machine(1)),
        (all_versions[-1][1], Machine(4, MACROS)),
        (reordered, Machine(8, MACROS)),
    ]
    for functions, machine in machines:
        found = run(graph, layout.codes, functions, sizes, machine, [w.shape for w in wanted])
        for node, *values in zip(graph.outputs, found, wanted, reference, strict=True):
            assert_alike(node, *values)


@cases("seed", range(GRAPHS), quick=100, per_item=100)
def test_programs_mean_the_same_after_each_pass(seed: int) -> None:
    check_graph(seed)


P, N = ir.Var("p", "float *"), ir.Var("n")
VALUE = ir.Let("v", "f32", ir.Load("f32", "f32", ir.Pointer(P, (ir.Var("i"),))))


@cases(
    "body, why",
    [
        ((ir.Assign(ir.Var("x"), ir.Int(1)),), "undefined"),
        ((ir.Let("x", ir.INDEX, ir.Int(1)), ir.Assign(ir.Var("x"), ir.Int(2))), "a constant"),
        ((ir.Block((VALUE,)), ir.Accumulate(P, ir.Var("v", "f32"))), "undefined"),
        ((VALUE, ir.Let("w", "f64", ir.Var("v", "f32"))), "another kind"),
        (
            (VALUE, ir.Let("w", "f32", ir.Op("add", (ir.Var("v", "f32"), ir.Zero("f64")), "f32"))),
            "several kinds",
        ),
        ((VALUE, ir.Let("w", "f32", ir.Op("lt", (ir.Var("v", "f32"),) * 2, "f32"))), "not mask"),
        ((ir.If(ir.Var("n"), ()),), "no condition"),
        ((ir.For("k", None, N, ()),), "not defined"),
    ],
)
def test_the_checker_finds_wrong_statements(body: tuple[ir.Stmt, ...], why: str) -> None:
    parameters = (ir.Parameter("p", "float *"), ir.Parameter("n", "int64_t"))
    function = ir.Function("f", parameters, (ir.Let("i", ir.INDEX, ir.Int(0)),), body)
    with pytest.raises(WrongIR, match=why):
        check(function)


def test_the_interpreter_finds_an_access_outside_an_array() -> None:
    loop = ir.VectorLoop("i", ir.ZERO, ir.Int(5), (VALUE,))
    function = ir.Function("f", (ir.Parameter("p", "float *"),), (), (loop,))
    machine = Machine(1)
    machine.call(function, p=Place(np.zeros(5, np.float32)))
    with pytest.raises(WrongAddress, match="4"):
        machine.call(function, p=Place(np.zeros(4, np.float32)))
