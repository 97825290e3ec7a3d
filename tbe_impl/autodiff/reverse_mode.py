"""Reverse-mode differentiation of a graph of the language: an operator's backward from its forward.

The backward is a graph like any other, which reads the tensors of the forward: what it uses of them (the exponential, the
row sums …) is taken as it is where both are built together or where it is handed in, and is not computed twice.

Where a formula has a choice: of equal operands of a maximum or minimum each gets one half, of equal extremes of a reduction
each the same share (both as MindSpore's Maximum and ReduceMax have it; windows too), ReLU has 0 at 0, |x| has 0 at 0, roundings to whole
numbers have 0. Beside NaN everything counts as extreme. What the forward left out — the other side of a select, the smaller
operand — gets 0 also where its own derivative is infinite; everywhere else the plain formula holds, with its inf and NaN.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from tbe_impl.autodiff.range_shifts import cancelling
from tbe_impl.autodiff.rules import RULES, underivable
from tbe_impl.autodiff.scalar_derivatives import counts_positions, value_reads
from tbe_impl.autodiff.stage_adjoints import Adjoint, backward, together
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Expr, Reduce, const
from tbe_impl.dsl.location import here
from tbe_impl.dsl.operation import may_equal
from tbe_impl.dsl.shaping import broadcast
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import InputError


def gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], output_gradients: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """The gradients of Σ outputs · output_gradients for inputs.

    Args:
        outputs: tensors of a graph.
        inputs: tensors that they are made of; placeholders or others.
        output_gradients: one for each output, of its shape and dtype; None for an output that gets none.

    Returns:
        For each input a tensor of its shape and dtype, zeros where no output depends on it; None for integers and bool.

    Raises:
        InputError: something between them has no derivative (named, with its file and line), or a gradient does not fit.
    """
    _check(outputs, output_gradients)
    stages = stages_of([*outputs, *inputs])
    asked = [one for one, given in zip(outputs, output_gradients, strict=True) if given is not None]
    state = _Backward(stages, inputs, cancelling(stages, asked))
    for output, given in zip(outputs, output_gradients, strict=True):
        if given is not None and id(output) in state.active:
            state.add(output, Adjoint(given))
    for op in reversed(stages):
        state.through(op)
    return tuple(state.result(tensor) if is_float(tensor.dtype) else None for tensor in inputs)


def _check(outputs: Sequence[Tensor], given: Sequence[Tensor | None]) -> None:
    if len(outputs) != len(given):
        raise InputError(
            "every output needs a gradient, or None",
            place=str(here()),
            expected=str(len(outputs)),
            got=str(len(given)),
        )
    for output, gradient in zip(outputs, given, strict=True):
        if gradient is None:
            continue
        fits = gradient.ndim == output.ndim and all(map(may_equal, gradient.shape, output.shape))
        if not is_float(output.dtype) or gradient.dtype != output.dtype or not fits:
            raise InputError(
                f"the gradient of {output.name} does not fit",
                place=str(here()),
                expected=f"{output.dtype} {shape_text(output.shape)}"
                if is_float(output.dtype)
                else f"None, since {output.name} is {output.dtype}",
                got=f"{gradient.dtype} {shape_text(gradient.shape)}",
            )


class _Backward:
    """The adjoints while they are collected.

    Attributes:
        active: ``id`` of the floating-point tensors on the way from the inputs.
        touched: ``id`` of all tensors that depend on the inputs in any way.
    """

    def __init__(self, stages: Sequence[Operation], inputs: Sequence[Tensor], cut: Container[int]):
        self.adjoints: dict[int, list[Adjoint]] = {}
        self.active = {id(tensor) for tensor in inputs if is_float(tensor.dtype)}
        self.touched = set(self.active)
        for op in stages:
            if any(id(tensor) in cut and id(tensor) not in self.active for tensor in op.outputs):
                continue
            if any(id(tensor) in self.touched for tensor in op.input_tensors):
                self.touched.update(id(tensor) for tensor in op.outputs)
            for at, tensor in enumerate(op.outputs):
                if is_float(tensor.dtype) and any(map(self._carries, _values(op, at))):
                    self.active.add(id(tensor))

    def _carries(self, tensor: Tensor) -> bool:
        """Whether what depends on this tensor's values depends on the inputs."""
        return id(tensor) in (self.active if is_float(tensor.dtype) else self.touched)

    def add(self, tensor: Tensor, adjoint: Adjoint) -> None:
        """One more part of what a tensor gets."""
        if id(tensor) in self.active:
            self.adjoints.setdefault(id(tensor), []).append(adjoint)

    def through(self, op: Operation) -> None:
        """Hands on what the outputs of an operation got to what it reads."""
        if op.kind == "placeholder" or not any(id(one) in self.adjoints for one in op.outputs):
            return
        adjoints = [self._of(tensor) for tensor in op.outputs]
        name = op.word.name if op.word else ""
        rule = RULES.get(name)
        if not any(map(self._carries, op.input_tensors)):
            found = []
        elif rule is not None and adjoints[0] is not None:
            found = rule(op, adjoints[0])
        elif not op.body:
            raise underivable(op)
        else:
            found = backward(op, adjoints, lambda one: id(one) in self.active, self._check_steps)
        for tensor, adjoint in found:
            self.add(tensor, adjoint)

    def _of(self, tensor: Tensor) -> Adjoint | None:
        """What a tensor got, in one; remembered, so that it is summed up once."""
        given = self.adjoints.get(id(tensor))
        if not given:
            return None
        self.adjoints[id(tensor)] = [together(given)]
        return self.adjoints[id(tensor)][0]

    def result(self, tensor: Tensor) -> Tensor:
        """The gradient of an input."""
        found = self._of(tensor)
        if found is not None:
            return found.value
        zeros: Tensor = broadcast(const(0, tensor.dtype), tensor.shape)
        return zeros

    def _check_steps(self, value: Expr) -> None:
        """Whole numbers that become floats have the derivative 0 when they are steps of the inputs, and none when they are positions."""
        waiting = [read.tensor for read in value_reads(value)]
        seen: set[int] = set()
        while waiting:
            tensor = waiting.pop()
            if id(tensor) in seen or id(tensor) not in self.touched or is_float(tensor.dtype):
                continue
            seen.add(id(tensor))
            op = tensor.op
            if op.word is not None and op.word.name in RULES:
                waiting.extend(op.input_tensors)
                continue
            if not op.body or any(
                counts_positions(body.source if isinstance(body, Reduce) else body)
                for body in op.body
            ):
                raise underivable(op, "its whole numbers say where something is")
            waiting.extend(read.tensor for body in op.body for read in value_reads(_source(body)))


def _source(body: Expr) -> Expr:
    return body.source if isinstance(body, Reduce) else body


def _values(op: Operation, at: int) -> list[Tensor]:
    """The tensors whose elements stand as values in an output."""
    if not op.body:
        return list(op.input_tensors)
    return [read.tensor for read in value_reads(_source(op.body[at]))]
