"""Every edge that was not fused, with the reason, the bytes at stake and the smallest change that would fuse it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ms_fusion.formats.actors import ControlFlow
from ms_fusion.generator_limits import node_refusal
from ms_fusion.graph import Edge, Graph, Node, Value
from ms_fusion.ledger import Suggestion, UnfusedEdge
from ms_fusion.operators import VIEWS
from ms_fusion.why_not.clusters import form_clusters
from ms_fusion.why_not.fusability import (
    IN_PLACE,
    Refusal,
    Settings,
    refusal,
    refusals,
    settings,
)
from ms_fusion.why_not.merge_reachability import Reach
from ms_fusion.why_not.prospective_fusion import Prospect
from ms_fusion.why_not.reasons import RANK, sentence, shape_text
from ms_fusion.why_not.splitter import REDUCING_FIRST, Kernel, Pair, kernel_of, why_split
from ms_fusion.why_not.suggest import casting_down, suggest, with_flags

NO_CONTROL = ControlFlow()


def explain_edges(
    before: Graph,
    placement: Mapping[str, tuple[str, ...]],
    cluster: Mapping[str, str],
    *,
    flags: str,
    device: str = "CPU",
    internal: Mapping[str, int] | None = None,
    programs: Mapping[str, int] | None = None,
    control: ControlFlow = NO_CONTROL,
    after: Graph | None = None,
    kept_out: Container[str] = (),
) -> tuple[UnfusedEdge, ...]:
    """The edges of `before` whose two ends share no kernel, sorted by bytes at stake, largest first.

    Args:
        before: the original operators.
        placement: full name of an operator → the fused kernels it went into; absent: it runs as MindSpore's own kernel.
        cluster: full name of an operator → the cluster that it was in before splitting.
        flags: the flag string in force.
        device: where it runs: ``CPU``, ``GPU`` or ``Ascend``.
        internal: operator that went into several kernels → bytes written and read between them.
        programs: sub-graph → number of its program; nothing goes from one program to another.
        control: which sub-graphs make the program's results, and which are cut by a branch.
        after: what was built, where it is known.
        kept_out: operators that were measured to be better kept out: nothing is suggested that lets them in.

    An edge inside one operator (it was expanded, and split) has that operator at both ends. An edge with an empty
    consumer is a value that leaves its sub-graph for another one that takes a value of this shape and dtype.
    """
    known = _Known(before, placement, cluster, settings(flags, device), after, kept_out)
    found = [
        *known.between(),
        *known.inside(internal or {}),
        *known.leaving(programs or {}, control),
    ]
    return tuple(sorted(found, key=lambda edge: -edge.bytes_at_stake))


class _Known:
    """One compilation, with what several edges ask about it worked out once."""

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
        self._prospects: dict[str, Prospect] = {}

    @cached_property
    def refusals(self) -> dict[str, tuple[Refusal, ...]]:
        return {node.name: tuple(refusals(node, self.graph, self.given)) for node in self.graph}

    @cached_property
    def unsafe(self) -> frozenset[str]:
        return casting_down(self.graph)

    @cached_property
    def clusters(self) -> Reach:
        return Reach(
            self.graph, {node.name: self.cluster.get(node.name, "") for node in self.graph}
        )

    @cached_property
    def kernels(self) -> Reach:
        alone = {name: kernels[0] for name, kernels in self.placement.items() if len(kernels) == 1}
        return Reach(self.graph, alone)

    @cached_property
    def built(self) -> Mapping[str, Kernel]:
        """Kernel → what its operators do."""
        members: dict[str, list[tuple[Node, bool]]] = defaultdict(list)
        for node in self.graph:
            kernels = self.placement.get(node.name, ())
            for kernel in kernels:
                members[kernel].append((node, kernel == kernels[-1]))
        return {name: kernel_of(nodes, self.graph) for name, nodes in members.items()}

    def between(self) -> Iterator[UnfusedEdge]:
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
            yield _record(
                producer,
                consumer,
                value,
                code,
                detail,
                self._bytes_at_stake(value, producer, consumer) if first else 0,
                self._suggestion(producer, consumer, value, code, refused),
            )

    def inside(self, internal: Mapping[str, int]) -> Iterator[UnfusedEdge]:
        for node in self.graph:
            if len(self.placement.get(node.name, ())) < 2:
                continue
            value = self.graph.values[node.outputs[0]] if node.outputs else Value("", (), "")
            count = len(self.placement[node.name])
            if self.given.splits:
                code = "splitter-after-reduction"
                why = f"on {self.given.device} nothing is fused behind a reduction"
            else:
                code, why = "cycle", "what runs between its parts is in neither"
            detail = f"{node.name} ({node.op}) was expanded and cut into {count} kernels: {why}."
            yield _record(
                node,
                node,
                value,
                code,
                detail,
                internal.get(node.name, 0),
                None,
            )

    def leaving(self, programs: Mapping[str, int], control: ControlFlow) -> Iterator[UnfusedEdge]:
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
        by_itself = any(producer.name in self.deciding for _, producer, _ in gone)
        for name, producer, value in gone:
            detail = sentence(
                "control-flow",
                value=name,
                dtype=value.dtype,
                shape=shape_text(value),
                subgraph=producer.subgraph,
            )
            # Behind both sides stands the choice, which waits for the condition.
            waits = producer.name in self.deciding or (
                by_itself and "BroadcastTo" in self.given.clustered
            )
            yield _record(
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
    def deciding(self) -> frozenset[str]:
        """The operators from which a truth value that leaves its sub-graph is computed: the condition of a branch."""
        waiting = [name for name in self.graph.outputs if self.graph.values[name].dtype == "bool"]
        found: set[str] = set()
        while waiting:
            producer = self.graph.producers.get(waiting.pop())
            if producer is not None and producer.name not in found:
                found.add(producer.name)
                waiting.extend(producer.inputs)
        return frozenset(found)

    def _reason(
        self, edge: Edge, producer: Node, consumer: Node
    ) -> tuple[str, str, tuple[Refusal, ...]]:
        """Code, sentence, and the refusals of the two ends."""
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
            if not self._taken(node)
            for found in self.refusals[node.name]
        )
        if refused:
            hardest = min(refused, key=lambda one: RANK[one.code])
            return hardest.code, hardest.detail, refused
        if culprits := self._not_built(producer, consumer):
            why = f"{culprits[0].node.name}, {culprits[0].detail}"
            return "not-built", sentence("not-built", why=why, **names), culprits
        if self._in_a_lost_kernel(producer, consumer):
            return "generator-failed", sentence("generator-failed", **names), ()
        if self._taken(producer) and self._taken(consumer):
            code, detail = self._cut(edge, producer, consumer)
            return code, detail, ()
        return "unexplained", self._unexplained(producer, consumer), ()

    def _not_built(self, producer: Node, consumer: Node) -> tuple[Refusal, ...]:
        """The operators because of which the cluster of both was not built."""
        if not self._in_a_lost_kernel(producer, consumer):
            return ()
        return self.culprits.get(self.cluster[producer.name], ())

    def _in_a_lost_kernel(self, producer: Node, consumer: Node) -> bool:
        """Whether both were clustered together and then run as they are: what was to be built of them is not there."""
        cluster = self.cluster.get(producer.name)
        together = cluster is not None and cluster == self.cluster.get(consumer.name)
        return together and not self.placement.keys() & {producer.name, consumer.name}

    @cached_property
    def culprits(self) -> Mapping[str, tuple[Refusal, ...]]:
        """Cluster → those of its operators that MindSpore's own CPU generator must not build."""
        found: dict[str, tuple[Refusal, ...]] = defaultdict(tuple)
        if self.given.device == "CPU" and self.given.generator == "mindspore":
            for node in self.graph:
                cluster = self.cluster.get(node.name)
                if cluster and (why := node_refusal(node, self.graph)):
                    found[cluster] += (Refusal(node, "not-built", why),)
        return found

    @cached_property
    def without_culprits(self) -> Prospect:
        """The clusters that were not built, once the operators to blame are kept out."""
        blamed = {one.node.name for found in self.culprits.values() for one in found}
        cluster = {
            name: one
            for name, one in self.cluster.items()
            if one in self.culprits and name not in blamed
        }
        return Prospect(self.graph, cluster, self.given)

    def with_flags_added(self, added: str) -> Prospect:
        """The clusters of this program with further flags in force."""
        if added not in self._prospects:
            own = " ".join(f"--{name}={value}" for name, value in self.given.given.items())
            then = settings(with_flags(own, added), self.given.device)
            free = {node.name for node in self.graph if refusal(node, self.graph, then) is None}
            cluster = form_clusters(self.graph, free)
            lost = {
                cluster[node.name]
                for node in self.graph
                if node.name in free
                and self.given.generator == "mindspore"
                and node_refusal(node, self.graph)
            }
            cluster = {name: one for name, one in cluster.items() if one not in lost}
            self._prospects[added] = Prospect(self.graph, cluster, then)
        return self._prospects[added]

    def _suggestion(
        self, producer: Node, consumer: Node, value: Value, code: str, refused: Sequence[Refusal]
    ) -> Suggestion | None:
        """The smallest change that surely fuses the edge."""
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
            blocked=self._would_be_cut(producer, consumer, value, code),
            unsafe=self.unsafe,
        )
        # a flag lets all operators of a name in, and they may draw others away; what becomes several kernels is not foreseen
        foreseen = (
            code == "fusion-off"
            or not self.given.splits
            or not REDUCING_FIRST & {producer.op, consumer.op}
        )
        if found is None or found.kind != "flag" or not foreseen or code == "not-built":
            return found
        return (
            found
            if self.with_flags_added(found.flags).becomes_one_kernel(producer, consumer)
            else None
        )

    def _cut(self, edge: Edge, producer: Node, consumer: Node) -> tuple[str, str]:
        """Why two operators that were both clustered do not share a kernel."""
        for node in (consumer, producer):
            if node.op in IN_PLACE:
                return "in-place", sentence("in-place", name=node.name, op=node.op)
        one_cluster = self.cluster.get(producer.name) == self.cluster.get(consumer.name)
        if not one_cluster:
            through = self.clusters.between(producer.name, consumer.name)
            if through is not None:
                return "cycle", self._cycle(producer, consumer, through)
        found = why_split(self._pair(producer, consumer, self.graph.values[edge.value]))
        if found is not None:
            return found
        through = self.kernels.between(producer.name, consumer.name)
        if through is not None:
            return "cycle", self._cycle(producer, consumer, through)
        other = self._other_reader(edge, consumer)
        if other is not None and self.given.splits:
            return "splitter-shared", sentence("splitter-shared", value=edge.value, through=other)
        if self._is_moved(producer, consumer):
            return "moved", sentence("moved", producer=producer.name, consumer=consumer.name)
        return "unexplained", self._unexplained(producer, consumer)

    def _cycle(self, producer: Node, consumer: Node, through: str) -> str:
        return sentence("cycle", producer=producer.name, consumer=consumer.name, through=through)

    def _is_moved(self, producer: Node, consumer: Node) -> bool:
        """Whether what was built computes the producer behind its consumer."""
        if self.after is None:
            return False
        ends = set(self.placement.get(producer.name, (producer.name,)))
        waiting = list(self.placement.get(consumer.name, (consumer.name,)))
        followers: dict[str, list[str]] = defaultdict(list)
        for edge in self.after.edges:
            followers[edge.producer].append(edge.consumer)
        seen = set(waiting)
        while waiting:
            for name in followers[waiting.pop()]:
                if name in ends:
                    return True
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return False

    def _unexplained(self, producer: Node, consumer: Node) -> str:
        return sentence(
            "unexplained",
            producer=producer.name,
            consumer=consumer.name,
            producer_op=producer.op,
            consumer_op=consumer.op,
        )

    def _would_be_cut(self, producer: Node, consumer: Node, value: Value, code: str) -> bool:
        """Whether the two would stay apart even if both were clustered."""
        if code == "not-built":
            return not self.without_culprits.becomes_one_kernel(producer, consumer)
        if code == "fusion-off":
            return False  # looked at with the whole program
        if (
            producer.subgraph != consumer.subgraph
            or self.clusters.between(producer.name, consumer.name) is not None
            or self.kernels.between(producer.name, consumer.name) is not None
            or any(self.cluster.get(node.name) in self.culprits for node in (producer, consumer))
            or self._would_be_drawn_away(producer, consumer)
        ):
            return True
        return why_split(self._pair(producer, consumer, value)) is not None

    def _would_be_drawn_away(self, producer: Node, consumer: Node) -> bool:
        """Whether the consumer, once let in, joins a reader of its own that cannot join the producer.

        MindSpore forms clusters from the end of the program, so the reader comes first.
        """
        if self._taken(consumer):
            return False
        return any(
            self._taken(reader)
            and self.clusters.between(producer.name, reader.name, aside=consumer.name) is not None
            for name in consumer.outputs
            for reader in self.graph.consumers.get(name, ())
        )

    def _pair(self, producer: Node, consumer: Node, value: Value) -> Pair:
        before, after = self._kernel(producer, last=True), self._kernel(consumer, last=False)
        return Pair(self.graph, producer, consumer, value, self.given, before, after)

    def _kernel(self, node: Node, *, last: bool) -> Kernel:
        """The kernel that `node` ends in, or begins in; for one that stays out, the kernel that it would end in."""
        kernels = self.placement.get(node.name, ())
        if kernels:
            return self.built[kernels[-1 if last else 0]]
        own = kernel_of([(node, True)], self.graph)
        makers = (self.graph.producers.get(name) for name in node.inputs if last)
        joined = {
            self.placement[maker.name][-1]
            for maker in makers
            if maker and maker.name in self.placement
        }
        for kernel in map(self.built.__getitem__, sorted(joined)):
            if kernel.reduction is None and kernel.moving is None:
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

    def _taken(self, node: Node) -> bool:
        return node.name in self.placement or node.name in self.cluster

    def _holder(self, node: Node) -> object:
        """What reads on behalf of `node`: its kernels, or itself."""
        return self.placement.get(node.name) or node.name

    def _bytes_at_stake(self, value: Value, producer: Node, consumer: Node) -> int:
        """Read back by this consumer, and written unless somebody else needs it; a view alone moves nothing."""
        if consumer.op in VIEWS and not self._taken(consumer):
            return 0
        kernels = set(self.placement.get(producer.name, ()))
        outside = {
            self._holder(node)
            for node in self.graph.consumers[value.name]
            if not kernels & set(self.placement.get(node.name, ()))
        }
        alone = outside == {self._holder(consumer)} and value.name not in self.graph.outputs
        return value.bytes * (2 if alone else 1)


def _record(
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
