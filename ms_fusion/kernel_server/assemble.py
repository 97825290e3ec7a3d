"""A group in which a library takes part, as a chain: our kernels, and the library's between them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from custom_ops.chain import Chain, Step
from custom_ops.kernels import Described
from ms_fusion.formats.composite import Composite
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.kernel_server import choose
from ms_fusion.kernel_server.channels_last import channels_last
from ms_fusion.kernel_server.onednn_steps import LibraryStep, is_called, library_step
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
    return tuple(_told(part, graph, layouts) for part in _parts(graph))


def _told(part: _Region | LibraryStep, graph: Graph, layouts: Iterator[Layout | None]) -> BuildStep:
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
    parts = _parts(kernel.graph)
    steps: list[Step] = []
    last: list[Step] = []
    for number, part in enumerate(parts):
        if isinstance(part, LibraryStep):
            steps += [Step(part.prepare(), part.reads, (part.writes,))] if prepared else []
            continue
        later = {name for other in parts[number + 1 :] for name in _reads(other)}
        own, copies = _own(part, kernel, later)
        steps.append(own)
        last += copies
    return steps + last


def _ready(graph: Graph) -> Graph:
    """The graph as it is laid out in a row of kernels."""
    graph = channels_last(graph)
    return stored(graph, [part for part in _parts(graph) if isinstance(part, LibraryStep)])


@dataclass(frozen=True)
class _Region:
    """Operators between calls of the library.

    Attributes:
        nodes: in order.
        results: names of the values that are needed outside.
    """

    nodes: tuple[Node, ...]
    results: tuple[str, ...]


def _parts(graph: Graph) -> list[_Region | LibraryStep]:
    """Calls of the library as early as they can be, and between them the operators that wait for the same calls."""
    calls: dict[str, LibraryStep] = {}
    taken: set[str] = set()
    for node in graph.nodes:
        if is_called(node, graph):
            calls[node.name] = library_step(node, graph, taken)
            taken.update(calls[node.name].covered)
    levels: dict[str, int] = {name: 0 for name in graph.values if name not in graph.producers}
    own: dict[int, list[Node]] = {}
    library: dict[int, list[LibraryStep]] = {}
    waiting = [node for node in graph.nodes if node.name in calls or node.name not in taken]
    while waiting:
        # a call waits for what follows it too, which may stand behind it
        node = next(one for one in waiting if all(name in levels for name in _awaited(one, calls)))
        waiting.remove(node)
        level = max((levels[name] for name in _awaited(node, calls)), default=0)
        if node.name in calls:
            library.setdefault(level, []).append(calls[node.name])
            levels[calls[node.name].writes] = level + 1
        else:
            levels |= dict.fromkeys(node.outputs, level)
    for node in reversed(graph.nodes):
        if node.name not in taken:
            levels |= dict.fromkeys(node.outputs, _latest(node, graph, levels, taken))
    for node in graph.nodes:
        if node.name not in taken:
            own.setdefault(levels[node.outputs[0]], []).append(node)
    parts: list[_Region | LibraryStep] = []
    for at in sorted({*own, *library}):
        if at in own:
            parts.append(_Region(tuple(own[at]), _needed(own[at], graph)))
        parts += library.get(at, [])
    return parts


def _latest(node: Node, graph: Graph, levels: Mapping[str, int], taken: Container[str]) -> int:
    """The level of the first of our kernels that reads its results: beside it they need no memory."""
    own = levels[node.outputs[0]]
    readers = [reader for name in node.outputs for reader in graph.consumers.get(name, ())]
    if not readers or node.op in IN_PLACE or any(name in graph.outputs for name in node.outputs):
        return own
    if any(reader.name in taken for reader in readers):
        return own
    return max(own, min(levels[reader.outputs[0]] for reader in readers))


def _awaited(node: Node, calls: Mapping[str, LibraryStep]) -> tuple[str, ...]:
    return calls[node.name].reads if node.name in calls else node.inputs


def _needed(nodes: Sequence[Node], graph: Graph) -> tuple[str, ...]:
    names = {node.name for node in nodes}
    return tuple(
        value
        for node in nodes
        for value in node.outputs
        if value in graph.outputs
        or node.op in IN_PLACE
        or any(reader.name not in names for reader in graph.consumers.get(value, ()))
    )


def _reads(part: _Region | LibraryStep) -> tuple[str, ...]:
    if isinstance(part, LibraryStep):
        return part.reads
    return tuple(name for node in part.nodes for name in node.inputs)


def _part(region: _Region, graph: Graph) -> Graph:
    """A region by itself."""
    made = {value for node in region.nodes for value in node.outputs}
    read = _reads(region)
    inputs = [name for name in dict.fromkeys(read) if name not in made and graph.values[name].kind != "constant"]  # fmt: skip
    values = {name: graph.values[name] for name in (*read, *made)}
    return Graph(graph.name, region.nodes, values, tuple(inputs), region.results)


def own_kernels(kernel: Composite) -> Iterator[tuple[Kernel, Group, Graph]]:
    """What is ours in a group, before anything is chosen for it; whatever is known under such a kernel's key is taken.

    Raises:
        InputError: as `assemble`.
    """
    parts = [part for part in _parts(kernel.graph) if isinstance(part, _Region)]
    whole = needs_library(kernel.graph)
    for graph in [_part(part, kernel.graph) for part in parts] if whole else [kernel.graph]:
        with compat.installed(soc="cpu"):
            group = translate(replace(kernel, graph=graph))
        yield choose.plain(group, graph.inputs), group, graph


def _own(region: _Region, kernel: Composite, later: Container[str]) -> tuple[Step, list[Step]]:
    """A kernel of ours for a region, and the copies that come last.

    Args:
        later: what is read after it.
    """
    part = _part(region, kernel.graph)
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
