"""Divides a group of fused operators into a sequence of our kernels and oneDNN calls."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from functools import cache

from custom_ops.core.kernel_chain import Chain, CompiledStep, make_step
from custom_ops.core.kernel_interface import ArraySpec, program_of
from ms_fusion.graph import Graph, Value
from ms_fusion.kernel_server.compile_cache import Library, OwnKernel, StoredSequence
from ms_fusion.ledger import BuildStep
from ms_fusion.lowering import plan_choice
from ms_fusion.lowering.composite_lowering import (
    IN_PLACE_OPERATORS,
    LoweredGroup,
    lower_composite,
    size_bytes,
)
from ms_fusion.lowering.float64_operators import widen_to_float64
from ms_fusion.lowering.group_partition import PlannedStep, Region, extract_region, partition_group
from ms_fusion.lowering.onednn.broadcast_operands import remove_broadcasts
from ms_fusion.lowering.onednn.channels_last import propagate_channels_last
from ms_fusion.lowering.onednn.constant_operands import store_constants
from ms_fusion.lowering.onednn.onednn_call import OnednnCall
from ms_fusion.lowering.onednn.onednn_steps import LibraryCall, is_library_operator
from ms_fusion.lowering.onednn.transposes import fold_transposes, folded_operators
from ms_fusion.readers.composite import CompositeKernel
from tbe_impl import compat
from tbe_impl.codegen.planning.partition import may_overwrite
from tbe_impl.codegen.program import Layout, layout_of
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.errors import CacheError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.sequence import KernelSequence, Step


def has_library_operators(graph: Graph) -> bool:
    """Returns whether oneDNN computes at least one operator of the graph."""
    return any(is_library_operator(node, graph) for node in graph)


def compile_own(
    kernel: CompositeKernel,
) -> tuple[tuple[BuildStep, ...], StoredSequence | None]:
    """Compiles the kernels for those operators of a group that oneDNN does not compute.

    The kernels are stored in the kernel cache, so that the first call of the group need not compile
    any kernel.

    Returns:
        A pair. The first item describes the compiled parts of the whole group, for the report of
        `explain`. The second item is the sequence of kernels to store in the compile cache. It is
        None if the compile cache cannot store the sequence. For example, one of the kernels is not
        compiled as a C function.

    Raises:
        FusionError: any error of `assemble`, or an error of the compiler.
    """
    graph = _prepare_graph(kernel.graph)
    planned = partition_group(graph)
    sequence = _compile_sequence(kernel, graph, planned)
    own = [step.kernel for step in sequence.steps if isinstance(step.kernel, Kernel)]
    for made in own:
        assert made.compiled
    # `own` contains the kernels of the regions in order, then the kernels that copy results.
    layouts = (made.layout for made in own)
    return (
        tuple(_describe_step(step, graph, layouts) for step in planned.steps),
        _store_sequence(sequence),
    )


def _store_sequence(sequence: CompiledSequence) -> StoredSequence | None:
    if len(set(sequence.names)) < len(sequence.names):
        return None
    try:
        return sequence.convert(_store_kernel)
    except CacheError:  # evicted in the meantime, or Python calls a kernel
        return None


def _store_kernel(step: Step[Kernel | OnednnCall]) -> OwnKernel | OnednnCall:
    if isinstance(step.kernel, OnednnCall):
        return step.kernel
    program = program_of(step.kernel)
    if program is None or program[0].program.sizes:
        raise CacheError("the kernel is not a C function", place=step.kernel.name)
    loaded, order = program
    return OwnKernel(Library.from_path(loaded.file), loaded.program.symbol, tuple(order))


def _describe_step(step: PlannedStep, graph: Graph, layouts: Iterator[Layout | None]) -> BuildStep:
    part = step.kernel
    if isinstance(part, LibraryCall):
        covered = [
            operator for name in part.covered for operator in folded_operators(graph.node(name))
        ]
        again = sum(step.written_bytes) if part.call.has_second_pass else 0
        return BuildStep("onednn", tuple(covered), second_pass_bytes=again)
    layout = next(layouts)
    return BuildStep("c", tuple(node.op for node in part.nodes), len(layout.nests) if layout else 0)


def assemble(kernel: CompositeKernel) -> Chain:
    """Returns the sequence of our kernels and oneDNN calls that computes the fused kernel `kernel`.

    The arguments of the sequence are the inputs of `kernel`, then its outputs.

    Raises:
        InputError: an operator, a dtype or a shape is not supported; the error names the operator.
    """
    graph = kernel.graph
    given = {name: _describe_tensor(graph.values[name]) for name in graph.inputs}
    wanted = {name: _describe_tensor(graph.values[name]) for name in graph.outputs}
    ready = _prepare_graph(graph)
    sequence = _compile_sequence(kernel, ready, partition_group(ready))
    steps = tuple(map(_prepare_step, sequence.steps))
    made = {name for step in steps for name in step.writes}
    made |= {node.outputs[0] for node in graph if node.op in IN_PLACE_OPERATORS}
    if not made >= wanted.keys():
        raise InputError(
            "a result is not computed by any step",
            place=kernel.name,
            got=", ".join(wanted.keys() - made),
        )
    return Chain(kernel.name, given, wanted, steps)


CompiledSequence = KernelSequence[Kernel | OnednnCall]
"""A kernel sequence after its compilation: our kernels, and descriptions of oneDNN calls."""


def _prepare_step(step: Step[Kernel | OnednnCall]) -> CompiledStep:
    kernel = step.kernel
    made = kernel.prepare() if isinstance(kernel, OnednnCall) else kernel
    return make_step(made, step.reads, step.writes)


def _compile_sequence(
    kernel: CompositeKernel, ready: Graph, planned: KernelSequence[Region | LibraryCall]
) -> CompiledSequence:
    """Returns our kernels and oneDNN calls, in execution order.

    Some results update an input in place. Such a result is first written to a new array if later
    members of the sequence read the input. The same holds if the kernel that computes the result
    must not overwrite the input. The last members of the sequence copy the new arrays to the
    inputs.

    Args:
        ready: result of `_prepare_graph` for the kernel's graph.
        planned: result of `partition_group` for `ready`.
    """
    names = (*kernel.graph.inputs, *kernel.graph.outputs)
    kernel = replace(kernel, graph=ready)
    steps: list[Step[Kernel | OnednnCall]] = []
    last: list[Step[Kernel]] = []
    for number, step in enumerate(planned.steps):
        if isinstance(step.kernel, LibraryCall):
            call = step.kernel.call
            steps.append(Step(call, step.reads, step.writes, step.written_bytes))
            continue
        later = {name for other in planned.steps[number + 1 :] for name in other.reads}
        own, copies = _make_own_kernel(step, kernel, later)
        steps.append(own)
        last += copies
    return KernelSequence(names, (*steps, *last))


def _prepare_graph(graph: Graph) -> Graph:
    """Changes the graph so that oneDNN can compute its operators; returns the new graph.

    The function changes layouts, removes broadcasts and transposes, and stores constants.
    """
    graph = fold_transposes(remove_broadcasts(propagate_channels_last(widen_to_float64(graph))))
    return store_constants(graph, partition_group(graph))


def own_kernels(kernel: CompositeKernel) -> Iterator[tuple[Kernel, LoweredGroup, Graph]]:
    """Yields (kernel, DSL group of the kernel, graph of the kernel) for our kernels of a group.

    The kernels have default options, since each kernel is tuned separately. Each kernel has a
    tuning record of its own.

    Raises:
        InputError: an operator, a dtype or a shape is not supported.
    """
    graphs = [widen_to_float64(kernel.graph)]
    if has_library_operators(kernel.graph):
        ready = _prepare_graph(kernel.graph)
        graphs = [
            extract_region(step, ready)
            for step in partition_group(ready).steps
            if isinstance(step.kernel, Region)
        ]
    for graph in graphs:
        with compat.installed(soc="cpu"):
            group = lower_composite(replace(kernel, graph=graph))
        yield plan_choice.default_kernel(group, graph.inputs), group, graph


def _make_own_kernel(
    region: PlannedStep, kernel: CompositeKernel, later: Container[str]
) -> tuple[Step[Kernel], list[Step[Kernel]]]:
    """Returns our kernel for a region, and the copies to make at the end of the sequence.

    Args:
        region: the operators that the kernel computes.
        kernel: the kernel of the whole group.
        later: names of the values that later members of the sequence read.
    """
    part = extract_region(region, kernel.graph)
    inputs = part.inputs
    with compat.installed(soc="cpu"):
        group = lower_composite(replace(kernel, graph=part))
        own = plan_choice.choose_options(plan_choice.default_kernel(group, inputs), group, part)
        layout = cache(lambda: layout_of(group.results, group.inputs, own.options))
    names = (*inputs, *region.writes)
    known = {id(tensor) for tensor in group.inputs}
    writes, copies = [], []
    for tensor, (first, *others) in zip(group.results, group.places, strict=True):
        target = names[first]
        if first < len(inputs) and (
            target in later or not may_overwrite(group.inputs[first], tensor, layout().nests, known)
        ):
            target = f"{target} anew"
            copies.append(_copy(tensor, target, names[first]))
        writes.append(target)
        copies += [_copy(tensor, target, names[other]) for other in others]
    outputs = tuple(map(plan_choice.argument, group.results, writes))
    sizes = tuple(map(size_bytes, group.results))
    return Step(replace(own, outputs=outputs), tuple(inputs), tuple(writes), sizes), copies


def _copy(like: Tensor, source: str, target: str) -> Step[Kernel]:
    """Returns a step of a kernel sequence; it copies the array `source` to the array `target`."""
    given = placeholder(like.shape, like.dtype, "source")
    made = compute(like.shape, lambda *at: given(*at), "target")
    kernel = Kernel(
        "copy",
        "cpu",
        (plan_choice.argument(given, "source"),),
        (plan_choice.argument(made, "target"),),
    )
    return Step(kernel, (source,), (target,), (size_bytes(like),))


def _describe_tensor(value: Value) -> ArraySpec:
    return ArraySpec(tuple(int(size) for size in value.shape), value.dtype)
