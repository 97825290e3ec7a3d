"""A group with library calls as a kernel sequence: our kernels and oneDNN's in between."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from custom_ops.core.kernel_chain import Chain, Step
from custom_ops.core.kernel_interface import Described, program_of
from ms_fusion.formats.composite import Composite
from ms_fusion.graph import Graph, Value
from ms_fusion.kernel_server import plan_choice
from ms_fusion.kernel_server.broadcast_operands import without_broadcasts
from ms_fusion.kernel_server.channels_last import channels_last
from ms_fusion.kernel_server.compile_cache import Library, OwnKernel, Place, Row
from ms_fusion.kernel_server.composite_lowering import IN_PLACE, Group, size_bytes, translate
from ms_fusion.kernel_server.constant_operands import stored
from ms_fusion.kernel_server.float64_operators import in_float64
from ms_fusion.kernel_server.group_partition import Region, alone, parts, reads
from ms_fusion.kernel_server.onednn_call import OnednnCall
from ms_fusion.kernel_server.onednn_steps import LibraryStep, is_called
from ms_fusion.kernel_server.transposes import done_by, transposed_by_products
from ms_fusion.ledger import BuildStep
from tbe_impl import compat
from tbe_impl.codegen.partition import may_overwrite
from tbe_impl.codegen.program import Layout, layout_of
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.errors import CacheError, InputError
from tbe_impl.kernel import Kernel


def needs_library(graph: Graph) -> bool:
    """Whether something in it is computed by a library."""
    return any(is_called(node, graph) for node in graph)


class Compiled(NamedTuple):
    """What is ours in a group, compiled.

    Attributes:
        steps: of the whole group, for the ledger.
        row: the group as it will be called; None where something in it is no function in C.
    """

    steps: tuple[BuildStep, ...]
    row: Row | None


def compile_own(kernel: Composite) -> Compiled:
    """Compiles what is ours in a group, so that it lies in the cache when the group is first called.

    Raises:
        FusionError: as `assemble`, or the compiler's.
    """
    graph = _ready(kernel.graph)
    members = _members(kernel, graph)
    own = [member.kernel for member in members if isinstance(member.kernel, Kernel)]
    for made in own:
        assert made.compiled
    # the kernels of the regions come first, in their order; behind them stand copies
    layouts = (made.layout for made in own)
    return Compiled(
        tuple(_told(part, graph, layouts) for part in parts(graph)), _row(kernel, members, graph)
    )


def _row(kernel: Composite, members: Sequence[_Member], ready: Graph) -> Row | None:
    names = (*kernel.graph.inputs, *kernel.graph.outputs)
    if len(set(names)) < len(names):
        return None
    found = []
    for member in members:
        if isinstance(member.kernel, OnednnCall):
            size = ready.values[member.writes[0]].bytes
            found.append(Place(member.kernel, member.reads, member.writes, (size,)))
            continue
        program = program_of(member.kernel)
        if program is None or program[0].program.sizes:
            return None
        loaded, order = program
        try:
            library = Library.of(loaded.file)
        except CacheError:  # gone already
            return None
        own = OwnKernel(library, loaded.program.symbol, tuple(order))
        sizes = tuple(size_bytes(item.tensor) for item in member.kernel.outputs)
        found.append(Place(own, member.reads, member.writes, sizes))
    return Row(names, tuple(found))


def _told(part: Region | LibraryStep, graph: Graph, layouts: Iterator[Layout | None]) -> BuildStep:
    if isinstance(part, LibraryStep):
        covered = [operator for name in part.covered for operator in done_by(graph.node(name))]
        again = graph.values[part.writes].bytes if part.call.has_second_pass else 0
        return BuildStep("onednn", tuple(covered), second_pass_bytes=again)
    layout = next(layouts)
    return BuildStep("c", tuple(node.op for node in part.nodes), len(layout.nests) if layout else 0)


def assemble(kernel: Composite) -> Chain:
    """The chain of a group: inputs in the kernel's order, then its outputs.

    Raises:
        InputError: an operator, a dtype or a shape that cannot be built; names the operator.
    """
    graph = kernel.graph
    given = {name: _described(graph.values[name]) for name in graph.inputs}
    wanted = {name: _described(graph.values[name]) for name in graph.outputs}
    steps = tuple(map(_step, _members(kernel, _ready(graph))))
    made = {name for step in steps for name in step.writes}
    made |= {node.outputs[0] for node in graph if node.op in IN_PLACE}
    if not made >= wanted.keys():
        raise InputError(
            "a result is handed out that nothing makes",
            place=kernel.name,
            got=", ".join(wanted.keys() - made),
        )
    return Chain(kernel.name, given, wanted, steps)


class _Member(NamedTuple):
    """A kernel of a chain: ours, or a call of the library that is not prepared yet, and the names of its arrays."""

    kernel: Kernel | OnednnCall
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def _step(member: _Member) -> Step:
    kernel = member.kernel
    return Step(
        kernel.prepare() if isinstance(kernel, OnednnCall) else kernel, member.reads, member.writes
    )


def _members(kernel: Composite, ready: Graph) -> list[_Member]:
    """The kernels in a row; what is written in place and read later is copied to its place at the end.

    Args:
        ready: the kernel's graph as `_ready` has it.
    """
    kernel = replace(kernel, graph=ready)
    found = parts(ready)
    members: list[_Member] = []
    last: list[_Member] = []
    for number, part in enumerate(found):
        if isinstance(part, LibraryStep):
            members.append(_Member(part.call, part.reads, (part.writes,)))
            continue
        later = {name for other in found[number + 1 :] for name in reads(other)}
        own, copies = _own(part, kernel, later)
        members.append(own)
        last += copies
    return members + last


def _ready(graph: Graph) -> Graph:
    """The graph as it is laid out in a row of kernels."""
    graph = transposed_by_products(without_broadcasts(channels_last(in_float64(graph))))
    return stored(graph, [part for part in parts(graph) if isinstance(part, LibraryStep)])


def own_kernels(kernel: Composite) -> Iterator[tuple[Kernel, Group, Graph]]:
    """What is ours in a group, before anything is chosen for it; whatever is known under such a kernel's key is taken.

    Raises:
        InputError: as `assemble`.
    """
    graphs = [in_float64(kernel.graph)]
    if needs_library(kernel.graph):
        ready = _ready(kernel.graph)
        graphs = [alone(part, ready) for part in parts(ready) if isinstance(part, Region)]
    for graph in graphs:
        with compat.installed(soc="cpu"):
            group = translate(replace(kernel, graph=graph))
        yield plan_choice.plain(group, graph.inputs), group, graph


def _own(region: Region, kernel: Composite, later: Container[str]) -> tuple[_Member, list[_Member]]:
    """A kernel of ours for a region, and the copies that come last.

    Args:
        later: what is read after it.
    """
    part = alone(region, kernel.graph)
    inputs = part.inputs
    with compat.installed(soc="cpu"):
        group = translate(replace(kernel, graph=part))
        own = plan_choice.chosen(plan_choice.plain(group, inputs), group, part)
        layout = cache(lambda: layout_of(group.results, group.inputs, own.options))
    names = (*inputs, *region.results)
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
    return _Member(replace(own, outputs=outputs), tuple(inputs), tuple(writes)), copies


def _copy(like: Tensor, source: str, target: str) -> _Member:
    """One array to the place of another."""
    given = placeholder(like.shape, like.dtype, "source")
    made = compute(like.shape, lambda *at: given(*at), "target")
    kernel = Kernel(
        "copy",
        "cpu",
        (plan_choice.argument(given, "source"),),
        (plan_choice.argument(made, "target"),),
    )
    return _Member(kernel, (source,), (target,))


def _described(value: Value) -> Described:
    return Described(tuple(int(size) for size in value.shape), value.dtype)
