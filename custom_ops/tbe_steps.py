"""TBE operators in a row: what on Ascend computes an operator, or a gradient, that CANN does not build as one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from custom_ops.specs import OpSpec


@dataclass(frozen=True, eq=False)
class TbeStep:
    """One TBE operator of several.

    Attributes:
        spec: whose TBE operator it is.
        reads: names of what it is given, in order: inputs of the whole, or what a step before wrote.
        writes: names for its outputs.
        attributes: that are not the default.
    """

    spec: OpSpec
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, eq=False)
class TbeSteps:
    """TBE operators in a row.

    Attributes:
        steps: in order.
        makes: name of each output → the name under which an input or a step has it; others have their own.
    """

    steps: tuple[TbeStep, ...]
    makes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def places(self, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:  # fmt: skip
        """Where everything stands in a list of the inputs followed by what each step writes: what each step reads, and the
        outputs."""
        known = list(inputs)
        reads = []
        for step in self.steps:
            reads.append(tuple(known.index(name) for name in step.reads))
            known += step.writes
        return tuple(reads), tuple(known.index(self.makes.get(name, name)) for name in outputs)
