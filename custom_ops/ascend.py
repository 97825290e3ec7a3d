"""Operators on Ascend: the primitive, and the TBE operator that CANN builds for it. Written, untested without a device."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mindspore.ops import DataType, PrimitiveWithInfer, TBERegOp, op_info_register

import tbe_impl.ops
from custom_ops.core import bprops
from custom_ops.core.arrays import Attributes, computation_of, sorted_attributes
from custom_ops.core.framework import device_target
from custom_ops.core.gradient import gradient_of, wiring
from custom_ops.core.kernel_interface import Described
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.primitive import inferred
from custom_ops.tbe_bridge.sequence_cell import InARow, with_gradient
from custom_ops.tbe_bridge.steps import TbeSteps
from tbe_impl.errors import MissingError
from tbe_impl.loading.operator import load_operator

PREFIX = "CustomOps"
"""Before the name of an operator: MindSpore and CANN have a Softmax of their own."""
_DTYPES = {"float16": "F16", "float32": "F32", "int32": "I32", "bool": "BOOL"}
"""What TBE registrations call them."""
_FLOATS = ("float16", "float32")
_ATTRIBUTES = {bool: "bool", int: "int", float: "float", str: "str", tuple: "listFloat"}
_WINDOW = {"stride": 2, "padding": 4, "dilation": 2}
"""Attributes that are one number or several → how many an operator is told."""
_NAMED_PADDING = {"same": -1, "valid": 0}
_registered: set[str] = set()


class AscendPrimitive(PrimitiveWithInfer):
    """The primitive that a graph for Ascend holds; CANN builds the operator of the same name.

    Args:
        spec: of the operator.
        attributes: those that are not the default.
        forward: where `spec` is a gradient, the operator that it is of.

    Raises:
        MissingError: it is called on another device; or the operator has no TBE operator, or one without an attribute that is
            not the default.
    """

    def __init__(
        self, spec: OpSpec, attributes: Mapping[str, Any], *, forward: OpSpec | None = None
    ):
        super().__init__(registered_name(spec))
        self.spec = spec
        known = attributes_of(spec)
        for name, value in attributes.items():
            if name not in known and value != spec.attributes.get(name):
                raise MissingError(
                    f"the TBE operator of {spec.name} has no {name}",
                    place=spec.place or spec.name,
                    expected=f"{name}={spec.attributes.get(name)}",
                    got=repr(value),
                )
        self.attributes = sorted_attributes(spec, attributes)
        self.computation = computation_of(spec, self.attributes)
        self.init_prim_io_names(inputs=list(spec.inputs), outputs=list(spec.outputs))
        for name in known:
            self.add_prim_attr(name, as_told(name, self.computation.attributes[name]))
        register(spec, forward)

    def __call__(self, *arguments: Any) -> Any:
        if device_target() != "Ascend":
            raise MissingError(
                f"{self.spec.name} is the primitive for Ascend",
                place=self.spec.name,
                expected="device_target Ascend",
                got=device_target(),
                remedy="On CPU use the Cell, or custom_ops.core.primitive.primitive(spec, attributes)",
            )
        return super().__call__(*arguments)

    def __infer__(self, *given: Mapping[str, Any]) -> dict[str, Any]:
        return inferred(self.computation, given)

    def get_bprop(self) -> Callable[..., Any]:
        """The gradient as a function that MindSpore reads: one primitive, or an error where there is none."""
        if not self.spec.has_tbe_gradient:
            return bprops.refused(len(self.spec.inputs), bprops.refusal(self.spec, 0))
        return _bprop(self.spec, self.attributes)


def called(spec: OpSpec, attributes: Mapping[str, Any], forward: OpSpec | None = None) -> Any:
    """One TBE operator, or several in a row.

    Args:
        spec: of the operator.
        attributes: those that are not the default.
        forward: where `spec` is a gradient, the operator that it is of.

    Raises:
        MissingError: a step has no TBE operator, or one without an attribute that is not the default.
    """
    if spec.tbe_steps is None:
        return AscendPrimitive(spec, attributes, forward=forward)
    steps: TbeSteps = spec.tbe_steps(**spec.with_defaults(attributes))
    if spec.tbe_gradient_steps is None:
        return InARow(steps, spec.inputs, spec.outputs, AscendPrimitive)
    back = _bprop(spec, sorted_attributes(spec, attributes), bare=True)
    return with_gradient(steps, spec.inputs, spec.outputs, AscendPrimitive, back)


def _bprop(spec: OpSpec, attributes: Attributes, *, bare: bool = False) -> Callable[..., Any]:
    """The gradient as a function that MindSpore reads."""
    saved, places = wiring(spec)
    return bprops.of(
        (_gradient(spec, attributes),),
        len(spec.inputs),
        singles=(max(places) == 0,),
        saved=saved,
        places=places,
        several=len(spec.outputs) > 1,
        visible=len(spec.visible),
        bare=bare,
    )


@cache
def _gradient(spec: OpSpec, attributes: Attributes) -> Any:
    return called(gradient_of(spec), dict(attributes), spec)


def registered_name(spec: OpSpec) -> str:
    """What MindSpore and CANN know it by."""
    return PREFIX + spec.name.replace("_grad", "Grad")


def as_told(name: str, value: Any) -> Any:
    """An attribute as the TBE operator is told of it: pairs one after the other, windows as lists, −1 for the padding ``same``."""
    if not _is_window(name, value):
        return [one for pair in value for one in pair] if isinstance(value, tuple) else value
    value = _NAMED_PADDING.get(value, value) if isinstance(value, str) else value
    return [value] * _WINDOW[name] if isinstance(value, int) else list(value)


def _is_window(name: str, value: Any) -> bool:
    return name in _WINDOW and not isinstance(value, float)


def register(spec: OpSpec, forward: OpSpec | None = None) -> None:
    """Tells MindSpore which TBE operator computes it; once in a process.

    Raises:
        MissingError: there is no file of that operator in `tbe_impl.ops`.
    """
    if spec.name in _registered:
        return
    op_info_register(registration(spec, forward))(_function(spec))
    _registered.add(spec.name)


def operator_file(spec: OpSpec) -> Path:
    """The TBE operator of the same meaning, as CANN lays it out: one of `tbe_impl.ops`, or a file of one's own."""
    own = Path(spec.tbe)
    file = own if own.suffix == ".py" else Path(tbe_impl.ops.__file__).parent / f"{spec.tbe}.py"
    if not spec.tbe or not file.is_file():
        raise MissingError(
            f"{spec.name} has no TBE operator, so CANN cannot build it",
            place=spec.place or spec.name,
            expected="a file of tbe_impl.ops, or one of your own, named in the OpSpec (`tbe=`)",
            got=spec.tbe or ("none" if spec.tbe_steps is None else "several in a row"),
            remedy='Use route="composite"',
        )
    return file


