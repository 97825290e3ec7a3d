"""The gradient of an operator is an operator: its inputs are what the first one saved, and a gradient for each output."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from custom_ops.kernels import several
from custom_ops.specs import OpSpec
from tbe_impl.errors import InputError


@cache
def gradient_of(spec: OpSpec) -> OpSpec:
    """The operator that computes the gradients of the differentiable inputs.

    It reads the values of ``saves`` (all inputs where `backward` is derived), then ``grad_<output>`` for each output, and
    makes ``grad_<input>``.
    """
    saves = spec.saves if spec.backward is not None else spec.inputs
    taken = set(saves)
    grads = tuple(_fresh(f"grad_{name}", taken) for name in spec.outputs)
    wanted = tuple(_fresh(f"grad_{spec.inputs[i]}", taken) for i in spec.differentiable)
    if not wanted:
        raise InputError(f"{spec.name} has no input with a gradient", place=spec.name)
    return OpSpec(
        name=f"{spec.name}_grad",
        inputs=(*saves, *grads),
        outputs=wanted,
        forward=_written(spec) if spec.backward is not None else _derived(spec),
        attributes=spec.attributes,
        undifferentiable=spec.undifferentiable & set(saves),
        place=spec.place,
        doc=f"Gradient of {spec.name}.",
    )


def _fresh(name: str, taken: set[str]) -> str:
    """A name that nothing has yet: gradients of gradients repeat theirs."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _written(spec: OpSpec) -> Any:
    """What the author wrote; the gradients of inputs that have none are left out."""

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        assert spec.backward is not None
        made = several(spec.backward(*tensors, **attributes))
        if len(made) == len(spec.inputs) > len(spec.differentiable):
            made = tuple(made[i] for i in spec.differentiable)
        return made

    return compute


def _derived(spec: OpSpec) -> Any:
    """The gradient of what `forward` computes."""

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        gradients = import_module("tbe_impl.dsl.gradient").gradients

        if spec.forward is None:
            raise InputError(
                f"{spec.name} has neither a kernel nor a gradient of its own",
                place=spec.place or spec.name,
                remedy="Write backward",
            )
        count = len(spec.inputs)
        outputs = several(spec.forward(*tensors[:count], **attributes))
        wanted = [tensors[i] for i in spec.differentiable]
        found = gradients(outputs, wanted, tensors[count:])
        lacking = [i for i, one in zip(spec.differentiable, found, strict=True) if one is None]
        if lacking:
            raise InputError(
                f"{spec.name} has no gradient for {spec.inputs[lacking[0]]}",
                place=spec.place or spec.name,
                remedy="Write backward, or name the input in `undifferentiable`",
            )
        return tuple(found)

    return compute
