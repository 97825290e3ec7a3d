"""Tunes a net on this machine by measurements of its kernels and of the whole net.

For each kernel, `tune` measures variants of the kernel's code. For the whole net, `tune` measures
variants that exclude some operators from clustering.
"""

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
"""Maximum duration of one comparison, s.

A comparison also takes at most a tenth of the time limit of the tuning.
"""
MIN_KERNEL_S = 1.0
"""Tuning of a kernel starts only if at least this time remains, s."""
OPERATOR_FAMILIES: dict[str, frozenset[str]] = {
    "without products": frozenset({"MatMul", "BatchMatMul"}),
    "without convolutions": frozenset(LIBRARY) - {"MatMul", "BatchMatMul"},
}
"""A dict from a variant's name to the operator types that the variant excludes from clustering."""
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
    """Measures variants of a net's kernels and of the whole net; records the clearly faster ones.

    Later compilations on this machine use the records. The key of a kernel's record is the kernel's
    content. So the record also applies to the same kernel in other nets. The record of a net lists
    the operators to exclude from clustering. The key of a net's record consists of the net's code,
    parameters and inputs. A warning and the notes of `explain` report the exclusions. The next call
    of `net` compiles `net` again.

    Two variants are compared in turns; each turn calls both variants once. A variant counts as
    faster if it is faster by both of two measures. The first measure is the median of the time
    ratios of all turns, with 99 % confidence. The second measure is the ratio of the minimum times.
    A second measurement must confirm exclusions, or a decision against fusion, before they are
    recorded.

    Args:
        net: as for `explain`; weights, random state and context are restored.
        inputs: arguments of the call.
        seconds: time limit, s. The whole net is compiled and measured once even if this takes
            longer. In the remaining time, the function first measures the kernels of the net. Then
            it measures the whole net with matrix products, convolutions or single operators
            excluded from clustering.
        progress: whether to show a progress bar if standard error is a terminal.
        forget: whether to remove the records of this net instead of measuring the net. If no
            `inputs` are given, the records for all inputs are removed.

    Returns:
        The results of the measurements. If `forget` is True, the number of removed records of the
        net and its kernels.

    Raises:
        InputError: `seconds` is not positive, ``MS_FUSION=off`` is set, or `net` cannot be called
            with `inputs`.
        MissingError: MindSpore or a C compiler is missing, or the self-test of ms_fusion's
            generator has not succeeded on this machine.
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
            # There must be time for two measurements, since a better variant is measured again.
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
    """The time budget of one tuning run.

    Attributes:
        started, ends: start and end of the tuning, in s of `time.perf_counter`.
        show: function that shows the progress.
        whole_s: duration of the longest measurement of the whole net so far, s.
    """

    started: float
    ends: float
    show: Progress
    whole_s: float = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of the tuning."""
        return time.perf_counter() - self.started

    @property
    def remaining_s(self) -> float:
        """Seconds until the end of the tuning."""
        return self.ends - time.perf_counter()

    def has_room(self, times: int = 1) -> bool:
        """Returns whether there is time for `times` further measurements of the whole net."""
        return self.remaining_s >= times * self.whole_s

    def kernel_budget_s(self, variants: int) -> float:
        """Returns the seconds for tuning single kernels.

        The function reserves time for `variants` + 1 measurements of the whole net: one of the net
        itself, and one for each operator family that a variant excludes from clustering. The result
        is the rest of the remaining time. The result is at least (remaining time) / 2 − (time of
        one measurement of the whole net). If there is no time to measure the whole net, the result
        is all of the remaining time.
        """
        if not self.has_room():
            return self.remaining_s
        return max(
            self.remaining_s - self.whole_s * (1 + variants), self.remaining_s / 2 - self.whole_s
        )

    def show_step(self, text: str) -> None:
        """Shows `text` as the current step."""
        self.show(self.elapsed_s, text)

    @contextlib.contextmanager
    def time_whole_net(self, name: str) -> Iterator[None]:
        """Returns a context manager that times its ``with`` block and updates `whole_s`."""
        began = time.perf_counter()
        self.show_step(name)
        yield
        self.whole_s = max(self.whole_s, time.perf_counter() - began)


def _exclusion_candidates(
    groups: Sequence[CompositeKernel],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields (name of a variant, operators that the variant excludes) for each variant to measure.

    Each of the first variants excludes a family of operators, such as all matrix products. Each of
    the next variants excludes a single operator type. The operator types are in descending order of
    memory traffic.
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
    """Tunes the kernels of `groups` within `seconds`, in descending order of modelled cost.

    The time limit for each kernel is proportional to its modelled cost.
    """
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
            continue  # Unsupported groups and groups without loop nests have no options to tune.
    ends = time.perf_counter() + seconds
    waiting = sorted(found.items(), key=lambda item: -item[1][0])
    for number, (key, (cost_us, kernel, also, operators)) in enumerate(waiting):
        left = ends - time.perf_counter()
        share = left * cost_us / sum(item[0] for _, item in waiting[number:])
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
            key,
        )


def _choices(group: LoweredGroup, plans: Sequence[Sequence[str]]) -> tuple[Choice, ...]:
    return tuple(Choice(stored=value_numbers(names, group)) for names in plans if names)
