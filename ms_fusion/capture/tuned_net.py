"""Defines the record that `ms_fusion.tune` returns; its text is a table of the measurements."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from ms_fusion.mindspore.presets.net_choices import NetChoice
from tbe_impl.tuning.measurement import upper_bound

MARGIN = 0.05
"""A variant counts as faster only if it saves at least this fraction of the time."""
UNFUSED_RATIO = 1.1
"""Fusion is disabled for a net if fused time ÷ unfused time exceeds this ratio.

The ratio is well above 1, because call times vary, and because a wrong decision to disable fusion
costs more than a few per cent.
"""


@dataclass(frozen=True)
class TunedKernel:
    """The result of tuning one kernel of a net.

    Attributes:
        name: name of the kernel.
        operators: types of the basic operators that the kernel computes.
        choice: the tuned options that differ from the default, as a string.
        default_us, tuned_us: time of one call with the default and with the tuned options, µs.
        ratio: tuned time ÷ default time, measured in pairs of calls; 1 if the default options are
            the fastest.
        key: key of the kernel's tuning record on disk.
    """

    name: str
    operators: tuple[str, ...]
    choice: str
    default_us: float
    tuned_us: float
    ratio: float
    key: str = ""


@dataclass(frozen=True)
class CallComparison:
    """Times of whole calls of two variants of a net, in alternating turns.

    Attributes:
        pairs: a pair for each turn: (time of a call of the first variant, time of a call of the
            second variant), µs.
    """

    pairs: tuple[tuple[float, float], ...]

    @property
    def step_us(self) -> float:
        """Median time of a call of the first variant, µs."""
        return statistics.median(one for one, _ in self.pairs)

    @property
    def other_us(self) -> float:
        """Median time of a call of the second variant, µs."""
        return statistics.median(other for _, other in self.pairs)

    @property
    def ratio(self) -> float:
        """Median over the turns of (time of the first variant ÷ time of the second variant)."""
        return statistics.median(one / other for one, other in self.pairs)

    @property
    def least_ratio(self) -> float:
        """The smaller of the lower 99 % bound of `ratio` and the ratio of the minimum times.

        Other load on the machine affects the minimum times least.
        """
        quiet = min(one for one, _ in self.pairs) / min(other for _, other in self.pairs)
        return min(1 / upper_bound([other / one for one, other in self.pairs]), quiet)

    @property
    def most_ratio(self) -> float:
        """The larger of the upper 99 % bound of `ratio` and the ratio of the minimum times."""
        swapped = CallComparison(tuple((other, one) for one, other in self.pairs)).least_ratio
        return 1 / swapped if swapped else float("inf")


@dataclass(frozen=True)
class Variant:
    """The whole net with some operators excluded from clustering.

    Attributes:
        name: name of the variant.
        kept_out: the excluded operators.
        calls: times of whole calls. The first variant is this variant, the second is the unfused
            net.
    """

    name: str
    kept_out: tuple[str, ...]
    calls: CallComparison

    @property
    def step_us(self) -> float:
        """Median time of a call of this variant, µs."""
        return self.calls.step_us

    @property
    def unfused_us(self) -> float:
        """Median time of a call of the unfused net in the same turns, µs."""
        return self.calls.other_us

    @property
    def ratio(self) -> float:
        """Time of this variant ÷ time of the unfused net."""
        return self.calls.ratio


@dataclass(frozen=True)
class TunedNet:
    """The result of `ms_fusion.tune`, which is printed as a table of the measurements.

    Attributes:
        title: name of the net.
        kernels: the measured kernels, in descending order of modelled cost.
        variants: the net without exclusions, followed by the variants with exclusions.
        seconds: duration of the tuning, s.
        again: times of whole calls in the second measurement. The first variant is the net without
            exclusions, the second is the net according to `proposal`. None if there was no second
            measurement.
    """

    title: str
    kernels: tuple[TunedKernel, ...]
    variants: tuple[Variant, ...]
    seconds: float
    again: CallComparison | None = None

    @property
    def best_variant(self) -> Variant:
        """The fastest variant with exclusions if clearly faster, else that without exclusions.

        `CallComparison.least_ratio` and `CallComparison.most_ratio` are bounds of the ratio (time
        of a variant ÷ time of the unfused net). A variant with exclusions is clearly faster if
        most_ratio < (1 − `MARGIN`) · least_ratio. Here, most_ratio is the upper bound for this
        variant, and least_ratio is the lower bound for the variant without exclusions.
        """
        everything, *others = self.variants
        least = min(others, key=lambda one: one.ratio, default=everything)
        is_better = least.calls.most_ratio < everything.calls.least_ratio * (1 - MARGIN)
        return least if is_better else everything

    @property
    def proposal(self) -> NetChoice:
        """The choice that the first measurements suggest: whether to fuse, and what to exclude.

        A proposal that is the default (fusion without exclusions) becomes the final `choice`. Any
        other proposal becomes the final `choice` if a second measurement confirms it.
        """
        best, everything = self.best_variant, self.variants[0]
        losses = tuple(
            f"{one.name} is a loss: a call took {one.ratio:.2f} × the unfused time."
            for one in self.losses
        )
        if best.calls.least_ratio > UNFUSED_RATIO:
            why = f"the net stays unfused: fused it took {best.ratio:.2f} × as long."
            return NetChoice(fused=False, why=why, losses=losses)
        why = (
            f"{', '.join(best.kept_out)} stay out of the clusters: a call took "
            f"{best.ratio:.2f} × the unfused time, and {everything.ratio:.2f} × with them."
        )
        return NetChoice(kept_out=best.kept_out, why=why if best.kept_out else "", losses=losses)

    @property
    def is_default(self) -> bool:
        """Whether `proposal` is the default: fusion without exclusions."""
        return self.proposal.fused and not self.proposal.kept_out

    @property
    def choice(self) -> NetChoice:
        """The final choice, which later compilations of the net use."""
        least = UNFUSED_RATIO if not self.proposal.fused else 1 + MARGIN
        if self.is_default or (self.again is not None and self.again.least_ratio > least):
            return self.proposal
        return NetChoice(losses=self.proposal.losses)

    @property
    def kept_out(self) -> tuple[str, ...]:
        """Operators that later compilations exclude from clustering."""
        return self.choice.kept_out

    @property
    def losses(self) -> tuple[Variant, ...]:
        """Variants that are slower than the unfused net."""
        return tuple(one for one in self.variants if one.calls.least_ratio > 1 + MARGIN)

    def __str__(self) -> str:
        """Returns the measurements as a table in plain text."""
        lines = [f"{self.title}: tuned in {self.seconds:.0f} s", ""]
        lines.append(f"{'kernel':<44} {'default':>10} {'tuned':>10}  choice")
        for one in self.kernels:
            name = " + ".join(one.operators)
            end = f"…({len(one.operators)})"
            short = name if len(name) <= 44 else f"{name[: 44 - len(end)]}{end}"
            lines.append(
                f"{short:<44} {one.default_us:>7.0f} µs {one.tuned_us:>7.0f} µs  {one.choice}"
            )
        lines += ["", f"{'whole net':<44} {'a call':>10} {'unfused':>10}"]
        taken = self.best_variant if self.choice == self.proposal else self.variants[0]
        for variant in self.variants:
            mark = "  taken" if variant is taken and self.choice.fused else ""
            lines.append(
                f"{variant.name:<44} {variant.step_us:>7.0f} µs {variant.unfused_us:>7.0f} µs"
                f"  {1 / variant.ratio:.2f} × unfused{mark}"
            )
        lines += ["", *self._conclusion()]
        return "\n".join(lines).rstrip()

    def _conclusion(self) -> list[str]:
        """Returns a list with one sentence about the final choice.

        The sentence states the reason for `proposal`. If `proposal` was not accepted, the sentence
        also states why. The list is empty if `proposal` is the default: fusion without exclusions.
        """
        if self.is_default:
            return []
        why = self.proposal.why[0].upper() + self.proposal.why[1:]
        if self.choice == self.proposal:
            return [why]
        if self.again is None:
            return [f"Not kept, since there was no time to measure it again: {why}"]
        ratio = f"measured again, everything took {self.again.ratio:.2f} × as long"
        return [f"Not kept, since it is within the noise: {ratio}. {why}"]
