"""What tuning a net found: a frozen record with a table."""

from __future__ import annotations

from dataclasses import dataclass

from ms_fusion.presets.net_choices import NetChoice

MARGIN = 0.05
"""By less than this no variant of a net is better than another."""
SLOWER = 1.1
"""From this ratio on a net is left unfused: whole calls vary, and staying unfused by mistake costs more than a few per cent."""


@dataclass(frozen=True)
class TunedKernel:
    """A kernel of ours in one of the net's groups.

    Attributes:
        name: of the group.
        operators: basic operators that it computes.
        choice: what differs from the default, as text.
        default_us, tuned_us: of one call, µs.
        ratio: tuned ÷ default, measured in pairs; 1 where the default stays.
    """

    name: str
    operators: tuple[str, ...]
    choice: str
    default_us: float
    tuned_us: float
    ratio: float


@dataclass(frozen=True)
class Variant:
    """The whole net with some operators kept out of the clusters.

    Attributes:
        name: of the variant.
        kept_out: those operators.
        step_us, unfused_us: medians of whole calls, taken in turns, µs.
    """

    name: str
    kept_out: tuple[str, ...]
    step_us: float
    unfused_us: float

    @property
    def ratio(self) -> float:
        """Its time ÷ that of the unfused net in the same run."""
        return self.step_us / self.unfused_us


@dataclass(frozen=True)
class TunedNet:
    """What `ms_fusion.tune` found; printing it shows the table.

    Attributes:
        title: of the net.
        kernels: those that were measured, the dearest first.
        variants: the net with everything clustered, then with less.
        seconds: what it took, s.
    """

    title: str
    kernels: tuple[TunedKernel, ...]
    variants: tuple[Variant, ...]
    seconds: float

    @property
    def best(self) -> Variant:
        """The quickest variant; everything clustered unless another is clearly quicker."""
        everything, *others = self.variants
        least = min(others, key=lambda one: one.ratio, default=everything)
        return least if least.ratio < everything.ratio * (1 - MARGIN) else everything

    @property
    def choice(self) -> NetChoice:
        """What later compilations of the net do."""
        best = self.best
        losses = tuple(f"{one.name} is a loss: a call took {one.ratio:.2f} × the unfused time." for one in self.losses)  # fmt: skip
        if best.ratio > SLOWER:
            why = f"the net stays unfused: fused it took {best.ratio:.2f} × as long."
            return NetChoice(fused=False, why=why, losses=losses)
        everything = self.variants[0]
        why = f"{', '.join(best.kept_out)} stay out of the clusters: a call took {best.ratio:.2f} × the unfused time, and {everything.ratio:.2f} × with them."  # fmt: skip
        return NetChoice(kept_out=best.kept_out, why=why if best.kept_out else "", losses=losses)

    @property
    def kept_out(self) -> tuple[str, ...]:
        """Operators that later compilations keep out of the clusters."""
        return self.choice.kept_out

    @property
    def losses(self) -> tuple[Variant, ...]:
        """What was tried and is slower than unfused."""
        return tuple(one for one in self.variants if one.ratio > 1 + MARGIN)

    def __str__(self) -> str:
        """The table as plain text."""
        lines = [f"{self.title}: tuned in {self.seconds:.0f} s", ""]
        lines.append(f"{'kernel':<44} {'default':>10} {'tuned':>10}  choice")
        for one in self.kernels:
            name = " + ".join(one.operators)
            short = name if len(name) <= 44 else f"{name[:41]}…({len(one.operators)})"[:44]
            lines.append(f"{short:<44} {one.default_us:>7.0f} µs {one.tuned_us:>7.0f} µs  {one.choice}")  # fmt: skip
        lines += ["", f"{'whole net':<44} {'a call':>10} {'unfused':>10}"]
        for variant in self.variants:
            mark = "  taken" if variant is self.best and self.choice.fused else ""
            lines.append(f"{variant.name:<44} {variant.step_us:>7.0f} µs {variant.unfused_us:>7.0f} µs  {1 / variant.ratio:.2f} × unfused{mark}")  # fmt: skip
        if self.choice.why:
            lines += ["", self.choice.why[0].upper() + self.choice.why[1:]]
        return "\n".join(lines)
