"""The gradient of an operator is an operator: its inputs are what the first one saved, and a gradient for each output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from custom_ops.core.kernel_interface import several
from custom_ops.core.operator_spec import OpSpec, cached_in_spec
from tbe_impl.autodiff.reverse_mode import gradients
from tbe_impl.errors import InputError


@cached_in_spec
def gradient_of(spec: OpSpec, part: tuple[str, ...] = ()) -> OpSpec:
    """The operator that computes the gradients of the differentiable inputs, or only of those of `part`, one group of its
    ``gradients_apart``.

    It reads the values of ``saves`` (all inputs where `backward` is derived), then ``grad_<output>`` for each visible output,
    and makes ``grad_<input>``, one for inputs of the same gradient. What flows back into hidden outputs would be lost: the
    gradient of an operator that has them has a gradient itself only where they can be computed again from what else is saved
    (`hidden_again`), and is derived with them as functions of that.
    """
    by_hand = (spec.backward, spec.backward_written, spec.backward_procedure)
    is_written = any(one is not None for one in by_hand)
    saves = spec.saves if is_written else spec.inputs
    taken = set(saves)
    grads = tuple(_fresh(f"grad_{name}", taken) for name in spec.visible)
    own = part or own_gradients(spec)
    wanted = tuple(_fresh(f"grad_{name}", taken) for name in own)
    if not wanted:
        raise InputError(f"{spec.name} has no input with a gradient", place=spec.name)
    return OpSpec(
        name="_".join((spec.name, "grad", *part)),
        inputs=(*saves, *grads),
        outputs=wanted,
        forward=_forward(spec),
        written=partial(spec.backward_written, wanted=part)
        if part and spec.backward_written
        else spec.backward_written,
        procedure=spec.backward_procedure,
        infer_shape=_like(saves, own),
        infer_dtype=_like(saves, own),
        attributes=spec.attributes,
        integers=spec.integers,
        dtypes=spec.dtypes,
        tbe="" if part else spec.tbe_gradient,
        tbe_steps=None if part else spec.tbe_gradient_steps,
        derived_from=_from_all(spec) if spec.hidden_again is not None else None,
        undifferentiable=frozenset({*saves, *grads})
        if (spec.hidden and spec.hidden_again is None)
        or spec.backward_procedure
        or spec.backward_written
        else (spec.undifferentiable | spec.hidden) & set(saves),
        gradient_remedy=spec.gradient_remedy,
        place=spec.place,
        made_by=spec.made_by,
        made_of=spec.made_of,
        doc=f"Gradient of {spec.name}.",
    )


def own_gradients(spec: OpSpec) -> tuple[str, ...]:
    """The inputs whose gradients are computed, in order."""
    names = (spec.inputs[i] for i in spec.differentiable)
    return tuple(name for name in names if name not in spec.same_gradient)


def wiring(spec: OpSpec, part: tuple[str, ...] = ()) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What the gradient reads, as places among inputs and outputs; for each input which of its outputs it gets, -1 for none."""
    names, own = (*spec.inputs, *spec.outputs), part or own_gradients(spec)
    sources = [spec.same_gradient.get(name, name) for name in spec.inputs]
    saved = gradient_of(spec, part).inputs[: -len(spec.visible)]
    return (
        tuple(names.index(name) for name in saved),
        tuple(own.index(name) if name in own else -1 for name in sources),
    )


def _forward(spec: OpSpec) -> Any:
    if spec.backward_procedure is not None or spec.backward_written is not None:
        return None
    return _written(spec) if spec.backward is not None else _derived(spec)


def _like(saves: Sequence[str], own: Sequence[str]) -> Any:
    """Shapes, or dtypes, of gradients: those of their inputs; None where one of them is not there."""
    if not set(own) <= set(saves):
        return None
    places = [saves.index(name) for name in own]
    return lambda *given, **_: tuple(given[place] for place in places)


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
        own = own_gradients(spec)
        if len(made) == len(spec.inputs) > len(own):
            made = tuple(made[spec.inputs.index(name)] for name in own)
        return made

    return compute


def _from_all(spec: OpSpec) -> Any:
    """What the author wrote, of hidden outputs that are computed again."""
    written, own = _written(spec), [name for name in spec.saves if name in spec.hidden]

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        assert spec.hidden_again is not None
        saved = dict(zip(spec.saves, tensors, strict=False))
        seen = [one for name, one in saved.items() if name not in spec.hidden]
        saved |= zip(own, several(spec.hidden_again(*seen, **attributes)), strict=True)
        made: tuple[Any, ...] = written(*saved.values(), *tensors[len(saved) :], **attributes)
        return made

    return compute


def _derived(spec: OpSpec) -> Any:
    """The gradient of what `forward` computes."""

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:

        forward = spec.derived_from or spec.forward
        if forward is None:
            raise InputError(
                f"{spec.name} has neither a kernel nor a gradient of its own",
                place=spec.place or spec.name,
                remedy="Write backward",
            )
        count = len(spec.inputs)
        made = dict(
            zip(spec.outputs, several(forward(*tensors[:count], **attributes)), strict=True)
        )
        outputs = [made[name] for name in spec.visible]
        own = [spec.inputs.index(name) for name in own_gradients(spec)]
        wanted = [tensors[i] for i in own]
        found = gradients(outputs, wanted, tensors[count:])
        lacking = [i for i, one in zip(own, found, strict=True) if one is None]
        if lacking:
            raise InputError(
                f"{spec.name} has no gradient for {spec.inputs[lacking[0]]}",
                place=spec.place or spec.name,
                remedy="Write backward, or name the input in `undifferentiable`",
            )
        return tuple(found)

    return compute
