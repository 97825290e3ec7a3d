"""Joins the states of one compilation: which original operators went into which fused kernel.

MindSpore renames and rewrites operators, and generated ones have no link to their origin. So the
join follows the dumped states one by one, each by an invariant of that step:

``before → expanded``: operators keep their names, or are replaced one for one, in order, by a
sub-graph.
``expanded → clustered``: operators are only moved into clusters; a value is identified by its
structure (the expression that computes it).
``clustered → built``: a kernel is a cluster, or names the cluster that it is a piece of. Its
operators are renumbered, so they are matched by structure; simplified ones are matched by kind and
operands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ms_fusion.capture.operator_matching import BasicOperator, flatten, match_basics
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.readers.control_flow import ControlFlow
from ms_fusion.readers.dumps import Dumps


@dataclass(frozen=True)
class OperatorJoin:
    """The original and the built operators of one compilation, and their relation.

    Attributes:
        before: the original operators.
        after: the built graph: fused kernels (nodes with a body) among MindSpore's own.
        origins: full name of a kernel → for each operator of its body the full name of the original
            one, or "".
        members: full name of a kernel → full names of all original operators in it, in order;
            includes those that a simplification removed.
        placement: full name of an original operator → full names of its kernels.
        cluster: full name of an original operator → its cluster before splitting.
        programs: sub-graph → index of its compilation.
        control: control flow between the sub-graphs.
    """

    before: Graph
    after: Graph
    origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    placement: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cluster: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, int] = field(default_factory=dict)
    control: ControlFlow = field(default_factory=ControlFlow)


def join(dumps: Dumps) -> OperatorJoin:
    """Joins the original operators in `dumps` with the kernels that were built from them.

    Without the intermediate states (a low dump level) the original operators are derived from the
    kernels. Without the executed graph (dumps of some devices) the state after splitting replaces
    it.
    """
    before, expanded, clustered = (
        {module.entry: module.graph for module in modules}
        for modules in (dumps.before, dumps.expanded, dumps.clustered)
    )
    parts: list[OperatorJoin] = []
    for module in dumps.built or dumps.split:
        entry, built = module.entry, module.graph
        if entry in before and entry in clustered:
            parts.append(
                _join_one(
                    before[entry], expanded.get(entry, before[entry]), clustered[entry], built
                )
            )
        else:
            parts.append(reconstruct_unfused(built))
    programs = {
        node.subgraph: program
        for part, program in zip(parts, dumps.programs, strict=False)
        for node in part.before
    }
    return replace(combine(parts), programs=programs, control=dumps.control)


def _join_one(before: Graph, expanded: Graph, clustered: Graph, built: Graph) -> OperatorJoin:
    expansion = match_expanded(before, expanded)
    clusters = match_clusters(expanded, clustered, expansion)
    kernels_of = match_kernels(clustered, built)
    origins = match_bodies(clustered, built, kernels_of, clusters)
    members: dict[str, tuple[str, ...]] = {}
    for cluster, kernels in kernels_of.items():
        members.update(
            _complete(kernels, origins, [origin for _, origin in clusters[cluster]], before)
        )
    cluster_of = {
        origin: cluster for cluster, basics in clusters.items() for _, origin in basics if origin
    }
    return OperatorJoin(before, built, origins, members, _placement(members), cluster_of)


def match_expanded(before: Graph, expanded: Graph) -> dict[str, str]:
    """Name of a node in `expanded` → name of the original in `before`.

    A node that was not expanded keeps its name; the n-th ``GraphKernel_X`` replaces the n-th
    missing ``X``.
    """
    kept = {node.name for node in expanded if not node.is_fused_kernel}
    gone: dict[str, list[str]] = defaultdict(list)
    for node in before:
        if node.name not in kept:
            gone[node.op].append(node.name)
    matched: dict[str, str] = {}
    for node in expanded:
        if node.is_fused_kernel:
            waiting = gone.get(node.op)
            matched[node.name] = waiting.pop(0) if waiting else ""
        else:
            matched[node.name] = node.name if node.name in before else ""
    return matched


def match_clusters(
    expanded: Graph, clustered: Graph, expansion: Mapping[str, str]
) -> dict[str, list[tuple[BasicOperator, str]]]:
    """Name of a cluster → its basic operators in order, each with the name of its original."""
    origins: dict[int, list[str]] = defaultdict(list)
    for basic in flatten(expanded):
        origins[basic.key].append(expansion.get(basic.container or basic.node.name, ""))
    members: dict[str, list[tuple[BasicOperator, str]]] = {
        node.name: [] for node in clustered if node.is_fused_kernel
    }
    for basic in flatten(clustered):
        waiting = origins.get(basic.key, [])
        origin = waiting.pop(0) if len(waiting) > 1 else waiting[0] if waiting else ""
        if basic.container:
            members[basic.container].append((basic, origin or expansion.get(basic.node.name, "")))
    return members


def match_kernels(clustered: Graph, built: Graph) -> dict[str, list[Node]]:
    """Name of a cluster → the kernels that were built from it, pieces in order."""
    clusters: dict[str, list[Node]] = defaultdict(list)
    for node in clustered:
        if node.is_fused_kernel:
            clusters[node.op].append(node)
    families: dict[str, dict[int, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for node in built:
        if node.is_fused_kernel:
            family, piece = family_of(node)
            families[family][piece].append(node)
    found: dict[str, list[Node]] = {node.name: [] for nodes in clusters.values() for node in nodes}
    for family, pieces in families.items():
        instances = clusters.get(family, [])
        for kernels in (pieces[piece] for piece in sorted(pieces)):
            for kernel, cluster in zip(
                kernels, _order_clusters(kernels, instances, clustered, built), strict=False
            ):
                found[cluster.name].append(kernel)
    return found


def match_bodies(
    clustered: Graph,
    built: Graph,
    kernels_of: Mapping[str, Sequence[Node]],
    clusters: Mapping[str, Sequence[tuple[BasicOperator, str]]],
) -> dict[str, tuple[str, ...]]:
    """Full name of a kernel → for each operator of its body the full name of its original.

    An operator without an original has "".

    Args:
        kernels_of: name of a cluster → its kernels, from `match_kernels`.
        clusters: name of a cluster → its operators, from `match_clusters`.
    """
    home = {kernel.name: cluster for cluster, kernels in kernels_of.items() for kernel in kernels}
    original = {
        (basic.container, basic.node.name): name
        for members in clusters.values()
        for basic, name in members
    }
    before, after = flatten(clustered), flatten(built)
    matched = match_basics(before, after, home)
    found: dict[str, list[str]] = {kernel: [] for kernel in home}
    for basic, match in zip(after, matched, strict=True):
        if basic.container in found:
            was = before[match] if match is not None else None
            found[basic.container].append(
                original.get((was.container, was.node.name), "") if was else ""
            )
    return {kernel: tuple(names) for kernel, names in found.items()}


def family_of(kernel: Node) -> tuple[str, int]:
    """Name of the cluster that `kernel` was built from, and the index of its piece (0 for a whole
    cluster).
    """
    piece = re.fullmatch(r"(.+)_(\d+)", str(kernel.attr("node_name") or ""))
    return (piece[1], int(piece[2])) if piece else (kernel.op, 0)


def _order_clusters(
    kernels: Sequence[Node], clusters: Sequence[Node], clustered: Graph, built: Graph
) -> Iterable[Node]:
    """Clusters in the order of `kernels`: by common parameters, then by position."""
    free = list(clusters)
    for kernel in kernels:
        if not free:
            return
        read = _parameters(kernel, built)
        best = max(free, key=lambda cluster: len(read & _parameters(cluster, clustered)))
        free.remove(best)
        yield best


def _parameters(node: Node, graph: Graph) -> frozenset[str]:
    return frozenset(name for name in node.inputs if graph.values[name].kind == "parameter")


def _complete(
    kernels: Sequence[Node],
    origins: Mapping[str, tuple[str, ...]],
    cluster: Sequence[str],
    before: Graph,
) -> dict[str, tuple[str, ...]]:
    """All original operators of each kernel, in the cluster's order.

    An operator that a simplification removed goes to the kernel of an operator that it reads, or
    else of one that reads it.
    """
    order = [name for name in dict.fromkeys(cluster) if name]
    homes: dict[str, list[str]] = {
        name: [kernel.name for kernel in kernels if name in origins[kernel.name]] for name in order
    }
    for name in order:
        made_by = (before.producers.get(one) for one in before.node(name).inputs)
        homes[name] = homes[name] or _last_home(made_by, homes)
    for name in reversed(order):
        read_by = (
            one for made in before.node(name).outputs for one in before.consumers.get(made, ())
        )
        homes[name] = homes[name] or _last_home(read_by, homes)
    return {
        kernel.name: tuple(name for name in order if kernel.name in homes[name])
        for kernel in kernels
    }


def _last_home(nodes: Iterable[Node | None], homes: Mapping[str, list[str]]) -> list[str]:
    """The last kernel of the first of `nodes` that has one."""
    return next((homes[node.name][-1:] for node in nodes if node and homes.get(node.name)), [])


def _placement(members: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    placed: dict[str, list[str]] = defaultdict(list)
    for kernel, names in members.items():
        for name in names:
            placed[name].append(kernel)
    return {name: tuple(kernels) for name, kernels in placed.items()}


def reconstruct_unfused(built: Graph) -> OperatorJoin:
    """Reconstructs the original operators: inlines kernel bodies, merges expanded operators.

    Neighbours in a body that were expanded from the same operator count as one.
    """
    nodes: list[Node] = []
    values = dict(built.values)
    origins: dict[str, tuple[str, ...]] = {}
    for node in built:
        if node.body is None:
            nodes.append(node)
            continue
        opened, names = _inline_kernel(node, values)
        nodes.extend(opened)
        origins[node.name] = names
    before = Graph(built.name, tuple(nodes), values, built.inputs, built.outputs)
    members = {kernel: tuple(dict.fromkeys(names)) for kernel, names in origins.items()}
    placement = _placement(members)
    cluster = {name: kernels[0] for name, kernels in placement.items()}
    return OperatorJoin(before, built, origins, members, placement, cluster)


def _inline_kernel(kernel: Node, values: dict[str, Value]) -> tuple[list[Node], tuple[str, ...]]:
    """Returns a kernel's operators as nodes of the outer graph.

    Operators that were expanded from one operator are one node. The second result names, for each
    operator of the body, its node.
    """
    body = kernel.body
    assert body is not None
    outer = dict(zip(body.inputs, kernel.inputs, strict=False))
    outer.update(zip(body.outputs, kernel.outputs, strict=False))
    for name, value in body.values.items():
        if name not in outer:
            outer[name] = f"{kernel.name}/{name}"
            values[outer[name]] = replace(value, name=outer[name])
    nodes: list[Node] = []
    names: list[str] = []
    for member in body:
        inputs, outputs = (
            tuple(outer[name] for name in member.inputs),
            tuple(outer[name] for name in member.outputs),
        )
        last = nodes[-1] if nodes else None
        if last is not None and member.expand_from and last.op == member.expand_from:
            known = {*last.inputs, *last.outputs}
            nodes[-1] = replace(
                last,
                inputs=last.inputs + tuple(name for name in inputs if name not in known),
                outputs=last.outputs + outputs,
                sources=last.sources or member.sources,
            )
        else:
            nodes.append(
                replace(
                    member,
                    name=f"{kernel.name}/{member.name}",
                    op=member.expand_from or member.op,
                    inputs=inputs,
                    outputs=outputs,
                    expand_from=None,
                    subgraph=kernel.subgraph,
                )
            )
        names.append(nodes[-1].name)
    return nodes, tuple(names)


def combine(parts: Sequence[OperatorJoin]) -> OperatorJoin:
    """Merges the kernel graphs of one program (control flow splits it); each node keeps its
    sub-graph.
    """
    if len(parts) == 1:
        return parts[0]
    apart = _make_names_distinct(parts)
    return OperatorJoin(
        merge([part.before for part in apart]),
        merge([part.after for part in apart]),
        origins={name: origin for part in apart for name, origin in part.origins.items()},
        members={name: names for part in apart for name, names in part.members.items()},
        placement={name: kernels for part in apart for name, kernels in part.placement.items()},
        cluster={
            name: f"{part.before.name}/{c}" for part in apart for name, c in part.cluster.items()
        },
    )


def _make_names_distinct(parts: Sequence[OperatorJoin]) -> list[OperatorJoin]:
    """Makes names unique: a name that an earlier part uses gets its kernel graph's name as prefix.

    MindSpore restarts its name counters for each net.
    """
    originals: set[str] = {""}
    built: set[str] = {""}
    done: list[OperatorJoin] = []
    for part in parts:
        new = {
            node.name: _make_distinct(node.name, part.before.name, originals)
            for node in part.before
        } | {"": ""}
        new_built = {
            node.name: _make_distinct(node.name, part.after.name, built) for node in part.after
        }
        done.append(
            OperatorJoin(
                _rename_nodes(part.before, new),
                _rename_nodes(part.after, new_built),
                {
                    new_built[k]: tuple(new[name] for name in names)
                    for k, names in part.origins.items()
                },
                {
                    new_built[k]: tuple(new[name] for name in names)
                    for k, names in part.members.items()
                },
                {
                    new[name]: tuple(new_built[k] for k in kernels)
                    for name, kernels in part.placement.items()
                },
                {new[name]: cluster for name, cluster in part.cluster.items()},
            )
        )
    return done


def _make_distinct(name: str, graph: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{graph}/{name}"
    taken.add(name)
    return name


def _rename_nodes(graph: Graph, names: Mapping[str, str]) -> Graph:
    return replace(graph, nodes=tuple(replace(node, name=names[node.name]) for node in graph))


def merge(graphs: Sequence[Graph]) -> Graph:
    """Merges graphs; values of the same name stay distinct unless they are the same parameter."""
    nodes: list[Node] = []
    values: dict[str, Value] = {}
    inputs: list[str] = []
    outputs: list[str] = []
    for graph in graphs:
        names: dict[str, str] = {}
        for name, value in graph.values.items():
            shared = name not in values or (value.kind == "parameter" and values[name] == value)
            names[name] = name if shared else f"{graph.name}/{name}"
            values[names[name]] = replace(value, name=names[name])
        nodes.extend(
            replace(
                node,
                inputs=tuple(names[name] for name in node.inputs),
                outputs=tuple(names[name] for name in node.outputs),
                subgraph=node.subgraph or graph.name,
            )
            for node in graph
        )
        inputs.extend(names[name] for name in graph.inputs)
        outputs.extend(names[name] for name in graph.outputs)
    return Graph(
        graphs[0].name if graphs else "",
        tuple(nodes),
        values,
        tuple(dict.fromkeys(inputs)),
        tuple(dict.fromkeys(outputs)),
    )
