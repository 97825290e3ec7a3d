"""Loop IR of whole programs: checked and run after every pass, against the DSL's definition.

``TBE_FUZZ=2000`` sets the number of random graphs.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import schedule_options
from tbe_impl.codegen.nest_function import NestCode
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.pipeline import PASSES, iterate_passes
from tbe_impl.codegen.program import write_program_and_layout
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import Tensor, placeholder, stages_of
from tbe_impl.interpreter import evaluate
from tests.cases import cases
from tests.tbe_impl.codegen.ir_checker import WrongIR, check, check_program
from tests.tbe_impl.codegen.ir_interpreter import Machine, Place, WrongAddress, run_program
from tests.tbe_impl.codegen.random_graphs import RandomGraph, make
from tests.tbe_impl.codegen.random_schedules import follow_everything, random_schedule
from tests.tbe_impl.codegen.test_random_graphs import assert_alike

GRAPHS = int(os.environ.get("TBE_FUZZ", "0")) or 2000
INTERCHANGED = frozenset({133, 208, 224, 248, 253, 274})
"""Seeds of graphs whose loops over rows are interchanged in strips; few graphs have enough rows."""
MACROS = frozenset({"LOOP_FISSION", "SOFTWARE_PIPELINING"})
Functions = list[tuple[ir.Function, ...]]


def options_of(graph: RandomGraph, seed: int) -> Options:
    """Options that reach every pass."""
    chance = random.Random(seed)
    return Options(
        rounding="device" if seed % 5 == 4 else "accurate",
        unroll=chance.choice((1, 1, 2)),
        accumulators=chance.choice((4, 1)),
        jam_factor=chance.choice((0, 1, 2)),
        keep_rows=chance.random() < 0.8,
        offset=chance.choice((0, 16)),
        stream_bytes=chance.choice((1, 1 << 24)),
        parallel_elements=chance.choice((1, 1 << 19)),
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
    program: tuple[ir.Function, Functions],
    arrays: Sequence[np.ndarray],
    outputs: Sequence[Tensor],
    sizes: list[int],
    machine: Machine,
    shapes: Sequence[tuple[int, ...]],
    threads: int,
) -> list[np.ndarray]:
    """The outputs of a program that the interpreter of loop IR runs."""
    entry, functions = program
    inputs = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    results = [
        np.zeros(int(np.prod(shape)), dtype_of(tensor.dtype).numpy)
        for shape, tensor in zip(shapes, outputs, strict=True)
    ]
    every = [one for group in functions for one in group]
    assert run_program(entry, every, [*inputs, *results], sizes, machine, threads) == 0
    assert not machine.allocated
    return [array.reshape(shape) for array, shape in zip(results, shapes, strict=True)]


def _other_order(codes: Sequence[NestCode], chance: random.Random) -> Functions:
    """The functions of all nests after some of the passes, in another legal order."""
    tails = [item.name for item in PASSES].index("vector-tails")
    *early, first = PASSES[: tails + 1]
    *optional, last = PASSES[tails + 1 :]
    chosen = chance.sample(optional, chance.randrange(1, len(optional) + 1))
    early = [item for item in early if item.is_asked is None or chance.random() < 0.7]
    made: Functions = []
    for code in codes:
        ends = [
            list(iterate_passes(one, code.facts, (*early, first, *chosen, last)))[-1]
            for one in code.functions
        ]
        made.append(tuple(function for _, function in ends))
    return made


def run_in_versions(
    outputs: Sequence[Tensor],
    inputs: Sequence[tuple[Tensor, np.ndarray]],
    values: dict[int, int],
    options: Options,
    shapes: Sequence[tuple[int, ...]],
    seed: int,
) -> Iterator[list[np.ndarray]]:
    """The outputs of the loop IR before the passes, after all, and after some in another order.

    The checker passes over the IR after every pass.
    """
    program, layout = write_program_and_layout(outputs, [t for t, _ in inputs], options=options)
    sizes = [
        int(evaluate.evaluate_scalar(getattr(size, "expression", size), values))
        for size in program.sizes
    ]
    sizes += [
        int(np.array([values[id(item)]], np.float64).view(np.int64)[0]) for item in program.scalars
    ]
    chance = random.Random(seed)
    all_versions = [functions for _, functions in versions(layout.codes)]
    for functions in (*all_versions, reordered := _other_order(layout.codes, chance)):
        check_program(layout.entry, (one for group in functions for one in group))
    for functions, machine, threads in (
        (all_versions[0], Machine(1), 1),
        (all_versions[-1], Machine(4, MACROS), 3),
        (reordered, Machine(8, MACROS), 2),
    ):
        arrays = [array for _, array in inputs]
        yield run((layout.entry, functions), arrays, outputs, sizes, machine, shapes, threads)


def check_graph(seed: int) -> None:
    """Checks the loop IR of one graph after every pass; raises where a result is wrong.

    Every fourth graph has a random schedule; half of these schedules are followed completely.
    """
    graph = make(seed)
    tensors, inputs = [node.tensor for node in graph.outputs], [t for t, _ in graph.inputs]
    if any(op.kind == "library" for op in stages_of(tensors)) or len(
        {id(tensor) for tensor in (*inputs, *tensors)}
    ) < len(inputs) + len(tensors):
        return
    options = options_of(graph, seed)
    given = {id(tensor): array for tensor, array in graph.inputs}
    wanted = evaluate.run(tensors, given, graph.values, rounding=options.rounding)
    reference = evaluate.run(tensors, given, graph.values, rounding="float64")
    made: Sequence[Tensor] = tensors
    with pytest.MonkeyPatch.context() as patch:
        if seed % 4 == 1:
            record = random_schedule(tensors, seed).record()
            if seed % 8 == 1:
                follow_everything(patch)
            options = schedule_options.options_of(record, tensors, inputs, options)
            made = schedule_options.outputs_of(record, tensors)
        shapes = [one.shape for one in wanted]
        for found in run_in_versions(made, graph.inputs, graph.values, options, shapes, seed):
            for node, *results in zip(graph.outputs, found, wanted, reference, strict=True):
                assert_alike(node, *results)


@cases(
    "seed",
    sorted(range(GRAPHS), key=lambda seed: seed not in INTERCHANGED),
    quick=100,
    per_item=100,
)
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


@cases("free_bytes, result", [(1 << 20, 0), (1 << 12, 1), (0, 1)])
def test_a_program_without_memory_releases_all(free_bytes: int, result: int) -> None:
    x = placeholder((33, 70), "float32", "x")
    options = Options(parallel_elements=1, stored=(0, 1, 2))
    y = dsl.vexp(dsl.vexp(dsl.vexp(x)))
    program, layout = write_program_and_layout([y], [x], options=options)
    assert program.source.count("aligned_alloc") == 2
    functions = [function for code in layout.codes for function in code.functions]
    check_program(layout.entry, functions)
    machine = Machine(1, free_bytes=free_bytes)
    arrays = [np.zeros(33 * 70, np.float32) for _ in range(2)]
    assert run_program(layout.entry, functions, arrays, [], machine, 2) == result
    assert not machine.allocated and machine.free_bytes == free_bytes


def test_the_interpreter_finds_an_access_outside_an_array() -> None:
    loop = ir.VectorLoop("i", ir.ZERO, ir.Int(5), (VALUE,))
    function = ir.Function("f", (ir.Parameter("p", "float *"),), (), (loop,))
    machine = Machine(1)
    machine.call(function, p=Place(np.zeros(5, np.float32)))
    with pytest.raises(WrongAddress, match="4"):
        machine.call(function, p=Place(np.zeros(4, np.float32)))
