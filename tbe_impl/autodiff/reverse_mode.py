"""Derives the backward graph of a DSL graph by reverse-mode differentiation.

The backward graph reads tensors of the forward graph, such as exponentials and row sums. If both
graphs are built together, or if the caller passes these tensors, they are not recomputed.

Conventions at non-differentiable points:

- equal operands of a maximum or minimum get one half of the gradient each, as in MindSpore's
  Maximum;
- equal extremes of a reduction or a window share the gradient equally, as in MindSpore's ReduceMax;
- the derivatives of ReLU and |x| at 0 are 0;
- the derivative of a rounding to integers is 0;
- in a reduction that contains NaN, every element counts as an extreme.

A value that the forward graph discards has the gradient 0, even if its own derivative is infinite.
Discarded values are the branch that a select does not choose, and the smaller operand of a maximum.
For all other values, the derivative formula is evaluated unchanged, including inf and NaN.
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
    """Builds the gradients of Σ outputs · output_gradients with respect to `inputs`.

    Args:
        outputs: tensors of a graph.
        inputs: placeholders or intermediate tensors of the graph.
        output_gradients: one entry for each output: a cotangent of the shape and dtype of the
            output, or None for an output without a cotangent.

    Returns:
        One entry for each input. The entry of a floating-point input is the gradient, which has the
        shape and dtype of the input. If no output depends on the input, the gradient is filled with
        zeros. The entry of an integer or bool input is None.

    Raises:
        InputError: a cotangent does not have the shape and dtype of its output, or an operation
            between inputs and outputs has no derivative. In the second case, the message names the
            operation, its file and its line.
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
        active: the ``id`` of each floating-point tensor whose value depends on the inputs.
        touched: the ``id`` of each tensor that depends on the inputs in any way, for example
            through an index or a condition.
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
        """Whether the values of `tensor` depend on the inputs."""
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
        """Returns the sum of all contributions to a tensor's adjoint, or None if there are none.

        The sum is cached.
        """
        given = self.adjoints.get(id(tensor))
        if not given:
            return None
        self.adjoints[id(tensor)] = [sum_adjoints(given)]
        return self.adjoints[id(tensor)][0]

    def result(self, tensor: Tensor) -> Tensor:
        """Returns the gradient of an input; the gradient is zero if no contribution was added."""
        found = self._total_adjoint(tensor)
        if found is not None:
            return found.value
        return broadcast(const(0, tensor.dtype), tensor.shape)

    def _check_steps(self, value: Expr) -> None:
        """Raises `InputError` if `value` depends on an integer that has no derivative.

        `value` is an integer expression that is cast to float. An integer that is a step function
        of the inputs has the derivative 0. An integer that is a position, such as an argmax, has no
        derivative.
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
    """Returns the tensors that output number `at` of a stage reads as values.

    Tensors that are read only in indices or conditions are left out.
    """
    if not op.body:
        return list(op.input_tensors)
    return [read.tensor for read in value_reads(_source(op.body[at]))]
