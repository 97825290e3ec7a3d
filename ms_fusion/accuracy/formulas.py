"""Defines each basic operator by a NumPy formula.

Floating-point operands have the dtype of the arithmetic, float64 by default. Integer and bool
operands keep their own dtype.

One file of more than 500 lines: it is the table of formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ms_fusion.accuracy import pooling, resizing
from ms_fusion.accuracy.activations import ACTIVATIONS, sigmoid, softplus
from ms_fusion.accuracy.composite_formulas import COMPOSITE_FORMULAS, nary_formula
from ms_fusion.accuracy.convolutions import convolution, gradient_of_weight, gradient_of_x
from ms_fusion.accuracy.windows import PoolingWindows, window_arguments, windows
from ms_fusion.graph import Node, Value

Array = np.ndarray


def is_float(name: str) -> bool:
    """Returns whether the dtype of this NumPy name is floating-point; includes bfloat16."""
    return name in ("float16", "bfloat16", "float32", "float64")


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns the NumPy dtype of this name; for bfloat16 the dtype of `ml_dtypes`."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


@dataclass(frozen=True)
class Call:
    """One operator to be replayed.

    Attributes:
        node: the operator.
        inputs: arrays of the operator's inputs in order, constants included.
        output: description of the operator's first result in the graph.
        dtype: dtype of floating-point arithmetic.
    """

    node: Node
    inputs: tuple[Array, ...]
    output: Value
    dtype: np.dtype[Any]

    def flag(self, name: str, position: int | None = None) -> bool:
        """Returns a boolean argument; False if it is absent."""
        return bool(self.number(name, position))

    def number(self, name: str, position: int | None = None, *, default: float = 0.0) -> float:
        """Returns a numeric argument; `default` if it is absent."""
        found = self._argument(name, position)
        return default if found is None or not found.size else float(found[0])

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...] | None:
        """Returns an argument that is a list of integers, such as axes; None if it is absent."""
        found = self._argument(name, position)
        return None if found is None else tuple(int(number) for number in found)

    def _argument(self, name: str, position: int | None) -> Array | None:
        """Returns an argument as a flat array; None if it is absent.

        In newer files it is the input at `position`, in older files the attribute `name`.
        """
        if position is not None and position < len(self.inputs):
            return self.inputs[position].reshape(-1)
        found = self.node.attr(name)
        return None if found is None else np.asarray(found).reshape(-1)


Formula = Callable[[Call], Array]


def _unary_formula(function: Callable[[Array], Array]) -> Formula:
    return lambda call: function(call.inputs[0])


def _binary_formula(function: Callable[[Array, Array], Array]) -> Formula:
    return lambda call: function(call.inputs[0], call.inputs[1])


def _pointwise_formula(function: Callable[[float], float]) -> Formula:
    """Returns a formula that applies a scalar function of `math` to each element.

    The results are exact to one ULP of float64.
    """
    vectorised = np.frompyfunc(function, 1, 1)
    return lambda call: vectorised(np.asarray(call.inputs[0], np.float64)).astype(call.dtype)


def _reduction_formula(function: Callable[..., Array]) -> Formula:
    def formula(call: Call) -> Array:
        source = call.inputs[0]
        axes = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
        keep = call.flag("keep_dims", 2)
        every = (
            tuple(range(source.ndim))
            if not axes
            else tuple(axis % max(source.ndim, 1) for axis in axes)
        )
        result = np.asarray(function(source, axis=every if source.ndim else None, keepdims=keep))
        return result.astype(source.dtype, copy=False) if source.dtype.kind in "iu" else result

    return formula


def _divide(x: Array, y: Array) -> Array:
    """Divides; an integer quotient is truncated toward zero, and is 0 if the divisor is 0."""
    if x.dtype.kind not in "iu":
        return np.true_divide(x, y)
    safe = np.where(y == 0, 1, y)
    quotient = np.floor_divide(x, safe)
    truncated = quotient + ((np.remainder(x, safe) != 0) & ((x < 0) != (safe < 0)))
    return np.where(y == 0, 0, truncated).astype(x.dtype)


def _floor_divide(x: Array, y: Array) -> Array:
    return (
        np.floor(np.true_divide(x, y))
        if x.dtype.kind == "f"
        else np.floor_divide(x, np.where(y == 0, 1, y))
    )


def _floor_modulo(x: Array, y: Array) -> Array:
    """Computes the remainder with the sign of the divisor."""
    return np.mod(x, y) if x.dtype.kind == "f" else np.mod(x, np.where(y == 0, 1, y))


def _modulo(x: Array, y: Array) -> Array:
    """Computes the remainder with the sign of the dividend, as in C and in MindSpore 2.10."""
    return np.fmod(x, y) if x.dtype.kind == "f" else np.fmod(x, np.where(y == 0, 1, y))


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(np.asarray(y) < 0):
        return np.power(x.astype(np.float64), y).astype(x.dtype)
    return np.power(x, y)


def _cast(call: Call) -> Array:
    """Casts to the dtype of the result; a cast from float to integer truncates toward zero."""
    source, name = call.inputs[0], call.output.dtype
    if name == "bool":
        return source != 0
    if is_float(name):
        return source.astype(numpy_dtype(name)).astype(call.dtype)
    return (
        np.trunc(source).astype(np.int64).astype(name)
        if source.dtype.kind == "f"
        else source.astype(name)
    )


def _result_shape(call: Call) -> tuple[int, ...]:
    """Returns the shape of the result: its static shape in the graph, else the argument `shape`."""
    if not call.output.is_dynamic:
        return tuple(int(size) for size in call.output.shape)
    return call.integers("shape", 1) or ()


def _reshape(call: Call) -> Array:
    return call.inputs[0].reshape(_result_shape(call))


def _broadcast(call: Call) -> Array:
    return np.broadcast_to(call.inputs[0], _result_shape(call))


def _transpose(call: Call) -> Array:
    return np.transpose(
        call.inputs[0], call.integers("perm", 1) if len(call.inputs) > 1 else call.integers("perm")
    )


def _tile(call: Call) -> Array:
    return np.tile(call.inputs[0], call.integers("multiples", 1) or call.integers("dims") or (1,))


def _select(call: Call) -> Array:
    condition, x, y = call.inputs[:3]
    return np.where(condition, x, y)


def _one_hot(call: Call) -> Array:
    """Computes OneHot of (indices, depth, on, off) along an axis, by default the last."""
    indices, axis = call.inputs[0], int(call.number("axis", 4, default=-1.0))
    depth = int(call.number("depth", 1))
    on, off = call.inputs[2], call.inputs[3]
    hits = np.expand_dims(indices, axis) == np.arange(depth).reshape(
        [-1 if dim == axis % (indices.ndim + 1) else 1 for dim in range(indices.ndim + 1)]
    )
    return np.where(hits, on, off)


def _strided_slice(call: Call) -> Array:
    """Computes StridedSlice of (x, begin, end, strides) with bit masks, as in TensorFlow."""
    source = call.inputs[0]
    begin, end, strides = (
        call.integers(name, position) or ()
        for name, position in (("begin", 1), ("end", 2), ("strides", 3))
    )
    masks = [
        int(call.number(name, 4 + offset))
        for offset, name in enumerate(
            ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
        )
    ]
    at: list[Any] = []
    for axis, (first, last) in enumerate(zip(begin, end, strict=True)):
        bit = 1 << axis
        step = strides[axis] if axis < len(strides) else 1
        if masks[2] & bit:
            at.append(Ellipsis)
        elif masks[3] & bit:
            at.append(np.newaxis)
        elif masks[4] & bit:
            at.append(first)
        else:
            at.append(
                slice(None if masks[0] & bit else first, None if masks[1] & bit else last, step)
            )
    return source[tuple(at)]


def _slice(call: Call) -> Array:
    begin, size = call.integers("begin", 1) or (), call.integers("size", 2) or ()
    return call.inputs[0][
        tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size, strict=True))
    ]


def _cumulative_sum(call: Call) -> Array:
    axis = int(call.number("axis", 1))
    source = call.inputs[0]
    if call.flag("reverse", 3):
        source = np.flip(source, axis)
    total = np.cumsum(source, axis=axis)
    if call.flag("exclusive", 2):
        total = total - source
    total = np.flip(total, axis) if call.flag("reverse", 3) else total
    return total.astype(source.dtype, copy=False)


def _gather(call: Call) -> Array:
    """Computes Gather of the inputs (table, indices, axis).

    A negative index counts from the end. The result of an index out of range is 0, but MindSpore
    raises an error for it.
    """
    table, given = call.inputs[:2]
    axis = int(call.number("axis", 2))
    indices = np.where(given < 0, given + table.shape[axis], given)
    inside = (indices >= 0) & (indices < table.shape[axis])
    taken = np.take(table, np.where(inside, indices, 0), axis=axis)
    shape = [1] * axis + list(indices.shape) + [1] * (taken.ndim - axis - indices.ndim)
    return np.where(inside.reshape(shape), taken, 0)


def _concat(call: Call) -> Array:
    arrays = list(call.inputs)
    axis = call.node.attr("axis")
    if axis is None:
        axis = int(arrays.pop())
    return np.concatenate(arrays, axis=int(axis))


def _diagonal(call: Call) -> int:
    return int(call.number("diagonal", 1))


def _stack(call: Call) -> Array:
    axis = int(call.number("axis")) % len(call.output.shape)
    wide = (*call.inputs[0].shape[:axis], 1, *call.inputs[0].shape[axis:])
    return np.concatenate([item.reshape(wide) for item in call.inputs], axis)


def _resize_formula(
    function: Callable[[resizing.ResizeSizes, Array], Array],
    *,
    nearest: bool = False,
    back: bool = False,
) -> Formula:
    """Returns a formula that resizes an image; with `back`, the formula of the gradient."""

    def formula(call: Call) -> Array:
        given, made = call.inputs[0].shape, call.output.shape
        shapes = (made, given) if back else (given, made)
        how = (
            resizing.nearest_resize_sizes(call, *shapes)
            if nearest
            else resizing.resize_sizes(call.node, *shapes)
        )
        return function(how, call.inputs[0])

    return formula


def _matrix_product(call: Call) -> Array:
    left, right = call.inputs[:2]
    if call.flag("transpose_a", 2 if _is_flag(call, 2) else None):
        left = np.swapaxes(left, -1, -2)
    if call.flag("transpose_b", 3 if _is_flag(call, 3) else None):
        right = np.swapaxes(right, -1, -2)
    product = np.matmul(left, right)
    return product + call.inputs[2] if len(call.inputs) > 2 and not _is_flag(call, 2) else product


def _is_flag(call: Call, position: int) -> bool:
    return len(call.inputs) > position and call.inputs[position].dtype == np.bool_


def _max_pool_windows(call: Call, pooled: Array | Value) -> PoolingWindows:
    """Returns the windows of max pooling; `pooled` has the shape of the result."""
    return windows(call.node, call.inputs[0].shape, pooled.shape)


def average_pool_windows(call: Call) -> PoolingWindows:
    """Returns the windows of average pooling.

    The inputs are (x, window, strides, padding mode, data format), or only x, with attributes for
    the others.
    """
    given = window_arguments(call.inputs[1:]) if len(call.inputs) > 1 else ()
    return windows(call.node, call.inputs[0].shape, call.output.shape, given)


def average_pool_gradient_windows(call: Call) -> tuple[PoolingWindows, Array]:
    """Returns (windows, gradient of the result y) for the gradient of average pooling.

    The inputs of the call are (x, y, gradient of y, window, strides, padding mode, data format), or
    (shape of x, gradient of y).
    """
    three = len(call.inputs) > 2
    gradient = call.inputs[2 if three else 1]
    given = window_arguments(call.inputs[3:]) if three else ()
    return windows(call.node, call.output.shape, gradient.shape, given), gradient


def _average_gradient(call: Call) -> Array:
    where, gradient = average_pool_gradient_windows(call)
    return pooling.average_pool_gradient(
        where, np.zeros(_result_shape(call), gradient.dtype), gradient
    )


def _softmax(call: Call) -> Array:
    axes = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
    source = call.inputs[0]
    powers = np.exp(source - np.max(source, axis=axes or -1, keepdims=True))
    return powers / np.sum(powers, axis=axes or -1, keepdims=True)


def _log_softmax(call: Call) -> Array:
    axis = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
    level = call.inputs[0] - np.max(call.inputs[0], axis=axis or -1, keepdims=True)
    return level - np.log(np.sum(np.exp(level), axis=axis or -1, keepdims=True))


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _bias_add(call: Call) -> Array:
    """Adds the bias along the channel axis, which is axis 1, or the last axis for NHWC."""
    source, bias = call.inputs[:2]
    behind = source.ndim - 1 - _bias_axis(call.node, source.ndim)
    return source + (bias.reshape((-1,) + (1,) * behind) if behind else bias)


def _bias_axis(node: Node, ndim: int) -> int:
    return ndim - 1 if ndim <= 2 or "NHWC" in str(node.attr("data_format")) else 1


def _bias_add_grad(call: Call) -> Array:
    """Computes the gradient of the bias: the sum over all axes except the channel axis."""
    gradient = call.inputs[0]
    return np.sum(gradient, axis=bias_gradient_axes(call.node, gradient.ndim))


def bias_gradient_axes(node: Node, ndim: int) -> tuple[int, ...]:
    """Returns the axes that BiasAddGrad reduces: all except axis 1, or except the last for NHWC.

    Args:
        node: the operator BiasAddGrad.
        ndim: rank of its input, the gradient of y.
    """
    kept = _bias_axis(node, ndim)
    return tuple(axis for axis in range(ndim) if axis != kept)


def _identity(call: Call) -> Array:
    return call.inputs[0]


FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {
        # one tensor
        "Abs": _unary_formula(np.abs),
        "Neg": _unary_formula(np.negative),
        "Sign": _unary_formula(np.sign),
        "Square": _unary_formula(np.square),
        "Sqrt": _unary_formula(np.sqrt),
        "Rsqrt": _unary_formula(lambda x: 1 / np.sqrt(x)),
        "Reciprocal": _unary_formula(lambda x: 1 / x),
        "Inv": _unary_formula(lambda x: 1 / x),
        "Exp": _unary_formula(np.exp),
        "Expm1": _unary_formula(np.expm1),
        "Log": _unary_formula(np.log),
        "Log1p": _unary_formula(np.log1p),
        "Sin": _unary_formula(np.sin),
        "Cos": _unary_formula(np.cos),
        "Tan": _unary_formula(np.tan),
        "Asin": _unary_formula(np.arcsin),
        "ACos": _unary_formula(np.arccos),
        "Atan": _unary_formula(np.arctan),
        "Sinh": _unary_formula(np.sinh),
        "Cosh": _unary_formula(np.cosh),
        "Tanh": _unary_formula(np.tanh),
        "Asinh": _unary_formula(np.arcsinh),
        "Acosh": _unary_formula(np.arccosh),
        "Atanh": _unary_formula(np.arctanh),
        "Erf": _pointwise_formula(math.erf),
        "Erfc": _pointwise_formula(math.erfc),
        "Floor": _unary_formula(np.floor),
        "Ceil": _unary_formula(np.ceil),
        "Trunc": _unary_formula(np.trunc),
        "Round": _unary_formula(np.rint),
        "Rint": _unary_formula(np.rint),
        "IsNan": _unary_formula(np.isnan),
        "IsInf": _unary_formula(np.isinf),
        "IsFinite": _unary_formula(np.isfinite),
        "LogicalNot": _unary_formula(np.logical_not),
        "Cast": _cast,
        # two tensors
        "Add": _binary_formula(np.add),
        "Sub": _binary_formula(np.subtract),
        "Mul": _binary_formula(np.multiply),
        "Div": _binary_formula(_divide),
        "RealDiv": _binary_formula(_divide),
        "FloorDiv": _binary_formula(_floor_divide),
        "Mod": _binary_formula(_modulo),
        "FloorMod": _binary_formula(_floor_modulo),
        "Pow": _binary_formula(_power),
        "Atan2": _binary_formula(np.arctan2),
        "Maximum": _binary_formula(np.maximum),
        "Minimum": _binary_formula(np.minimum),
        "SquaredDifference": _binary_formula(lambda x, y: np.square(x - y)),
        "Equal": _binary_formula(np.equal),
        "NotEqual": _binary_formula(np.not_equal),
        "Less": _binary_formula(np.less),
        "LessEqual": _binary_formula(np.less_equal),
        "Greater": _binary_formula(np.greater),
        "GreaterEqual": _binary_formula(np.greater_equal),
        "LogicalAnd": _binary_formula(np.logical_and),
        "LogicalOr": _binary_formula(np.logical_or),
        "Select": _select,
        # reductions
        "ReduceSum": _reduction_formula(np.sum),
        "ReduceMax": _reduction_formula(np.max),
        "ReduceMin": _reduction_formula(np.min),
        "ReduceProd": _reduction_formula(np.prod),
        "ReduceMean": _reduction_formula(np.mean),
        "ReduceAll": _reduction_formula(np.all),
        "ReduceAny": _reduction_formula(np.any),
        "CumSum": _cumulative_sum,
        # shapes and indexing
        "Reshape": _reshape,
        "ExpandDims": _reshape,
        "Squeeze": _reshape,
        "Flatten": _reshape,
        "Transpose": _transpose,
        "BroadcastTo": _broadcast,
        "Tile": _tile,
        "OneHot": _one_hot,
        "StridedSlice": _strided_slice,
        "Slice": _slice,
        "Gather": _gather,
        "Concat": _concat,
        "Stack": _stack,
        "FillV2": lambda call: np.broadcast_to(np.asarray(call.inputs[1]), _result_shape(call)),
        "Tril": lambda call: np.tril(call.inputs[0], _diagonal(call)),
        "Triu": lambda call: np.triu(call.inputs[0], _diagonal(call)),
        "ReverseV2": lambda call: np.flip(call.inputs[0], call.integers("axis", 1)),
        "OnesLike": _unary_formula(np.ones_like),
        "ZerosLike": _unary_formula(np.zeros_like),
        # In-place operators. The result is the new content of the first input.
        "Assign": lambda call: np.broadcast_to(call.inputs[1], call.inputs[0].shape),
        "AssignAdd": _binary_formula(np.add),
        # products
        "MatMul": _matrix_product,
        "BatchMatMul": _matrix_product,
        "Conv2D": lambda call: convolution(call.node, call.inputs[0], call.inputs[1]),
        "Conv2DBackpropInput": lambda call: gradient_of_x(
            call.node, call.inputs[0], call.inputs[1], _result_shape(call)
        ),
        "Conv2DBackpropFilter": lambda call: gradient_of_weight(
            call.node, call.inputs[0], call.inputs[1], _result_shape(call)
        ),
        # windows
        **dict.fromkeys(
            ("MaxPool", "MaxPool3D"),
            lambda call: pooling.max_pool(_max_pool_windows(call, call.output), call.inputs[0]),
        ),
        **dict.fromkeys(
            ("MaxPoolGrad", "MaxPool3DGrad"),
            lambda call: pooling.max_pool_gradient(
                _max_pool_windows(call, call.inputs[1]), call.inputs[0], call.inputs[2]
            ),
        ),
        **dict.fromkeys(
            ("AvgPool", "AvgPool3D"),
            lambda call: pooling.average_pool(average_pool_windows(call), call.inputs[0]),
        ),
        **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), _average_gradient),
        # resizing
        "AdaptiveAvgPool2D": _resize_formula(resizing.adaptive_average_pool),
        "AdaptiveAvgPool2DGrad": _resize_formula(
            resizing.adaptive_average_pool_gradient, back=True
        ),
        "ResizeNearestNeighbor": _resize_formula(resizing.resize_nearest, nearest=True),
        "ResizeNearestNeighborGrad": _resize_formula(
            resizing.resize_nearest_gradient, nearest=True, back=True
        ),
        # bookkeeping
        "Load": _identity,
        "Depend": _identity,
        "TensorMove": _identity,
        "StopGradient": _identity,
        # Composite operators. MindSpore may pass them to a generator without expanding them.
        "AddN": lambda call: sum(call.inputs[1:], call.inputs[0]),
        "BiasAdd": _bias_add,
        "BiasAddGrad": _bias_add_grad,
        "Sigmoid": _unary_formula(sigmoid),
        "SiLU": _unary_formula(lambda x: x * sigmoid(x)),
        "Softplus": _unary_formula(softplus),
        "GeLU": _unary_formula(_gelu),
        "Softmax": _softmax,
        "LogSoftmax": _log_softmax,
        **{name: nary_formula(function) for name, function in ACTIVATIONS.items()},
        **COMPOSITE_FORMULAS,
    }
)
"""Operator type → NumPy formula."""
