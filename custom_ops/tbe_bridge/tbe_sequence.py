"""Describes a sequence of TBE operators, for operators that CANN does not build as one kernel."""

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
    """Builds the spec of a step that only CANN builds: no gradient, no CPU kernel.

    Args:
        name, inputs, outputs, attributes, doc: as in `OpSpec`.
        tbe: a file of `tbe_impl/ops/fused`.
        shapes: input shapes, attributes by keyword → output shapes.
        dtypes: input dtypes → output dtypes.
        given: input → its dtype, where it differs from the operator's dtype.
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
    """One TBE operator of a sequence.

    Attributes:
        spec: the operator.
        reads: names of its inputs, in order: inputs of the sequence, or outputs of earlier steps.
        writes: names of its outputs.
        attributes: attributes that differ from the default.
        forward: the forward operator, where `spec` is a gradient.
    """

    spec: OpSpec
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    forward: OpSpec | None = None


@dataclass(frozen=True, eq=False)
class TbeView:
    """Reshape; no computation.

    Attributes:
        source: name of the tensor.
        view: name of the result.
        like: name of the tensor whose shape the result gets; empty: all axes but the last `kept`
            are flattened into one.
        kept: number of trailing axes kept.
    """

    source: str
    view: str
    like: str = ""
    kept: int = 0

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return (self.source, self.like) if self.like else (self.source,)

    @property
    def writes(self) -> tuple[str, ...]:
        """Name of the result."""
        return (self.view,)


@dataclass(frozen=True, eq=False)
class TbeBlocks:
    """Loop over steps: one iteration per block of a large tensor, or a fixed number of times.

    Attributes:
        steps: steps of one iteration.
        cut: name → the axis along which the tensor is split into blocks. The first one's extent is
            the loop extent. A tensor of extent 1 is not split.
        size: extent of a block.
        times: number of iterations, where nothing is cut.
        carried: name → the name under which an iteration writes the value for the next. The initial
            value comes from outside; the last one is a result.
        joined: name of a step's output → the axis along which the outputs of all iterations are
            concatenated.
    """

    steps: tuple[AnyStep, ...]
    cut: Mapping[str, int] = field(default_factory=lambda: _NONE)
    size: int = 1
    times: int = 0
    carried: Mapping[str, str] = field(default_factory=lambda: _NONE)
    joined: Mapping[str, int] = field(default_factory=lambda: _NONE)

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the inputs: cut, then whole, then carried tensors."""
        known = {*self.cut, *self.carried}
        whole: dict[str, None] = {}
        for step in self.steps:
            whole |= dict.fromkeys(name for name in step.reads if name not in known)
            known |= {*step.writes}
        return (*self.cut, *whole, *self.carried)

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the results: carried, then joined tensors."""
        return (*self.carried, *self.joined)

    @property
    def body(self) -> TbeSteps:
        """Steps of one iteration."""
        return TbeSteps(self.steps, self.carried)


AnyStep = TbeStep | TbeView | TbeBlocks


@dataclass(frozen=True, eq=False)
class TbeSteps:
    """Sequence of TBE operators.

    Attributes:
        steps: the steps, in order.
        makes: output name → its name among inputs and steps, where they differ.
    """

    steps: tuple[AnyStep, ...]
    makes: Mapping[str, str] = field(default_factory=lambda: _NONE)

    @property
    def operators(self) -> tuple[TbeStep, ...]:
        """Operators that CANN builds; repeated ones count once."""
        return _operators(self.steps)

    def places(
        self, inputs: Sequence[str], outputs: Sequence[str]
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Returns the indices that each step reads, and the indices of the outputs.

        Indices count the inputs, then the outputs of each step. A name written twice refers to the
        later write.
        """
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
