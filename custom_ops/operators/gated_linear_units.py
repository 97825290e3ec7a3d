"""Builds gated linear units activation(a)·b; a and b are two tensors, or halves of one tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from custom_ops.core.cell import DispatchingCell, FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import promote_dtype, unbroadcast, widen_inputs
from tbe_impl import dsl
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError

DslFunction = Callable[..., Any]
"""An activation or its derivative: a function of a tensor and the operator's attributes."""


def pair_spec(
    name: str,
    activation: DslFunction,
    slope: DslFunction,
    composite: DslFunction,
    formula: DslFunction,
    attributes: Mapping[str, Any],
    variants: tuple[Mapping[str, Any], ...] = (),
) -> OpSpec:
    """Builds the operator y = activation(gate)·up for two tensors.

    Args:
        name: name of the operator.
        activation, slope: functions that compute the activation and its derivative in the DSL.
        composite: function that computes the activation with MindSpore operators.
        formula: function that computes the activation in NumPy.
        attributes: dict from the name of each keyword argument of these four functions to the
            default value.
        variants: dicts of other attribute values; tests run the operator with these values too.
    """

    def compute(gate: Any, up: Any, **given: Any) -> Any:
        a, b = widen_inputs(gate, up)
        return dsl.cast_to(dsl.vmul(activation(a, **given), b), promote_dtype(gate, up))

    def gradient(gate: Any, up: Any, grad: Any, **given: Any) -> tuple[Any, Any]:
        a, b, g = widen_inputs(gate, up, grad)
        of_gate = dsl.vmul(dsl.vmul(g, b), slope(a, **given))
        return unbroadcast(of_gate, gate), unbroadcast(dsl.vmul(g, activation(a, **given)), up)

    def compose(gate, up, **given):  # type: ignore[no-untyped-def]
        return ops.mul(composite(gate, **given), up)

    return OpSpec(
        name=name,
        inputs=("gate", "up"),
        forward=compute,
        backward=gradient,
        saves=("gate", "up"),
        attributes=attributes,
        variants=variants,
        composite=compose,
        formula=lambda gate, up, **given: formula(gate, **given) * up,
        samples=(((4, 8), (4, 8)), ((5, 6), (6,)), ((1,), (1,)), ((0, 4), (0, 4)), ((), ())),
        doc="y = activation(gate)·up",
    )


def halves_spec(
    name: str,
    activation: DslFunction,
    slope: DslFunction,
    composite: DslFunction,
    formula: DslFunction,
    attributes: Mapping[str, Any],
    variants: tuple[Mapping[str, Any], ...] = (),
) -> OpSpec:
    """Builds the operator y = activation(first half)·(second half) for one tensor.

    The tensor is split into halves along its last axis. The arguments are those of `pair_spec`.
    """

    def compute(x: Any, **given: Any) -> Any:
        a, b = (widen_inputs(half)[0] for half in split_halves(x))
        return dsl.cast_to(dsl.vmul(activation(a, **given), b), promote_dtype(x))

    def gradient(x: Any, grad: Any, **given: Any) -> Any:
        a, b = (widen_inputs(half)[0] for half in split_halves(x))
        (g,) = widen_inputs(grad)
        of_gate = dsl.vmul(dsl.vmul(g, b), slope(a, **given))
        both = (of_gate, dsl.vmul(g, activation(a, **given)))
        return dsl.concat([dsl.cast_to(one, x.dtype) for one in both], -1)

    def compose(x, **given):  # type: ignore[no-untyped-def]
        gate, up = ops.split(x, x.shape[-1] // 2, -1)
        return ops.mul(composite(gate, **given), up)

    def compute_in_numpy(x: Any, **given: Any) -> Any:
        gate, up = np.split(x, 2, -1)
        return formula(gate, **given) * up

    return OpSpec(
        name=name,
        inputs=("x",),
        forward=compute,
        backward=gradient,
        saves=("x",),
        attributes=attributes,
        variants=variants,
        composite=compose,
        formula=compute_in_numpy,
        samples=(((4, 8),), ((3, 5, 14),), ((2,),), ((0, 4),), ((5, 96),)),
        doc="y = activation(first half)·second half",
    )


def split_halves(x: Any) -> tuple[Any, Any]:
    """Splits the last axis into two halves.

    Raises:
        InputError: the tensor has no axis, or the size of the last axis is odd.
    """
    size = x.shape[-1] if x.ndim else None
    if size is None or (isinstance(size, Const) and size.value % 2):
        raise InputError(
            f"{x.name} cannot be split into halves",
            expected="an even size of the last axis, or two tensors",
            got=shape_text(x.shape),
        )
    half = size.value // 2 if isinstance(size, Const) else size // 2
    front = [None] * (x.ndim - 1)
    first = dsl.ext.strided_slice(x, [*front, None], [*front, half])
    return first, dsl.ext.strided_slice(x, [*front, half], [*front, None])


class GatedCell(DispatchingCell):
    """A gated linear unit.

    Args:
        pair: operator for two tensors.
        halved: operator for the halves of one tensor.
        attributes: attributes of both operators.
        route: ``native``, ``composite``, or an empty string for the default route.
    """

    def __init__(self, pair: OpSpec, halved: OpSpec, attributes: Mapping[str, Any], route: str):
        super().__init__()
        self.pair = FusedCell(pair, attributes, route)
        self.halved = FusedCell(halved, attributes, route)

    def construct(self, x: Any, up: Any = None) -> Any:
        """Returns activation(x)·up.

        If `up` is None, returns activation(first half)·(second half) of x.
        """
        if up is None:
            return self.halved.run(x)
        return self.pair.run(x, up)

    def select_cell(self, *arrays: Any) -> FusedCell:
        """Returns the Cell for one array (which is halved), or the Cell for two arrays."""
        return self.halved if len(arrays) == 1 else self.pair
