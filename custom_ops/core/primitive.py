"""Defines MindSpore primitives (`ops.Custom`) that call our kernels on CPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mindspore
from mindspore import ops
from mindspore.ops import CustomRegOp, DataType
from mindspore.ops import signature as sig

from custom_ops.core import bprops, dispatch, pynative_fast_path
from custom_ops.core.arrays import Attributes, attribute_key, computation_of
from custom_ops.core.cell_call import tensor_error
from custom_ops.core.computation import Computation
from custom_ops.core.framework import device_target
from custom_ops.core.gradient import gradient_of, wiring
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.lru_cache import LruCache
from custom_ops.core.operator_spec import OpSpec, cache_in_spec
from custom_ops.core.pynative_fast_path import FastCall
from tbe_impl.errors import InputError, MissingError

MAX_ORDER = 2
"""Highest derivative order that has kernels."""


class FusedPrimitive(ops.Custom):
    """MindSpore primitive that calls our kernel.

    Args:
        spec: the `OpSpec` of the operator.
        attributes: all attributes, defaults included.
        order: derivative order of `spec`: 0 for an operator, 1 for its gradient operator.
        eager: whether output shapes and dtypes are inferred in C. Inference in C is fast, but if
            the operator raises an error, MindSpore reports an error of its own instead. In
            PyNative, an eager primitive is therefore used only after inference in Python succeeded
            for the same input shapes and dtypes.
    """

    def __init__(self, spec: OpSpec, attributes: Attributes, order: int, *, eager: bool):
        self.spec, self.attributes = spec, attributes
        self.order, self.eager = order, eager
        self.computation = computation_of(spec, attributes)
        self._called: LruCache[tuple[Any, ...], FusedPrimitive] = LruCache(
            pynative_fast_path.MAX_SIGNATURES
        )
        entry = _entry(spec, attributes)
        super().__init__(
            f"{entry.file}:{entry.function}",
            out_shape=None,
            out_dtype=None if eager else self._dtypes,
            func_type="aot",
            bprop=_bprop(spec, attributes, order, eager),
            reg_info=_build_op_info(spec),
        )
        # read by ms_fusion's ledger
        self.add_prim_attr("brought_by", spec.made_by)
        if spec.made_of:
            self.add_prim_attr("made_of", " ".join(spec.made_of))
        if spec.made_by == "user":
            self.add_prim_attr("written_at", spec.place)
        self._direct = _build_fast_call(spec, attributes, order)
        if spec.overwrites:
            self.set_signatures(_signatures(spec))
            self.add_prim_attr("side_effect_mem", True)

    def __infer__(self, *given: Mapping[str, Any]) -> dict[str, Any]:
        """Infers shapes and dtypes of the outputs at compile time.

        Raises:
            InputError: an argument is not a tensor, or the operator rejects the inputs.
        """
        for place, one in enumerate(given):
            if not isinstance(one["dtype"], mindspore.common.dtype.TensorType):
                raise self._tensor_error(place, one["value"])
        return infer_outputs(self.computation, given)

    def __call__(self, *arguments: Any) -> Any:
        """Runs the operator in PyNative, without MindSpore's dispatch where possible."""
        if self.eager:
            return super().__call__(*arguments)
        if self._direct is not None and not (self.spec.bprop and pynative_fast_path.is_recording()):
            made = self._direct(arguments)
            if made is not None:
                return made
        for place, one in enumerate(arguments):
            if not isinstance(one, mindspore.Tensor):
                raise self._tensor_error(place, one)
        called = tuple([(one.shape, one.dtype) for one in arguments])
        quick = self._called.get(called)
        if quick is None:
            self.computation.describe(
                [ArraySpec(tuple(shape), str(dtype).lower()) for shape, dtype in called]
            )
            quick = self._called[called] = _build_primitive(
                self.spec, self.attributes, self.order, True
            )
        return quick(*arguments)

    def _tensor_error(self, place: int, value: Any) -> InputError:
        names = self.spec.inputs
        argument = names[place] if place < len(names) else f"argument {place + 1}"
        return tensor_error(self.spec.name, argument, value)

    def _dtypes(self, *given: Any) -> Any:
        raise AssertionError("MindSpore calls __infer__ instead")

    def __reduce__(self) -> tuple[Any, ...]:
        return _build_primitive, (self.spec, self.attributes, self.order, self.eager)

    def __deepcopy__(self, memo: Any) -> FusedPrimitive:
        return self


def primitive(
    spec: OpSpec, attributes: Mapping[str, Any], *, eager: bool = False
) -> FusedPrimitive:
    """Returns the operator's primitive for these attributes; primitives are cached.

    Raises:
        MissingError: there is no C compiler, or MindSpore's device target is not CPU.
        InputError: an attribute is unknown, or has no value.
    """
    target = device_target()
    if target != "CPU":
        raise MissingError(
            f"{spec.name} has a kernel for CPU only",
            place=spec.place or spec.name,
            expected="device_target CPU",
            got=target,
            remedy="Use MindSpore's operators on that device, "
            "or on Ascend custom_ops.ascend.AscendPrimitive",
        )
    return _build_primitive(spec, attribute_key(spec, attributes), 0, eager)


