"""`tune`: what is quickest for a net on this machine, measured and kept: how each group is made, and what stays out of the clusters."""

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
from ms_fusion import presets
from ms_fusion.capture.capture_run import UNFUSED, CaptureOrder, Measurements, title_of
from ms_fusion.capture.explain_net import captured
from ms_fusion.capture.tuned_net import Comparison, TunedKernel, TunedNet, Variant
from ms_fusion.cost import work_of
from ms_fusion.formats.composite import Composite, parse_kernel
from ms_fusion.generator_limits import generator_of
from ms_fusion.kernel_server.composite_lowering import Group
from ms_fusion.kernel_server.nest_partition import each_apart, numbers, planned
from ms_fusion.kernel_server.onednn_steps import LIBRARY
from ms_fusion.kernel_server.sequence_assembly import own_kernels
from ms_fusion.presets import net_choices
from ms_fusion.presets.mindspore_state import KERNELS
from ms_fusion.target import check_tensors, require_mindspore
from tbe_impl import tuning_store
from tbe_impl.environment import is_off
from tbe_impl.errors import FusionError, InputError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.tuning.progress_bar import Progress, bar
from tbe_impl.tuning_store import Choice

COMPARED_S = 2.0
"""How long two ways are compared at most; a tenth of the whole time where that is less."""
LEAST_S = 1.0
"""Less time is not worth beginning with a kernel."""
WITHOUT: dict[str, frozenset[str]] = {
    "without products": frozenset({"MatMul", "BatchMatMul"}),
    "without convolutions": frozenset(LIBRARY) - {"MatMul", "BatchMatMul"},
}
"""Families that are tried to be kept out of the clusters."""
EVERYTHING = "everything"
"""The variant that keeps nothing out."""


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
    """Measures the ways in which the groups of a net can be made, and keeps what is clearly quicker.

    Later compilations on this machine find the choice of each group by its content, in this net or
    another, and what to keep out of the clusters by the net's code, parameters and inputs; a warning
    and the notes of `explain` say so. Two ways are compared call by call, in turns. A difference
    counts where the median of the ratios lies outside of the noise, with 99 % confidence, and the
    ratio of the least times does. Operators stay out of the clusters, or the net unfused, only where
    a second measurement agrees. The next call of `net` compiles anew.

    Args:
        net: as for `explain`; weights, random state and context are afterwards as they were.
        inputs: what it is called with.
        seconds: time at most. The whole net is compiled and measured once in any case; where time is
            left then, its groups are measured, and the net without products, without convolutions
            and without single operators.
        progress: show a bar when the error stream is a terminal.
        forget: measure nothing, and remove what was kept for this net: for these inputs, or for all
            where none are given.

    Returns:
        What was found; with `forget` how many records were removed, those of its kernels among them.

    Raises:
        InputError: `seconds` is not positive, ``MS_FUSION=off`` is set, or `net` cannot be called
            with `inputs`.
        MissingError: MindSpore or a C compiler is missing, or our generator is not proved to work here.
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
    found = _tuned(net, inputs, seconds, progress=progress)
    keys = tuple(one.key for one in found.kernels)
    net_choices.remember(net, inputs, found.choice, kernels=keys)
    presets.compile_anew(net)
    return found


def _tuned(
    net: Callable[..., Any], inputs: Sequence[Any], seconds: float, *, progress: bool
) -> TunedNet:
    started = time.perf_counter()
    flags, _ = presets.flags_of("auto", generator="ms_fusion")
    if generator_of(flags) != "ms_fusion":
        raise MissingError(
            "our generator cannot be used here", place="tune", remedy="Run `ms-fusion doctor`."
        )
    title = title_of(net)
    with bar(title, seconds, shown=progress) as show:
        clock = _Clock(started, started + seconds, show)

        def measured(
            flags: str, name: str, against: str = UNFUSED
        ) -> tuple[Comparison, list[Composite]]:
            order = CaptureOrder(
                title=title,
                only_flags=flags,
                against=against,
                profile=False,
                accuracy=False,
                compare_s=min(COMPARED_S, seconds / 10),
            )
            with (
                clock.whole(name),
                captured(net, inputs, order, progress=lambda text: None) as (directory, _),
            ):
                seen = msgspec.json.decode(
                    (directory / "capture.json").read_bytes(), type=Measurements
                )
                groups = list(_descriptions(Path(seen.kernel_directory) / KERNELS))
                return Comparison(seen.step_pairs), groups

        calls, groups = measured(flags, EVERYTHING)
        waiting = list(_left_out(groups))
        families = sum(name in WITHOUT for name, _ in waiting)
        kernels = tuple(_tuned_kernels(groups, clock.for_kernels(families), clock))
        if any(one.ratio < 1 for one in kernels) and clock.has_room():
            calls, _ = measured(flags, EVERYTHING)
        variants = [Variant(EVERYTHING, (), calls)]
        for name, out in waiting:
            # what is better is measured once more
            if not clock.has_room(2):
                break
            calls, _ = measured(net_choices.NetChoice(kept_out=out).over(flags), name)
            variants.append(Variant(name, out, calls))
        found = TunedNet(title, kernels, tuple(variants), round(clock.elapsed, 1))
        if not found.is_default and clock.has_room():
            again, _ = measured(flags, "once more", found.proposal.over(flags))
            found = replace(found, again=again, seconds=round(clock.elapsed, 1))
    return found


@dataclass
class _Clock:
    """The time that there is.

    Attributes:
        started, ends: as `time.perf_counter` counts.
        show: the bar.
        whole_s: what measuring the whole net took, at most.
    """

    started: float
    ends: float
    show: Progress
    whole_s: float = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds."""
        return self.ends - time.perf_counter()

    def has_room(self, times: int = 1) -> bool:
        """Whether the whole net can be measured once more, or so many times."""
        return self.left >= times * self.whole_s

    def for_kernels(self, variants: int) -> float:
        """Seconds for single kernels, before the whole net is measured once more and without each of some families.

        They get half of the time less one measurement at least, and all of it where the whole net cannot be measured any more.
        """
        if not self.has_room():
            return self.left
        return max(self.left - self.whole_s * (1 + variants), self.left / 2 - self.whole_s)

    def tell(self, text: str) -> None:
        """What is done now."""
        self.show(self.elapsed, text)

    @contextlib.contextmanager
    def whole(self, name: str) -> Iterator[None]:
        """Inside, the whole net is measured."""
        began = time.perf_counter()
        self.tell(name)
        yield
        self.whole_s = max(self.whole_s, time.perf_counter() - began)


