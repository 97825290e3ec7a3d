"""Tunes a net on this machine: measures kernel variants and cluster exclusions."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import msgspec

import tbe_impl
from ms_fusion.capture.capture_run import UNFUSED_FLAGS, CaptureOrder, Measurements, title_of
from ms_fusion.capture.explain_net import capture_net
from ms_fusion.capture.tuned_net import CallComparison, TunedKernel, TunedNet, Variant
from ms_fusion.cost import work_of
from ms_fusion.kernel_server.sequence_assembly import own_kernels
from ms_fusion.lowering.composite_lowering import LoweredGroup
from ms_fusion.lowering.nest_partition import full_fission_values, plan_nests, value_numbers
from ms_fusion.lowering.onednn.onednn_steps import LIBRARY
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.presets import net_choices
from ms_fusion.mindspore.state.mindspore_state import KERNELS
from ms_fusion.readers.composite import CompositeKernel, parse_kernel
from ms_fusion.target import check_tensors, require_mindspore
from tbe_impl import tuning_store
from tbe_impl.environment import is_off
from tbe_impl.errors import FusionError, InputError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.tuning.progress_bar import Progress, show_progress
from tbe_impl.tuning_store import Choice

COMPARISON_S = 2.0
"""Upper limit of one comparison; a tenth of the total time if that is less."""
MIN_KERNEL_S = 1.0
"""Minimum time to start tuning a kernel."""
OPERATOR_FAMILIES: dict[str, frozenset[str]] = {
    "without products": frozenset({"MatMul", "BatchMatMul"}),
    "without convolutions": frozenset(LIBRARY) - {"MatMul", "BatchMatMul"},
}
"""Operator families that are tried as exclusions from clustering."""
FULL_VARIANT = "everything"
"""Name of the variant without exclusions."""


@overload
def tune(
    net: Callable[..., Any],
    *inputs: Any,
    seconds: float = ...,
    progress: bool = ...,
    forget: Literal[False] = ...,
) -> TunedNet: ...


@overload
def tune(
    net: Callable[..., Any],
    *inputs: Any,
    seconds: float = ...,
    progress: bool = ...,
    forget: Literal[True],
) -> int: ...


def tune(
    net: Callable[..., Any],
    *inputs: Any,
    seconds: float = 60.0,
    progress: bool = True,
    forget: bool = False,
) -> TunedNet | int:
    """Measures variants of the groups of a net, and records those that are clearly faster.

    Later compilations on this machine find the choice of each group by its content, in this net or
    another. They find the exclusions from clustering by the net's code, parameters and inputs; a
    warning and the notes of `explain` report it. Two variants are compared call by call, in
    alternating turns. A difference counts if both the median of the ratios, with 99 % confidence,
    and the ratio of the minimum times exceed the noise. Operators are excluded from clustering, or
    the net stays unfused, only after a second measurement confirms it. The next call of `net`
    compiles it again.

    Args:
        net: as for `explain`; weights, random state and context are restored.
        inputs: arguments of the call.
        seconds: time limit. The whole net is compiled and measured once in any case. In the
            remaining time its groups are measured, then the net without products, without
            convolutions and without single operators.
        progress: show a bar when the error stream is a terminal.
        forget: measure nothing, and remove the records of this net: for these inputs, or for all if
            none are given.

    Returns:
        The findings; with `forget` the number of removed records, those of its kernels included.

    Raises:
        InputError: `seconds` is not positive, ``MS_FUSION=off`` is set, or `net` cannot be called
            with `inputs`.
        MissingError: MindSpore or a C compiler is missing, or our generator is not verified on this
            machine.
        CaptureError: MindSpore could not compile or run the net.
    """
    if not seconds > 0:
        raise InputError("tuning takes a positive time", place="tune", got=f"seconds={seconds}")
    if is_off():
        raise InputError(
            "nothing is tuned while ms_fusion is off",
            place="MS_FUSION",
            expected="on",
            got="'off'",
            remedy="Unset it",
        )
    require_mindspore()
    check_tensors(inputs)
    if forget:
        removed = net_choices.forget(net, inputs)
        presets.compile_anew(net)
        return removed
    found = _tune_net(net, inputs, seconds, progress=progress)
    keys = tuple(one.key for one in found.kernels)
    net_choices.remember(net, inputs, found.choice, kernels=keys)
    presets.compile_anew(net)
    return found


def _tune_net(
    net: Callable[..., Any], inputs: Sequence[Any], seconds: float, *, progress: bool
) -> TunedNet:
    started = time.perf_counter()
    flags, _ = presets.flags_of("auto", generator="ms_fusion")
    if generator_of(flags) != "ms_fusion":
        raise MissingError(
            "our generator cannot be used here", place="tune", remedy="Run `ms-fusion doctor`."
        )
    title = title_of(net)
    with show_progress(title, seconds, shown=progress) as show:
        clock = _Clock(started, started + seconds, show)

        def measure_net(
            flags: str, name: str, against: str = UNFUSED_FLAGS
        ) -> tuple[CallComparison, list[CompositeKernel]]:
            order = CaptureOrder(
                title=title,
                only_flags=flags,
                against=against,
                profile=False,
                accuracy=False,
                compare_s=min(COMPARISON_S, seconds / 10),
            )
            with (
                clock.time_whole_net(name),
                capture_net(net, inputs, order, progress=lambda text: None) as (directory, _),
            ):
                seen = msgspec.json.decode(
                    (directory / "capture.json").read_bytes(), type=Measurements
                )
                groups = list(_read_descriptions(Path(seen.kernel_directory) / KERNELS))
                return CallComparison(seen.step_pairs), groups

        calls, groups = measure_net(flags, FULL_VARIANT)
        waiting = list(_exclusion_candidates(groups))
        families = sum(name in OPERATOR_FAMILIES for name, _ in waiting)
        kernels = tuple(_tune_kernels(groups, clock.kernel_budget_s(families), clock))
        if any(one.ratio < 1 for one in kernels) and clock.has_room():
            calls, _ = measure_net(flags, FULL_VARIANT)
        variants = [Variant(FULL_VARIANT, (), calls)]
        for name, out in waiting:
            # a better variant is measured once more
            if not clock.has_room(2):
                break
            calls, _ = measure_net(net_choices.NetChoice(kept_out=out).apply_to(flags), name)
            variants.append(Variant(name, out, calls))
        found = TunedNet(title, kernels, tuple(variants), round(clock.elapsed_s, 1))
        if not found.is_default and clock.has_room():
            again, _ = measure_net(flags, "once more", found.proposal.apply_to(flags))
            found = replace(found, again=again, seconds=round(clock.elapsed_s, 1))
    return found


@dataclass
class _Clock:
    """The time budget.

    Attributes:
        started, ends: in the time of `time.perf_counter`.
        show: the progress bar.
        whole_s: longest measurement of the whole net so far.
    """

    started: float
    ends: float
    show: Progress
    whole_s: float = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def remaining_s(self) -> float:
        """Seconds until the end."""
        return self.ends - time.perf_counter()

    def has_room(self, times: int = 1) -> bool:
        """Whether the remaining time allows `times` further measurements of the whole net."""
        return self.remaining_s >= times * self.whole_s

    def kernel_budget_s(self, variants: int) -> float:
        """Seconds for single kernels; the whole net and `variants` family variants follow.

        At least half of the remaining time less one measurement; all of it if the whole net cannot
        be measured any more.
        """
        if not self.has_room():
            return self.remaining_s
        return max(
            self.remaining_s - self.whole_s * (1 + variants), self.remaining_s / 2 - self.whole_s
        )

    def show_step(self, text: str) -> None:
        """Shows the current step."""
        self.show(self.elapsed_s, text)

    @contextlib.contextmanager
    def time_whole_net(self, name: str) -> Iterator[None]:
        """Times the block as a measurement of the whole net."""
        began = time.perf_counter()
        self.show_step(name)
        yield
        self.whole_s = max(self.whole_s, time.perf_counter() - began)


def _exclusion_candidates(
    groups: Sequence[CompositeKernel],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(name, exclusions) to try: families first, then single operators by memory traffic, largest
    first.
    """
    moved: Counter[str] = Counter()
    for group in groups:
        for node in group.graph:
            moved[node.op] += work_of(node, group.graph).bytes
    alone = {op for op, size in moved.items() if size}
    for name, operators in OPERATOR_FAMILIES.items():
        out = tuple(sorted(operators & moved.keys()))
        if out:
            alone -= operators if len(out) == 1 else set()
            yield name, out
    yield from ((f"without {op}", (op,)) for op, _ in moved.most_common() if op in alone)


