"""Defines `Call`, the argument of an operator's NumPy formula and of its lowering rule to the DSL.

Functions such as `unary` turn a NumPy function into a formula.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from ms_fusion.ops.late_imports import np
from tbe_impl.errors import InputError

if TYPE_CHECKING:
    import numpy

    from ms_fusion.graph import Node, Value

Array: TypeAlias = "numpy.ndarray"
ONNX_OP = "onnx_op"
"""Name of a node attribute that holds the operator's ONNX name.

The ONNX name is preceded by ``domain.`` if the domain is not ONNX's own.
"""
ONNX_VERSION = "onnx_version"
"""Name of a node attribute that holds the opset version of the operator's domain."""


def is_float(name: str) -> bool:
    """Returns whether `name` is NumPy's name of a floating-point dtype, or ``bfloat16``."""
    return name in ("float16", "bfloat16", "float32", "float64")


def numpy_dtype(name: str) -> numpy.dtype[Any]:
    """Returns the NumPy dtype of this name; for bfloat16 the dtype of `ml_dtypes`."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class Call(msgspec.Struct, frozen=True):
    """One operator with its inputs, for a formula or a lowering rule.

    Attributes:
        node: the operator.
        inputs: the operator's inputs in order, constants included; NumPy arrays, or traced tensors
            if the operator is lowered. An omitted optional input of ONNX is None.
        output: description of the operator's first result in the graph.
        dtype: dtype of floating-point arithmetic.
        sizes: sizes of the result; each is an integer, an expression that is evaluated at run time,
            or None if unknown. The whole tuple is None if `output` has the sizes.
    """

    node: Node
    inputs: tuple[Any, ...]
    output: Value
    dtype: numpy.dtype[Any]
    sizes: tuple[Any, ...] | None = None

    def in_form(
        self,
        *,
        op: str | None = None,
        inputs: tuple[Any, ...] | None = None,
        sizes: tuple[Any, ...] | None = None,
        **attributes: Any,
    ) -> Call:
        """Returns the call with another operator type, other inputs or further attributes."""
        from dataclasses import replace

        attrs = tuple(sorted({**dict(self.node.attrs), **attributes}.items()))
        return Call(
            replace(self.node, op=op or self.node.op, attrs=attrs),
            self.inputs if inputs is None else inputs,
            self.output,
            self.dtype,
            self.sizes if sizes is None else sizes,
        )

    def optional_input(self, position: int) -> Any:
        """Returns an input; None if it is omitted."""
        return self.inputs[position] if position < len(self.inputs) else None

    def attribute(self, name: str) -> Any:
        """Returns an attribute of the operator; raises `InputError` if it is absent."""
        found = self.node.attr(name)
        if found is None:
            raise InputError(f"its attribute {name} is not known", place=self.node.name)
        return found

    def flag(self, name: str, position: int | None = None) -> bool:
        """Returns a boolean argument of the operator; False if it is absent."""
        return bool(self.number(name, position))

    def number(self, name: str, position: int | None = None, *, default: float = 0.0) -> float:
        """Returns a numeric argument of the operator; `default` if it is absent."""
        found = self._argument(name, position)
        return default if found is None or not found.size else float(found[0])

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Returns an operator's list of integers, such as axes; None if it is absent."""
        found = self._argument(name, position)
        return None if found is None else tuple(int(number) for number in found)

    def _argument(self, name: str, position: int | None) -> Array | None:
        """Returns an argument of the operator as a flat array; None if it is absent.

        It is the attribute `name` in graphs of older MindSpore versions, and the input at
        `position` in graphs of newer versions. Raises `InputError` if the input is computed.
        """
        given = None if position is None else self.optional_input(position)
        if given is None:
            given = self.node.attr(name)
        elif not isinstance(given, np.ndarray | np.generic):
            raise InputError(f"{name} is computed while the model runs", place=self.node.name)
        return None if given is None else np.asarray(given).reshape(-1)


Formula = Callable[[Call], Array]
"""Function that computes the result of a call.

Operands are NumPy arrays, or traced tensors with NumPy's interface (`tbe_impl.tracing`). Floating
operands have the dtype of the arithmetic, float64 for a reference; integer and bool operands keep
their own dtype.
"""


def unary(function: Callable[[Any], Any]) -> Formula:
    """Returns the formula that applies `function` to the first operand."""
    return lambda call: function(call.inputs[0])


def binary(function: Callable[[Any, Any], Any]) -> Formula:
    """Returns the formula that applies `function` to the first two operands."""
    return lambda call: function(call.inputs[0], call.inputs[1])


def nary(function: Callable[..., Any]) -> Formula:
    """Returns the formula that applies `function` to all operands."""
    return lambda call: function(*call.inputs)


def fold(function: Callable[[Any, Any], Any]) -> Formula:
    """Returns the formula that combines all operands by `function`, from the first to the last."""
    return lambda call: reduce(function, call.inputs)


def pointwise(function: Callable[[float], float]) -> Formula:
    """Returns a formula that applies a scalar function of `math` to each element.

    The results are exact to one ULP of float64.
    """

    def formula(call: Call) -> Array:
        vectorised = np.frompyfunc(function, 1, 1)
        return vectorised(np.asarray(call.inputs[0], np.float64)).astype(call.dtype)

    return formula


def static_result_shape(call: Call) -> tuple[Any, ...]:
    """Returns the sizes of the result: those in the call, else those in the graph.

    If the shape in the graph is dynamic too, returns the call's argument `shape`.
    """
    if call.sizes is not None:
        return call.sizes
    if not call.output.is_dynamic:
        return tuple(int(size) for size in call.output.shape)
    return call.integers("shape", 1) or ()
