"""Assembles the `Ledger` (the fusion record of a net) from an `OperatorJoin` and measurements."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ms_fusion import cost
from ms_fusion.capture.operator_join import OperatorJoin
from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node, Source
from ms_fusion.ledger import Accuracy, Build, CarriedKernel, FusedKernel, Ledger, Work
from ms_fusion.why_not import explain_edges, find_rejected_groups, hot_spots

Times = Mapping[str, tuple[float, float, float]]
"""A dict from the full name of an operator or kernel to its measured times.

The times are a tuple: (runs in one call of the net, median µs of a run, spread µs).
"""


def assemble(
    joined: OperatorJoin,
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
        joined: the original operators, the fused kernels, and the assignment of operators to
            kernels.
        title: name of the net.
        device: the device record. Its memory bandwidth and launch cost determine the predicted
            times.
        device_target: ``CPU``, ``GPU`` or ``Ascend``.
        flags, preset: the graph kernel flags of the fused run, and the name of their preset (a
            named set of flags).
        generator: generator of the kernels, ``ms_fusion`` or ``mindspore``.
        builds: a dict from the name of a kernel to its build record. The dict contains the kernels
            that ms_fusion's generator built.
        kept_out: types of the operators that tuning excludes from clustering.
        times_before: measured times of the original operators, as `Times`.
        times_after: measured times of the operators and kernels of the fused net, as `Times`.
        step_before_us, step_after_us: median time of a whole call without and with fusion, µs.
        step_before_spread_us, step_after_spread_us: spread of the times of whole calls, µs.
        environment: a dict from the name of a version or setting to its value. The ledger lists
            them.
        output_max_abs, output_max_ulp, output_max_rel: largest difference between the net's outputs
            without and with fusion: absolute, in ULP, and relative.
        notes: remarks for the reader of the ledger.
    """
    times_before, times_after = times_before or {}, times_after or {}
    builds = builds if builds and generator == "ms_fusion" else {}
    builder = _KernelBuilder(joined, device, generator, builds, times_before, times_after)
    built = tuple(builder.build_record(node) for node in joined.after if node.is_fused_kernel)
    after = cost.summarise(joined.after)
    second_passes = sum((one.build.second_passes for one in built if one.build), Work())
    ran, times = (joined.after, times_after) if times_after else (joined.before, times_before)
    return Ledger(
        title=title,
        kernels=tuple(kernel for kernel in built if len(kernel.body) > 1),
        single_operator_kernels=tuple(kernel for kernel in built if len(kernel.body) < 2),
        carried=tuple(
            _describe_carried_kernel(node, joined, times_after)
            for node in joined.after
            if node.kernel_provider
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
        rejected=find_rejected_groups(joined.before),
        environment=dict(environment or {}),
        flags=flags,
        preset=preset,
        notes=tuple(notes),
        output_max_abs=output_max_abs,
        output_max_ulp=output_max_ulp,
        output_max_rel=output_max_rel,
    )


class _KernelBuilder:
    """Builds the records of fused kernels; holds the data that all kernels of a ledger share."""

    def __init__(
        self,
        joined: OperatorJoin,
        device: Device,
        generator: str,
        builds: Mapping[str, Build],
        times_before: Times,
        times_after: Times,
    ):
        self.joined, self.device, self.generator = joined, device, generator
        self.builds = builds
        self.times_before, self.times_after = times_before, times_after

    def build_record(self, node: Node) -> FusedKernel:
        after, before = self.joined.after, self.joined.before
        members = [before.node(name) for name in self.joined.members.get(node.name, ())]
        name = str(node.attr("info_name") or node.name)
        build = self.builds.get(name)
        work = cost.work_of(node, after) + (build.second_passes if build else Work())
        apart = [
            _divide_work(cost.work_of(member, before), self._piece_count(member))
            for member in members
        ]
        stages = cost.stages(work, self.device, matrix=_has_matrix_product(node.fused_body))
        stages_unfused = tuple(
            cost.stages(one, self.device, matrix=_has_matrix_product((member,)))
            for one, member in zip(apart, members, strict=True)
        )
        runs, time_us, spread_us = self.times_after.get(node.name, (None, None, None))
        unfused_us, unfused_spread_us = self._unfused_us(members)
        return FusedKernel(
            name=name,
            full_name=node.name,
            operators=tuple(member.op for member in members)
            or tuple(member.op for member in node.fused_body),
            nodes=tuple(member.name for member in members),
            body=tuple(member.op for member in node.fused_body),
            body_graph=node.fused_body,
            inputs=after.inputs_of(node),
            outputs=after.outputs_of(node),
            sources=_distinct_sources(members, node),
            work=work,
            work_unfused=sum(apart, Work()),
            stages=stages,
            stages_unfused=stages_unfused,
            bound=cost.roofline_bound(stages),
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

    def _piece_count(self, member: Node) -> int:
        return max(1, len(self.joined.placement.get(member.name, ())))

    def _unfused_us(self, members: Sequence[Node]) -> tuple[float | None, float | None]:
        """Returns the sum of the unfused times of a kernel's operators, and the sum's spread, µs.

        If an operator is split over n kernels, 1/n of its time is added to each of these kernels.
        Returns (None, None) if the time of an operator of the kernel is missing.
        """
        total, spreads = 0.0, list[float]()
        for member in members:
            launched = cost.work_of(member, self.joined.before).launches > 0
            runs, time_us, spread_us = self.times_before.get(
                member.name, (None, 0.0, 0.0) if launched else (0.0, 0.0, 0.0)
            )
            if runs is None:
                return None, None
            total += runs * time_us / self._piece_count(member)
            spreads.append(runs * spread_us / self._piece_count(member))
        return (total, math.hypot(*spreads)) if members else (None, None)


def _describe_carried_kernel(node: Node, joined: OperatorJoin, times: Times) -> CarriedKernel:
    """Returns the ledger's record of a custom operator.

    The record has the source locations that the operator has in the unfused graph.
    """
    runs, time_us, _ = times.get(node.name, (None, None, None))
    return CarriedKernel(
        name=node.op,
        full_name=node.name,
        by=node.kernel_provider,
        inputs=joined.after.inputs_of(node),
        outputs=joined.after.outputs_of(node),
        sources=_distinct_sources(
            [joined.before.node(node.name)] if node.name in joined.before else [], node
        ),
        launches=None if runs is None else round(runs),
        time_us=time_us,
        operators=node.fused_operator_types,
        kernel_source=node.tbe_source,
    )


def _has_matrix_product(operators: Iterable[Node]) -> bool:
    return any(cost.is_matrix_product(node.op) for node in operators)


def _divide_work(work: Work, parts: int) -> Work:
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


def _bytes_between_pieces(joined: OperatorJoin) -> dict[str, int]:
    """Returns the bytes that the kernels of a split operator pass to each other in memory.

    The keys of the dict are the names of the original operators that MindSpore split over several
    kernels.
    """
    after = joined.after
    moved: dict[str, int] = defaultdict(int)
    for name, kernels in joined.placement.items():
        if len(kernels) < 2:
            continue
        pieces = set(kernels)
        between = [
            edge for edge in after.edges if edge.producer in pieces and edge.consumer in pieces
        ]
        # A value is read by each of its consumers but written only once.
        values = [edge.value for edge in between] + list({edge.value for edge in between})
        moved[name] += sum(after.values[value].bytes for value in values)
    return dict(moved)


def match_by_scope(before: Graph, other: Graph) -> dict[str, str]:
    """Returns a dict from the name of each node in `before` to its counterpart's name in `other`.

    `other` is a second compilation of the same net. The n-th operator of a scope in `before`
    corresponds to the n-th operator of the same scope in `other`.
    """
    waiting: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in other:
        waiting[_scope_key(node)].append(node.name)
    found: dict[str, str] = {}
    for node in before:
        if waiting.get(_scope_key(node)):
            found[node.name] = waiting[_scope_key(node)].pop(0)
    return found


def _scope_key(node: Node) -> tuple[str, str]:
    return node.subgraph.rstrip("0123456789"), re.sub(r"-op\d+(#\d+)?$", "", node.name)


def add_accuracy(ledger: Ledger, certificates: Mapping[str, tuple[Accuracy, ...]]) -> Ledger:
    """Returns the ledger with accuracy certificates (the measured errors) added to its kernels.

    Args:
        ledger: the ledger whose kernels get the certificates.
        certificates: a dict from the full name of a kernel to its certificate, as
            `ms_fusion.accuracy.certificate` computes it.
    """

    def add_certificates(kernels: tuple[FusedKernel, ...]) -> tuple[FusedKernel, ...]:
        return tuple(
            replace(kernel, accuracy=certificates.get(kernel.full_name, kernel.accuracy))
            for kernel in kernels
        )

    return replace(
        ledger,
        kernels=add_certificates(ledger.kernels),
        single_operator_kernels=add_certificates(ledger.single_operator_kernels),
    )
