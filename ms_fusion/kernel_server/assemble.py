"""A group in which a library takes part, as a chain: our kernels, and the library's between them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from functools import cache

from custom_ops.chain import Chain, Step
from custom_ops.kernels import Described
from ms_fusion.formats.composite import Composite
from ms_fusion.graph import Graph, Value
from ms_fusion.kernel_server import choose
from ms_fusion.kernel_server.channels_last import channels_last
from ms_fusion.kernel_server.onednn_steps import LibraryStep, is_called
from ms_fusion.kernel_server.parts import Region, alone, parts, reads
from ms_fusion.kernel_server.stored_constants import stored
from ms_fusion.kernel_server.translate import IN_PLACE, Group, translate
from ms_fusion.ledger import BuildStep
from tbe_impl import compat
from tbe_impl.backends.cpu.nests import may_overwrite
from tbe_impl.backends.cpu.program import Layout, layout_of
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel


def needs_library(graph: Graph) -> bool:
    """Whether something in it is computed by a library."""
    return any(is_called(node, graph) for node in graph)


def compile_own(kernel: Composite) -> tuple[BuildStep, ...]:
    """Compiles what is ours in a group, so that it lies in the cache when the group is first called; its steps.

    Raises:
        FusionError: as `assemble`, or the compiler's.
    """
    own = [
        step.kernel for step in _steps(kernel, prepared=False) if isinstance(step.kernel, Kernel)
    ]
    for made in own:
        assert made.compiled
    # the kernels of the regions come first, in their order; behind them stand copies
    layouts = (made.layout for made in own)
    graph = _ready(kernel.graph)
    return tuple(_told(part, graph, layouts) for part in parts(graph))


def _told(part: Region | LibraryStep, graph: Graph, layouts: Iterator[Layout | None]) -> BuildStep:
    if isinstance(part, LibraryStep):
        return BuildStep("onednn", tuple(graph.node(name).op for name in part.covered))
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
    steps = tuple(_steps(kernel, prepared=True))
    made = {name for step in steps for name in step.writes}
    made |= {node.outputs[0] for node in graph if node.op in IN_PLACE}
    if not made >= wanted.keys():
        raise InputError("a result is handed out that nothing makes", place=kernel.name, got=", ".join(wanted.keys() - made))  # fmt: skip
    return Chain(kernel.name, given, wanted, steps)


def _steps(kernel: Composite, *, prepared: bool) -> list[Step]:
    """The kernels in a row; what is written in place and read later is copied to its place at the end."""
    kernel = replace(kernel, graph=_ready(kernel.graph))
    found = parts(kernel.graph)
    steps: list[Step] = []
    last: list[Step] = []
    for number, part in enumerate(found):
        if isinstance(part, LibraryStep):
            steps += [Step(part.prepare(), part.reads, (part.writes,))] if prepared else []
            continue
        later = {name for other in found[number + 1 :] for name in reads(other)}
        own, copies = _own(part, kernel, later)
        steps.append(own)
        last += copies
    return steps + last


def _ready(graph: Graph) -> Graph:
    """The graph as it is laid out in a row of kernels."""
    graph = channels_last(graph)
    return stored(graph, [part for part in parts(graph) if isinstance(part, LibraryStep)])


def own_kernels(kernel: Composite) -> Iterator[tuple[Kernel, Group, Graph]]:
    """What is ours in a group, before anything is chosen for it; whatever is known under such a kernel's key is taken.

    Raises:
        InputError: as `assemble`.
    """
    regions = [part for part in parts(kernel.graph) if isinstance(part, Region)]
    whole = needs_library(kernel.graph)
    for graph in [alone(part, kernel.graph) for part in regions] if whole else [kernel.graph]:
        with compat.installed(soc="cpu"):
            group = translate(replace(kernel, graph=graph))
        yield choose.plain(group, graph.inputs), group, graph


def _own(region: Region, kernel: Composite, later: Container[str]) -> tuple[Step, list[Step]]:
    """A kernel of ours for a region, and the copies that come last.

    Args:
        later: what is read after it.
    """
    part = alone(region, kernel.graph)
    inputs = part.inputs
    with compat.installed(soc="cpu"):
        group = translate(replace(kernel, graph=part))
        own = choose.chosen(choose.plain(group, inputs), group, part)
        layout = cache(lambda: layout_of(group.results, group.inputs, own.options))
    names = (*inputs, *region.results)
    known = {id(tensor) for tensor in group.inputs}
    writes, copies = [], []
    for tensor, (first, *others) in zip(group.results, group.places, strict=True):
        target = names[first]
        if first < len(inputs) and (target in later or not may_overwrite(group.inputs[first], tensor, layout().nests, known)):  # fmt: skip
            target = f"{target} anew"
            copies.append(_copy(tensor, target, names[first]))
        writes.append(target)
        copies += [_copy(tensor, target, names[other]) for other in others]
    outputs = tuple(map(choose.argument, group.results, writes))
    return Step(replace(own, outputs=outputs), tuple(inputs), tuple(writes)), copies


def _copy(like: Tensor, source: str, target: str) -> Step:
    """One array to the place of another."""
    given = placeholder(like.shape, like.dtype, "source")
    made = compute(like.shape, lambda *at: given(*at), "target")
    kernel = Kernel(
        "copy", "cpu", (choose.argument(given, "source"),), (choose.argument(made, "target"),)
    )
    return Step(kernel, (source,), (target,))


def _described(value: Value) -> Described:
    return Described(tuple(int(size) for size in value.shape), value.dtype)
