"""Builds an Ascend primitive for each operator, and registers the TBE operators with CANN.

This module is untested, because no Ascend device was available.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mindspore.ops import DataType, PrimitiveWithInfer, TBERegOp, op_info_register

import tbe_impl.ops
from custom_ops.core import bprops
from custom_ops.core.arrays import Attributes, attribute_key, computation_of
from custom_ops.core.framework import device_target
from custom_ops.core.gradient import gradient_of, wiring
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.primitive import infer_outputs
from custom_ops.tbe_bridge.operator_files import flatten_pairs, function_name, write_entry
from custom_ops.tbe_bridge.sequence_cell import SequenceCell, build_differentiable_sequence
from custom_ops.tbe_bridge.tbe_sequence import TbeSteps
from tbe_impl import environment
from tbe_impl.errors import MissingError
from tbe_impl.loading.operator import load_operator
from tbe_impl.loading.operator_reference import split_target

PREFIX = "CustomOps"
"""Prefix of the names of registered operators; MindSpore and CANN do not use this prefix."""
FOLDER = "operator_files"
"""Name of the directory, inside the cache directory, for generated TBE operator files."""
_DTYPES = {"float16": "F16", "float32": "F32", "int32": "I32", "bool": "BOOL"}
"""Dict from the name of a dtype to its abbreviation in TBE registrations."""
_FLOATS = ("float16", "float32")
_ATTRIBUTES = {bool: "bool", int: "int", float: "float", str: "str", tuple: "listFloat"}
_WINDOW = {"stride": 2, "padding": 4, "dilation": 2}
"""Dict from an attribute of a window (such as the stride) to the length of its list in TBE.

The TBE operator takes a list of this length. Users may pass one integer instead.
"""
_NAMED_PADDING = {"same": -1, "valid": 0}
_registered_names: set[str] = set()


class AscendPrimitive(PrimitiveWithInfer):
    """Primitive that runs a TBE operator on Ascend; CANN builds the TBE operator.

    Args:
        spec: the `OpSpec` of the operator.
        attributes: the attribute values that differ from the defaults.
        forward: the `OpSpec` of the forward operator if `spec` is a gradient operator; otherwise
            None.

    Raises:
        MissingError: the primitive is called on a device other than Ascend, the operator has no TBE
            operator, or an attribute differs from its default although the TBE operator does not
            take this attribute.
    """

    def __init__(
        self, spec: OpSpec, attributes: Mapping[str, Any], *, forward: OpSpec | None = None
    ):
        super().__init__(registration_name(spec))
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
        self.attributes = attribute_key(spec, attributes)
        self.computation = computation_of(spec, self.attributes)
        self.init_prim_io_names(inputs=list(spec.inputs), outputs=list(spec.outputs))
        for name in known:
            self.add_prim_attr(name, encode_attribute(name, self.computation.attributes[name]))
        register(spec, forward)

    def __call__(self, *arguments: Any) -> Any:
        if device_target() != "Ascend":
            raise MissingError(
                f"{self.spec.name} is the primitive for Ascend",
                place=self.spec.name,
                expected="device_target Ascend",
                got=device_target(),
                remedy="On CPU use the Cell, or "
                "custom_ops.core.primitive.primitive(spec, attributes)",
            )
        return super().__call__(*arguments)

    def __infer__(self, *given: Mapping[str, Any]) -> dict[str, Any]:
        return infer_outputs(self.computation, given)

    def get_bprop(self) -> Callable[..., Any]:
        """Returns the bprop for MindSpore; without a TBE gradient, the bprop raises an error."""
        if not self.spec.has_tbe_gradient:
            return bprops.build_raising_bprop(
                len(self.spec.inputs), bprops.missing_gradient_message(self.spec, 0)
            )
        return _bprop(self.spec, self.attributes)


def build_call(spec: OpSpec, attributes: Mapping[str, Any], forward: OpSpec | None = None) -> Any:
    """Builds a primitive that runs one TBE operator, or a Cell that runs several in sequence.

    Args:
        spec: the `OpSpec` of the operator.
        attributes: the attribute values that differ from the defaults.
        forward: the `OpSpec` of the forward operator if `spec` is a gradient operator; otherwise
            None.

    Raises:
        MissingError: the operator, or an operator of its sequence, has no TBE operator. The error
            is also raised if an attribute differs from its default although the TBE operator does
            not take this attribute.
    """
    if spec.tbe_steps is None:
        return AscendPrimitive(spec, attributes, forward=forward)
    steps: TbeSteps = spec.tbe_steps(**spec.with_defaults(attributes))
    if spec.tbe_gradient_steps is None:
        return SequenceCell(steps, spec.inputs, spec.outputs, AscendPrimitive)
    back = _bprop(spec, attribute_key(spec, attributes), bare=True)
    return build_differentiable_sequence(steps, spec.inputs, spec.outputs, AscendPrimitive, back)


def _bprop(spec: OpSpec, attributes: Attributes, *, bare: bool = False) -> Callable[..., Any]:
    """Builds a bprop that calls the operator's gradient operator; MindSpore can parse the bprop."""
    saved, places = wiring(spec)
    return bprops.build_bprop(
        (_build_gradient_call(spec, attributes),),
        len(spec.inputs),
        singles=(max(places) == 0,),
        saved=saved,
        places=places,
        several=len(spec.outputs) > 1,
        visible=len(spec.visible_outputs),
        bare=bare,
    )


