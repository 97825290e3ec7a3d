"""Describes operators that CANN builds as a sequence of TBE operators instead of one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from custom_ops.core.operator_spec import FOR_CUBE, Compute, OpSpec, TbeComputation

_NONE: Mapping[str, Any] = MappingProxyType({})


def step_operator(
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    forward: Compute,
    infer_dtype: Callable[..., Any],
    doc: str,
    *,
    tbe: TbeComputation = FOR_CUBE,
    attributes: Mapping[str, Any] = _NONE,
    given: Mapping[str, str] = _NONE,
) -> OpSpec:
    """Builds the `OpSpec` of an operator without gradient; only sequences use the operator.

    Args:
        name, inputs, outputs, forward, infer_dtype, doc, tbe, attributes: as in `OpSpec`.
        given: dict from the name of an input to its dtype. The dict contains only inputs with
            another dtype than the operator.
    """
    return OpSpec(
        name,
        tuple(inputs),
        tuple(outputs),
        forward,
        infer_dtype=infer_dtype,
        undifferentiable=frozenset(inputs),
        attributes=attributes,
        integers={argument: (dtype, 2) for argument, dtype in given.items()},
        tbe=tbe,
        doc=doc,
    )


@dataclass(frozen=True, eq=False)
class TbeStep:
    """One TBE operator of a sequence.

    Attributes:
        spec: the `OpSpec` of the operator.
        reads: names of the tensors that the operator reads, in order. Each of these tensors is an
            input of the sequence, or an output of an earlier step.
        writes: names of the tensors that the operator writes, in order.
        attributes: the attribute values that differ from the defaults.
        forward: the `OpSpec` of the forward operator if `spec` is a gradient operator; otherwise
            None.
    """

    spec: OpSpec
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    forward: OpSpec | None = None


@dataclass(frozen=True, eq=False)
class TbeView:
    """Step that reshapes a tensor without computation.

    Attributes:
        source: name of the tensor.
        view: name of the reshaped tensor.
        like: name of a tensor that has the new shape. If `like` is empty, all axes but the last
            `kept` axes are flattened into one axis.
        kept: number of trailing axes that are not flattened.
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
    """Loop over the blocks of large tensors, or with a fixed number of iterations.

    Attributes:
        steps: steps of one iteration.
        cut: dict from the name of a tensor to an axis. The tensor is split into blocks along this
            axis. The first tensor determines the number of iterations. If the extent of a tensor
            along the split axis is 1, the tensor is not split. Each iteration then reads the whole
            tensor.
        size: extent of a block along the split axis.
        times: number of iterations if no tensor is split.
        carried: dict of the loop-carried tensors. A key is the name of an input of an iteration.
            The value is the name of the step output that becomes this input in the next iteration.
            The initial tensor is an input of the loop, and the final tensor is a result.
        joined: dict from the name of a step output to an axis. The outputs of all iterations are
            concatenated along this axis.
    """

    steps: tuple[AnyStep, ...]
    cut: Mapping[str, int] = field(default_factory=lambda: _NONE)
    size: int = 1
    times: int = 0
    carried: Mapping[str, str] = field(default_factory=lambda: _NONE)
    joined: Mapping[str, int] = field(default_factory=lambda: _NONE)

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the inputs: split tensors, then unsplit tensors, then carried tensors."""
        known = {*self.cut, *self.carried}
        whole: dict[str, None] = {}
        for step in self.steps:
            whole |= dict.fromkeys(name for name in step.reads if name not in known)
            known |= {*step.writes}
        return (*self.cut, *whole, *self.carried)

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the results: carried tensors, then concatenated tensors."""
        return (*self.carried, *self.joined)

    @property
    def body(self) -> TbeSteps:
        """The steps of one iteration as a sequence."""
        return TbeSteps(self.steps, self.carried)


AnyStep = TbeStep | TbeView | TbeBlocks


@dataclass(frozen=True, eq=False)
class TbeSteps:
    """Sequence of TBE operators.

    Attributes:
        steps: the steps, in order.
        makes: dict from the name of an output to the name that this tensor has inside the sequence.
            The tensor is an input of the sequence or the output of a step. Outputs whose two names
            are equal are not in the dict.
    """

    steps: tuple[AnyStep, ...]
    makes: Mapping[str, str] = field(default_factory=lambda: _NONE)

    @property
    def operators(self) -> tuple[TbeStep, ...]:
        """The TBE operators in order; the operators of a loop appear once."""
        return _operators(self.steps)

    def places(
        self, inputs: Sequence[str], outputs: Sequence[str]
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Returns the tensors that each step reads, and the outputs of the sequence, as indices.

        The tensors are numbered in this order: the inputs, then the outputs of each step. If
        several steps write tensors of the same name, a step reads the tensor that was written last
        before the step.
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