def _left_out(groups: Sequence[Composite]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is tried to be kept out, with its name: families first, then single operators, those that move most first."""
    moved: Counter[str] = Counter()
    for group in groups:
        for node in group.graph:
            moved[node.op] += work_of(node, group.graph).bytes
    alone = {op for op, size in moved.items() if size}
    for name, operators in WITHOUT.items():
        out = tuple(sorted(operators & moved.keys()))
        if out:
            alone -= operators if len(out) == 1 else set()
            yield name, out
    yield from ((f"without {op}", (op,)) for op, _ in moved.most_common() if op in alone)


def _descriptions(directory: Path) -> Iterator[Composite]:
    for file in sorted(directory.glob("*.info")):
        try:
            yield parse_kernel(file.read_text("utf-8"), file=file.name)
        except FusionError:
            continue


def _tuned_kernels(
    groups: Sequence[Composite], seconds: float, clock: _Clock
) -> Iterator[TunedKernel]:
    """Those that cost most by the model get most of the time, and come first."""
    found: dict[str, tuple[float, Kernel, tuple[Choice, ...], tuple[str, ...]]] = {}
    for composite in groups:
        try:
            for kernel, group, graph in own_kernels(composite):
                plan = planned(group, graph)
                also = _choices(group, (plan.stored, each_apart(group, graph)))
                found[tuning_store.key_of(kernel)] = (
                    plan.cost_us,
                    kernel,
                    also,
                    tuple(node.op for node in graph),
                )
        except FusionError:
            continue  # what cannot be built, or has no nests, has nothing to choose
    ends = time.perf_counter() + seconds
    waiting = sorted(found.values(), key=lambda item: -item[0])
    for number, (cost_us, kernel, also, operators) in enumerate(waiting):
        left = ends - time.perf_counter()
        share = left * cost_us / sum(item[0] for item in waiting[number:])
        if left < LEAST_S:
            break
        clock.tell(" + ".join(operators)[:40])
        record = tbe_impl.tune(
            kernel, seconds=min(left, max(share, LEAST_S)), also=also, progress=False
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


def _choices(group: Group, plans: Sequence[Sequence[str]]) -> tuple[Choice, ...]:
    return tuple(Choice(stored=numbers(names, group)) for names in plans if names)
