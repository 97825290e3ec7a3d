"""TBE operators in a row: what on Ascend computes an operator, or a gradient, that CANN does not build as one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from custom_ops.core.operator_spec import OpSpec

_NONE: Mapping[str, Any] = MappingProxyType({})


def step_operator(
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    tbe: str,
    shapes: Callable[..., Any],
    dtypes: Callable[..., Any],
    doc: str,
    *,
    attributes: Mapping[str, Any] = _NONE,
    given: Mapping[str, str] = _NONE,
) -> OpSpec:
    """An operator that is only what CANN builds: a step of others, with no gradient and nothing for the CPU.

    Args:
        name, inputs, outputs, attributes, doc: as `OpSpec` has them.
        tbe: a file of `tbe_impl/ops/fused`.
        shapes: shapes of the inputs, attributes by keyword → those of the outputs.
        dtypes: dtypes of the inputs → those of the outputs.
        given: input → its dtype, where that is not the one of the operator's numbers.
    """
    return OpSpec(
        name,
        tuple(inputs),
        tuple(outputs),
        infer_shape=shapes,
        infer_dtype=dtypes,
        undifferentiable=frozenset(inputs),
        attributes=attributes,
        integers={argument: (dtype, 2) for argument, dtype in given.items()},
        tbe=f"fused/{tbe}",
        doc=doc,
    )


@dataclass(frozen=True, eq=False)
class TbeStep:
    """One TBE operator of several.

    Attributes:
        spec: whose TBE operator it is.
        reads: names of what it is given, in order: inputs of the whole, or what a step before wrote.
        writes: names for its outputs.
        attributes: that are not the default.
        forward: where `spec` is a gradient, the operator that it is of.
    """

    spec: OpSpec
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    forward: OpSpec | None = None


@dataclass(frozen=True, eq=False)
class TbeView:
    """The same elements in another shape; nothing is computed.

    Attributes:
        source: name of the tensor.
        view: name of what is made.
        like: the one whose shape it gets; empty: all axes but the last `kept` become one.
        kept: see there.
    """

    source: str
    view: str
    like: str = ""
    kept: int = 0

    @property
    def reads(self) -> tuple[str, ...]:
        """What it is given."""
        return (self.source, self.like) if self.like else (self.source,)

    @property
    def writes(self) -> tuple[str, ...]:
        """What it makes."""
        return (self.view,)


@dataclass(frozen=True, eq=False)
class TbeBlocks:
    """Steps that are repeated: for one block after the other of what is too large as a whole, or so many times.

    Attributes:
        steps: of one block.
        cut: name → the axis along which it comes in blocks. The first has as many elements there as there are; one that has
            a single element comes whole each time.
        size: of a block.
        times: how often, where nothing is cut.
        carried: name → the name under which the steps write what the next block finds there. It is there before the first
            one; afterwards it is what the last one wrote.
        joined: what the steps write → the axis along which that of all blocks is put together.
    """

    steps: tuple[AnyStep, ...]
    cut: Mapping[str, int] = field(default_factory=lambda: _NONE)
    size: int = 1
    times: int = 0
    carried: Mapping[str, str] = field(default_factory=lambda: _NONE)
    joined: Mapping[str, int] = field(default_factory=lambda: _NONE)

    @property
    def reads(self) -> tuple[str, ...]:
        """What it is given: what is cut, what comes whole, what is carried."""
        known = {*self.cut, *self.carried}
        whole: dict[str, None] = {}
        for step in self.steps:
            whole |= dict.fromkeys(name for name in step.reads if name not in known)
            known |= {*step.writes}
        return (*self.cut, *whole, *self.carried)

    @property
    def writes(self) -> tuple[str, ...]:
        """What is carried at the end, and what is put together."""
        return (*self.carried, *self.joined)

    @property
    def body(self) -> TbeSteps:
        """The steps of one block."""
        return TbeSteps(self.steps, self.carried)


AnyStep = TbeStep | TbeView | TbeBlocks


@dataclass(frozen=True, eq=False)
class TbeSteps:
    """TBE operators in a row.

    Attributes:
        steps: in order.
        makes: name of each output → the name under which an input or a step has it; others have their own.
    """

    steps: tuple[AnyStep, ...]
    makes: Mapping[str, str] = field(default_factory=lambda: _NONE)

    @property
    def operators(self) -> tuple[TbeStep, ...]:
        """Those that CANN builds, each once, however often it runs."""
        return _operators(self.steps)

    def places(
        self, inputs: Sequence[str], outputs: Sequence[str]
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Where everything stands in a list of the inputs followed by what each step writes: what each step reads, and the
        outputs. Of a name that was written twice it is the later one."""
        known = {name: place for place, name in enumerate(inputs)}
        count, reads = len(inputs), []
        for step in self.steps:
            reads.append(tuple(known[name] for name in step.reads))
            known |= {name: count + number for number, name in enumerate(step.writes)}
            count += len(step.writes)
        return tuple(reads), tuple(known[self.makes.get(name, name)] for name in outputs)


def _operators(steps: Sequence[AnyStep]) -> tuple[TbeStep, ...]:
    found: tuple[TbeStep, ...] = ()
    for step in steps:
        if isinstance(step, TbeBlocks):
            found += _operators(step.steps)
        elif isinstance(step, TbeStep):
            found += (step,)
    return found