@cache
def _build_gradient_call(spec: OpSpec, attributes: Attributes) -> Any:
    return build_call(gradient_of(spec), dict(attributes), spec)


def registration_name(spec: OpSpec) -> str:
    """Returns the name under which the operator is registered with MindSpore and CANN."""
    return PREFIX + spec.name.replace("_grad", "Grad")


def encode_attribute(name: str, value: Any) -> Any:
    """Returns the value of an attribute in the form that the TBE operator takes.

    A tuple of pairs is flattened. The attributes stride, padding and dilation become lists of
    integers. In the padding, ``same`` becomes −1, and ``valid`` becomes 0.
    """
    if not _is_window(name, value):
        return flatten_pairs(value)
    value = _NAMED_PADDING.get(value, value) if isinstance(value, str) else value
    return [value] * _WINDOW[name] if isinstance(value, int) else list(value)


def _is_window(name: str, value: Any) -> bool:
    return name in _WINDOW and not isinstance(value, float)


def register(spec: OpSpec, forward: OpSpec | None = None) -> None:
    """Registers the TBE operator with MindSpore, once per process.

    Raises:
        MissingError: the operator has no TBE operator.
    """
    if spec.name in _registered_names:
        return
    op_info_register(build_op_info(spec, forward))(_load_tbe_function(spec))
    _registered_names.add(spec.name)


def operator_file(spec: OpSpec) -> tuple[Path, str]:
    """Returns the path of the TBE operator's file, and the name of the operator function.

    If the spec has a computation, `custom_ops.tbe_bridge.operator_files` generates the file from
    this computation. Otherwise the spec names an existing file.

    Raises:
        MissingError: the spec names no file, or the file does not exist.
    """
    if spec.tbe_computation is not None:
        return write_entry(spec, environment.cache_dir() / FOLDER), function_name(spec)
    file, function = split_target(str(spec.tbe))
    file = file if file.suffix == ".py" else tbe_impl.ops.HERE / f"{file}.py"
    if not spec.tbe or not file.is_file():
        raise MissingError(
            f"{spec.name} has no TBE operator, so CANN cannot build it",
            place=spec.place or spec.name,
            expected="a computation in the DSL, a module of tbe_impl.ops, or a file of your own, "
            "named in the OpSpec (`tbe=`)",
            got=str(spec.tbe) or ("none" if spec.tbe_steps is None else "a sequence of operators"),
            remedy='Use route="composite"',
        )
    return file, function or file.stem


@cache
def _load_tbe_function(spec: OpSpec) -> Any:
    """Loads the TBE operator's file and returns the operator function."""
    file, function = operator_file(spec)
    return inspect.unwrap(load_operator(file, function=function).function)


def operator_file_globals(spec: OpSpec) -> Mapping[str, Any]:
    """Returns the global variables that the TBE operator's file defines.

    The file may define DTYPES, FORMATS and OTHER_DTYPES. These variables replace the defaults of
    `build_op_info`.
    """
    return _load_tbe_function(spec).__globals__


def attributes_of(spec: OpSpec) -> list[str]:
    """Returns the names of the attributes that the TBE operator takes.

    For all other attributes, the TBE operator computes with the default values.
    """
    parameters = inspect.signature(_load_tbe_function(spec)).parameters
    return [name for name in spec.attributes if name in parameters]


def dtypes_of(spec: OpSpec, dtype: str, forward: OpSpec | None = None) -> dict[str, str]:
    """Returns the dtype of each input and output for a given compute dtype.

    Args:
        spec: the `OpSpec` of the operator.
        dtype: the compute dtype.
        forward: the `OpSpec` of the forward operator if `spec` is a gradient operator; otherwise
            None.
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
        ArraySpec(shape, kind) for shape, kind in zip(spec.samples[0], found.values(), strict=True)
    ]
    made = computation_of(spec, attribute_key(spec, {})).describe(given)
    return found | {name: one.dtype for name, one in zip(spec.outputs, made, strict=True)}


def build_op_info(spec: OpSpec, forward: OpSpec | None = None) -> Any:
    """Builds MindSpore's registration record (``TBERegOp``) of a TBE operator.

    Args:
        spec: the `OpSpec` of the operator.
        forward: the `OpSpec` of the forward operator if `spec` is a gradient operator; otherwise
            None.
    """
    told = operator_file_globals(spec)
    _, kernel_name = operator_file(spec)
    record = (
        TBERegOp(registration_name(spec))
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
