"""Operators as MindSpore's primitives: on CPU custom operators of our kernels, on Ascend those that CANN builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mindspore
from mindspore import ops
from mindspore.ops import CustomRegOp, DataType
from mindspore.ops import signature as sig

from custom_ops.core import bprops, dispatch, pynative_fast_path
from custom_ops.core.arrays import Attributes, computation_of, sorted_attributes
from custom_ops.core.cell_call import not_a_tensor
from custom_ops.core.computation import Computation
from custom_ops.core.framework import device_target
from custom_ops.core.gradient import gradient_of, wiring
from custom_ops.core.kernel_interface import Described
from custom_ops.core.operator_spec import OpSpec, cached_in_spec
from custom_ops.core.pynative_fast_path import Direct
from custom_ops.core.recent import Recent
from tbe_impl.errors import InputError, MissingError

MAX_ORDER = 2
"""How often an operator can be differentiated."""


class FusedPrimitive(ops.Custom):
    """A primitive for which MindSpore calls our kernel.

    Args:
        spec: of the operator.
        attributes: all of them.
        order: how often `spec` was differentiated to come here.
        eager: shapes and dtypes are found in C, which is quick, but an error of the operator comes as one of MindSpore; for
            calls that were described before.
    """

    def __init__(self, spec: OpSpec, attributes: Attributes, order: int, *, eager: bool):
        self.spec, self.attributes = spec, attributes
        self.order, self.eager = order, eager
        self.computation = computation_of(spec, attributes)
        self._called: Recent[tuple[Any, ...], FusedPrimitive] = Recent(
            pynative_fast_path.SIGNATURES
        )
        entry = _entry(spec, attributes)
        super().__init__(
            f"{entry.file}:{entry.function}",
            out_shape=None,
            out_dtype=None if eager else self._dtypes,
            func_type="aot",
            bprop=_bprop(spec, attributes, order, eager),
            reg_info=_registration(spec),
        )
        # the ledger of ms_fusion looks for it
        self.add_prim_attr("brought_by", spec.made_by)
        if spec.made_of:
            self.add_prim_attr("made_of", " ".join(spec.made_of))
        if spec.made_by == "user":
            self.add_prim_attr("written_at", spec.place)
        self._direct = _direct(spec, attributes, order)
        if spec.overwrites:
            self.set_signatures(_signatures(spec))
            self.add_prim_attr("side_effect_mem", True)

    def __infer__(self, *given: Mapping[str, Any]) -> dict[str, Any]:
        """Shapes and dtypes of the outputs, with the operator's own errors when a graph is built."""
        for place, one in enumerate(given):
            if not isinstance(one["dtype"], mindspore.common.dtype.TensorType):
                raise self._not_a_tensor(place, one["value"])
        return inferred(self.computation, given)

    def __call__(self, *arguments: Any) -> Any:
        """Runs it at once (PyNative), past MindSpore's dispatch where that is possible."""
        if self.eager:
            return super().__call__(*arguments)
        if self._direct is not None and not (self.spec.bprop and pynative_fast_path.is_recording()):
            made = self._direct(arguments)
            if made is not None:
                return made
        for place, one in enumerate(arguments):
            if not isinstance(one, mindspore.Tensor):
                raise self._not_a_tensor(place, one)
        called = tuple([(one.shape, one.dtype) for one in arguments])
        quick = self._called.get(called)
        if quick is None:
            self.computation.describe(
                [Described(tuple(shape), str(dtype).lower()) for shape, dtype in called]
            )
            quick = self._called[called] = _made(self.spec, self.attributes, self.order, True)
        return quick(*arguments)

    def _not_a_tensor(self, place: int, value: Any) -> InputError:
        names = self.spec.inputs
        argument = names[place] if place < len(names) else f"argument {place + 1}"
        return not_a_tensor(self.spec.name, argument, value)

    def _dtypes(self, *given: Any) -> Any:
        raise AssertionError("MindSpore asks __infer__")

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.spec, self.attributes, self.order, self.eager)

    def __deepcopy__(self, memo: Any) -> FusedPrimitive:
        return self


