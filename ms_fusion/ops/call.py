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
"""Name of a node attribute whose value is the operator's ONNX name.

If the domain is not ONNX's own, the value begins with the domain and a dot.
"""
ONNX_VERSION = "onnx_version"
"""Name of a node attribute whose value is the opset version of the operator's domain."""


def is_float(name: str) -> bool:
    """Returns whether `name` is NumPy's name of a floating-point dtype, or ``bfloat16``."""
    return name in ("float16", "bfloat16", "float32", "float64")


def numpy_dtype(name: str) -> numpy.dtype[Any]:
    """Returns the NumPy dtype with the name `name`; bfloat16 is a dtype of `ml_dtypes`."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class Call(msgspec.Struct, frozen=True):
    """One operator with its inputs: the argument of the functions that compute an operator.

    Attributes:
        node: node of the operator in a graph.
        inputs: the operator's inputs in order, including constants. They are NumPy arrays, or
            symbolic tensors (`tbe_impl.tracing`) if the operator is lowered. An omitted optional
            input of ONNX is None.
        output: description of the operator's first result in the graph.
        dtype: dtype of floating-point arithmetic.
        sizes: tuple of the sizes of the result. Each size is an integer, an expression that is
            evaluated at run time, or None if it is unknown. If `output` has the sizes, `sizes` is
            None.
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
        """Returns a copy of the call with another operator type, other inputs or new attributes."""
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
        """Returns the input at `position`, or None if the input is omitted."""
        return self.inputs[position] if position < len(self.inputs) else None

    def attribute(self, name: str) -> Any:
        """Returns an attribute of the operator; raises `InputError` if it is absent."""
        found = self.node.attr(name)
        if found is None:
            raise InputError(f"its attribute {name} is not known", place=self.node.name)
        return found

    def flag(self, name: str, position: int | None = None) -> bool:
        """Returns a boolean argument of the operator, or False if it is absent."""
        return bool(self.number(name, position))

    def number(self, name: str, position: int | None = None, *, default: float = 0.0) -> float:
        """Returns a numeric argument of the operator, or `default` if it is absent."""
        found = self._argument(name, position)
        return default if found is None or not found.size else float(found[0])

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Returns an operator's list of integers, such as axes, or None if the list is absent."""
        found = self._argument(name, position)
        return None if found is None else tuple(int(number) for number in found)

    def _argument(self, name: str, position: int | None) -> Array | None:
        """Returns an argument of the operator as a flat array, or None if it is absent.

        In graphs of older MindSpore versions, the argument is the attribute `name`. In graphs of
        newer versions, the argument is the input at `position`. Raises `InputError` if this input
        is not a constant.
        """
        given = None if position is None else self.optional_input(position)
        if given is None:
            given = self.node.attr(name)
        elif not isinstance(given, np.ndarray | np.generic):
            raise InputError(f"{name} is computed while the model runs", place=self.node.name)
        return None if given is None else np.asarray(given).reshape(-1)


Formula = Callable[[Call], Array]
"""Function that computes the result of a `Call`.

Operands are NumPy arrays, or symbolic tensors with NumPy's interface (`tbe_impl.tracing`). Floating
operands have the dtype of the arithmetic, which is float64 for a reference. Integer and bool
operands have their own dtype.
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
    """Returns the formula that combines all operands pairwise by `function`, first to last."""
    return lambda call: reduce(function, call.inputs)


def pointwise(function: Callable[[float], float]) -> Formula:
    """Returns a formula that applies a scalar function of `math` to each element.

    The error of the results is at most one ULP of float64.
    """

    def formula(call: Call) -> Array:
        vectorised = np.frompyfunc(function, 1, 1)
        return vectorised(np.asarray(call.inputs[0], np.float64)).astype(call.dtype)

    return formula


def static_result_shape(call: Call) -> tuple[Any, ...]:
    """Returns the sizes of the result: the sizes in the call, or else the sizes in the graph.

    If the call has no sizes and the sizes in the graph are dynamic, returns the argument `shape` of
    the operator.
    """
    if call.sizes is not None:
        return call.sizes
    if not call.output.is_dynamic:
        return tuple(int(size) for size in call.output.shape)
    return call.integers("shape", 1) or ()
