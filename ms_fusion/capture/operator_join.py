"""Assigns the original operators to the fused kernels, from the dumps of one compilation.

MindSpore renames and rewrites operators, and the operators in fused kernels have no link to the
original operators. So the join compares each dumped graph with the next dumped graph. For each pair
of graphs, the join relies on what the compilation step between them preserves:

- ``before → expanded``: An operator keeps its name, or MindSpore replaces the operator by one
  sub-graph. The order of the operators does not change.
- ``expanded → clustered``: Operators move into clusters and stay otherwise unchanged. A value is
  identified by its structure, which is the expression that computes the value.
- ``clustered → built``: A kernel is a whole cluster or a part of a cluster, and has the cluster's
  name. The operators in a kernel are renumbered, so they are matched by structure. Operators that
  MindSpore has simplified are matched by type and operands.
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
    """The original operators of one compilation, and the fused kernels that contain them.

    Attributes:
        before: the graph of the original operators.
        after: the built graph, with fused kernels (nodes with a body) and MindSpore's own kernels.
        origins: a dict from the full name of a kernel to a tuple. The tuple has one entry for each
            operator in the kernel's body. The entry is the full name of the original operator, or
            "" if there is none.
        members: a dict from the full name of a kernel to the full names of all its original
            operators, in order, including operators that a simplification removed.
        placement: a dict from the full name of an original operator to the full names of the
            kernels that contain it.
        cluster: a dict from the full name of an original operator to the name of its cluster. A
            cluster is a group of operators that MindSpore later splits into kernels.
        programs: a dict from the name of a sub-graph to the index of the compilation that created
            the sub-graph.
        control: which sub-graphs compute the results of a program, and which belong to a program
            with branches.
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
    """Joins the original operators in `dumps` with the kernels that MindSpore built from them.

    If the dumps lack the intermediate graphs (``MS_DEV_SAVE_GRAPHS`` below 2), the original
    operators are derived from the kernels. If the dumps lack the executed graph, as on some
    devices, the graph after splitting is used instead.
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
    """Returns a dict from node names in `expanded` to the names of the operators in `before`.

    A node that was not expanded is mapped to its own name. The n-th ``GraphKernel_X`` in `expanded`
    replaces the n-th operator of type ``X`` in `before` that is missing in `expanded`. A node
    without an original operator is mapped to "".
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
    """Returns a dict from the name of each cluster to its operators, in order.

    Each operator is a pair (basic operator, name of its original operator or "").

    Args:
        expanded: the graph after expansion.
        clustered: the graph after clustering.
        expansion: the result of `match_expanded`, a dict from the name of a node in `expanded` to
            the name of its original operator.
    """
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
    """Returns a dict from a cluster's name to the kernels that were built from the cluster.

    The kernels of a cluster are in order.
    """
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
    """Returns a dict from the full name of each kernel to the original operators of its body.

    The value has one entry for each operator in the kernel's body: the name of the original
    operator, or "" if there is none.

    Args:
        clustered: the graph after clustering.
        built: the final graph, whose clusters MindSpore has built as kernels.
        kernels_of: the result of `match_kernels`.
        clusters: the result of `match_clusters`.
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
    """Returns (name of the cluster that became `kernel`, index of `kernel` in the cluster).

    If MindSpore split the cluster, its kernels have the indices 0, 1, 2 and so on. The only kernel
    of a cluster that was not split has the index 0.
    """
    piece = re.fullmatch(r"(.+)_(\d+)", str(kernel.attr("node_name") or ""))
    return (piece[1], int(piece[2])) if piece else (kernel.op, 0)


def _order_clusters(
    kernels: Sequence[Node], clusters: Sequence[Node], clustered: Graph, built: Graph
) -> Iterable[Node]:
    """Yields, for each kernel in turn, the cluster that reads the most of the kernel's parameters.

    Each cluster is yielded at most once. If several clusters read equally many of the kernel's
    parameters, the first of these clusters is yielded.
    """
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
    """Returns a dict from the name of each kernel to all its original operators, in cluster order.

    Simplification may have removed an operator. The removed operator then counts for the kernel
    that computes one of its inputs. If no kernel computes an input, the removed operator counts for
    a kernel that reads its result.
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
    """Returns a list with the name of the last kernel that contains a certain node.

    This node is the first of `nodes` that is in a kernel. The list is empty if none of `nodes` is
    in a kernel.
    """
    return next((homes[node.name][-1:] for node in nodes if node and homes.get(node.name)), [])


def _placement(members: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    placed: dict[str, list[str]] = defaultdict(list)
    for kernel, names in members.items():
        for name in names:
            placed[name].append(kernel)
    return {name: tuple(kernels) for name, kernels in placed.items()}


def reconstruct_unfused(built: Graph) -> OperatorJoin:
    """Reconstructs the original operators from the kernels in `built`.

    The kernel bodies are inlined. If neighbouring operators in a body were expanded from one
    operator, this operator replaces them.
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
    """Inlines a kernel into the outer graph.

    Neighbouring operators that were expanded from one operator become one node. The values in the
    kernel's body are added to `values`.

    Returns:
        A pair of lists. The first has the new nodes of the outer graph. The second has, for each
        operator in the kernel's body, the name of the new node that contains this operator.
    """
    body = kernel.fused_body
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
    """Merges the `OperatorJoin` results of several kernel graphs into one.

    If a program has control flow, MindSpore splits the program into several kernel graphs. Each
    node keeps the name of its sub-graph.
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
    """Makes node names unique across `parts`, the results for several kernel graphs.

    MindSpore restarts its name counters for each net. If two parts have a node of the same name,
    the node of the later part is renamed. The new name begins with the name of the kernel graph.
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
    """Merges several graphs into one.

    If values in different graphs have the same name, the values of the later graphs are renamed.
    The name of a parameter that several graphs read is not changed.
    """
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
