"""Operators on Ascend: the primitive, and the TBE operator that CANN builds for it. Written, untested without a device."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mindspore.ops import DataType, PrimitiveWithInfer, TBERegOp, op_info_register

import tbe_impl.ops
from custom_ops.arrays import computation_of, sorted_attributes
from custom_ops.specs import OpSpec
from tbe_impl.errors import MissingError
from tbe_impl.operator import load_operator

_DTYPES = {"float16": "F16", "float32": "F32"}
"""What the operators of `tbe_impl.ops` compute in, as TBE registrations call it."""
_ATTRIBUTES = {bool: "bool", int: "int", float: "float", str: "str"}
_registered: set[str] = set()


class AscendPrimitive(PrimitiveWithInfer):
    """The primitive that a graph for Ascend holds; CANN builds the operator of the same name.

    Raises:
        MissingError: it is called on another device; or the operator has no TBE operator, or one without an attribute that is
            not the default.
    """

    def __init__(self, spec: OpSpec, attributes: Mapping[str, Any]):
        super().__init__(spec.name)
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
        self.computation = computation_of(spec, sorted_attributes(spec, attributes))
        self.init_prim_io_names(inputs=list(spec.inputs), outputs=list(spec.outputs))
        for name in known:
            value = self.computation.attributes[name]
            self.add_prim_attr(name, value)
        register(spec)

    def __call__(self, *arguments: Any) -> Any:
        import mindspore

        target = mindspore.get_context("device_target")
        if target != "Ascend":
            raise MissingError(
                f"{self.spec.name} is the primitive for Ascend",
                place=self.spec.name,
                expected="device_target Ascend",
                got=str(target),
                remedy="On CPU use the Cell, or custom_ops.primitive.primitive(spec, attributes)",
            )
        return super().__call__(*arguments)

    def __infer__(self, *given: Mapping[str, Any]) -> dict[str, Any]:
        from custom_ops.primitive import inferred

        return inferred(self.computation, given)


def register(spec: OpSpec) -> None:
    """Tells MindSpore which TBE operator computes it; once in a process.

    Raises:
        MissingError: there is no file of that operator in `tbe_impl.ops`.
    """
    if spec.name in _registered:
        return
    file = operator_file(spec)
    operator = load_operator(file, function=file.stem)
    op_info_register(registration(spec, file.stem))(inspect.unwrap(operator.function))
    _registered.add(spec.name)


def operator_file(spec: OpSpec) -> Path:
    """The TBE operator of the same meaning, as CANN lays it out."""
    file = Path(tbe_impl.ops.__file__).with_name(f"{spec.tbe}.py")
    if not spec.tbe or not file.is_file():
        raise MissingError(
            f"{spec.name} has no TBE operator, so CANN cannot build it",
            place=spec.place or spec.name,
            expected="a file of tbe_impl.ops named in the OpSpec (`tbe=`)",
        )
    return file


def attributes_of(spec: OpSpec) -> list[str]:
    """The attributes that its TBE operator has too; it computes what the defaults of the others say."""
    file = operator_file(spec)
    function = inspect.unwrap(load_operator(file, function=file.stem).function)
    return [name for name in spec.attributes if name in inspect.signature(function).parameters]


def registration(spec: OpSpec, kernel_name: str) -> Any:
    """What MindSpore has to know of a TBE operator, in its own form."""
    record = (
        TBERegOp(spec.name)
        .fusion_type("OPAQUE")
        .async_flag(False)
        .binfile_name(f"{kernel_name}.so")
        .compute_cost(10)
        .kernel_name(kernel_name)
        .partial_flag(True)
    )
    for name in attributes_of(spec):
        value = spec.attributes[name]
        record = record.attr(name, "required", _ATTRIBUTES.get(type(value), "listInt"), "all")
    for place, name in enumerate(spec.inputs):
        record = record.input(place, name, False, "required", "all")
    for place, name in enumerate(spec.outputs):
        record = record.output(place, name, False, "required", "all")
    for dtype, name in _DTYPES.items():
        if dtype in spec.dtypes:
            count = len(spec.inputs) + len(spec.outputs)
            record = record.dtype_format(*[getattr(DataType, f"{name}_Default")] * count)
    return record.get_op_info()
