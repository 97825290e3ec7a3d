"""Lists unfused edges, each with a reason, bytes at stake and the smallest change that fuses it.

The bytes at stake are the memory traffic that fusing the edge would save.

This module exceeds 500 lines because one class tests all reasons in a fixed order, and has a method
for each reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ms_fusion.graph import Edge, Graph, Node, Value
from ms_fusion.ledger import Suggestion, UnfusedEdge
from ms_fusion.mindspore.flags.generator_limits import node_refusal
from ms_fusion.ops.selections import VIEWS
from ms_fusion.readers.control_flow import ControlFlow
from ms_fusion.why_not.clusters import form_clusters
from ms_fusion.why_not.fusibility import (
    IN_PLACE_OPERATORS,
    Refusal,
    Settings,
    first_refusal,
    refusals,
    settings,
)
from ms_fusion.why_not.merge_reachability import Reachability
from ms_fusion.why_not.prospective_fusion import ProspectiveClusters
from ms_fusion.why_not.reasons import RANK, sentence, shape_text
from ms_fusion.why_not.splitter import (
    REDUCTION_FIRST_OPERATORS,
    KernelTraits,
    Pair,
    kernel_of,
    split_reason,
)
from ms_fusion.why_not.suggest import add_flags, subgraphs_with_float16_casts, suggest
from tbe_impl.reachability import reachable

NO_CONTROL_FLOW = ControlFlow()


def explain_edges(
    before: Graph,
    placement: Mapping[str, tuple[str, ...]],
    cluster: Mapping[str, str],
    *,
    flags: str,
    device: str = "CPU",
    internal: Mapping[str, int] | None = None,
    programs: Mapping[str, int] | None = None,
    control: ControlFlow = NO_CONTROL_FLOW,
    after: Graph | None = None,
    kept_out: Container[str] = (),
) -> tuple[UnfusedEdge, ...]:
    """Returns the unfused edges of `before`: edges whose two operators are in no common kernel.

    The edges are sorted by bytes at stake, largest first. Two kinds of edges that the graph lacks
    are added. The first kind belongs to an operator that was expanded and then split over several
    kernels: an edge from the operator to itself represents the values that these kernels exchange.
    The second kind is an edge without a consumer, which represents a value that leaves its
    sub-graph. Another sub-graph, which has an input of the same shape and dtype, probably reads
    this value.

    Args:
        before: the graph of the original operators.
        placement: a dict from the full name of an operator to the fused kernels that contain the
            operator. An operator without an entry runs as MindSpore's own kernel.
        cluster: a dict from the full name of an operator to its cluster, before MindSpore splits
            clusters into kernels.
        flags: the flag string in force.
        device: ``CPU``, ``GPU`` or ``Ascend``.
        internal: a dict from the full name of an operator to a number of bytes. Each of these
            operators is split over several kernels. The number is the bytes that these kernels
            write and read to exchange values.
        programs: a dict from the name of a sub-graph to the index of its program. No edge connects
            two programs.
        control: control flow between the sub-graphs.
        after: the graph after fusion, or None if unknown.
        kept_out: types of the operators that tuning has found slower when fused. No suggestion
            proposes to cluster these operators.
    """
    known = _EdgeExplainer(before, placement, cluster, settings(flags, device), after, kept_out)
    found = [
        *known.edges_between_operators(),
        *known.edges_inside_operators(internal or {}),
        *known.edges_leaving_subgraphs(programs or {}, control),
    ]
    return tuple(sorted(found, key=lambda edge: -edge.bytes_at_stake))


class _EdgeExplainer:
    """Explains why edges of a compiled graph are not fused.

    Facts that several edges share are cached.
    """

    def __init__(
        self,
        graph: Graph,
        placement: Mapping[str, tuple[str, ...]],
        cluster: Mapping[str, str],
        given: Settings,
        after: Graph | None,
        kept_out: Container[str],
    ):
        self.graph, self.placement, self.cluster = graph, placement, cluster
        self.given, self.after, self.kept_out = given, after, kept_out
        self._prospects: dict[str, ProspectiveClusters] = {}

    @cached_property
    def refusals(self) -> dict[str, tuple[Refusal, ...]]:
        return {node.name: tuple(refusals(node, self.graph, self.given)) for node in self.graph}

    @cached_property
    def unsafe_subgraphs(self) -> frozenset[str]:
        return subgraphs_with_float16_casts(self.graph)

    @cached_property
    def clusters(self) -> Reachability:
        return Reachability(
            self.graph, {node.name: self.cluster.get(node.name, "") for node in self.graph}
        )

    @cached_property
    def kernels(self) -> Reachability:
        alone = {name: kernels[0] for name, kernels in self.placement.items() if len(kernels) == 1}
        return Reachability(self.graph, alone)

    @cached_property
    def built_kernels(self) -> Mapping[str, KernelTraits]:
        """A dict from the name of each fused kernel to its `KernelTraits`."""
        members: dict[str, list[tuple[Node, bool]]] = defaultdict(list)
        for node in self.graph:
            kernels = self.placement.get(node.name, ())
            for kernel in kernels:
                members[kernel].append((node, kernel == kernels[-1]))
        return {name: kernel_of(nodes, self.graph) for name, nodes in members.items()}

    def edges_between_operators(self) -> Iterator[UnfusedEdge]:
        counted: set[tuple[str, object]] = set()
        for edge in self.graph.edges:
            producer, consumer = self.graph.node(edge.producer), self.graph.node(edge.consumer)
            if set(self.placement.get(producer.name, ())) & set(
                self.placement.get(consumer.name, ())
            ):
                continue
            reader = self._holder(consumer)
            first = (edge.value, reader) not in counted
            counted.add((edge.value, reader))
            code, detail, refused = self._reason(edge, producer, consumer)
            value = self.graph.values[edge.value]
            yield _unfused_edge(
                producer,
                consumer,
                value,
                code,
                detail,
                self._bytes_at_stake(value, producer, consumer) if first else 0,
                self._suggestion(producer, consumer, value, code, refused),
            )

    def edges_inside_operators(self, internal: Mapping[str, int]) -> Iterator[UnfusedEdge]:
        for node in self.graph:
            if len(self.placement.get(node.name, ())) < 2:
                continue
            value = self.graph.values[node.outputs[0]] if node.outputs else Value("", (), "")
            count = len(self.placement[node.name])
            if self.given.has_splitter:
                code = "splitter-after-reduction"
                why = (
                    f"on {self.given.device} MindSpore's splitter fuses nothing behind a reduction"
                )
            else:
                code, why = "cycle", "what runs between its parts is in neither"
            detail = f"{node.name} ({node.op}) was expanded and cut into {count} kernels: {why}."
            yield _unfused_edge(
                node,
                node,
                value,
                code,
                detail,
                internal.get(node.name, 0),
                None,
            )

    def edges_leaving_subgraphs(
        self, programs: Mapping[str, int], control: ControlFlow
    ) -> Iterator[UnfusedEdge]:
        graphs = {node.subgraph for node in self.graph}
        if len(graphs) < 2:
            return
        taken: dict[tuple[object, str, int | None], set[str]] = defaultdict(set)
        for name, readers in self.graph.consumers.items():
            value = self.graph.values[name]
            if value.kind == "input":
                for node in readers:
                    program = programs.get(node.subgraph)
                    taken[value.shape, value.dtype, program].add(node.subgraph)
        gone = []
        for name in dict.fromkeys(self.graph.outputs):
            producer = self.graph.producers.get(name)
            value = self.graph.values[name]
            if producer is None or producer.subgraph in control.last:
                continue
            program = programs.get(producer.subgraph)
            if taken[value.shape, value.dtype, program] - {producer.subgraph}:
                gone.append((name, producer, value))
        by_itself = any(producer.name in self.branch_condition_operators for _, producer, _ in gone)
        for name, producer, value in gone:
            detail = sentence(
                "control-flow",
                value=name,
                dtype=value.dtype,
                shape=shape_text(value),
                subgraph=producer.subgraph,
            )
            # The suggestion replaces the branch by a select of both results. An operator that
            # computes the condition would not fuse with this select.
            waits = producer.name in self.branch_condition_operators or (
                by_itself and "BroadcastTo" in self.given.clustered
            )
            yield _unfused_edge(
                producer,
                None,
                value,
                "control-flow",
                detail,
                2 * value.bytes,
                suggest(self.graph, producer, None, value, "control-flow", (), self.given)
                if producer.subgraph in control.branched and not waits
                else None,
            )

    @cached_property
    def branch_condition_operators(self) -> frozenset[str]:
        """Full names of the operators that compute a branch condition.

        A branch condition is a boolean that leaves its sub-graph.
        """
        makers = self.graph.producers
        conditions = [one for one in self.graph.outputs if self.graph.values[one].dtype == "bool"]
        values = reachable(conditions, lambda one: makers[one].inputs if one in makers else ())
        return frozenset(makers[one].name for one in values if one in makers)

    def _reason(
        self, edge: Edge, producer: Node, consumer: Node
    ) -> tuple[str, str, tuple[Refusal, ...]]:
        """Returns the reason why an edge is not fused: (reason code, sentence, refusals).

        A `Refusal` names an operator and a reason. The reason explains why MindSpore did not
        cluster the operator, or why MindSpore's generator must not build the operator. If the edge
        is unfused for another reason, the tuple of refusals is empty.
        """
        names = {"producer": producer.name, "consumer": consumer.name}
        if not self.given.opt_level and not self.cluster and not self.placement:
            return "fusion-off", sentence("fusion-off", opt_level=self.given.opt_level, **names), ()
        if producer.subgraph != consumer.subgraph:
            detail = sentence(
                "other-subgraph",
                subgraph=producer.subgraph,
                other_subgraph=consumer.subgraph,
                **names,
            )
            return "other-subgraph", detail, ()
        refused = tuple(
            found
            for node in dict.fromkeys((producer, consumer))
            if not self._is_clustered(node)
            for found in self.refusals[node.name]
        )
        if refused:
            hardest = min(refused, key=lambda one: RANK[one.code])
            return hardest.code, hardest.detail, refused
        if culprits := self._find_culprits(producer, consumer):
            why = f"{culprits[0].node.name}, {culprits[0].detail}"
            return "not-built", sentence("not-built", why=why, **names), culprits
        if self._is_in_lost_kernel(producer, consumer):
            return "generator-failed", sentence("generator-failed", **names), ()
        if self._is_clustered(producer) and self._is_clustered(consumer):
            code, detail = self._explain_cut(edge, producer, consumer)
            return code, detail, ()
        return "unexplained", self._unexplained_sentence(producer, consumer), ()

    def _find_culprits(self, producer: Node, consumer: Node) -> tuple[Refusal, ...]:
        """Returns the reasons why no kernel was built for the cluster of the two operators.

        Each reason is a `Refusal`. The returned tuple is empty if the operators are not in one
        cluster, if a kernel was built, or if no reason is known.
        """
        if not self._is_in_lost_kernel(producer, consumer):
            return ()
        return self.culprits.get(self.cluster[producer.name], ())

    def _is_in_lost_kernel(self, producer: Node, consumer: Node) -> bool:
        """Whether both operators are in one cluster for which no kernel was built."""
        cluster = self.cluster.get(producer.name)
        together = cluster is not None and cluster == self.cluster.get(consumer.name)
        return together and not self.placement.keys() & {producer.name, consumer.name}

    @cached_property
    def culprits(self) -> Mapping[str, tuple[Refusal, ...]]:
        """A dict from a cluster to the refusals of its operators.

        Each `Refusal` names an operator that MindSpore's CPU generator must not build, and the
        reason. The dict is empty for other devices and other generators.
        """
        found: dict[str, tuple[Refusal, ...]] = defaultdict(tuple)
        if self.given.device == "CPU" and self.given.generator == "mindspore":
            for node in self.graph:
                cluster = self.cluster.get(node.name)
                if cluster and (why := node_refusal(node, self.graph)):
                    found[cluster] += (Refusal(node, "not-built", why),)
        return found

    @cached_property
    def prospect_without_culprits(self) -> ProspectiveClusters:
        """Predicts the clusters with `culprits` for the case that the culprits stay unclustered."""
        blamed = {one.node.name for found in self.culprits.values() for one in found}
        cluster = {
            name: one
            for name, one in self.cluster.items()
            if one in self.culprits and name not in blamed
        }
        return ProspectiveClusters(self.graph, cluster, self.given)

    def prospect_with_flags(self, added: str) -> ProspectiveClusters:
        """Predicts the clusters of the graph for the flags in force plus the flags `added`."""
        if added not in self._prospects:
            own = " ".join(f"--{name}={value}" for name, value in self.given.given.items())
            then = settings(add_flags(own, added), self.given.device)
            free = {
                node.name for node in self.graph if first_refusal(node, self.graph, then) is None
            }
            cluster = form_clusters(self.graph, free)
            lost = {
                cluster[node.name]
                for node in self.graph
                if node.name in free
                and self.given.generator == "mindspore"
                and node_refusal(node, self.graph)
            }
            cluster = {name: one for name, one in cluster.items() if one not in lost}
            self._prospects[added] = ProspectiveClusters(self.graph, cluster, then)
        return self._prospects[added]

    def _suggestion(
        self, producer: Node, consumer: Node, value: Value, code: str, refused: Sequence[Refusal]
    ) -> Suggestion | None:
        """Returns the smallest change that certainly fuses the edge, or None if none is known."""
        if any(one.node.op in self.kept_out for one in refused):
            return None
        found = suggest(
            self.graph,
            producer,
            consumer,
            value,
            code,
            refused,
            self.given,
            blocked=self._may_be_cut(producer, consumer, value, code),
            unsafe=self.unsafe_subgraphs,
        )
        # A flag clusters all operators of a type, which may then join other clusters. For operators
        # that become several kernels, no prediction is made.
        foreseen = (
            code == "fusion-off"
            or not self.given.has_splitter
            or not REDUCTION_FIRST_OPERATORS & {producer.op, consumer.op}
        )
        if found is None or found.kind != "flag" or not foreseen or code == "not-built":
            return found
        return (
            found
            if self.prospect_with_flags(found.flags).is_certain_to_fuse(producer, consumer)
            else None
        )

    def _explain_cut(self, edge: Edge, producer: Node, consumer: Node) -> tuple[str, str]:
        """Explains why two clustered operators are in different kernels.

        Returns (reason code, explanation as a sentence).
        """
        for node in (consumer, producer):
            if node.op in IN_PLACE_OPERATORS:
                return "in-place", sentence("in-place", name=node.name, op=node.op)
        one_cluster = self.cluster.get(producer.name) == self.cluster.get(consumer.name)
        if not one_cluster:
            through = self.clusters.intermediate_node(producer.name, consumer.name)
            if through is not None:
                return "cycle", self._cycle_sentence(producer, consumer, through)
        found = split_reason(self._pair(producer, consumer, self.graph.values[edge.value]))
        if found is not None:
            return found
        through = self.kernels.intermediate_node(producer.name, consumer.name)
        if through is not None:
            return "cycle", self._cycle_sentence(producer, consumer, through)
        other = self._other_reader(edge, consumer)
        if other is not None and self.given.has_splitter:
            return "splitter-shared", sentence("splitter-shared", value=edge.value, through=other)
        if self._is_moved(producer, consumer):
            return "moved", sentence("moved", producer=producer.name, consumer=consumer.name)
        return "unexplained", self._unexplained_sentence(producer, consumer)

    def _cycle_sentence(self, producer: Node, consumer: Node, through: str) -> str:
        return sentence("cycle", producer=producer.name, consumer=consumer.name, through=through)

    def _is_moved(self, producer: Node, consumer: Node) -> bool:
        """Whether the built graph computes `producer` after `consumer`."""
        if self.after is None:
            return False
        ends = set(self.placement.get(producer.name, (producer.name,)))
        starts = self.placement.get(consumer.name, (consumer.name,))
        followers: dict[str, list[str]] = defaultdict(list)
        for edge in self.after.edges:
            followers[edge.producer].append(edge.consumer)
        behind = reachable(starts, lambda name: followers[name])
        return any(follower in ends for name in behind for follower in followers[name])

    def _unexplained_sentence(self, producer: Node, consumer: Node) -> str:
        return sentence(
            "unexplained",
            producer=producer.name,
            consumer=consumer.name,
            producer_op=producer.op,
            consumer_op=consumer.op,
        )

    def _may_be_cut(self, producer: Node, consumer: Node, value: Value, code: str) -> bool:
        """Whether two operators might be in different kernels even if MindSpore clustered both."""
        if code == "not-built":
            return not self.prospect_without_culprits.is_certain_to_fuse(producer, consumer)
        if code == "fusion-off":
            return False  # the prediction for the whole program decides
        if (
            producer.subgraph != consumer.subgraph
            or self.clusters.intermediate_node(producer.name, consumer.name) is not None
            or self.kernels.intermediate_node(producer.name, consumer.name) is not None
            or any(self.cluster.get(node.name) in self.culprits for node in (producer, consumer))
            or self._may_be_drawn_away(producer, consumer)
        ):
            return True
        return split_reason(self._pair(producer, consumer, value)) is not None

    def _may_be_drawn_away(self, producer: Node, consumer: Node) -> bool:
        """Whether the consumer might join a cluster that the producer cannot join.

        The function assumes that the consumer is clustered, and considers clusters of operators
        that read the consumer's result. MindSpore forms such a cluster before it reaches the
        consumer, since MindSpore forms clusters from the end of the program backwards.
        """
        if self._is_clustered(consumer):
            return False
        return any(
            self._is_clustered(reader)
            and self.clusters.intermediate_node(producer.name, reader.name, aside=consumer.name)
            is not None
            for name in consumer.outputs
            for reader in self.graph.consumers.get(name, ())
        )

    def _pair(self, producer: Node, consumer: Node, value: Value) -> Pair:
        before, after = self._kernel(producer, last=True), self._kernel(consumer, last=False)
        return Pair(self.graph, producer, consumer, value, self.given, before, after)

    def _kernel(self, node: Node, *, last: bool) -> KernelTraits:
        """Returns the traits of the kernel that contains the first or last part of `node`.

        If no kernel contains `node`, the function returns the traits of a hypothetical kernel that
        contains `node`. If `last` is True, this hypothetical kernel also contains the operators of
        kernels that compute an input of `node`. Kernels with a reduction or data movement are
        excluded.

        Args:
            node: the operator, which may be split over several kernels.
            last: whether the kernel of the last part is meant instead of the kernel of the first
                part.
        """
        kernels = self.placement.get(node.name, ())
        if kernels:
            return self.built_kernels[kernels[-1 if last else 0]]
        own = kernel_of([(node, True)], self.graph)
        makers = (self.graph.producers.get(name) for name in node.inputs if last)
        joined = {
            self.placement[maker.name][-1]
            for maker in makers
            if maker and maker.name in self.placement
        }
        for kernel in map(self.built_kernels.__getitem__, sorted(joined)):
            if kernel.reduction is None and kernel.data_movement is None:
                own = replace(
                    own,
                    size=own.size + kernel.size,
                    broadcast=own.broadcast or kernel.broadcast,
                    members=own.members | kernel.members,
                )
        return own

    def _other_reader(self, edge: Edge, consumer: Node) -> str | None:
        for node in self.graph.consumers[edge.value]:
            if node.name not in (edge.producer, consumer.name) and self._holder(
                node
            ) != self._holder(consumer):
                return node.name
        return None

    def _is_clustered(self, node: Node) -> bool:
        return node.name in self.placement or node.name in self.cluster

    def _holder(self, node: Node) -> object:
        """Returns the names of the kernels that contain `node`, or else the node's own name."""
        return self.placement.get(node.name) or node.name

    def _bytes_at_stake(self, value: Value, producer: Node, consumer: Node) -> int:
        """Returns the bytes of memory traffic that fusing `producer` with `consumer` would save.

        The result is the bytes that the consumer reads. If only the consumer reads the value, the
        bytes that the producer writes are added. The result is 0 if the consumer is a view operator
        (such as Reshape) that is in no cluster.
        """
        if consumer.op in VIEWS and not self._is_clustered(consumer):
            return 0
        kernels = set(self.placement.get(producer.name, ()))
        outside = {
            self._holder(node)
            for node in self.graph.consumers[value.name]
            if not kernels & set(self.placement.get(node.name, ()))
        }
        alone = outside == {self._holder(consumer)} and value.name not in self.graph.outputs
        return value.bytes * (2 if alone else 1)


def _unfused_edge(
    producer: Node,
    consumer: Node | None,
    value: Value,
    code: str,
    detail: str,
    bytes_at_stake: int,
    suggestion: Suggestion | None,
) -> UnfusedEdge:
    return UnfusedEdge(
        producer=producer.name,
        consumer=consumer.name if consumer else "",
        producer_op=producer.op,
        consumer_op=consumer.op if consumer else "",
        value=value,
        reason=code,
        detail=detail,
        bytes_at_stake=bytes_at_stake,
        suggestion=suggestion,
        producer_source=producer.sources[-1] if producer.sources else None,
        consumer_source=consumer.sources[-1] if consumer and consumer.sources else None,
    )