def primitive(
    spec: OpSpec, attributes: Mapping[str, Any], *, eager: bool = False
) -> FusedPrimitive:
    """The primitive of an operator, made once for each set of attributes.

    Raises:
        MissingError: there is no C compiler, or MindSpore is set to another device.
        InputError: an attribute that the operator does not have.
    """
    target = device_target()
    if target != "CPU":
        raise MissingError(
            f"{spec.name} has a kernel for CPU only",
            place=spec.place or spec.name,
            expected="device_target CPU",
            got=target,
            remedy="Take what MindSpore has for that device, or on Ascend custom_ops.ascend.AscendPrimitive",
        )
    return _made(spec, sorted_attributes(spec, attributes), 0, eager)


@cached_in_spec
def _made(spec: OpSpec, attributes: Attributes, order: int, eager: bool) -> FusedPrimitive:
    return FusedPrimitive(spec, attributes, order, eager=eager)


@cached_in_spec
def _entry(spec: OpSpec, attributes: Attributes) -> dispatch.Entry:
    return dispatch.entry_of(computation_of(spec, attributes))


def _registration(spec: OpSpec) -> Any:
    record = CustomRegOp(spec.name)
    for place, name in enumerate(spec.inputs):
        record = record.input(place, name)
    for place, name in enumerate(spec.outputs):
        record = record.output(place, name)
    every = [DataType.None_None] * (len(spec.inputs) + len(spec.outputs))
    return record.dtype_format(*every).target("CPU").get_op_info()


def _signatures(spec: OpSpec) -> Any:
    """Which inputs are written to: MindSpore keeps the order of what reads and writes a Parameter."""
    kinds = [
        sig.sig_rw.RW_WRITE if name in spec.overwrites else sig.sig_rw.RW_READ
        for name in spec.inputs
    ]
    return tuple(sig.make_sig(name, kind) for name, kind in zip(spec.inputs, kinds, strict=True))


def _gradients(
    spec: OpSpec, attributes: Attributes, order: int, *, eager: bool = False
) -> tuple[pynative_fast_path.Gradient, ...]:
    """The operators that compute the gradient; none where there is none."""
    if (
        spec.bprop is not None
        or order >= MAX_ORDER
        or not spec.differentiable
        or len(spec.inputs) > bprops.MAX_INPUTS
    ):
        return ()
    found = []
    for part in spec.gradients_apart or ((),):
        saved, places = wiring(spec, part)
        call = _made(gradient_of(spec, part), attributes, order + 1, eager)
        found.append(pynative_fast_path.Gradient(call, saved, places, len(spec.visible)))
    return tuple(found)


def _direct(spec: OpSpec, attributes: Attributes, order: int) -> Direct | None:
    if not pynative_fast_path.IS_KNOWN or spec.overwrites:
        return None
    return Direct(
        computation_of(spec, attributes),
        _gradients(spec, attributes, order),
        bprops.refusal(spec, order),
    )


def _bprop(spec: OpSpec, attributes: Attributes, order: int, eager: bool) -> Any:
    """The gradient as a function that MindSpore reads; inputs without one get zeros."""
    if spec.bprop is not None:
        return spec.bprop
    found = _gradients(spec, attributes, order, eager=eager)
    if not found:
        return bprops.refused(len(spec.inputs), bprops.refusal(spec, order))
    places, first = [-1] * len(spec.inputs), 0
    for one in found:
        for place, output in enumerate(one.places):
            places[place] = output + first if output >= 0 else places[place]
        first += one.made
    return bprops.of(
        tuple(one.call for one in found),
        len(spec.inputs),
        singles=tuple(one.made == 1 for one in found),
        saved=found[0].saved,
        places=tuple(places),
        several=len(spec.outputs) > 1,
        visible=len(spec.visible),
    )


def inferred(computation: Computation, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Shapes and dtypes of the outputs, in MindSpore's form."""
    found = computation.describe_unknown([_described(one) for one in given])
    shapes, dtypes = (
        [list(one.shape) for one in found],
        [mindspore_dtype(one.dtype) for one in found],
    )
    if len(found) == 1:
        return {"shape": shapes[0], "dtype": dtypes[0], "value": None}
    return {"shape": tuple(shapes), "dtype": tuple(dtypes), "value": None}


def _described(given: Mapping[str, Any]) -> Described:
    dtype = given["dtype"]
    element = dtype.element_type() if hasattr(dtype, "element_type") else dtype
    return Described(tuple(given["shape"]), str(element).lower())


def mindspore_dtype(name: str) -> Any:
    """MindSpore's type of tensors of a dtype."""
    # of a bare number MindSpore makes a scalar where a shape is empty
    return mindspore.common.dtype.TensorType(
        getattr(mindspore, "bool_" if name == "bool" else name)
    )