@cache_in_spec
def _build_primitive(
    spec: OpSpec, attributes: Attributes, order: int, eager: bool
) -> FusedPrimitive:
    return FusedPrimitive(spec, attributes, order, eager=eager)


@cache_in_spec
def _entry(spec: OpSpec, attributes: Attributes) -> dispatch.Entry:
    return dispatch.entry_of(computation_of(spec, attributes))


def _build_op_info(spec: OpSpec) -> Any:
    record = CustomRegOp(spec.name)
    for place, name in enumerate(spec.inputs):
        record = record.input(place, name)
    for place, name in enumerate(spec.outputs):
        record = record.output(place, name)
    every = [DataType.None_None] * (len(spec.inputs) + len(spec.outputs))
    return record.dtype_format(*every).target("CPU").get_op_info()


def _signatures(spec: OpSpec) -> Any:
    """Returns MindSpore signatures which declare that the operator writes ``spec.overwrites``.

    MindSpore then preserves the order of reads and writes of a Parameter.
    """
    kinds = [
        sig.sig_rw.RW_WRITE if name in spec.overwrites else sig.sig_rw.RW_READ
        for name in spec.inputs
    ]
    return tuple(sig.make_sig(name, kind) for name, kind in zip(spec.inputs, kinds, strict=True))


def _gradients(
    spec: OpSpec, attributes: Attributes, order: int, *, eager: bool = False
) -> tuple[pynative_fast_path.Gradient, ...]:
    """Returns the operators that compute the gradients of an operator.

    Returns an empty tuple if no generated operator can compute them.
    """
    if (
        spec.bprop is not None
        or order >= MAX_ORDER
        or not spec.differentiable_inputs
        or len(spec.inputs) > bprops.MAX_INPUTS
    ):
        return ()
    found = []
    for part in spec.gradient_groups or ((),):
        saved, places = wiring(spec, part)
        call = _build_primitive(gradient_of(spec, part), attributes, order + 1, eager)
        found.append(pynative_fast_path.Gradient(call, saved, places, len(spec.visible_outputs)))
    return tuple(found)


def _build_fast_call(spec: OpSpec, attributes: Attributes, order: int) -> FastCall | None:
    if not pynative_fast_path.IS_KNOWN or spec.overwrites:
        return None
    return FastCall(
        computation_of(spec, attributes),
        _gradients(spec, attributes, order),
        bprops.missing_gradient_message(spec, order),
    )


def _bprop(spec: OpSpec, attributes: Attributes, order: int, eager: bool) -> Any:
    """Returns the bprop of an operator, a function that MindSpore parses.

    The bprop returns zeros for inputs that are not differentiable.
    """
    if spec.bprop is not None:
        return spec.bprop
    found = _gradients(spec, attributes, order, eager=eager)
    if not found:
        return bprops.build_raising_bprop(
            len(spec.inputs), bprops.missing_gradient_message(spec, order)
        )
    places, first = [-1] * len(spec.inputs), 0
    for one in found:
        for place, output in enumerate(one.places):
            places[place] = output + first if output >= 0 else places[place]
        first += one.gradient_count
    return bprops.build_bprop(
        tuple(one.call for one in found),
        len(spec.inputs),
        singles=tuple(one.gradient_count == 1 for one in found),
        saved=found[0].saved,
        places=tuple(places),
        several=len(spec.outputs) > 1,
        visible=len(spec.visible_outputs),
    )


def infer_outputs(computation: Computation, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns shapes and dtypes of the outputs, in the format of MindSpore's ``__infer__``."""
    found = computation.describe_dynamic([_describe_argument(one) for one in given])
    return pack_outputs((one.shape, one.dtype) for one in found)


def pack_outputs(found: Iterable[tuple[Sequence[int], str]]) -> dict[str, Any]:
    """Returns the (shape, dtype) pairs of outputs in the format of MindSpore's ``__infer__``."""
    made = [(list(shape), mindspore_dtype(dtype)) for shape, dtype in found]
    shapes, dtypes = made[0] if len(made) == 1 else zip(*made, strict=True)
    return {"shape": shapes, "dtype": dtypes, "value": None}


def _describe_argument(given: Mapping[str, Any]) -> ArraySpec:
    return ArraySpec(tuple(given["shape"]), dtype_name(given["dtype"]))


def dtype_name(dtype: Any) -> str:
    """Returns the name of a MindSpore dtype; for a tensor type, the name of the element dtype."""
    element = dtype.element_type() if hasattr(dtype, "element_type") else dtype
    return str(element).lower()


def mindspore_dtype(name: str) -> Any:
    """Returns MindSpore's tensor type for a dtype."""
    # with a bare element type MindSpore treats an empty shape as a scalar
    return mindspore.common.dtype.TensorType(
        getattr(mindspore, "bool_" if name == "bool" else name)
    )
