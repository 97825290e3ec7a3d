"""Dumps and measurements in, `Ledger` out: the one place where join, cost, reasons and receipts meet. Pure."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ms_fusion import cost
from ms_fusion.capture.operator_join import Joined
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node, Source
from ms_fusion.ledger import Accuracy, Build, CarriedKernel, FusedKernel, Ledger, Work
from ms_fusion.why_not import explain_edges, hot_spots

Times = Mapping[str, tuple[float, float, float]]
"""Full name → (runs in one call, median µs of a run, spread µs)."""


def assemble(
    joined: Joined,
    *,
    title: str,
    device: Device,
    device_target: str = "CPU",
    flags: str = "",
    preset: str = "",
    generator: str = "mindspore",
    builds: Mapping[str, Build] | None = None,
    kept_out: Sequence[str] = (),
    times_before: Times | None = None,
    times_after: Times | None = None,
    step_before_us: float | None = None,
    step_after_us: float | None = None,
    step_before_spread_us: float | None = None,
    step_after_spread_us: float | None = None,
    environment: Mapping[str, object] | None = None,
    output_max_abs: float | None = None,
    output_max_ulp: float | None = None,
    output_max_rel: float | None = None,
    notes: Sequence[str] = (),
) -> Ledger:
    """Builds the ledger of one net.

    Args:
        joined: the original operators, the kernels, and what connects them.
        generator: who built the kernels.
        builds: name of a kernel → how ours built it.
        kept_out: operators that were measured to be better kept out of the clusters.
        device: whose bandwidth and launch cost the predictions use.
        times_before, times_after: measured times of the original operators and of what was built.
        step_before_us, step_after_us: measured times of a whole call, medians; with their spreads.
    """
    times_before, times_after = times_before or {}, times_after or {}
    builds = builds if builds and generator == "ms_fusion" else {}
    builder = _KernelBuilder(joined, device, generator, builds, times_before, times_after)
    built = tuple(builder.kernel(node) for node in joined.after if node.is_fused_kernel)
    after = cost.summarise(joined.after)
    second_passes = sum((one.build.second_passes for one in built if one.build), Work())
    ran, times = (joined.after, times_after) if times_after else (joined.before, times_before)
    return Ledger(
        title=title,
        kernels=tuple(kernel for kernel in built if len(kernel.body) > 1),
        single_operator_kernels=tuple(kernel for kernel in built if len(kernel.body) < 2),
        carried=tuple(
            _carried(node, joined, times_after) for node in joined.after if node.brought_by
        ),
        unfused=explain_edges(
            joined.before,
            joined.placement,
            joined.cluster,
            flags=flags,
            device=device_target,
            internal=_bytes_between_pieces(joined),
            programs=joined.programs,
            control=joined.control,
            after=joined.after,
            kept_out=kept_out,
        ),
        before=replace(
            cost.summarise(joined.before),
            time_us=step_before_us,
            time_spread_us=step_before_spread_us,
        ),
        after=replace(
            after,
            bytes_moved=after.bytes_moved + second_passes.bytes,
            time_us=step_after_us,
            time_spread_us=step_after_spread_us,
        ),
        hot_spots=hot_spots(
            ran,
            {name: runs * time_us for name, (runs, time_us, _) in times.items()},
            spreads_us={name: runs * spread_us for name, (runs, _, spread_us) in times.items()},
            kernels={kernel.full_name: kernel for kernel in built},
            device=device_target,
            generator=generator,
            roofs=device,
        ),
        environment=dict(environment or {}),
        flags=flags,
        preset=preset,
        notes=tuple(notes),
        output_max_abs=output_max_abs,
        output_max_ulp=output_max_ulp,
        output_max_rel=output_max_rel,
    )


class _KernelBuilder:
    """Turns one fused node into its record; holds what all of them need."""

    def __init__(
        self,
        joined: Joined,
        device: Device,
        generator: str,
        builds: Mapping[str, Build],
        times_before: Times,
        times_after: Times,
    ):
        self.joined, self.device, self.generator = joined, device, generator
        self.builds = builds
        self.times_before, self.times_after = times_before, times_after

    def kernel(self, node: Node) -> FusedKernel:
        assert node.body is not None
        after, before = self.joined.after, self.joined.before
        members = [before.node(name) for name in self.joined.members.get(node.name, ())]
        name = str(node.attr("info_name") or node.name)
        build = self.builds.get(name)
        work = cost.work_of(node, after) + (build.second_passes if build else Work())
        apart = [_share(cost.work_of(member, before), self._pieces(member)) for member in members]
        stages = cost.stages(work, self.device, matrix=_on_matrix_unit(node.body))
        stages_unfused = tuple(
            cost.stages(one, self.device, matrix=_on_matrix_unit((member,)))
            for one, member in zip(apart, members, strict=True)
        )
        runs, time_us, spread_us = self.times_after.get(node.name, (None, None, None))
        unfused_us, unfused_spread_us = self._unfused_us(members)
        return FusedKernel(
            name=name,
            full_name=node.name,
            operators=tuple(member.op for member in members)
            or tuple(member.op for member in node.body),
            nodes=tuple(member.name for member in members),
            body=tuple(member.op for member in node.body),
            body_graph=node.body,
            inputs=after.inputs_of(node),
            outputs=after.outputs_of(node),
            sources=_distinct_sources(members, node),
            work=work,
            work_unfused=sum(apart, Work()),
            stages=stages,
            stages_unfused=stages_unfused,
            bound=cost.bound(stages),
            launches=None if runs is None else round(runs),
            time_us=time_us,
            unfused_time_us=unfused_us,
            predicted_saving_us=cost.predicted_saving_us(stages_unfused, stages),
            generator=self.generator,
            build=build,
            subgraph=node.subgraph,
            time_spread_us=spread_us,
            unfused_time_spread_us=unfused_spread_us,
        )

    def _pieces(self, member: Node) -> int:
        return max(1, len(self.joined.placement.get(member.name, ())))

    def _unfused_us(self, members: Sequence[Node]) -> tuple[float | None, float | None]:
        """Sum of the operators' own times, with its spread.

        One that went into several kernels counts its share in each.
        """
        total, spreads = 0.0, list[float]()
        for member in members:
            launched = cost.work_of(member, self.joined.before).launches > 0
            runs, time_us, spread_us = self.times_before.get(
                member.name, (None, 0.0, 0.0) if launched else (0.0, 0.0, 0.0)
            )
            if runs is None:
                return None, None
            total += runs * time_us / self._pieces(member)
            spreads.append(runs * spread_us / self._pieces(member))
        return (total, math.hypot(*spreads)) if members else (None, None)


def _carried(node: Node, joined: Joined, times: Times) -> CarriedKernel:
    """A custom operator; its place in the code is told by the graph before fusion."""
    runs, time_us, _ = times.get(node.name, (None, None, None))
    return CarriedKernel(
        name=node.op,
        full_name=node.name,
        by=node.brought_by,
        inputs=joined.after.inputs_of(node),
        outputs=joined.after.outputs_of(node),
        sources=_distinct_sources(
            [joined.before.node(node.name)] if node.name in joined.before else [], node
        ),
        launches=None if runs is None else round(runs),
        time_us=time_us,
        operators=node.made_of,
        kernel_source=node.written_at,
    )


def _on_matrix_unit(operators: Iterable[Node]) -> bool:
    return any(cost.is_matrix_product(node.op) for node in operators)


def _share(work: Work, parts: int) -> Work:
    if parts == 1:
        return work
    return Work(
        work.flops // parts, work.bytes_read // parts, work.bytes_written // parts, work.launches
    )


def _distinct_sources(members: Sequence[Node], node: Node) -> tuple[Source, ...]:
    inner = node.body.nodes if node.body is not None else ()
    nearest = [
        member.sources[-1] for member in (*members, *(() if members else inner)) if member.sources
    ]
    return tuple(dict.fromkeys(nearest))


def _bytes_between_pieces(joined: Joined) -> dict[str, int]:
    """Original operators that went into several kernels → bytes written and read between their pieces."""
    after = joined.after
    moved: dict[str, int] = defaultdict(int)
    for name, kernels in joined.placement.items():
        if len(kernels) < 2:
            continue
        pieces = set(kernels)
        between = [
            edge for edge in after.edges if edge.producer in pieces and edge.consumer in pieces
        ]
        # each is read by every consumer, but written once
        values = [edge.value for edge in between] + list({edge.value for edge in between})
        moved[name] += sum(after.values[value].bytes for value in values)
    return dict(moved)


def same_places(before: Graph, other: Graph) -> dict[str, str]:
    """Names in `before` → names in `other`, a second compilation of the same net: the n-th operator of a scope is the n-th."""
    waiting: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in other:
        waiting[_place(node)].append(node.name)
    found: dict[str, str] = {}
    for node in before:
        if waiting.get(_place(node)):
            found[node.name] = waiting[_place(node)].pop(0)
    return found


def _place(node: Node) -> tuple[str, str]:
    return node.subgraph.rstrip("0123456789"), re.sub(r"-op\d+(#\d+)?$", "", node.name)


def with_accuracy(ledger: Ledger, certificates: Mapping[str, tuple[Accuracy, ...]]) -> Ledger:
    """The ledger with what `ms_fusion.accuracy.certificate` found, by the kernels' full names."""

    def certified(kernels: tuple[FusedKernel, ...]) -> tuple[FusedKernel, ...]:
        return tuple(
            replace(kernel, accuracy=certificates.get(kernel.full_name, kernel.accuracy))
            for kernel in kernels
        )

    return replace(
        ledger,
        kernels=certified(ledger.kernels),
        single_operator_kernels=certified(ledger.single_operator_kernels),
    )
