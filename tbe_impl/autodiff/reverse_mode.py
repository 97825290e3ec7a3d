"""Reverse-mode differentiation of a DSL graph: derives an operator's backward from its forward.

The backward graph reads tensors of the forward graph (exponentials, row sums, …). It reuses them
when both graphs are built together or when the caller passes them, instead of recomputing them.

Conventions at non-differentiable points:

- equal operands of a maximum or minimum get one half each;
- equal extremes of a reduction or a window share the gradient equally
  (both as MindSpore's Maximum and ReduceMax);
- ReLU has 0 at 0; |x| has 0 at 0; rounding to integers has 0;
- in a reduction that contains NaN every element counts as extreme.

A value that the forward discards (the other branch of a select, the smaller operand) gets 0, even
where its own derivative is infinite. Everywhere else the plain formula holds, with its inf and NaN.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from tbe_impl.autodiff.backward_rules import RULES, differentiation_error
from tbe_impl.autodiff.range_shifts import find_cancelling_extremes
from tbe_impl.autodiff.scalar_derivatives import has_axis_as_value, value_reads
from tbe_impl.autodiff.stage_adjoints import Adjoint, differentiate_stage, sum_adjoints
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Expr, Reduce, const
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import may_equal
from tbe_impl.dsl.operations.shaping import broadcast
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import InputError


def gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], output_gradients: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """The gradients of Σ outputs · output_gradients for inputs.

    Args:
        outputs: tensors of a graph.
        inputs: tensors on which the outputs depend; placeholders or intermediate tensors.
        output_gradients: one for each output, of its shape and dtype; None for an output without
            a cotangent.

    Returns:
        For each input a tensor of its shape and dtype, zeros where no output depends on it; None
        for integers and bool.

    Raises:
        InputError: an operation between them has no derivative (the message has its name, file
            and line), or a gradient does not fit.
    """
    _check_output_gradients(outputs, output_gradients)
    stages = stages_of([*outputs, *inputs])
    asked = [one for one, given in zip(outputs, output_gradients, strict=True) if given is not None]
    state = _ReversePass(stages, inputs, find_cancelling_extremes(stages, asked))
    for output, given in zip(outputs, output_gradients, strict=True):
        if given is not None and id(output) in state.active:
            state.add(output, Adjoint(given))
    for op in reversed(stages):
        state.propagate(op)
    return tuple(state.result(tensor) if is_float(tensor.dtype) else None for tensor in inputs)


def _check_output_gradients(outputs: Sequence[Tensor], given: Sequence[Tensor | None]) -> None:
    if len(outputs) != len(given):
        raise InputError(
            "every output needs a gradient, or None",
            place=str(user_location()),
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
                place=str(user_location()),
                expected=f"{output.dtype} {shape_text(output.shape)}"
                if is_float(output.dtype)
                else f"None, since {output.name} is {output.dtype}",
                got=f"{gradient.dtype} {shape_text(gradient.shape)}",
            )


class _ReversePass:
    """The state of one reverse pass: the adjoints collected so far.

    Attributes:
        active: ``id`` of the floating-point tensors that depend on the inputs.
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
                if is_float(tensor.dtype) and any(
                    map(self._is_input_dependent, _value_tensors(op, at))
                ):
                    self.active.add(id(tensor))

    def _is_input_dependent(self, tensor: Tensor) -> bool:
        """Whether a value computed from this tensor's values depends on the inputs."""
        return id(tensor) in (self.active if is_float(tensor.dtype) else self.touched)

    def add(self, tensor: Tensor, adjoint: Adjoint) -> None:
        """Adds a contribution to the adjoint of a tensor."""
        if id(tensor) in self.active:
            self.adjoints.setdefault(id(tensor), []).append(adjoint)

    def propagate(self, op: Operation) -> None:
        """Propagates the adjoints of an operation's outputs to its inputs."""
        if op.kind == "placeholder" or not any(id(one) in self.adjoints for one in op.outputs):
            return
        adjoints = [self._total_adjoint(tensor) for tensor in op.outputs]
        name = op.dsl_call.name if op.dsl_call else ""
        rule = RULES.get(name)
        if not any(map(self._is_input_dependent, op.input_tensors)):
            found = []
        elif rule is not None and adjoints[0] is not None:
            found = rule(op, adjoints[0])
        elif not op.body:
            raise differentiation_error(op)
        else:
            found = differentiate_stage(
                op, adjoints, lambda one: id(one) in self.active, self._check_steps
            )
        for tensor, adjoint in found:
            self.add(tensor, adjoint)

    def _total_adjoint(self, tensor: Tensor) -> Adjoint | None:
        """The sum of a tensor's contributions, cached; None if there are none."""
        given = self.adjoints.get(id(tensor))
        if not given:
            return None
        self.adjoints[id(tensor)] = [sum_adjoints(given)]
        return self.adjoints[id(tensor)][0]

    def result(self, tensor: Tensor) -> Tensor:
        """The gradient of an input."""
        found = self._total_adjoint(tensor)
        if found is not None:
            return found.value
        zeros: Tensor = broadcast(const(0, tensor.dtype), tensor.shape)
        return zeros

    def _check_steps(self, value: Expr) -> None:
        """Checks that the integers in `value`, before their cast to float, are differentiable.

        Integers that are step functions of the inputs have the derivative 0. Integers that are
        positions have none.
        """
        waiting = [read.tensor for read in value_reads(value)]
        seen: set[int] = set()
        while waiting:
            tensor = waiting.pop()
            if id(tensor) in seen or id(tensor) not in self.touched or is_float(tensor.dtype):
                continue
            seen.add(id(tensor))
            op = tensor.op
            if op.dsl_call is not None and op.dsl_call.name in RULES:
                waiting.extend(op.input_tensors)
                continue
            if not op.body or any(
                has_axis_as_value(body.source if isinstance(body, Reduce) else body)
                for body in op.body
            ):
                raise differentiation_error(op, "its whole numbers say where something is")
            waiting.extend(read.tensor for body in op.body for read in value_reads(_source(body)))


def _source(body: Expr) -> Expr:
    return body.source if isinstance(body, Reduce) else body


def _value_tensors(op: Operation, at: int) -> list[Tensor]:
    """The tensors whose elements an output reads as values (not as indices or conditions)."""
    if not op.body:
        return list(op.input_tensors)
    return [read.tensor for read in value_reads(_source(op.body[at]))]
