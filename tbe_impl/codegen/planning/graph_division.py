"""Divides a graph into a sequence of kernels: library calls and the loop nests between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tbe_impl.codegen.planning.partition import stored_inputs
from tbe_impl.dsl.tensor import Operation, Tensor, stages_of
from tbe_impl.runtime.sequence import KernelSequence, Step

PlanT = TypeVar("PlanT")


def split_at_library_stages(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    plan_stages: Callable[[Sequence[Tensor], Sequence[Tensor]], PlanT],
    plan_library_stage: Callable[[Operation], tuple[PlanT, Sequence[Tensor]] | None],
) -> KernelSequence[PlanT | Operation]:
    """Returns the sequence of library calls and loop-nest programs that computes a graph.

    The sizes of the arrays may be known only at run time. Therefore the steps of the sequence have
    no `written_bytes`.

    Args:
        outputs, inputs: the tensors of the graph.
        plan_stages: function that plans loop nests for stages. The arguments of the function are
            the tensors to compute and the tensors that are read.
        plan_library_stage: function that plans a stage for which the back end has its own program.
            The function returns a pair (plan, tensors that the plan reads). It returns None if no
            such program exists and a library computes the stage.
    """
    steps: list[Step[PlanT | Operation]] = []
    known = {id(tensor): tensor for tensor in inputs}
    names: dict[int, str] = {}

    def name_all(tensors: Sequence[Tensor]) -> tuple[str, ...]:
        return tuple(names.setdefault(id(tensor), f"t{len(names)}") for tensor in tensors)

    def add_step(
        kernel: PlanT | Operation, reads: Sequence[Tensor], writes: Sequence[Tensor]
    ) -> None:
        steps.append(Step(kernel, name_all(reads), name_all(writes), ()))
        known.update({id(tensor): tensor for tensor in writes})

    def compute(wanted: Sequence[Tensor]) -> None:
        missing = list({id(one): one for one in wanted if id(one) not in known}.values())
        if missing:
            read = set[int]().union(*(stored_inputs(tensor, known) for tensor in missing))
            used = [tensor for key, tensor in known.items() if key in read]
            add_step(plan_stages(missing, used), used, missing)

    for op in stages_of(outputs):
        if op.kind == "library":
            compute(op.input_tensors)
            kernel, reads = plan_library_stage(op) or (op, op.input_tensors)
            add_step(kernel, reads, op.outputs)
    compute(outputs)
    return KernelSequence(name_all([*inputs, *outputs]), tuple(steps))
