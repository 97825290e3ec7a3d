"""A graph is divided at the stages that a library computes."""

from __future__ import annotations

from collections.abc import Sequence

from tbe_impl.codegen.planning.graph_division import split_at_library_stages
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Operation, Tensor, placeholder
from tbe_impl.runtime.sequence import KernelSequence


def words(tensors: Sequence[Tensor]) -> str:
    return " ".join(one.op.dsl_call.name if one.op.dsl_call else one.name for one in tensors)


def split(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], own: bool = False
) -> tuple[list[str], KernelSequence[str | Operation]]:
    """A line per step; `own` means that the back end has a program for each library stage."""

    def plan_stages(missing: Sequence[Tensor], used: Sequence[Tensor]) -> str:
        return f"loops {words(used)} → {words(missing)}"

    def plan_library_stage(op: Operation) -> tuple[str, Sequence[Tensor]] | None:
        return (f"own {words(op.outputs)}", op.input_tensors) if own else None

    found = split_at_library_stages(outputs, inputs, plan_stages, plan_library_stage)
    kernels = [step.kernel for step in found.steps]
    return [
        f"library {words(one.outputs)}" if isinstance(one, Operation) else one for one in kernels
    ], found


def product() -> tuple[list[Tensor], list[Tensor]]:
    a, b = placeholder((4, 4), "float32", "a"), placeholder((4, 4), "float32", "b")
    made = OPERATIONS["matmul"](OPERATIONS["vabs"](a), b)
    return [OPERATIONS["vexp"](made)], [a, b]


def test_loops_before_and_after_a_library_stage() -> None:
    lines, sequence = split(*product())
    assert lines == ["loops a → vabs", "library matmul", "loops matmul → vexp"]
    first, second, last = sequence.steps
    a, b, y = sequence.names
    assert first.reads == (a,) and second.reads == (*first.writes, b)
    assert last.reads == second.writes and last.writes == (y,)


def test_the_program_of_a_back_end_replaces_the_library() -> None:
    assert split(*product(), own=True)[0][1] == "own matmul"


def test_stages_that_no_library_computes_are_one_step() -> None:
    x = placeholder((4,), "float32", "x")
    y = OPERATIONS["vabs"](x)
    lines, sequence = split([OPERATIONS["vexp"](y), y], [x])
    assert lines == ["loops x → vexp vabs"]
    assert len(sequence.names) == 3


def test_an_input_that_is_handed_back_needs_no_step() -> None:
    x = placeholder((4,), "float32", "x")
    lines, sequence = split([x, x], [x])
    assert lines == [] and len(set(sequence.names)) == 1 and len(sequence.names) == 3