def _read_descriptions(directory: Path) -> Iterator[CompositeKernel]:
    for file in sorted(directory.glob("*.info")):
        try:
            yield parse_kernel(file.read_text("utf-8"), file=file.name)
        except FusionError:
            continue


def _tune_kernels(
    groups: Sequence[CompositeKernel], seconds: float, clock: _Clock
) -> Iterator[TunedKernel]:
    """Tunes kernels in order of modelled cost; the most expensive ones get most of the time."""
    found: dict[str, tuple[float, Kernel, tuple[Choice, ...], tuple[str, ...]]] = {}
    for composite in groups:
        try:
            for kernel, group, graph in own_kernels(composite):
                plan = plan_nests(group, graph)
                also = _choices(group, (plan.stored, full_fission_values(group, graph)))
                found[tuning_store.key_of(kernel)] = (
                    plan.cost_us,
                    kernel,
                    also,
                    tuple(node.op for node in graph),
                )
        except FusionError:
            continue  # unsupported groups and groups without nests have no options
    ends = time.perf_counter() + seconds
    waiting = sorted(found.values(), key=lambda item: -item[0])
    for number, (cost_us, kernel, also, operators) in enumerate(waiting):
        left = ends - time.perf_counter()
        share = left * cost_us / sum(item[0] for item in waiting[number:])
        if left < MIN_KERNEL_S:
            break
        clock.show_step(" + ".join(operators)[:40])
        record = tbe_impl.tune(
            kernel, seconds=min(left, max(share, MIN_KERNEL_S)), also=also, progress=False
        ).tuning
        assert record is not None
        yield TunedKernel(
            kernel.name,
            operators,
            record.choice.text(),
            record.default_us,
            record.tuned_us,
            record.ratio,
            record.key,
        )


def _choices(group: LoweredGroup, plans: Sequence[Sequence[str]]) -> tuple[Choice, ...]:
    return tuple(Choice(stored=value_numbers(names, group)) for names in plans if names)