@cache
def _function(spec: OpSpec) -> Any:
    """The function of the TBE operator."""
    file = operator_file(spec)
    return inspect.unwrap(load_operator(file, function=file.stem).function)


def known_of(spec: OpSpec) -> Mapping[str, Any]:
    """The names of the file of its TBE operator: DTYPES and FORMATS, where it has other ones than most."""
    names: Mapping[str, Any] = _function(spec).__globals__
    return names


def attributes_of(spec: OpSpec) -> list[str]:
    """The attributes that its TBE operator has too; it computes what the defaults of the others say."""
    parameters = inspect.signature(_function(spec)).parameters
    return [name for name in spec.attributes if name in parameters]


def dtypes_of(spec: OpSpec, dtype: str, forward: OpSpec | None = None) -> dict[str, str]:
    """The dtype of each input and output of an operator where that of its numbers is this one.

    Args:
        spec: of the operator.
        dtype: of its numbers.
        forward: where it is a gradient, the operator that it is of.
    """
    if forward is not None:
        known = dtypes_of(forward, dtype)
        names = (*spec.inputs, *spec.outputs)
        return {name: known.get(name) or known[name.removeprefix("grad_")] for name in names}
    found = {name: spec.integers.get(name, (dtype,))[0] for name in spec.inputs}
    if spec.infer_dtype is not None:
        return found | dict(zip(spec.outputs, spec.infer_dtype(*found.values()), strict=True))
    if spec.forward is None or not spec.samples:
        return found | dict.fromkeys(spec.outputs, dtype)
    given = [
        Described(shape, kind) for shape, kind in zip(spec.samples[0], found.values(), strict=True)
    ]
    made = computation_of(spec, sorted_attributes(spec, {})).describe(given)
    return found | {name: one.dtype for name, one in zip(spec.outputs, made, strict=True)}


def registration(spec: OpSpec, forward: OpSpec | None = None) -> Any:
    """What MindSpore has to know of a TBE operator, in its own form.

    Args:
        spec: of the operator.
        forward: where it is a gradient, the operator that it is of.
    """
    told = known_of(spec)
    kernel_name = operator_file(spec).stem
    record = (
        TBERegOp(registered_name(spec))
        .fusion_type("OPAQUE")
        .async_flag(False)
        .binfile_name(f"{kernel_name}.so")
        .compute_cost(10)
        .kernel_name(kernel_name)
        .partial_flag(True)
    )
    for name in attributes_of(spec):
        default = spec.attributes[name]
        kind = "listInt" if _is_window(name, default) else _ATTRIBUTES[type(default)]
        record = record.attr(name, "required", kind, "all")
    for place, name in enumerate(spec.inputs):
        record = record.input(place, name, False, "required", "all")
    for place, name in enumerate(spec.outputs):
        record = record.output(place, name, False, "required", "all")
    formats, more = told.get("FORMATS", {}), told.get("OTHER_DTYPES", {})
    others = [{name: kind} for name, kinds in more.items() for kind in kinds]
    for dtype in told.get("DTYPES", _FLOATS):
        kinds = dtypes_of(spec, dtype, forward)
        for other in ({}, *others):
            record = record.dtype_format(
                *(
                    getattr(
                        DataType, f"{_DTYPES[(kinds | other)[name]]}_{formats.get(name, 'Default')}"
                    )
                    for name in (*spec.inputs, *spec.outputs)
                )
            )
    return record.get_op_info()
