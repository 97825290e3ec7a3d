"""Derives the gradient operator of an operator.

The inputs of the gradient operator are the values that the forward operator saves, then one
gradient for each visible output. An output is visible if callers of the forward operator get it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from custom_ops.core.kernel_interface import to_tuple
from custom_ops.core.operator_spec import OpSpec, cache_in_spec
from tbe_impl.autodiff.reverse_mode import gradients
from tbe_impl.errors import InputError


@cache_in_spec
def gradient_of(spec: OpSpec, part: tuple[str, ...] = ()) -> OpSpec:
    """Returns the operator that computes the gradients of the differentiable inputs.

    The inputs of this gradient operator are the values named in ``saves``, then ``grad_<output>``
    for each visible output. If ``backward`` is derived automatically, all inputs are saved. The
    outputs of the gradient operator are ``grad_<input>``. Inputs with the same gradient share one
    output.

    Hidden outputs are outputs that only ``backward`` reads. A second derivative must include the
    path through the hidden outputs. If an operator has hidden outputs, its gradient is therefore
    differentiable only if the spec has the function ``recompute_hidden``. This function recomputes
    the hidden outputs from the other saved values. The second derivative then treats the hidden
    outputs as functions of these values.

    Args:
        spec: the `OpSpec` of the forward operator.
        part: a group of inputs from ``spec.gradient_groups``. Only the gradients of these inputs
            are computed. If `part` is empty, all gradients are computed.
    """
    by_hand = (spec.backward, spec.backward_kernel_builder, spec.backward_procedure)
    is_written = any(one is not None for one in by_hand)
    saves = spec.saves if is_written else spec.inputs
    taken = set(saves)
    grads = tuple(_fresh_name(f"grad_{name}", taken) for name in spec.visible_outputs)
    own = part or inputs_with_own_gradient(spec)
    wanted = tuple(_fresh_name(f"grad_{name}", taken) for name in own)
    if not wanted:
        raise InputError(f"{spec.name} has no input with a gradient", place=spec.name)
    return OpSpec(
        name="_".join((spec.name, "grad", *part)),
        inputs=(*saves, *grads),
        outputs=wanted,
        forward=_forward(spec),
        kernel_builder=partial(spec.backward_kernel_builder, wanted=part)
        if part and spec.backward_kernel_builder
        else spec.backward_kernel_builder,
        procedure=spec.backward_procedure,
        infer_shape=_infer_like_inputs(saves, own),
        infer_dtype=_infer_like_inputs(saves, own),
        attributes=spec.attributes,
        integers=spec.integers,
        dtypes=spec.dtypes,
        tbe="" if part else spec.tbe_gradient,
        tbe_steps=None if part else spec.tbe_gradient_steps,
        derived_from=_recompute_hidden_outputs(spec) if spec.recompute_hidden is not None else None,
        undifferentiable=frozenset({*saves, *grads})
        if (spec.hidden and spec.recompute_hidden is None)
        or spec.backward_procedure
        or spec.backward_kernel_builder
        else (spec.undifferentiable | spec.hidden) & set(saves),
        gradient_remedy=spec.gradient_remedy,
        place=spec.place,
        made_by=spec.made_by,
        made_of=spec.made_of,
        doc=f"Gradient of {spec.name}.",
    )


def inputs_with_own_gradient(spec: OpSpec) -> tuple[str, ...]:
    """Returns the differentiable inputs, in order, except the inputs in ``same_gradient``."""
    names = (spec.inputs[i] for i in spec.differentiable_inputs)
    return tuple(name for name in names if name not in spec.same_gradient)


def wiring(spec: OpSpec, part: tuple[str, ...] = ()) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the indices of the saved inputs and outputs, and the gradient index of each input.

    The gradient index of an input is the index of its gradient among the outputs of the gradient
    operator. If the input has no gradient, the gradient index is −1.
    """
    names, own = (*spec.inputs, *spec.outputs), part or inputs_with_own_gradient(spec)
    sources = [spec.same_gradient.get(name, name) for name in spec.inputs]
    saved = gradient_of(spec, part).inputs[: -len(spec.visible_outputs)]
    return (
        tuple(names.index(name) for name in saved),
        tuple(own.index(name) if name in own else -1 for name in sources),
    )


def _forward(spec: OpSpec) -> Any:
    if spec.backward_procedure is not None or spec.backward_kernel_builder is not None:
        return None
    return _wrap_backward(spec) if spec.backward is not None else _derive_backward(spec)


def _infer_like_inputs(saves: Sequence[str], own: Sequence[str]) -> Any:
    """Returns a function that infers the shapes (or dtypes) of gradients.

    The gradient of an input has the shape and dtype of the input. `own` are the names of the inputs
    whose gradients are computed. `saves` are the names of the inputs of the gradient operator. If
    an input in `own` is missing from `saves`, the function returns None.
    """
    if not set(own) <= set(saves):
        return None
    places = [saves.index(name) for name in own]
    return lambda *given, **_: tuple(given[place] for place in places)


def _fresh_name(name: str, taken: set[str]) -> str:
    """Appends underscores to `name` until it is unused; gradients of gradients repeat names."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _wrap_backward(spec: OpSpec) -> Any:
    """Wraps the user's `backward` to return only the gradients of `inputs_with_own_gradient`."""

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        assert spec.backward is not None
        made = to_tuple(spec.backward(*tensors, **attributes))
        own = inputs_with_own_gradient(spec)
        if len(made) == len(spec.inputs) > len(own):
            made = tuple(made[spec.inputs.index(name)] for name in own)
        return made

    return compute


def _recompute_hidden_outputs(spec: OpSpec) -> Any:
    """Wraps the user's `backward`; the wrapper recomputes the hidden outputs from saved values."""
    written, own = _wrap_backward(spec), [name for name in spec.saves if name in spec.hidden]

    def compute(*tensors: Any, **attributes: Any) -> tuple[Any, ...]:
        assert spec.recompute_hidden is not None
        saved = dict(zip(spec.saves, tensors, strict=False))
        seen = [one for name, one in saved.items() if name not in spec.hidden]
        saved |= zip(own, to_tuple(spec.recompute_hidden(*seen, **attributes)), strict=True)
        return written(*saved.values(), *tensors[len(saved) :], **attributes)

    return compute


def _derive_backward(spec: OpSpec) -> Any:
    """Returns the gradient function of `forward`, derived by reverse-mode differentiation."""

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
            zip(spec.outputs, to_tuple(forward(*tensors[:count], **attributes)), strict=True)
        )
        outputs = [made[name] for name in spec.visible_outputs]
        own = [spec.inputs.index(name) for name in inputs_with_own_gradient(spec)]
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
